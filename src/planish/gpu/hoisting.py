"""Subscripts that are the same in all iterations of a long loop are computed before it (loop-invariant code motion).

Compilers leave quotients where they are, which may be expensive; here the divisors are extents of loops that blocks are
made of, so that they are not 0 where a block runs.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
>>> inner = "for c in 0 .. 2 { let q = quo(b + c, m) A[p, q] = 1.0:f32 }"
>>> kernel = parse_kernel(f"kernel k(n, m, b; A: f32[n, m]) {{ for p in 0 .. n {{ {inner} }} }}")
>>> print(print_kernel(replace(kernel, body=hoist_subscripts(kernel.body, set()))).rstrip())
kernel k(n, m, b; A: f32[n, m])
{
  let q = quo(b, m)
  let q_2 = quo(b + 1, m)
  for p in 0 .. n {
    {
      {
        A[p, q] = 1.0:f32
      }
      {
        A[p, q_2] = 1.0:f32
      }
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial

from planish.core.names import take_name
from planish.ir.expr import Binary, Const, Expr, Var, index
from planish.ir.index.simplify import simplify
from planish.ir.nest import Block, For, Launch, Let, Stmt
from planish.ir.traverse import (
    blocks_of,
    map_block,
    map_exprs,
    substitute,
    substitute_block,
    variables,
    walk,
    walk_expr,
    with_blocks,
)

MOST_COPIES = 8
"""A loop of more iterations is not written out."""


def hoist_subscripts(block: Block, taken: set[str]) -> Block:
    """A block in which names of quotients that do not change in a loop with any number of iterations are bound before
    it; short loops that these depend on are written out. `taken` names are not given, and new ones are added."""
    out: list[Stmt] = []
    for stmt in block.body:
        if isinstance(stmt, For) and not _is_short(stmt):
            walked = _Hoisting(taken)
            body = walked.block(map_block(partial(_written_out, stmt.var), stmt.body), {}, {stmt.var})
            out += [*walked.moved, replace(stmt, body=body)]
        else:
            out.append(with_blocks(stmt, [hoist_subscripts(x, taken) for x in blocks_of(stmt)]))
    return Block(tuple(out))


def _is_short(loop: For) -> bool:
    return isinstance(loop.lower, Const) and isinstance(loop.upper, Const)


def _written_out(long: str, stmt: Stmt) -> Stmt:
    """A short loop as the statements of all its iterations, where quotients depend on it and not on the long one."""
    match stmt:
        case For(var=var, lower=Const(value=lower), upper=Const(value=upper), step=1) if upper - lower <= MOST_COPIES:
            lets = [x for x in walk(stmt.body) if isinstance(x, Let)]
            if any(var in (used := _reached(x.value, lets)) and long not in used and _divides(x.value) for x in lets):
                return Block(tuple(_copy(stmt, n) for n in range(int(lower), int(upper))))
        case _:
            pass
    return stmt


def _copy(loop: For, number: int) -> Block:
    body = substitute_block(loop.body, {loop.var: index(number)})
    return map_block(lambda x: map_exprs(simplify, x), body)


def _reached(value: Expr, lets: list[Let]) -> Set[str]:
    """The names that a value depends on, by way of others."""
    used = set(variables(value))
    for let in reversed(lets):
        if let.var in used:
            used |= variables(let.value)
    return used


def _divides(value: Expr) -> bool:
    divided = [x for x in walk_expr(value) if isinstance(x, Binary) and x.op in ("quo", "rem")]
    return any(not isinstance(x.right, Const) for x in divided)


@dataclass(slots=True)
class _Hoisting:
    """The walk over the body of a long loop, and the names that are bound before it."""

    taken: set[str]
    moved: list[Let] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def block(self, block: Block, known: Mapping[str, Expr], bound: Set[str]) -> Block:
        """A block, where some names are known to stand for others; `bound` ones change in the loop."""
        out: list[Stmt] = []
        known, bound = dict(known), set(bound)
        for stmt in block.body:
            stmt = map_exprs(partial(substitute, values=known), stmt)
            match stmt:
                case Let(var=var, value=Var() as value):
                    known[var] = value
                case Let(var=var, value=value) if not variables(value) & bound:
                    known[var] = index(self.name_of(var, value))
                case Let(var=var):
                    bound.add(var)
                    out.append(stmt)
                case _:
                    inner = bound | ({stmt.var} if isinstance(stmt, For) else set())
                    out.append(with_blocks(stmt, [self.block(x, known, inner) for x in blocks_of(stmt)]))
        return Block(tuple(out))

    def name_of(self, wanted: str, value: Expr) -> str:
        """The name before the loop that stands for a value."""
        for let in self.moved:
            if let.value == value:
                return let.var
        name = wanted if wanted not in self.seen else take_name(wanted, self.taken)
        self.seen.add(name)
        self.taken.add(name)
        self.moved.append(Let(name, value))
        return name


def hoisted(launch: Launch, taken: set[str]) -> Launch:
    """A launch in which subscripts are computed before long loops."""
    return replace(launch, body=hoist_subscripts(launch.body, taken))
