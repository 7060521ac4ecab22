"""Loops of which nothing counts the iterations, as loops that count to a number that no array reaches.

Before: while (*s) s++;                    for (;;) { if (a[i] == x) break; i++; }
After:  for (; k < most && *s; k++) s++;   for (; k < most; k++) { if (a[i] == x) break; i++; }

Only what an iteration reads ends such a loop. It has to be read again for each iteration, so that what lies behind the
last one is never read before it is known that the loop gets there.

>>> from pycparser.c_generator import CGenerator
>>> from pycparser.c_parser import CParser
>>> loop = CParser().parse("int f() { for (;; s++) if (!*s) break; }").ext[0].body.block_items[0]
>>> made = _counted(loop, c_ast.ID("k"), c_ast.ID("k"), c_ast.ID("most"))
>>> print(" ".join(CGenerator().visit(made).split()))
for (; k < most; s++, k++) if (!(*s)) break;
>>> loop = CParser().parse("int f() { do s++; while (*s); }").ext[0].body.block_items[0]
>>> print(" ".join(CGenerator().visit(as_endless(loop)).split()))
for (;;) { s++; if (!(*s)) { break; } }
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol
from planish.frontend.c.early_exits.early_exit import split_condition
from planish.frontend.c.idioms.early_continue import without_continue
from planish.frontend.c.types.constants import fold, items_of, walk_tree
from planish.frontend.c.types.declarations import CScalar
from planish.ir.expr import Expr
from planish.ir.index.polynomial import constant
from planish.ir.types import I64

COUNTER, MOST = "planish_iteration", "planish_most"
"""What the counter and the number that it never reaches are called."""
SPELT = "(PTRDIFF_MAX / 64)"
"""That number in C: more elements than any array has, which steps can be multiplied by."""


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A loop with a counter of its own, and what is set in front of it."""

    loop: c_ast.For
    start: c_ast.Assignment


def never_reached(moved: Iterable[Symbol], advances: Sequence[tuple[str, Expr]]) -> str | None:
    """The number that stands for no count in C, by the variables that each iteration moves, where unsigned ones have
    not wrapped around; None where that is not known."""
    types = {x.name: x.ctype.type for x in moved if isinstance(x.ctype, CScalar)}
    wrapping = [(x, types[x], amount) for x, amount in advances if x in types and types[x].kind == "uint"]
    bounded = [(x, type, constant(amount)) for x, type, amount in wrapping if type.bits < 64]
    if not bounded:
        return SPELT
    name, type, step = bounded[0]
    if len(bounded) > 1 or not step:
        return None
    room = f"({2**type.bits - 1}u - {name})" if step > 0 else name
    return f"(ptrdiff_t)({room} / {abs(step)}u)"


def is_endless(loop: c_ast.For | c_ast.While) -> bool:
    """Whether the head of a loop never ends it."""
    return loop.cond is None or bool(fold(loop.cond, {}))


def as_endless(loop: c_ast.DoWhile) -> c_ast.For | None:
    """A loop with its condition behind the body as one that nothing but an exit at its end ends; None where another
    statement goes there."""
    body = without_continue(loop.stmt)
    value = fold(loop.cond, {})
    if value == 0 or any(isinstance(x, c_ast.Continue) for x in walk_tree(body)):
        return None
    leave = c_ast.Compound([c_ast.Break(loop.coord)], loop.coord)
    last = [] if value else [c_ast.If(c_ast.UnaryOp("!", loop.cond, loop.coord), leave, None, loop.coord)]
    return c_ast.For(None, None, None, c_ast.Compound([*items_of(body), *last], loop.coord), loop.coord)


def with_count(loop: c_ast.For | c_ast.While, bound: BoundNames) -> CountedLoop | None:
    """The same loop with a counter, which begins at 0; None where something in its condition may count already."""
    number = CScalar(I64, "long", "long")
    counter, most = Symbol(COUNTER, COUNTER, number, "local"), Symbol(MOST, MOST, number, "local", const=True)
    mentions = [bound.mention(x, loop.coord) for x in (counter, counter, most)]
    made = _counted(loop, *mentions)
    if made is None:
        return None
    zero = c_ast.Constant("int", "0", loop.coord)
    start = c_ast.Assignment("=", bound.mention(counter, loop.coord), zero, loop.coord)
    bound.keep(start)
    return CountedLoop(made, start)


def _counted(loop: c_ast.For | c_ast.While, counter: c_ast.ID, stepped: c_ast.ID, most: c_ast.ID) -> c_ast.For | None:
    counted = c_ast.BinaryOp("<", counter, most, loop.coord)
    cond = counted if is_endless(loop) else c_ast.BinaryOp("&&", counted, loop.cond, loop.coord)
    parts = split_condition(cond)
    if parts is None or parts[0] is not counted:
        return None
    step: c_ast.Node = c_ast.UnaryOp("p++", stepped, loop.coord)
    first, before = (loop.init, loop.next) if isinstance(loop, c_ast.For) else (None, None)
    if before is not None:
        steps = before.exprs if isinstance(before, c_ast.ExprList) else [before]
        step = c_ast.ExprList([*steps, step], loop.coord)
    return c_ast.For(first, cond, step, loop.stmt, loop.coord)
