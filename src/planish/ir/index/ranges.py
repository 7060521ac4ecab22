"""Between which values integer cells and subscripts are, as index expressions, from what they are set to.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.index.polynomial import show
>>> inner = "p[] = i32(k) for i in k + 1 .. n { p[] = select(A[i, k] > A[k, k], i32(i), p[]) } B[k] = p[]"
>>> text = "kernel k(n; A: f64[n, n], p: i32[] distinct, B: i32[n]) { for k in 0 .. n { %s } }"
>>> [show(x) for x in find_range(parse_kernel(text % inner).body, "p")]
['k', 'n']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planish.ir.expr import Cast, Const, Expr, Load, Select, index
from planish.ir.index.polynomial import add, constant, linear_in, names, place, sub
from planish.ir.nest import Alloc, Assign, Block, For, Reduce, Stmt
from planish.ir.passes.declaration_sinking import exposed
from planish.ir.traverse import arrays_in

Range = tuple[Expr, Expr]
"""The least value, and what is one more than the largest one."""


def find_range(block: Block, name: str, around: tuple[For, ...] = ()) -> Range | None:
    """Between which values a cell is, in a block or the innermost loop in it that always sets it first."""
    users = [x for x in block.body if name in arrays_in(x)]
    if len(users) == 1 and isinstance(users[0], For) and not exposed(users[0].body, name):
        return find_range(users[0].body, name, (*around, users[0]))
    if not users or not isinstance(users[0], Assign) or users[0].array != name or exposed(block, name):
        return None
    lower = upper = None
    for value, loops in _values(block.body, name, ()):
        if value is None:
            return None
        low, high = (extreme(value, loops, x) for x in (False, True))
        if low is None or high is None:
            return None
        lower, upper = _least(lower, low, around, 1), _least(upper, add(high, index(1)), around, -1)
        if lower is None or upper is None:
            return None
    return None if lower is None or upper is None else (lower, upper)


def _values(
    stmts: tuple[Stmt, ...], name: str, loops: tuple[For, ...]
) -> Iterator[tuple[Expr | None, tuple[For, ...]]]:
    """What a cell is set to, with the loops around; None: this is no index."""
    for stmt in stmts:
        match stmt:
            case For(body=body):
                yield from _values(body.body, name, (*loops, stmt))
            case Assign(array=array, value=value) if array == name:
                yield from ((x, loops) for x in _alternatives(value, name))
            case Reduce(array=array) if array == name:
                yield None, loops
            case Assign() | Reduce() | Alloc():
                pass
            case _ if name in arrays_in(stmt):
                yield None, loops
            case _:
                pass


def _alternatives(value: Expr, name: str) -> Iterator[Expr | None]:
    match value:
        case Select(then=then, otherwise=otherwise):
            yield from _alternatives(then, name)
            yield from _alternatives(otherwise, name)
        case Load(array=array) if array == name:
            pass
        case Const(value=number, type=type) if type.is_int:
            yield index(int(number))
        case Cast(operand=operand, type=type) if type.is_int and operand == place(operand, {}):
            yield operand
        case _:
            yield None


def extreme(value: Expr, loops: Sequence[For], largest: bool) -> Expr | None:
    """The least or the largest value that an index has in some loops; None: not known."""
    for loop in reversed(loops):
        if loop.var not in names(value):
            continue
        parts = linear_in(value, loop.var)
        factor = None if parts is None or set(parts[0]) != {()} else parts[0][()]
        if factor is None or loop.step != 1:
            return None
        value = place(value, {loop.var: sub(loop.upper, index(1)) if largest == (factor > 0) else loop.lower})
    return value


def _least(known: Expr | None, other: Expr, around: tuple[For, ...], sign: int) -> Expr | None:
    """The lesser one of two indices, or the larger one for a `sign` of -1; None where that cannot be told."""
    if known is None:
        return other
    for one, two in ((known, other), (other, known)):
        difference = extreme(sub(two, one) if sign > 0 else sub(one, two), around, False)
        number = None if difference is None else constant(difference)
        if number is not None and number >= 0:
            return one
    return None
