"""Low-precision products that accumulate in wider types: arrays are viewed as wide ones, so that single-type operations
match. Widening is exact.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "kernel k(n; a: u8[n], b: i8[n], s: i32[]) { for i in 0 .. n { s[] += i32(a[i]) * i32(b[i]) } }"
>>> wide, narrow = widen(parse_kernel(text))
>>> print(print_stmt(wide.body.body[0]).splitlines()[1].strip(), {x: str(t) for x, t in narrow.items()})
s[] += a[i] * b[i] {'a': 'u8', 'b': 'i8'}
>>> print(print_stmt(as_it_is(wide, narrow).body.body[0]).splitlines()[1].strip())
s[] += i32(a[i]) * i32(b[i])
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from planish.ir.accesses import map_values
from planish.ir.expr import Cast, Const, Expr, Load
from planish.ir.nest import Alloc, Array, Assign, Block, Kernel, Reduce, Stmt
from planish.ir.traverse import children, expressions, map_block, walk
from planish.ir.types import BF16, F32, I8, I16, I32, U8, Type
from planish.raising.algebra.product import Product
from planish.raising.algebra.product_reader import read_product
from planish.raising.raised import Apply, Loops, Raised, Step, case_locals, walk_steps

WIDE: Mapping[Type, Type] = {U8: I32, I8: I32, I16: I32, BF16: F32}
"""As what numbers of a narrow type are seen."""


def widen(kernel: Kernel) -> tuple[Kernel, Mapping[str, Type]]:
    """The kernel with every read-only narrow array widened, in each combination, and the arrays' original types."""
    written = {x.array for x in walk(kernel.body) if isinstance(x, Assign | Reduce)}
    narrow = {x.name: x.type for x in kernel.arrays if x.type in WIDE and x.name not in written}
    for stmt in walk(kernel.body):
        for expr in expressions(stmt):
            for name in _as_narrow(expr):
                narrow.pop(name, None)
    if not narrow:
        return kernel, narrow

    def wide(expr: Expr) -> Expr:
        match expr:
            case Cast(operand=Load(array=name, type=own) as load, type=type) if (
                narrow.get(name) == own and type == WIDE[own]  # a conversion of what was made wide stays
            ):
                return replace(load, type=type)
            case _:
                return expr

    body = map_values(wide, kernel.body)
    arrays = tuple(replace(x, type=WIDE[x.type]) if x.name in narrow else x for x in kernel.arrays)
    return replace(kernel, arrays=arrays, body=body), narrow


def _as_narrow(expr: Expr) -> Iterator[str]:
    """The arrays of which an expression uses elements that are not made wide."""
    match expr:
        case Cast(operand=Load() as load, type=type) if type == WIDE.get(load.type):
            parts: tuple[Expr, ...] = load.index
        case _:
            if isinstance(expr, Load):
                yield expr.array
            parts = children(expr)
    for part in parts:
        yield from _as_narrow(part)


def with_copies(raised: Raised, narrow: Mapping[str, Type], kept: Collection[str] = ()) -> dict[str, Type]:
    """The types of narrow arrays, and of local ones that hold nothing but elements of one type of these, or zeros, and
    need not be wide, but for the caller's, which are `kept`."""
    locals = (*raised.locals, *case_locals(raised.steps))
    wide = {WIDE[x] for x in narrow.values()}
    types_of = {x.name: x.type for x in (*raised.kernel.arrays, *locals, *(x.array for x in raised.reshapes))}
    out, free = dict(narrow), {x.name for x in locals if x.type in wide} - {*kept}
    if not narrow:
        return out
    base = {x.array.name: x.of for x in raised.reshapes}
    stores: dict[str, set[str]] = {}
    for step in walk_steps(raised.steps):
        for array, source in _stores(step, types_of):
            stores.setdefault(base.get(array, array), set()).add(base.get(source, source))
    known = {""}
    while known:
        # What is copied from a copy is one, too.
        types = {x: {out[z] for z in y - {_ZERO}} for x, y in stores.items() if y <= {_ZERO, *out}}
        known = {x for x, y in types.items() if x in free and len(y) == 1} - {*out}
        out |= {x: next(iter(types[x])) for x in known}
    return out | {x: out[y] for x, y in base.items() if y in out}


_ZERO = "0"
"""What stands for zeros among the arrays that are copied."""


def _stores(step: Step, types: Mapping[str, Type]) -> Iterator[tuple[str, str]]:
    """The arrays that a step stores to, each with the one whose elements these are ("": others); `types`: of arrays."""
    match step:
        case Loops(body=body):
            for stmt in walk(body):
                match stmt:
                    case Assign(array=array, value=Load(array=source)):
                        yield array, source
                    case Assign(array=array, value=Const(value=0)):
                        yield array, _ZERO
                    case Assign(array=array) | Reduce(array=array):
                        yield array, ""
                    case _:
                        pass
        case Apply():
            output = step.operands[step.operation.output].array
            found = read_product(step, types[output])
            copies = isinstance(found, Product) and found.overwrites and len(found.factors) == 1 and not found.sums
            plain = copies and isinstance(found, Product) and found.alpha is None
            yield output, found.factors[0].view.array if plain and isinstance(found, Product) else ""
        case _:
            pass


def with_types(arrays: Mapping[str, Array], narrow: Mapping[str, Type]) -> dict[str, Array]:
    """Arrays with the types that they have."""
    return {x: replace(y, type=narrow.get(x, y.type)) for x, y in arrays.items()}


def as_it_is(kernel: Kernel, narrow: Mapping[str, Type]) -> Kernel:
    """A kernel over wide arrays as one over the narrow ones that they are."""
    if not narrow:
        return kernel
    arrays = with_types({x.name: x for x in kernel.arrays}, narrow)
    return replace(kernel, arrays=tuple(arrays.values()), body=_as_they_are(kernel.body, narrow))


def _as_they_are(block: Block, narrow: Mapping[str, Type]) -> Block:

    def made(expr: Expr) -> Expr:
        match expr:
            case Load(array=name, type=type) if name in narrow and type == WIDE[narrow[name]]:
                return Cast(replace(expr, type=narrow[name]), type)
            case _:
                return expr

    block = map_values(made, block)

    def stored(stmt: Stmt) -> Stmt:
        match stmt:
            case Assign(array=name, value=Cast(operand=Load(type=type) as load)) if narrow.get(name) == type:
                return replace(stmt, value=load)
            case Assign(array=name, value=Const(value=0, type=type) as zero) if name in narrow and type != narrow[name]:
                return replace(stmt, value=replace(zero, type=narrow[name]))
            case Alloc(array=array) if array.name in narrow:
                return replace(stmt, array=replace(array, type=narrow[array.name]))
            case _:
                return stmt

    return map_block(stored, block)
