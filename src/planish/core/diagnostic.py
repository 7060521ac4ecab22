"""Diagnostics: what is wrong, where, and what to do about it: `E…` codes, a line of source and a caret.

>>> from planish.core.span import Source
>>> source = Source("a.c", "for (;;) x;")
>>> print(Diagnostic("E0201", "the loop has no bound", source.point(1, 1, 3), "write a condition").render(source))
error[E0201]: the loop has no bound
 --> a.c:1:1
  |
1 | for (;;) x;
  | ^^^
  = help: write a condition
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planish.core.codes import advice_for
from planish.core.reasons import help_for
from planish.core.span import Source, Span

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A problem with the user's input: a stable code (`planish.core.codes` lists them), a sentence, a place, and advice
    where there is more to say than what helps against all of that code."""

    code: str
    message: str
    span: Span | None = None
    help: str = ""
    severity: Severity = "error"

    @property
    def advice(self) -> str:
        """What to do."""
        return self.help or advice_for(self.code)

    def render(self, source: Source | None = None) -> str:
        """The message as text; with the source at hand, its line and a caret under it."""
        return render_at(f"{self.severity}[{self.code}]: {self.message}", self.span, source, self.advice)


class PlanishError(Exception):
    """Carries a diagnostic to the command line or to the Python caller."""

    def __init__(self, diagnostic: Diagnostic, source: Source | None = None) -> None:
        super().__init__(diagnostic.render(source))
        self.diagnostic = diagnostic
        self.source = source

    def __reduce__(self) -> tuple[type[PlanishError], tuple[Diagnostic, Source | None]]:
        return PlanishError, (self.diagnostic, self.source)


@dataclass(frozen=True, slots=True)
class Remark:
    """What was done or refused, and why: `id` is stable (`scop-call`, `schedule-band`; `planish.core.reasons` lists
    them), `kind` says which. `brief`: what a table says, where that is less.
    `help` says what to change where that is more than what helps against all of that id. `about`: the statement that it
    is about, where `span` is in a function that is called there.

    >>> print(Remark("scop-data", "refused", "the bound is read").render())
    refused[scop-data]: the bound is read
      = help: put what does not need these values into a nest of its own, before or behind this one
    """

    id: str
    kind: Literal["done", "refused", "note"]
    message: str
    span: Span | None = None
    help: str = ""
    brief: str | None = None
    about: Span | None = None

    @property
    def place(self) -> Span | None:
        """Where the statement stands that it is about."""
        return self.about or self.span

    @property
    def summary(self) -> str:
        """What a table says of it, which has a line for each; empty for nothing."""
        return self.message if self.brief is None else self.brief

    @property
    def advice(self) -> str:
        """What the user can change; empty where something was done."""
        return "" if self.kind == "done" else self.help or help_for(self.id)

    def render(self, source: Source | None = None) -> str:
        """The remark as text, with a caret where the source is at hand, and the advice."""
        return render_at(f"{self.kind}[{self.id}]: {self.message}", self.span, source, self.advice)


_LONGEST = 300
"""Characters of a line that are shown; of a longer one those around the caret."""


def _around(text: str, column: int, width: int) -> tuple[str, int, int]:
    """A line as it is shown, the place of the caret in it, and how wide that is.

    >>> _around("x" * 1000, 500, 900)[1:], len(_around("x" * 1000, 500, 900)[0])
    ((101, 200), 302)
    """
    if len(text) <= _LONGEST:
        return text, column, width
    first = max(0, min(column - _LONGEST // 3, len(text) - _LONGEST))
    shown = text[first : first + _LONGEST]
    before, after = "…" if first else "", "…" if first + _LONGEST < len(text) else ""
    place = column - first + len(before)
    return f"{before}{shown}{after}", place, min(width, max(_LONGEST - (column - first), 1))


def render_at(head: str, span: Span | None, source: Source | None, advice: str) -> str:
    """`head`, the place, the line with a caret under the span, and the advice."""
    out = [head]
    if span is not None:
        out.append(f" --> {span}")
        text = source.line(span.line) if source is not None and source.name == span.file else ""
        if text:
            number = str(span.line)
            pad = " " * len(number)
            end = span.end_column if span.end_line == span.line else len(text) + 1
            width = max(1, min(end, len(text) + 1) - span.column)
            text, column, width = _around(text, span.column - 1, width)
            lead = "".join("\t" if c == "\t" else " " for c in text[:column])
            out += [f"{pad} |", f"{number} | {text}", f"{pad} | {lead}{'^' * width}"]
    if advice:
        out.append(f"  = help: {advice}")
    return "\n".join(out)
