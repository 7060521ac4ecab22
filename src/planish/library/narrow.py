"""Products of narrow integers, such as bytes, that are summed as wide ones: the arrays are seen as if they were wide,
so that operations are found whose operands are of one type; afterwards they are what they are.

>>> from planish.ir.parser import parse_kernel
>>> from planish.ir.printer import print_stmt
>>> text = "kernel k(n; a: u8[n], b: i8[n], s: i32[]) { for i in 0 .. n { s[] += i32(a[i]) * i32(b[i]) } }"
>>> wide, narrow = widen(parse_kernel(text))
>>> print(print_stmt(wide.body.body[0]).splitlines()[1].strip(), {x: str(t) for x, t in narrow.items()})
s[] += a[i] * b[i] {'a': 'u8', 'b': 'i8'}
>>> print(print_stmt(as_they_are(wide.body, narrow).body[0]).splitlines()[1].strip())
s[] += i32(a[i]) * i32(b[i])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from planish.ir.expr import Cast, Const, Expr, Load
from planish.ir.nest import Alloc, Assign, Block, Kernel, Reduce
from planish.ir.traverse import children, expressions, map_block, map_expr, map_exprs, walk
from planish.ir.types import I8, I16, I32, U8, Type
from planish.raising.raised import Apply, Loops, Raised, walk_steps

TYPES = (U8, I8, I16)
"""What may be seen as 32 bits wide."""


def widen(kernel: Kernel) -> tuple[Kernel, Mapping[str, Type]]:
    """The kernel with all arrays wide that are only read, and each time made wide; and what their types are."""
    written = {x.array for x in walk(kernel.body) if isinstance(x, Assign | Reduce)}
    narrow = {x.name: x.type for x in kernel.arrays if x.type in TYPES and x.name not in written}
    for stmt in walk(kernel.body):
        for expr in expressions(stmt):
            for name in _as_narrow(expr):
                narrow.pop(name, None)
    if not narrow:
        return kernel, narrow

    def wide(expr: Expr) -> Expr:
        match expr:
            case Cast(operand=Load(array=name) as load, type=type) if name in narrow and type == I32:
                return replace(load, type=I32)
            case _:
                return expr

    body = map_block(lambda stmt: map_exprs(lambda x: map_expr(wide, x), stmt), kernel.body)
    arrays = tuple(replace(x, type=I32) if x.name in narrow else x for x in kernel.arrays)
    return replace(kernel, arrays=arrays, body=body), narrow


def _as_narrow(expr: Expr) -> Iterator[str]:
    """The arrays of which an expression uses elements that are not made wide."""
    match expr:
        case Cast(operand=Load() as load, type=type) if type == I32:
            parts: tuple[Expr, ...] = load.index
        case _:
            if isinstance(expr, Load):
                yield expr.array
            parts = children(expr)
    for part in parts:
        yield from _as_narrow(part)


def with_copies(raised: Raised, narrow: Mapping[str, Type]) -> dict[str, Type]:
    """The types of narrow arrays, and of local ones that hold nothing but elements of one type of these, or zeros."""
    out = dict(narrow)
    if not narrow:
        return out
    stores: dict[str, list[Expr]] = {}
    computed: set[str] = set()
    for step in walk_steps(raised.steps):
        match step:
            case Loops(body=body):
                for stmt in walk(body):
                    if isinstance(stmt, Assign):
                        stores.setdefault(stmt.array, []).append(stmt.value)
                    elif isinstance(stmt, Reduce):
                        computed.add(stmt.array)
            case Apply():
                computed.add(step.operands[step.operation.output].array)
            case _:
                pass
    for local in raised.locals:
        values = stores.get(local.name, [])
        types = {out[x.array] for x in values if isinstance(x, Load) and x.array in out}
        zeros = sum(isinstance(x, Const) and x.value == 0 for x in values)
        copies = sum(isinstance(x, Load) and x.array in out for x in values)
        if local.type == I32 and len(types) == 1 and zeros + copies == len(values) and local.name not in computed:
            out |= dict.fromkeys([local.name], types.pop())
    return out


def as_they_are(block: Block, narrow: Mapping[str, Type]) -> Block:
    """A nest over wide arrays as one over the narrow ones that they are."""

    def made(expr: Expr) -> Expr:
        match expr:
            case Load(array=name, type=type) if name in narrow and type == I32:
                return Cast(replace(expr, type=narrow[name]), I32)
            case _:
                return expr

    block = map_block(lambda stmt: map_exprs(lambda x: map_expr(made, x), stmt), block)

    def stored(stmt):  # type: ignore[no-untyped-def]
        match stmt:
            case Assign(array=name, value=Cast(operand=Load(type=type) as load)) if narrow.get(name) == type:
                return replace(stmt, value=load)
            case Assign(array=name, value=Const(value=0, type=type)) if name in narrow and type == I32:
                return replace(stmt, value=Const(0, narrow[name]))
            case Alloc(array=array) if array.name in narrow:
                return replace(stmt, array=replace(array, type=narrow[array.name]))
            case _:
                return stmt

    return map_block(stored, block)
