"""Where the functions of the host choose between kernels: the sizes beyond which another one is launched.

>>> from planish.ir.text.parser import parse_kernel
>>> one = "launch () of (t: 32) { A[t] = 1.0:f32 }"
>>> text = f"if n - m > 7 {{ {one} }} else {{ if 2 * m >= 40 {{ {one} }} else {{ {one} }} }}"
>>> thresholds(parse_kernel(f"kernel k(n, m; A: f32[32]) {{ {text} }}"))
[('m', 20)]
"""

from __future__ import annotations

from collections.abc import Iterator

from planish.ir.expr import Binary, Compare, Expr, Var
from planish.ir.index.polynomial import polynomial
from planish.ir.nest import Block, If, Kernel, Launch
from planish.ir.traverse import blocks_of, walk_expr


def thresholds(kernel: Kernel) -> list[tuple[str, int]]:
    """The sizes that conditions around launches compare with a constant, each with that."""
    return list(dict.fromkeys(y for x in _conditions(kernel.body) for y in _compared(x)))


def _conditions(block: Block) -> Iterator[Expr]:
    for stmt in block.body:
        if not isinstance(stmt, Launch):
            yield from (stmt.condition,) if isinstance(stmt, If) else ()
            for part in blocks_of(stmt):
                yield from _conditions(part)


def _compared(condition: Expr) -> Iterator[tuple[str, int]]:
    for x in walk_expr(condition):
        if isinstance(x, Compare):
            parts = polynomial(Binary("sub", x.left, x.right))
            terms = {m: c for m, c in parts.items() if m}
            match [*terms]:
                case [(Var(name=name),) as term]:
                    yield name, abs(parts.get((), 0)) // abs(terms[term])
                case _:
                    pass
