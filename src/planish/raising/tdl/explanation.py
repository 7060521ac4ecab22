"""A tactic told: its pattern, the nest that it stands for, its builders step by step, and its examples.

>>> from planish.raising.tdl.reader import load_tactics
>>> scal = next(x for x in load_tactics() if x.name == "scal")
>>> print(explain_tactic(scal).partition("example:")[0], end="")
scal: x = alpha x (blas1.tdl)
<BLANKLINE>
pattern:
  x(i) *= alpha where i < n
<BLANKLINE>
definition:
  kernel scal(n; alpha: f64; x: f64[n])
  {
    for i in 0 .. n {
      x[i] *= alpha
    }
  }
<BLANKLINE>
cost: n operations
<BLANKLINE>
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from planish.ir.text.printer import print_expr, print_kernel
from planish.raising.expansion import expand
from planish.raising.raised import Apply, Raised
from planish.raising.tdl.printer import tidy
from planish.raising.tdl.syntax import Verbatim
from planish.raising.tdl.tactic import Tactic


def explain_tactic(tactic: Tactic) -> str:
    """All that there is to say about a tactic."""
    return "\n".join(_paragraphs(tactic))


def _paragraphs(tactic: Tactic) -> Iterator[str]:
    summary = f": {tactic.summary}" if tactic.summary else ""
    yield f"{tactic.name}{summary} ({tactic.source.name})\n"
    if not isinstance(tactic.definition.pattern, Verbatim):
        yield _part("pattern", "\n".join(map(str, tactic.definition.pattern)))
    yield _part("definition", print_kernel(tactic.operation.definition))
    if tactic.operation.einsum:
        yield f"einsum: {tactic.operation.einsum}\n"
    for steps, builder in zip(tactic.definition.builders, tactic.builders, strict=True):
        yield _part("builder", "\n".join(map(str, steps)))
        yield _part("steps", "\n".join(_steps(builder)))
        yield _part("steps as loops", print_kernel(expand(builder)))
    if tactic.guards:
        yield f"when: {', '.join(map(print_expr, tactic.guards))}\n"
    yield f"cost: {print_expr(tactic.cost)} operations\n"
    for word, blocks in (("example", tactic.examples), ("counterexample", tactic.counterexamples)):
        for block in blocks:
            yield _part(word, tidy(block))


def _part(head: str, text: str) -> str:
    return f"{head}:\n{textwrap.indent(text.rstrip(), '  ')}\n"


def _steps(builder: Raised) -> Iterator[str]:
    """One line for each operation."""
    for step in builder.steps:
        assert isinstance(step, Apply)
        names = {own: view.array for own, view in step.operands.items()}
        output = names.pop(step.operation.output)
        einsum = f" {step.operation.einsum}" if step.operation.einsum else ""
        yield f"{output} <- {step.operation.name}({', '.join(names.values())}){einsum}"
