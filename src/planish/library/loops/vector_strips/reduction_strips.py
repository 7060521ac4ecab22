"""Nests whose iterations each reduce over inner loops, in strips: the accumulators of a strip stay in registers.

The lanes are iterations of a loop around the reductions (outer-loop vectorisation): what it does before, in and behind
the inner loops is cut into pieces (loop distribution), each a loop over lanes that an instruction is given, and cells
that several pieces use become one for each lane (scalar expansion). Where rows share what they read, several are done
together, and the innermost loop is unrolled as far as that is cheaper (unroll-and-jam): two rows of a matrix are what
`vpmaddwd` takes.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.library.loops.vector_strips.reduction_nests import find_reductions
>>> text = '''kernel k(n, m; A: u8[m, n], B: u8[n]) { alloc s: u8[max(n, 0)] distinct for c in 0 .. n {
...   s[c] = 7:u8 for i in 0 .. m { s[c] = max(s[c], A[i, c]) } B[c] = s[c] } }'''
>>> (nest,) = find_reductions(parse_kernel(text))
>>> choose = lambda part, rows, cells: ("copy", 2.0 ** len(part(0, rows).body.body))
>>> main, rest = strip_reduction(nest, 16, 1, choose, {})
>>> print(print_stmt(main), end="")
for c_strip in 0 .. n // 16 {
  alloc s_lanes: u8[1, 16] distinct stack
  for c_lane in 0 .. 16 as copy {
    s_lanes[0, c_lane] = 7:u8
  }
  for i in 0 .. m {
    for c_lane in 0 .. 16 as copy {
      let s_1 = s_lanes[0, c_lane]
      let s_2 = max(s_1, A[i, 16 * c_strip + c_lane])
      s_lanes[0, c_lane] = s_2
    }
  }
  for c_lane in 0 .. 16 as copy {
    B[16 * c_strip + c_lane] = s_lanes[0, c_lane]
  }
}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planish.ir.accesses import map_accesses
from planish.ir.expr import Binary, Compare, Expr, Load, Var, index, type_of
from planish.ir.index.polynomial import add, constant, mul, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Let, Stmt
from planish.ir.traverse import substitute_block, substitute_stmt, variables
from planish.ir.types import INDEX
from planish.isa.select.lane_values import NoCover
from planish.library.loops.vector_strips.reduction_nests import (
    ReductionNest,
    is_short,
    iterations,
    pieces,
    straight_piece,
)
from planish.library.loops.vector_strips.strip_nest import Part, clamped, has_iterations

UNROLLED = (1, 2, 4)
"""So many iterations of an innermost loop are done together, as far as each more is cheaper."""
_CHEAPER = 0.95
Choose = Callable[[Part, int, Sequence[Array]], tuple[str, float]]
"""The instruction that does a loop over lanes of so many rows, which may touch some more arrays, and its cycles of
throughput."""


def rows_of(nest: ReductionNest, lanes: int, bits: int, registers: int) -> int:
    """The rows that are done together: as many as half of the registers, of so many bits, hold accumulators for."""
    if nest.rows is None or not nest.again:
        return 1
    each = max(-(-lanes * x.type.bits // bits) for x in nest.cells.values())
    count = 1
    while 2 * count * each <= registers // 2 and count < 8:
        count *= 2
    most = constant(simplify(iterations(nest.rows)))
    return count if most is None or most >= count else 1


def strip_reduction(
    nest: ReductionNest, lanes: int, rows: int, choose: Choose, left: dict[str, None], unroll: int | None = None
) -> tuple[Stmt, ...]:
    """The nest in strips of so many lanes and rows; what `choose` raises where a piece in a loop has no instruction.
    `left`: gets the reasons for which others have none; `unroll`: the iterations of innermost loops at a time, None for
    as many as are cheapest."""
    if nest.rows is not None and rows > 1:
        return (_blocks(nest, lanes, rows, choose, left, unroll),)
    first: tuple[Expr, ...] = () if nest.rows is None else (Var(nest.rows.var, INDEX),)
    made = _strips(nest, first, lanes, choose, left, unroll)
    return tuple(made) if nest.rows is None else (replace(nest.rows, body=Block(tuple(made)), label=0),)


def _blocks(
    nest: ReductionNest, lanes: int, rows: int, choose: Choose, left: dict[str, None], unroll: int | None
) -> Stmt:  # fmt: skip
    """Blocks of rows in strips. The last ones overlap those before, where what is done twice is the same; one row at a
    time where there are fewer rows, or columns, than a block has."""
    assert nest.rows is not None
    single = strip_reduction(nest, lanes, 1, choose, left, unroll)
    row, y = clamped(nest.fresh, nest.rows, rows)
    column, x = clamped(nest.fresh, nest.loop, lanes)
    places = [add(Var(y.var, INDEX), index(r)) for r in range(rows)]
    pieces = _Pieces(nest, places, Var(x.var, INDEX), lanes, choose, left, unroll).written()
    inner = replace(column, body=Block((x, *pieces)))
    blocks = replace(row, body=Block((y, inner)))
    return If(whole_blocks(nest, lanes, rows), Block((blocks,)), Block(single))


def counted_reduction(
    nest: ReductionNest, lanes: int, rows: int, choose: Choose, unroll: int | None = None
) -> tuple[Stmt, ...]:  # fmt: skip
    """The nest in blocks of so many lanes and rows, the last ones of which overlap those before: loops without
    conditions, which are right where there are as many iterations as a block has (`whole_blocks`). `unroll`: as
    for `strip_reduction`. NoCover where a piece has no instruction, or none may be done twice."""
    if not nest.again:
        raise NoCover("it stores to what it reads")
    left: dict[str, None] = {}
    column, x = clamped(nest.fresh, nest.loop, lanes)
    row, y = (None, None) if nest.rows is None else clamped(nest.fresh, nest.rows, rows)
    places = [] if y is None else [add(Var(y.var, INDEX), index(r)) for r in range(rows)]
    pieces = _Pieces(nest, places, Var(x.var, INDEX), lanes, choose, left, unroll).written()
    if left:
        raise NoCover(next(iter(left)))
    inner = replace(column, body=Block((x, *pieces)))
    return (inner,) if row is None or y is None else (replace(row, body=Block((y, inner))),)


def whole_blocks(nest: ReductionNest, lanes: int, rows: int) -> Expr:
    """That a nest has as many iterations as a block of it."""
    columns = has_iterations(nest.loop, lanes)
    return simplify(columns if nest.rows is None else Binary("and", has_iterations(nest.rows, rows), columns))


def _strips(
    nest: ReductionNest, rows: Sequence[Expr], lanes: int, choose: Choose, left: dict[str, None], unroll: int | None
) -> list[Stmt]:  # fmt: skip
    """The strips of one row, and what is left of it."""
    loop, count = nest.loop, simplify(iterations(nest.loop))
    strip = nest.fresh(f"{loop.var}_strip")
    at = add(loop.lower, mul(index(lanes), Var(strip, INDEX)))
    main = For(strip, index(0), simplify(Binary("floordiv", count, index(lanes))), 1,
               Block(tuple(_Pieces(nest, rows, at, lanes, choose, left, unroll).written())))  # fmt: skip
    rest = simplify(Binary("mod", count, index(lanes)))
    if not nest.again:
        filled = Binary("floordiv", simplify(Binary("max", count, index(0))), index(lanes))
        begin = simplify(add(loop.lower, Binary("mul", filled, index(lanes))))
        return [main, _plain(nest, begin)]
    last = _Pieces(nest, rows, sub(loop.upper, index(lanes)), lanes, choose, left, unroll).written()
    inner = If(Compare("ge", count, index(lanes)), Block(tuple(last)), Block((_plain(nest, loop.lower),)))
    return [main, If(Compare("gt", rest, index(0)), Block((inner,)))]


def _plain(nest: ReductionNest, begin: Expr) -> For:
    """The loop from an iteration on as it is, one after the other, each cell a scalar."""
    cells = {name: Array(nest.fresh(f"{name}_cell"), x.type, (), memory="register") for name, x in nest.cells.items()}

    def block(body: Block) -> Iterator[Stmt]:
        for piece in pieces(body):
            if isinstance(piece, For):
                yield replace(piece, body=Block(tuple(block(piece.body))), label=0)
            else:
                yield from _renamed(straight_piece(nest, piece), cells, ())

    body = (*map(Alloc, cells.values()), *block(nest.loop.body))
    return replace(nest.loop, lower=begin, body=Block(body), label=0)


def _renamed(body: Sequence[Stmt], cells: Mapping[str, Array], place: tuple[Expr, ...]) -> tuple[Stmt, ...]:
    """Statements with the elements of some arrays at one place of others."""

    def moved(x: Load) -> Load:
        return replace(x, array=cells[x.array].name, index=place) if x.array in cells else x

    return map_accesses(moved, Block(tuple(body))).body


@dataclass(slots=True)
class _Pieces:
    """Writes the pieces of a strip: rows and the first column as expressions."""

    nest: ReductionNest
    rows: Sequence[Expr]
    column: Expr
    lanes: int
    choose: Choose
    left: dict[str, None]
    unroll: int | None = None
    arrays: dict[str, Array] = field(default_factory=dict)

    def written(self) -> list[Stmt]:
        """The cells of all lanes, and the pieces."""
        count = max(1, len(self.rows))
        made: list[Stmt] = []
        for name, array in self.nest.cells.items():
            shape = index(count), index(self.lanes)
            new = Array(self.nest.fresh(f"{name}_lanes"), array.type, shape, distinct=True, memory="stack")
            self.arrays[name] = new
            made.append(Alloc(new))
        return made + self.block(self.nest.loop.body)

    def block(self, block: Block) -> list[Stmt]:
        made: list[Stmt] = []
        for x in pieces(block):
            made += self.loop(x) if isinstance(x, For) else [self.piece(x, block is self.nest.loop.body)]
        return made

    def piece(self, run: Sequence[Stmt], once: bool) -> For:
        """A piece between loops; what is done once an iteration may have no instruction, and is left to the C compiler
        then."""
        try:
            return self.lane_loop(run)[0]
        except NoCover as error:
            if not once:
                raise
            self.left[str(error)] = None
            return self.part(run)(0, max(1, len(self.rows)))

    def loop(self, x: For) -> list[Stmt]:
        """A loop around pieces; several iterations at once where it is around one, and that is cheaper."""
        if x.step != 1 or any(isinstance(y, For) and not is_short(y) for y in x.body.body):
            return [replace(x, body=Block(tuple(self.block(x.body))), label=0)]
        single, least = self.lane_loop(x.body.body)
        plain = replace(x, body=Block((single,)), label=0)
        turn, best = self.nest.fresh(f"{x.var}_turn"), (1, single)
        for times in UNROLLED[1:] if self.unroll is None else (self.unroll,):
            if times == 1:
                break
            try:
                several, cost = self.lane_loop(self.unrolled(x, turn, times))
            except NoCover:
                break
            if self.unroll is None and cost / times > least * _CHEAPER:
                break
            least, best = cost / times, (times, several)
        times, body = best
        if times == 1:
            return [plain]
        count = simplify(Binary("max", iterations(x), index(0)))
        turns = simplify(Binary("floordiv", count, index(times)))
        rest = simplify(add(x.lower, mul(index(times), turns)))
        return [For(turn, index(0), turns, 1, Block((body,))), replace(plain, lower=rest)]

    def unrolled(self, x: For, turn: str, times: int) -> list[Stmt]:
        first = add(x.lower, mul(index(times), Var(turn, INDEX)))
        return [y for at in range(times) for y in substitute_block(x.body, {x.var: add(first, index(at))}).body]

    def lane_loop(self, run: Sequence[Stmt]) -> tuple[For, float]:
        """A piece as a loop over lanes, given to an instruction, and what that costs."""
        part = self.part(run)
        count = max(1, len(self.rows))
        name, cost = self.choose(part, count, [*self.arrays.values()])
        whole = part(0, count)
        return replace(whole, facts=replace(whole.facts, instruction=name)), cost

    def part(self, run: Sequence[Stmt]) -> Part:
        """A piece of some rows as a loop over lanes."""
        body = straight_piece(self.nest, run)
        lane = self.nest.fresh(f"{self.nest.loop.var}_lane")

        def part(first: int, last: int) -> For:
            statements = [y for at in range(first, last) for y in self.row(body, at, lane, at - first)]
            ordered = [x for x in statements if isinstance(x, Let)] + [x for x in statements if isinstance(x, Assign)]
            return For(lane, index(0), index(self.lanes), 1, Block(tuple(ordered)))

        return part

    def row(self, body: Sequence[Let | Assign], at: int, lane: str, number: int) -> list[Stmt]:
        """The statements of one row, which is so many rows below the first of those that are done together."""
        place = add(self.column, Var(lane, INDEX))
        values: dict[str, Expr] = {self.nest.loop.var: place}
        if self.nest.rows is not None:
            values[self.nest.rows.var] = self.rows[at]
        made: list[Stmt] = []
        moving = {lane}
        for x in _renamed(body, self.arrays, (index(at), Var(lane, INDEX))):
            y = substitute_stmt(x, values)
            if isinstance(y, Let) and not moving & variables(y.value):
                # In an instruction, what is the same in all lanes is a scalar operand.
                values[y.var] = y.value
                continue
            if isinstance(y, Let):
                new = self.nest.fresh(f"{y.var}_row{number}") if number else y.var
                values[y.var] = Var(new, type_of(y.value))
                moving.add(new)
                y = replace(y, var=new)
            made.append(y)
        return made
