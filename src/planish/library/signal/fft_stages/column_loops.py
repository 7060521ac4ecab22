"""Loops that run all stages of a column in registers: along rows, or over transposed squares.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
>>> from planish.library.signal.fft_stages.butterfly_columns import read_columns
>>> stage = "for i in 0 .. %s { for j in 0 .. %s { a[%s] = a[%s] - a[%s] } }"
>>> first = stage % ("s", "h", "2 * h * i + j", "2 * h * i + j", "2 * h * i + j + h")
>>> kernel = parse_kernel("kernel k(h, s; a: f32[?]) { %s }" % first)
>>> print(print_kernel(write_rows(kernel, read_columns(kernel, "h", "s"))), end="")
kernel k(h, s; a: f32[?])
{
  for o in 0 .. s {
    for p in 0 .. h simd {
      alloc a0: f32[] distinct register
      a0[] = a[2 * h * o + p]
      alloc a1: f32[] distinct register
      a1[] = a[2 * h * o + h + p]
      a0[] = a0[] - a1[]
      a[2 * h * o + p] = a0[]
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from planish.core.names import take_name
from planish.ir.accesses import reads
from planish.ir.expr import Binary, Cast, Compare, Expr, Load, index
from planish.ir.index.polynomial import add, mul, place
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, LoopFacts, Stmt
from planish.ir.traverse import map_block, map_exprs, substitute, substitute_block, used_names
from planish.library.kernels.vectors import Vectors
from planish.library.signal.fft_stages.butterfly_columns import ButterflyColumns, ColumnElement
from planish.schedule.program import Program
from planish.schedule.steps.instructions import Replace


def write_rows(kernel: Kernel, columns: ButterflyColumns) -> Kernel:
    """The kernel with one loop along the rows, whose iterations are columns and may be vectorised."""
    body = Block(tuple(_column(columns, lambda x: columns.element(x, index(columns.number)))))
    along = For(columns.place, index(0), index(columns.unit), 1, body, LoopFacts(simd=True))
    over = For(columns.number, index(0), index(columns.steps), 1, Block((along,)))
    return replace(kernel, body=_around(columns, over))


def write_neighbours(kernel: Kernel, columns: ButterflyColumns) -> Kernel:
    """The kernel for rows of one element, so that a column is a few neighbours."""
    body = Block(tuple(_column(columns, lambda x: columns.element(x, index(columns.number)))))
    over = For(columns.number, index(0), index(columns.steps), 1, _of_one(columns, body))
    asked = Compare("eq", index(columns.unit), index(1))
    return replace(kernel, body=_around(columns, over), assumptions=(*kernel.assumptions, asked))


def allows_squares(columns: ButterflyColumns, vectors: Vectors) -> bool:
    """Whether columns of neighbours can be turned: each array's begin at a multiple of their length, which is one of a
    vector's, and have all elements of it."""
    whole = {(x.array, x.at) for x in columns.places}
    return vectors.has("transpose") and not columns.outer and all(
        not x.front and x.first == index(0) and x.elements % vectors.lanes == 0
        and all((name, at) in whole for at in range(x.elements))
        for name, x in columns.lines.items()
    ) and all(x.type == vectors.type for x in columns.places)  # fmt: skip


def write_squares(kernel: Kernel, columns: ButterflyColumns, vectors: Vectors) -> Kernel:
    """The kernel for rows of one element: as many columns as a vector has lanes are transposed into lanes, and back.
    `allows_squares` says where that is possible."""
    lanes, taken = vectors.lanes, {*used_names(kernel), columns.number, columns.place}
    taken |= {x.cell for x in columns.places}
    block, lane = take_name("b", taken), take_name("l", taken)
    lengths = {name: index(x.elements) for name, x in columns.lines.items()}
    arrays = [
        Array(x.name, x.type, (None, lengths[x.name]), x.distinct) if x.name in lengths else x for x in kernel.arrays
    ]
    inner: list[Stmt] = []
    turned = {name: take_name(f"{name}_turned", taken) for name in columns.lines}
    back: list[Stmt] = []
    loops: list[str] = []
    for name, line in columns.lines.items():
        shape = (index(line.elements), index(lanes))
        inner.append(Alloc(Array(turned[name], vectors.type, shape, True, "stack")))
        for first in range(0, line.elements, lanes):
            names = [take_name(x, taken) for x in ("r", "c", "c", "r")]
            loops += [names[0], names[2]]
            number = add(mul(index(lanes), index(block)), index(names[0]))
            row = add(index(first), index(names[1]))
            value = Load(name, (number, row), vectors.type)
            inner.append(_twice(names[:2], lanes, Assign(turned[name], (row, index(names[0])), value)))
            number = add(mul(index(lanes), index(block)), index(names[3]))
            row = add(index(first), index(names[2]))
            value = Load(turned[name], (row, index(names[3])), vectors.type)
            back.append(_twice(names[2:], lanes, Assign(name, (number, row), value)))
    stmts = Block(tuple(_column(columns, lambda x: (index(x.at), index(lane)), turned)))
    number = add(mul(index(lanes), index(block)), index(lane))
    stmts = substitute_block(stmts, {columns.number: number})
    middle = For(lane, index(0), index(lanes), 1, _of_one(columns, stmts), LoopFacts(simd=True))
    count = Binary("floordiv", index(columns.steps), index(lanes))
    over = For(block, index(0), count, 1, Block(()))
    left = Block(tuple(_column(columns, lambda x: (index(columns.number), index(x.at)))))
    rest = For(columns.number, mul(index(lanes), count), index(columns.steps), 1, _of_one(columns, left))
    asked = Compare("eq", index(columns.unit), index(1))
    # What is between plays no part when squares are given to an instruction, and is much to look through.
    turns = replace(kernel, arrays=tuple(arrays), body=Block((replace(over, body=Block((*inner, *back))),)))
    program = Program.of(turns, "strict")
    for loop in loops:
        program = program.apply(Replace(loop, vectors.name("transpose")))
    (made,) = program.kernel.body.body
    assert isinstance(made, For)
    stmts_made = made.body.body
    over = replace(made, body=Block((*stmts_made[: len(inner)], middle, *stmts_made[len(inner) :])))
    return replace(
        program.kernel, body=Block((over, rest)), assumptions=(*program.kernel.assumptions, asked)
    )  # fmt: skip


def reach(kernel: Kernel, columns: ButterflyColumns) -> Kernel:
    """A kernel that comes to all elements of which columns have some, first to last, and to what they read besides;
    of arrays of rows, to whole rows."""
    taken = {*used_names(kernel), columns.number, columns.place, *(x.cell for x in columns.places)}
    stmts: list[Stmt] = []
    number = index(columns.number)
    for name, line in columns.lines.items():
        places = [x for x in columns.places if x.array == name]
        width = kernel.array(name).shape[-1]
        if line.front and width is not None:
            along = take_name("q", taken)
            at = (*line.front, index(along))
            stmts.append(For(along, index(0), width, 1, Block((Assign(name, at, Load(name, at, places[0].type)),))))
        else:
            ends = (columns.element(x, number) for x in (places[0], places[-1]))
            stmts += [Assign(name, x, Load(name, x, places[0].type)) for x in ends]
    read = [x for x in reads(Block(tuple(columns.body))) if x.index]
    end = columns.places[0]
    # What is read into nothing that is kept would be left out.
    stmts += [Assign(end.array, columns.element(end, number), Cast(x, end.type)) for x in dict.fromkeys(read)]
    rows = For(columns.place, index(0), index(columns.unit), 1, Block(tuple(stmts)))
    over = For(columns.number, index(0), index(columns.steps), 1, Block((rows,)))
    return replace(kernel, body=_around(columns, over))


def _twice(names: list[str], lanes: int, stmt: Stmt) -> For:
    inner = For(names[1], index(0), index(lanes), 1, Block((stmt,)))
    return For(names[0], index(0), index(lanes), 1, Block((inner,)))


def _column(
    columns: ButterflyColumns,
    element: Callable[[ColumnElement], tuple[Expr, ...]],
    arrays: dict[str, str] | None = None,
) -> Iterator[Stmt]:
    """What is done with a column; `element` gives the subscripts of its elements, in other `arrays` where these are
    given."""
    names = arrays or {}
    for x in columns.places:
        yield Alloc(Array(x.cell, x.type, (), True, "register"))
        if x.loads:
            yield Assign(x.cell, (), Load(names.get(x.array, x.array), element(x), x.type))
    yield from columns.body
    for x in columns.places:
        if x.stores:
            yield Assign(names.get(x.array, x.array), element(x), Load(x.cell, (), x.type))


def _of_one(columns: ButterflyColumns, block: Block) -> Block:
    """Statements for rows of one element."""
    values = {columns.unit: index(1), columns.place: index(0)}

    def placed(expr: Expr) -> Expr:
        out = substitute(expr, values)
        return replace(out, index=tuple(place(x, {}) for x in out.index)) if isinstance(out, Load) else out

    return map_block(lambda x: map_exprs(placed, x), block)


def _around(columns: ButterflyColumns, loop: For) -> Block:
    """A loop in those around it."""
    for outer in reversed(columns.outer):
        loop = replace(outer, body=Block((loop,)))
    return Block((loop,))


__all__ = ["allows_squares", "reach", "write_neighbours", "write_rows", "write_squares"]
