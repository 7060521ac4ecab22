"""The drop-in file: the user's text with some nests replaced, every other character unchanged.

>>> text = "#include <math.h>\\nvoid f(int n) { for (;;) work(); }\\n"
>>> start = text.index("for")
>>> call = guarded_call("for (;;) work();", "  ", "f_0", ["n"], ["n >= 1"], [], returns_status=False)
>>> patch = Patch(start, start + 16, call)
>>> print(assemble(text, [patch], "/* made */\\n", "static void f_0(ptrdiff_t n);\\n"), end="")
/* made */
#include <math.h>
<BLANKLINE>
static void f_0(ptrdiff_t n);
<BLANKLINE>
void f(int n) { if (n >= 1) {
    f_0(n);
  } else {
  for (;;) work();
  } }
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from planish.core.span import Rewriting, Source, unmoved
from planish.emit.c.context import EmitContext
from planish.emit.c.expression import emit_expr
from planish.ir.expr import Cast, Const, Expr, Var
from planish.ir.traverse import children, with_children
from planish.ir.types import I32, INDEX


@dataclass(frozen=True, slots=True)
class Patch:
    """Characters `start` to `end` (exclusive) of the user's source give way to `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class PassedCopy:
    """A variable of the user's that a call is passed by the address of another one, of which both have the type."""

    type: str
    variable: str
    name: str


def assemble(source: Source | str, patches: Sequence[Patch], banner: str, prologue: str) -> str:
    """The banner, and what the user wrote with the patches of a source; the prologue stands behind the last `#include`
    before them.

    (Headers must come after the user's own feature macros, so the prologue cannot stand at the top.) Raises
    ValueError where patches overlap or leave the source.
    """
    if isinstance(source, Source):
        patches, source = as_written(patches, source)
    ordered = _in_order(patches, 0, len(source))
    if not ordered:
        return banner + source
    place = prologue_offset(source, ordered[0].start)
    head = source[:place]
    before = [banner, head, "\n" if head else "", prologue, "" if source[place : place + 1] == "\n" else "\n"]
    return "".join((*before, _patched(source, place, len(source), ordered)))


def as_written(patches: Sequence[Patch], source: Source) -> tuple[Sequence[Patch], str]:
    """Patches of a source as those of what the user wrote, and that."""
    while source.made is not None:
        patches, source = _of_origin(patches, source, source.made)
    return patches, source.text


def _of_origin(patches: Sequence[Patch], source: Source, made: Rewriting) -> tuple[list[Patch], Source]:
    """Patches of a text that was made of another one as those of the other one: what was written otherwise for the sake
    of no patch is as it was, and a statement that others took the place of stays beside them."""
    parts: list[tuple[int, int, list[Patch]]] = [(x.start, x.end, [x]) for x in patches]
    parts += ((x.made_start, x.made_end, []) for x in made.wholes())
    joined: list[tuple[int, int, list[Patch]]] = []
    for first, last, own in sorted(parts, key=lambda x: x[:2]):
        if joined and first < joined[-1][1]:
            joined[-1] = joined[-1][0], max(last, joined[-1][1]), [*joined[-1][2], *own]
        else:
            joined.append((first, last, own))
    out: list[Patch] = []
    for first, last, own in (x for x in joined if x[2]):
        start, end = unmoved(first, made.changes), unmoved(last, made.changes)
        text, written = _patched(source.text, first, last, _in_order(own, first, last)), made.source.text
        if any(start <= x.start and x.end <= end and x.beside for x in made.changes):
            indent = indentation(written, start)
            text = f"\n#ifdef PLANISH_ORIGINAL\n{indent}{written[start:end]}\n#else\n{indent}{text}\n#endif"
        out.append(Patch(start, end, text))
    return out, made.source


def indentation(text: str, place: int) -> str:
    """The blanks before a place of a text; "" where something else stands before it on its line."""
    before = text[text.rfind("\n", 0, place) + 1 : place]
    return before if not before.strip() else ""


def _in_order(patches: Iterable[Patch], start: int, end: int) -> list[Patch]:
    """Patches as they follow each other between two places. Raises ValueError where they do not."""
    ordered = sorted(patches, key=lambda x: x.start)
    previous = start
    for patch in ordered:
        if not previous <= patch.start <= patch.end <= end:
            raise ValueError(f"the patch at {patch.start} .. {patch.end} overlaps another one or leaves the source")
        previous = patch.end
    return ordered


def _patched(source_text: str, place: int, end: int, ordered: Sequence[Patch]) -> str:
    """The text between two places with patches of it."""
    out: list[str] = []
    for patch in ordered:
        kept = source_text[place : patch.start]
        # Directives begin on a line of their own; the blanks before them would stay behind.
        out += [kept.rstrip(" \t") if patch.text.startswith("\n") else kept, patch.text]
        place = patch.end
        if patch.text.rpartition("\n")[2].startswith("#") and not source_text.startswith(("\n", "\r\n"), place):
            # What follows on the line would be lost behind the directive.
            out.append("\n")
    out.append(source_text[place:end])
    return "".join(out)


_WIDTH = 104
"""What conditions on a line have room in, behind the indentation."""
_SCAN = re.compile(
    r"(?P<comment>/\*.*?(?:\*/|\Z)|//(?:\\\n|[^\n])*)"
    r"|(?P<quoted>\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?)"
    r"|(?P<directive>^[ \t]*#[ \t]*(?P<word>\w*)(?:\\\r?\n|/\*.*?\*/|[^\n])*(?:\n|\Z))"
    r"|(?P<brace>[{}])",
    re.DOTALL | re.MULTILINE,
)


def prologue_offset(source_text: str, limit: int) -> int:
    """Where declarations may stand before `limit`: after the last `#include`, outside of closed conditionals.

    0 where there is no `#include` at the top level before `limit`.
    """
    place = depth = braces = 0
    held: int | None = None
    for match in _SCAN.finditer(source_text, 0, limit):
        if match["brace"]:
            braces += 1 if match["brace"] == "{" else -1
        word = match["word"]
        if word in ("if", "ifdef", "ifndef"):
            depth += 1
        elif word == "include" and braces == 0:
            place, held = match.end(), depth
        elif word in ("else", "elif", "endif"):
            # The block in which the include stands ends here; what follows sees it or not, but compiles either way.
            if held is not None and held >= depth:
                place, held = match.end(), depth - (word == "endif")
            depth -= word == "endif"
    return place


def guarded_call(
    original: str,
    indent: str,
    name: str,
    arguments: Sequence[str],
    guards: Sequence[str],
    updates: Sequence[str],
    returns_status: bool,
    alone: bool = False,
    copies: Sequence[PassedCopy] = (),
) -> str:
    """A call that stands for the nest `original`, which stays as the way out.

    The guards are C conditions, the updates are C statements that follow the call (what the loops leave in their
    variables). Where nothing can fail, the original remains under `#ifdef PLANISH_ORIGINAL`. `indent` is that of the
    line on which the nest begins. `alone`: the nest is the body of a branch or loop without braces, which may go on
    with an `else`: one statement stands for it. `copies` are declared in front of the call, and stored back where it
    did something.

    >>> print(guarded_call("g();", "", "f", ["&x_"], ["n > 9"], [], False, copies=[PassedCopy("int", "x", "x_")]))
    {
    int x_ = x;
    if (n > 9) {
      f(&x_);
      x = x_;
    } else { g();
    }
    }
    """
    call = f"{name}({', '.join(arguments)})"
    tests = bracketed(guards) if len(guards) + returns_status > 1 else [*guards]
    after = [x if x.rstrip().endswith((";", "}")) else f"{x};" for x in updates]
    if returns_status:
        tests.append(f"{call} == 0")
    else:
        after.insert(0, f"{call};")
    declared = [f"{x.type} {x.name} = {x.variable};" for x in copies]
    after += [f"{x.variable} = {x.name};" for x in copies]
    if not tests:
        after = [*declared, *after]
        body = "\n".join(f"{indent}{line}" for line in after)
        if (alone or copies) and len(after) > 1:
            inner = "\n".join(f"{indent}  {line}" for line in after)
            body = f"{indent}{{\n{inner}\n{indent}}}"
        return f"\n#ifdef PLANISH_ORIGINAL\n{indent}{original}\n#else\n{body}\n#endif"
    joined = f" &&\n{indent}    ".join(_packed(tests, _WIDTH - len(indent)))
    body = "".join(f"{indent}  {line}\n" for line in after)
    chosen = f"if ({joined}) {{\n{body}{indent}}} else {in_braces(original, indent)}"
    opening = "".join(f"{indent}{x}\n" for x in declared)
    return f"{{\n{opening}{indent}{chosen}\n{indent}}}" if copies else chosen


def in_braces(original: str, indent: str) -> str:
    """A block with what is written, where that stands on lines with some indentation. What stands behind something else
    on its line has none, and is not set first on one: compilers warn of statements behind a loop that begins a line.

    >>> in_braces("for (;;) f(); g();", ""), in_braces("for (;;) f();", "  ")
    ('{ for (;;) f(); g();\\n}', '{\\n  for (;;) f();\\n  }')
    """
    first = f"\n{indent}" if indent or original.startswith("#") else " "
    return f"{{{first}{original}\n{indent}}}"


def bracketed(tests: Sequence[str]) -> list[str]:
    """Conditions, in C, of which all are asked.

    >>> bracketed(["a", "b || c"])
    ['a', '(b || c)']
    """
    return [f"({x})" if "||" in x else x for x in tests]


def _packed(tests: Sequence[str], width: int) -> list[str]:
    """The conditions, as many on a line as it has room for.

    >>> _packed(["a", "b < c", "d"], 12)
    ['a && b < c', 'd']
    """
    lines = [tests[0]]
    for test in tests[1:]:
        longer = f"{lines[-1]} && {test}"
        lines[-1:] = [longer] if len(longer) <= width else [lines[-1], test]
    return lines


def emit_guard(expr: Expr, names: Mapping[str, str] | None = None) -> str:
    """A bool expression over sizes as a C condition; `names` gives the C text of a size where it is not its name.

    Sizes are widened to 64 bits first: the user's own may be of any integer type.
    """
    spelt = {k: v if v.isidentifier() else f"({v})" for k, v in (names or {}).items()}
    return emit_expr(_widen(expr), EmitContext(spelt))


def _widen(expr: Expr) -> Expr:
    # A cast to the type that a name has already would be left out, so the name is given a narrower one here.
    if isinstance(expr, Var):
        return Cast(Var(expr.name, I32), INDEX)
    return expr if isinstance(expr, Const) else with_children(expr, tuple(_widen(x) for x in children(expr)))


def alias_guard(a: tuple[str, str], b: tuple[str, str]) -> str:
    """A C condition: two address ranges, each a pointer and a number of bytes (C expressions), do not overlap."""
    (p, p_bytes), (q, q_bytes) = a, b
    first = f"(uintptr_t)({p}) + (uintptr_t)({p_bytes}) <= (uintptr_t)({q})"
    second = f"(uintptr_t)({q}) + (uintptr_t)({q_bytes}) <= (uintptr_t)({p})"
    return f"{first} || {second}"


_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


def defined_macros(source_text: str) -> frozenset[str]:
    """The macros that the text defines: names which generated functions must avoid."""
    return frozenset(_DEFINE.findall(source_text))


def emit_banner(version: str, options: str, source_text: str, flags: str, link: str = "") -> str:
    """The comment at the top of a generated file: what made it from what, and whose it is; `link` are flags for what it
    calls."""
    digest = hashlib.sha256(source_text.encode("utf-8", "surrogateescape")).hexdigest()
    options = options.replace("*/", "* /")
    linked = f" *   link:    {link}\n" if link else ""
    return (
        f"/* Generated by Planish {version}; this generated code belongs to you, to use as you like.\n"
        f" *   options: {options}\n"
        f" *   input:   sha256 {digest}\n"
        f" *   compile: {flags}\n"
        f"{linked}"
        " * A loop nest that was replaced stays beside its replacement; all else is as you wrote it.\n"
        " */\n"
    )
