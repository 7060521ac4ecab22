"""Tactics as text that reads back to the same definition, a variant as a tactic of its own.

>>> from planish.core.span import Source
>>> from planish.raising.tdl.parser import parse_definitions
>>> text = "def axpy { pattern y(i) += alpha * x(i) where i < n cost 2 * n }"
>>> print(print_definition(parse_definitions(Source("t.tdl", text))[0]), end="")
def axpy {
  pattern
    y(i) += alpha * x(i) where i < n
  cost 2 * n
}
"""

from __future__ import annotations

import textwrap

from planish.raising.tdl.syntax import TacticDefinition, Verbatim


def print_definition(definition: TacticDefinition) -> str:
    """The tactic as text."""
    head = f'def {definition.name} "{definition.summary}" {{' if definition.summary else f"def {definition.name} {{"
    lines = [head, *print_pattern(definition)]
    for steps in definition.builders:
        lines += ["  builder", *(f"    {x}" for x in steps)]
    if definition.guards:
        lines.append(f"  when {', '.join(map(str, definition.guards))}")
    if definition.cost is not None:
        lines.append(f"  cost {definition.cost}")
    for word, blocks in (("example", definition.examples), ("counterexample", definition.counterexamples)):
        for block in blocks:
            lines += [f"  {word} {{{block.text}}}"]
    return "\n".join([*lines, "}"]) + "\n"


def print_pattern(definition: TacticDefinition) -> list[str]:
    """The lines of a tactic's pattern."""
    if isinstance(definition.pattern, Verbatim):
        return ["  pattern " + definition.pattern.text]
    return ["  pattern", *(f"    {x}" for x in definition.pattern)]


def tidy(block: Verbatim) -> str:
    """A text of another language, from the margin, without the blanks of what was not chosen."""
    lines = [x.rstrip() for x in block.text.strip("\n").splitlines()]
    return textwrap.dedent("\n".join(lines)).strip("\n")
