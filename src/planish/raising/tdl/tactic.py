"""A tactic: what to look for, what it may become, when, at which cost, and examples of it in C.

>>> from planish.ir.text.printer import print_expr
>>> from planish.raising.tdl.reader import read_tactics
>>> text = '''def dot "the inner product" {
...   pattern s() += x(i) * y(i) where i < n
...   example { void f(int n, double *x, double *y, double *s) { for (int i = 0; i < n; i++) *s += x[i] * y[i]; } }
...   counterexample { void f(int n, double *x, double *s) { for (int i = 0; i < n; i++) *s += x[i]; } }
... }'''
>>> (dot,) = read_tactics(Source("t.tdl", text))
>>> dot.name, dot.operation.einsum, print_expr(dot.cost)
('dot', 'a,a->', '2 * n')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from planish.core.span import Source
from planish.ir.expr import Binary, Call, Expr, Load, Unary, index
from planish.ir.index.polynomial import add, mul, names, place, sub
from planish.ir.nest import Assign, Block, For, If, Kernel, Reduce
from planish.ir.traverse import blocks_of, expressions, walk_expr
from planish.raising.operation import Operation
from planish.raising.raised import Raised
from planish.raising.tdl.syntax import TacticDefinition, Verbatim

Matcher: TypeAlias = Callable[[Kernel, Sequence[Operation]], Raised]
"""What finds operations in a kernel."""


@dataclass(frozen=True, slots=True)
class Tactic:
    """What to look for (`operation`), what it may become (each of `builders` has its parameters and computes the same),
    when it applies (`guards` over sizes; they are assumptions of the operation as well), and its `cost` in operations.

    `family` is the name without the variant's words. `definition` is what was written, in the file `source`.
    """

    name: str
    family: str
    summary: str
    operation: Operation
    builders: tuple[Raised, ...]
    guards: tuple[Expr, ...]
    cost: Expr
    examples: tuple[Verbatim, ...]
    counterexamples: tuple[Verbatim, ...]
    definition: TacticDefinition
    source: Source


def count_operations(body: Block) -> Expr:
    """The arithmetic operations of a nest, where a bound that moves counts as far as it may reach.

    >>> from planish.ir.text.parser import parse_kernel
    >>> from planish.ir.text.printer import print_expr
    >>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { for j in 0 .. i { x[i] += 2.0 * x[j] } } }"
    >>> print_expr(count_operations(parse_kernel(text).body))
    '2 * n * n'
    """
    return _count(body, {})


def _count(body: Block, sizes: dict[str, Expr]) -> Expr:
    total: Expr = index(0)
    for stmt in body.body:
        match stmt:
            case For(var=var, lower=lower, upper=upper):
                moving = names(lower) & frozenset(sizes)
                first = index(0) if moving else lower
                trips = sub(place(upper, sizes), first)
                total = add(total, mul(trips, _count(stmt.body, {**sizes, var: place(upper, sizes)})))
            case Assign() | Reduce():
                work = sum(isinstance(x, Binary | Unary | Call) for x in _work(stmt))
                total = add(total, index(work + isinstance(stmt, Reduce)))
            case If() | Block():
                for block in blocks_of(stmt) if isinstance(stmt, If) else (stmt,):
                    total = add(total, _count(block, sizes))
            case _:
                pass
    return total


def _work(stmt: Assign | Reduce) -> list[Expr]:
    """The parts of a stored value that are computed with values, not with subscripts."""
    subscripts = {id(y) for x in expressions(stmt) for z in walk_expr(x) if isinstance(z, Load) for e in z.index
                  for y in walk_expr(e)}  # fmt: skip
    return [x for x in walk_expr(stmt.value) if id(x) not in subscripts]
