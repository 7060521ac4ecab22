"""Register tiles: a loop runs in lanes, some vectors at a time, for some iterations of the loops around it at once.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
>>> text = "kernel f(m; A: f32[m, 64], B: f32[m, 64]) { for i in 0 .. m { for j in 0 .. 64 { B[i, j] += A[i, j] } } }"
>>> program = Program.of(parse_kernel(text))
>>> outer, inner = loops_of(program.kernel)
>>> print(print_kernel(tile(program, RegisterTile(inner.label, 32, 2)).kernel), end="")
kernel f(m; A: f32[m, 64], B: f32[m, 64])
{
  for i in 0 .. m {
    for l in 0 .. 32 simd {
      B[i, l] += A[i, l]
    }
    for l in 0 .. 32 simd {
      B[i, l + 32] += A[i, l + 32]
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from planish.core.diagnostic import PlanishError
from planish.ir.expr import Const, Expr, Load, Var, index
from planish.ir.index.polynomial import add, constant, floordiv, mul, normal, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, LoopFacts, Reduce, ReduceOp, Stmt
from planish.ir.semantics.arithmetic import limits
from planish.ir.traverse import loads, map_expr, substitute, variables, walk
from planish.ir.types import INDEX, Type
from planish.poly.isl.affine import NotAffineError
from planish.schedule.program import Cursor, Program
from planish.schedule.steps.facts import Vectorise
from planish.vliw.streams.placement import LANES
from planish.vliw.streams.row_ends import RowEnds, trip_of
from planish.vliw.streams.stream import RefusedError

LANE_NAME = "l"


@dataclass(frozen=True, slots=True)
class RegisterTile:
    """Loops by their labels: `lane` runs in lanes, so many `vectors` at a time; `rows` are loops around it of which so
    many iterations run at once. `exact`: arrays are as the caller has them, without anything behind their rows.
    `joined`: rows that are left over run at once with the last ones before them, where their number is known."""

    lane: int
    lanes: int
    vectors: int = 1
    rows: tuple[tuple[int, int], ...] = ()
    exact: bool = False
    joined: bool = False

    def describe(self, kernel: Kernel) -> str:
        """The tile in words."""
        named = {x.label: x.var for x in loops_of(kernel)}
        rows = "".join(f", {count} of {named[label]}" for label, count in self.rows if count > 1)
        joined = ", the last with those left over" if self.joined else ""
        return f"{named[self.lane]} in {self.lanes} lanes, {self.vectors} vectors{rows}{joined}"


@dataclass(frozen=True, slots=True)
class Tiled:
    """A kernel with loops over lanes; `sizes`: new ones, which follow from others; `plain`: arrays whose rows have got
    padding, as they were."""

    kernel: Kernel
    sizes: Mapping[str, Expr] = field(default_factory=dict)
    plain: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Copy:
    """One of the iterations that run at once: the values of loops, and what its cells' names end with."""

    values: Mapping[str, Expr]
    suffix: str = ""

    def put(self, x: Expr) -> Expr:
        """An expression in this iteration."""
        return substitute(x, self.values)


def loops_of(kernel: Kernel) -> tuple[For, ...]:
    """All loops, outer ones first."""
    return tuple(x for x in walk(kernel.body) if isinstance(x, For))


def reductions_of(program: Program, label: int) -> tuple[tuple[ReduceOp, str], ...] | None:
    """The cells that the lanes of a loop may add to apart; None where its iterations may not run in lanes."""
    try:
        made = program.apply(Vectorise(Cursor(program, label)))
    except (PlanishError, NotAffineError):
        return None
    return next(x.facts.reductions for x in loops_of(made.kernel) if x.label == label)


Legal = Mapping[int, "tuple[tuple[ReduceOp, str], ...] | None"]
"""What `reductions_of` says of loops by their labels."""


def tile(program: Program, *tiles: RegisterTile, legal: Legal | None = None) -> Tiled:
    """The kernel in register tiles; RefusedError where a loop may not run so, or its last vector has no place. `legal`:
    what is known of its loops."""
    kernel = program.kernel
    if legal is None:
        legal = {y: reductions_of(program, y) for x in tiles for y in (x.lane, *(label for label, _ in x.rows))}
    sizes: dict[str, Expr] = {}
    plain: dict[str, Array] = {}
    for x in tiles:
        sums = legal[x.lane]
        loop = next((y for y in loops_of(kernel) if y.label == x.lane), None)
        if sums is None or loop is None:
            raise RefusedError("iterations of the loop depend on one another", loop.span if loop else None)
        for label, _ in x.rows:
            if legal[label] != ():
                raise RefusedError("iterations of the loop around depend on one another", loop.span)
        ends = RowEnds(kernel, loop, x.lanes, bool(sums), arrays_of(kernel), plain, sizes, x.exact)
        kernel = _Tiler(x, dict(sums_by_name(sums)), ends).tiled()
    return Tiled(kernel, sizes, plain)


def arrays_of(kernel: Kernel) -> dict[str, Array]:
    """Its arrays and its local ones by their names."""
    local = {x.array.name: x.array for x in walk(kernel.body) if isinstance(x, Alloc)}
    return {x.name: x for x in kernel.arrays} | local


def sums_by_name(sums: Sequence[tuple[ReduceOp, str]]) -> Mapping[str, ReduceOp]:
    """The operation of each cell that is added to."""
    return {name: op for op, name in sums}


@dataclass(slots=True)
class _Tiler:
    """Makes one tile. `local`: cells that each iteration of the loops in it has for itself; `around`: the loops around
    the statement at hand, as they were."""

    tile: RegisterTile
    sums: dict[str, ReduceOp]
    ends: RowEnds
    local: dict[str, Array] = field(default_factory=dict)
    in_lanes: bool = False
    around: tuple[For, ...] = ()

    def tiled(self) -> Kernel:
        kernel, ends = self.ends.kernel, self.ends
        mode = ends.last_vector()
        body = Block(tuple(self.block(kernel.body, (_Copy({}),), mode)))
        changed = tuple(ends.arrays.get(x.name, x) for x in kernel.arrays)
        sizes = (*kernel.sizes, *(x for x in ends.sizes if x not in kernel.sizes))
        return replace(kernel, body=body, arrays=changed, sizes=sizes)

    @property
    def lane_loop(self) -> For:
        """The loop that runs in lanes."""
        return self.ends.loop

    @property
    def arrays(self) -> Mapping[str, Array]:
        """All arrays by their names."""
        return self.ends.arrays

    # Statements

    def block(self, block: Block, copies: tuple[_Copy, ...], mode: str) -> list[Stmt]:
        out: list[Stmt] = []
        for stmt in block.body:
            out += self.statement(stmt, copies, mode)
        return out

    def statement(self, stmt: Stmt, copies: tuple[_Copy, ...], mode: str) -> list[Stmt]:
        match stmt:
            case Block():
                return self.block(stmt, copies, mode)
            case For():
                return self.loop(stmt, copies, mode)
            case If():
                return self.condition(stmt, copies, mode)
            case Alloc(array=array):
                return self.allocate(stmt, array, copies)
            case Assign() | Reduce():
                return [self.placed(stmt, x) for x in copies]
            case _:
                raise RefusedError("a named value in a tile", self.lane_loop.span)

    def loop(self, loop: For, copies: tuple[_Copy, ...], mode: str) -> list[Stmt]:
        """A loop: the one in lanes, one of which several iterations run at once, or any other."""
        around, self.around = self.around, (*self.around, loop)
        try:
            if loop is self.lane_loop:
                return self.lane_strip(loop, copies, mode)
            if any(loop.label == label and count > 1 for label, count in self.tile.rows):
                return self.row_strip(loop, copies, mode)
            lower, upper = (self.same(x, copies, loop) for x in (loop.lower, loop.upper))
            body = Block(tuple(self.block(loop.body, copies, mode)))
            return [replace(loop, lower=lower, upper=upper, body=body)]
        finally:
            self.around = around

    def trip(self, loop: For, copies: tuple[_Copy, ...]) -> Expr:
        """How often a loop runs, which is the same in all iterations that run at once."""
        return simplify(self.same(trip_of(loop, self.around[:-1]), copies, loop))

    def same(self, x: Expr, copies: tuple[_Copy, ...], stmt: For) -> Expr:
        """A bound, which is the same in all iterations that run at once."""
        found = {normal(y.put(x)) for y in copies}
        if len(found) > 1 or self.in_lanes and self.lane_loop.var in variables(x):
            raise RefusedError(f"the bounds of `{stmt.var}` differ from iteration to iteration", stmt.span)
        return next(iter(found))

    def condition(self, stmt: If, copies: tuple[_Copy, ...], mode: str) -> list[Stmt]:
        """A condition: once where it is the same for all iterations, else for each."""
        once = len({x.put(stmt.condition) for x in copies}) == 1 and not self.is_varying(stmt.condition)
        if once:
            then, otherwise = (Block(tuple(self.block(x, copies, mode))) for x in (stmt.then, stmt.otherwise))
            return [replace(stmt, condition=copies[0].put(stmt.condition), then=then, otherwise=otherwise)]
        if any(not isinstance(x, Assign | Reduce) for y in (stmt.then, stmt.otherwise) for x in y.body):
            raise RefusedError("a loop or a scalar under a condition that differs between lanes", stmt.span)
        out: list[Stmt] = []
        for copy in copies:
            blocks = [Block(tuple(self.cell_names(x, copy) for x in y.body)) for y in (stmt.then, stmt.otherwise)]
            made = replace(stmt, condition=self.value(stmt.condition, copy), then=blocks[0], otherwise=blocks[1])
            out.append(self.over_lanes(made, copy))
        return out

    def is_varying(self, x: Expr) -> bool:
        """Whether a value differs from lane to lane."""
        cells = {y.array for y in loads(x)} & self.local.keys()
        return self.in_lanes and (self.lane_loop.var in variables(x) or bool(cells))

    def allocate(self, stmt: Alloc, array: Array, copies: tuple[_Copy, ...]) -> list[Stmt]:
        """A local array of each iteration that runs at once; a scalar one in lanes is a vector."""
        if array.shape and (self.in_lanes or len(copies) > 1):
            raise RefusedError(f"`{array.name}` is an array of each iteration", stmt.span)
        if not self.in_lanes and len(copies) == 1 and not copies[0].suffix:
            return [stmt]
        self.local[array.name] = array
        shape = (index(self.tile.lanes),) if self.in_lanes else ()
        memory = LANES if self.in_lanes else array.memory
        return [
            replace(stmt, array=replace(array, name=f"{array.name}{x.suffix}", shape=shape, memory=memory))
            for x in copies
        ]

    def placed(self, stmt: Assign | Reduce, copy: _Copy) -> Stmt:
        """An assignment in one iteration, or in a vector of them."""
        return self.over_lanes(self.cell_names(stmt, copy), copy) if self.in_lanes else self.cell_names(stmt, copy)

    def over_lanes(self, stmt: Stmt, copy: _Copy) -> For:
        upper = index(self.tile.lanes)
        return For(LANE_NAME, index(0), upper, 1, Block((stmt,)), LoopFacts(simd=True), getattr(stmt, "span", None))

    def cell_names(self, stmt: Stmt, copy: _Copy) -> Assign | Reduce:
        """An assignment with the cells of an iteration."""
        assert isinstance(stmt, Assign | Reduce)
        value = self.value(stmt.value, copy)
        if stmt.array in self.local or stmt.array in self.sums and self.in_lanes:
            place: tuple[Expr, ...] = (Var(LANE_NAME, INDEX),) if self.is_lane_cell(stmt.array) else ()
            return replace(stmt, array=f"{stmt.array}{copy.suffix}", index=place, value=value)
        return replace(stmt, index=tuple(normal(self.value(x, copy)) for x in stmt.index), value=value)

    def is_lane_cell(self, name: str) -> bool:
        return self.in_lanes and (name in self.sums or name in self.lane_cells)

    @property
    def lane_cells(self) -> set[str]:
        """The scalars of the loop in lanes."""
        return {x.array.name for x in walk(self.lane_loop) if isinstance(x, Alloc) and not x.array.shape}

    def value(self, x: Expr, copy: _Copy) -> Expr:
        """An expression in one iteration: its loops' values, its cells."""

        def celled(y: Expr) -> Expr:
            if not isinstance(y, Load) or y.array not in self.local:
                return y
            place: tuple[Expr, ...] = (Var(LANE_NAME, INDEX),) if self.is_lane_cell(y.array) else ()
            suffix = copy.suffix if self.is_lane_cell(y.array) or not self.in_lanes else self.row_suffix(copy)
            return Load(f"{y.array}{suffix}", place, y.type)

        made = map_expr(celled, copy.put(x))
        return map_expr(lambda y: replace(y, index=tuple(map(normal, y.index))) if isinstance(y, Load) else y, made)

    def row_suffix(self, copy: _Copy) -> str:
        """What the names of cells around the loop in lanes end with."""
        return copy.suffix.partition("~")[0]

    # Strips

    def row_strip(self, loop: For, copies: tuple[_Copy, ...], mode: str) -> list[Stmt]:
        """Some iterations at once, and the rest: at once as well where their number is known, else one by one."""
        count = next(n for label, n in self.tile.rows if label == loop.label)
        lower, upper = (self.same(x, copies, loop) for x in (loop.lower, loop.upper))
        if loop.step != 1:
            raise RefusedError(f"`{loop.var}` goes on by {loop.step}", loop.span)
        trip = self.trip(loop, copies)
        whole = simplify(mul(floordiv(trip, index(count)), index(count)))
        middle = simplify(add(lower, whole))
        out: list[Stmt] = []
        left = constant(sub(upper, middle)) or 1
        if self.tile.joined and constant(whole) and constant(sub(upper, middle)):
            middle, left = simplify(sub(middle, index(count))), left + count
        for first, last, step, suffix in ((lower, middle, count, ""), (middle, upper, left, ".r")):
            if constant(sub(last, first)) == 0:
                continue
            var = f"{loop.var}{suffix}"
            made = [
                _Copy({**x.values, loop.var: add(Var(var, INDEX), index(n))}, x.suffix + (f".{n}" if step > 1 else ""))
                for x in copies for n in range(step)
            ]  # fmt: skip
            kept = dict(self.local)
            body = Block(tuple(self.block(loop.body, tuple(made), mode)))
            self.local = kept
            out.append(For(var, first, last, step, body, LoopFacts(), loop.span))
        return out

    def lane_strip(self, loop: For, copies: tuple[_Copy, ...], mode: str) -> list[Stmt]:
        """Vectors: several at a time, the rest one by one, and what is left over."""
        lanes, count = self.tile.lanes, self.tile.vectors
        lower, upper = (self.same(x, copies, loop) for x in (loop.lower, loop.upper))
        trip = self.trip(loop, copies)
        over = lanes - 1 if mode == "padding" else 0
        vectors = simplify(floordiv(add(trip, index(over)), index(lanes)))
        known = constant(vectors)
        count = max(1, min(count, known)) if known is not None else count
        width = index(count * lanes)
        middle = simplify(add(lower, mul(floordiv(vectors, index(count)), width)))
        end = simplify(add(lower, mul(vectors, index(lanes))))
        out = self.start_sums(copies, count)
        out += self.vectors(loop, copies, mode, (lower, middle, count))
        if constant(sub(end, middle)) != 0:
            out += self.vectors(loop, copies, mode, (middle, end, 1))
        if mode == "overlap":
            last = sub(upper, index(lanes))
            out += self.vectors(loop, copies, mode, (last, upper, 1))
        out += self.finish_sums(copies, count)
        if mode == "rest":
            out += self.rest(loop, copies, (end, upper))
        return out

    def vectors(self, loop: For, copies: tuple[_Copy, ...], mode: str, part: tuple[Expr, Expr, int]) -> list[Stmt]:
        """A loop over vectors, so many at a time; no loop where it would run once."""
        first, last, count = part
        step = count * self.tile.lanes
        trip = constant(sub(last, first))
        if trip is not None and trip <= 0:
            return []
        once = trip is not None and trip <= step
        var = f"{loop.var}.v"
        base: Expr = first if once else Var(var, INDEX)
        made = tuple(
            _Copy({**x.values, loop.var: add(base, add(Var(LANE_NAME, INDEX), index(n * self.tile.lanes)))},
                  f"{x.suffix}~{n}")
            for x in copies for n in range(count)
        )  # fmt: skip
        kept, self.in_lanes = dict(self.local), True
        body = self.block(loop.body, made, mode)
        self.local, self.in_lanes = kept, False
        return body if once else [For(var, first, last, step, Block(tuple(body)), LoopFacts(), loop.span)]

    def rest(self, loop: For, copies: tuple[_Copy, ...], part: tuple[Expr, Expr]) -> list[Stmt]:
        """The last iterations one by one."""
        if constant(sub(part[1], part[0])) == 0:
            return []
        var = f"{loop.var}.r"
        made = tuple(_Copy({**x.values, loop.var: Var(var, INDEX)}, x.suffix) for x in copies)
        kept = dict(self.local)
        if len(made) > 1:
            self.local |= {x: self.arrays[x] for x in self.lane_cells}
        body = Block(tuple(self.block(loop.body, made, "rest")))
        self.local = kept
        return [For(var, part[0], part[1], 1, body, LoopFacts(), loop.span)]

    # Sums in lanes

    def start_sums(self, copies: tuple[_Copy, ...], count: int) -> list[Stmt]:
        """Vectors that sums are made in, apart."""
        out: list[Stmt] = []
        for name, op in self.sums.items():
            array = self.arrays[name]
            for x in copies:
                for n in range(count):
                    made = f"{name}{x.suffix}~{n}"
                    cell = Array(made, array.type, (index(self.tile.lanes),), True, LANES)
                    start = Assign(made, (Var(LANE_NAME, INDEX),), neutral(op, array.type))
                    out += [Alloc(cell), self.over_lanes(start, x)]
        return out

    def finish_sums(self, copies: tuple[_Copy, ...], count: int) -> list[Stmt]:
        """The vectors of each sum are combined, and then their lanes."""
        out: list[Stmt] = []
        lane = (Var(LANE_NAME, INDEX),)
        for name, op in self.sums.items():
            kind = self.arrays[name].type
            for x in copies:
                stems = [f"{name}{x.suffix}~{n}" for n in range(count)]
                while len(stems) > 1:
                    half = (len(stems) + 1) // 2
                    for one, other in zip(stems, stems[half:], strict=False):
                        out.append(self.over_lanes(Reduce(one, lane, op, Load(other, lane, kind)), x))
                    stems = stems[:half]
                target = f"{name}{x.suffix}" if name in self.local else name
                out.append(self.over_lanes(Reduce(target, (), op, Load(stems[0], lane, kind)), x))
        return out


def neutral(op: ReduceOp, kind: Type) -> Const:
    """The value that changes no sum, product or extremum."""
    match op:
        case "add" | "or" | "xor":
            return Const(0.0 if kind.is_float else 0, kind)
        case "mul":
            return Const(1.0 if kind.is_float else 1, kind)
        case "and":
            return Const(-1, kind)
        case _:
            if kind.is_float:
                return Const(float("inf") if op == "min" else float("-inf"), kind)
            low, high = limits(kind)
            return Const(high if op == "min" else low, kind)
