"""Loops of which nothing counts the iterations, as loops that count to a number that no array reaches.

Before: while (*s) s++;                    for (;;) { if (a[i] == x) break; i++; }
After:  for (; k < most && *s; k++) s++;   for (; k < most; k++) { if (a[i] == x) break; i++; }

Only what an iteration reads ends such a loop. It has to be read again for each iteration, so that what lies behind the
last one is never read before it is known that the loop gets there.

>>> from pycparser.c_generator import CGenerator
>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> tree = CParser().parse("void f(char *s) { for (;; s++) if (!*s) break; do s++; while (*s); }")
>>> bound = bind_function(tree.ext[0], bind_file(tree))
>>> first, second = bound.function.body.block_items
>>> print(" ".join(CGenerator().visit(with_count(first, bound).loop).split()))
for (; planish_iteration < planish_most; s++, planish_iteration++) if (!(*s)) break;
>>> print(" ".join(CGenerator().visit(as_endless(second, bound)).split()))
for (;;) { s++; if (!(*s)) { break; } }
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol
from planish.frontend.c.early_exits.early_exit import changed_in, split_condition
from planish.frontend.c.idioms.early_continue import without_continue
from planish.frontend.c.translation_unit import Headroom
from planish.frontend.c.types.constants import items_of, walk_tree
from planish.frontend.c.types.declarations import CScalar
from planish.ir.expr import Compare, Expr, Var
from planish.ir.index.overflow import limits
from planish.ir.index.polynomial import coefficient_of, constant, polynomial, sub
from planish.ir.nest import Kernel
from planish.ir.traverse import variables
from planish.ir.types import I64, Type

COUNTER, MOST = "planish_iteration", "planish_most"
"""What the counter and the number that it never reaches are called, in C as well."""
_WIDTHS = (8, 16, 32, 64)
"""The bits of C's integers."""


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A loop with a `counter` of its own, and what is set in front of it."""

    loop: c_ast.For
    start: c_ast.Assignment
    counter: Symbol


def rooms_of(
    kernel: Kernel, names: Mapping[str, str], most: str, moved: Iterable[Symbol],
    advances: Sequence[tuple[str, Expr]],
) -> tuple[Headroom, ...] | None:  # fmt: skip
    """What bounds `most`, a kernel's number that stands for no count, in C, by the `names` there: how often all narrow
    variables that each iteration moves may move before they wrap around, and with what the kernel's assumptions hold;
    None where that is not known.

    >>> from planish.ir.text.parser import parse_kernel
    >>> kernel = parse_kernel("kernel k(i, m; x: i8[?]) assume 300 - 2 * i - 3 * m >= 0 assume i >= 0 { }")
    >>> rooms_of(kernel, {"i": "p->i"}, "m", (), ())
    (Headroom(iterations='(300 + -2 * (ptrdiff_t)(p->i)) / 3', values=256),)
    """
    types = {x.name: x.ctype.type for x in moved if isinstance(x.ctype, CScalar)}
    # Signed ones as wide as int do not wrap around in C.
    narrow = {x: y for x, y in types.items() if y.bits < (64 if y.kind == "uint" else 32)}
    rooms = [
        *(_room(x, narrow[x], constant(amount)) for x, amount in advances if x in narrow),
        *(_assumed_room(x, most, names) for x in kernel.assumptions if most in variables(x)),
    ]
    return None if None in rooms else tuple(dict.fromkeys(x for x in rooms if x))


def _room(name: str, type: Type, step: int | None) -> Headroom | None:
    """How often a variable may move on."""
    if not step:
        return None
    low, high = limits(type)
    number = f"(ptrdiff_t){name}"
    room = f"({high} - {number})" if step > 0 else f"({number} - ({low}))"
    return Headroom(f"{room} / {abs(step)}", 1 << type.bits)


def _assumed_room(assumption: Expr, most: str, names: Mapping[str, str]) -> Headroom | Literal[""] | None:
    """The most iterations with which a condition holds; "" where any number will do."""
    if not isinstance(assumption, Compare) or assumption.op != "ge":
        return None
    found = coefficient_of(sub(assumption.left, assumption.right), most)
    if found is None or found[0] >= 0:
        return None if found is None else ""
    rest = polynomial(found[1])
    if not all(isinstance(x, Var) for factors in rest for x in factors):
        return None
    total = " + ".join(
        " * ".join((str(size), *(f"(ptrdiff_t)({names[x.name]})" for x in factors if isinstance(x, Var))))
        for factors, size in rest.items()
    )
    # That is about the largest number of a type: less where the counter begins with a number, more by what is added.
    bits = next((x for x in _WIDTHS if rest.get((), 0) < 3 << x - 1), max(_WIDTHS))
    return Headroom(f"({total or 0}) / {-found[0]}", 1 << bits)


def is_endless(loop: c_ast.For | c_ast.While, bound: BoundNames) -> bool:
    """Whether the head of a loop never ends it."""
    return loop.cond is None or bool(bound.value(loop.cond))


def as_endless(loop: c_ast.DoWhile, bound: BoundNames) -> c_ast.For | None:
    """A loop with its condition behind the body as one that nothing but an exit at its end ends; None where another
    statement goes there."""
    body = without_continue(loop.stmt)
    value = bound.value(loop.cond)
    if value == 0 or any(isinstance(x, c_ast.Continue) for x in walk_tree(body)):
        return None
    leave = c_ast.Compound([c_ast.Break(loop.coord)], loop.coord)
    last = [] if value else [c_ast.If(c_ast.UnaryOp("!", loop.cond, loop.coord), leave, None, loop.coord)]
    return c_ast.For(None, None, None, c_ast.Compound([*items_of(body), *last], loop.coord), loop.coord)


def with_count(loop: c_ast.For | c_ast.While, bound: BoundNames) -> CountedLoop | None:
    """The same loop with a counter, which begins at 0; None where something in its condition may count already."""
    number = CScalar(I64, "long", "long")
    counter, most = Symbol(COUNTER, COUNTER, number, "local"), Symbol(MOST, MOST, number, "local", const=True)
    counted: c_ast.Node = c_ast.BinaryOp("<", *(bound.mention(x, loop.coord) for x in (counter, most)), loop.coord)
    cond = counted if is_endless(loop, bound) else c_ast.BinaryOp("&&", counted, loop.cond, loop.coord)
    parts = split_condition(cond, changed_in(loop, bound), bound)
    if parts is None or parts[0] is not counted:
        return None
    step: c_ast.Node = c_ast.UnaryOp("p++", bound.mention(counter, loop.coord), loop.coord)
    first, before = (loop.init, loop.next) if isinstance(loop, c_ast.For) else (None, None)
    if before is not None:
        steps = before.exprs if isinstance(before, c_ast.ExprList) else [before]
        step = c_ast.ExprList([*steps, step], loop.coord)
    zero = c_ast.Constant("int", "0", loop.coord)
    start = bound.keep(c_ast.Assignment("=", bound.mention(counter, loop.coord), zero, loop.coord))
    return CountedLoop(c_ast.For(first, cond, step, loop.stmt, loop.coord), start, counter)
