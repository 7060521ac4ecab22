"""Loops that add up, or take the extrema of, what strips of vectors compute: accumulators in lanes, folded behind.

>>> from planish.ir.text.parser import parse_kernel
>>> text = '''kernel k(m, n; A: u8[m, n], s: u32[] distinct) {
...   for y in 0 .. m { for x in 0 .. n { s[] += u32(A[y, x]) } } }'''
>>> (found,) = find_accumulated(parse_kernel(text))
>>> found.around.var, found.loop.var, [(x.op, x.array) for x in found.updates]
('y', 'x', [('add', 's')])
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planish.core.names import take_name
from planish.ir.expr import Binary, Cast, Const, Expr, Load, Var, index, type_of
from planish.ir.index.polynomial import add, constant
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Let, LoopFacts, Reduce, ReduceOp, Stmt
from planish.ir.traverse import arrays_in, blocks_of, expressions, loads, map_expr, used_names, variables, walk
from planish.ir.types import INDEX, Type
from planish.library.loops.vector_strips.straight_line import NotStraight, straight_line
from planish.library.loops.vector_strips.strip_nest import StripNest, copies, is_independent, is_only_in


@dataclass(frozen=True, slots=True)
class AccumulatedCell:
    """A cell that each iteration updates. `terms`: the array in which the nest's body puts what it is updated with;
    `behind`: that is read of what the iteration has stored before."""

    array: str
    index: tuple[Expr, ...]
    op: ReduceOp
    type: Type
    terms: Array
    behind: bool

    @property
    def cell(self) -> Load:
        """What the cell holds."""
        return Load(self.array, self.index, self.type)


@dataclass(frozen=True, slots=True, eq=False)
class AccumulatedLoop:
    """A loop whose iterations update cells, and store to elements of their own; `around` is the outermost loop around
    it in which nothing else touches the cells. `nest`: its iterations as those of a strip that stores what the cells
    are updated with as well.

    A loop may add up cells of its own that are added to others behind it: then `loop` updates the latter, which is the
    same as long as the former hold the sums. It stands for `origin`, `gone` are the statements around that, and
    `locals`, if there are any, each update's cell that is needed no more, None where it keeps its own."""

    loop: For
    around: For
    updates: tuple[AccumulatedCell, ...]
    nest: StripNest
    origin: For
    gone: tuple[Stmt, ...] = ()
    locals: tuple[Array | None, ...] = ()

    @property
    def stmt(self) -> For:
        """What it stands for."""
        return self.origin

    @property
    def stored(self) -> frozenset[str]:
        """The arrays that are stored to beside the cells."""
        return frozenset(x.array for x in self.nest.assigned) - {x.terms.name for x in self.updates}

    def lane_loop(self, stored: Collection[str], first: Expr, lanes: int, instruction: str = "") -> For:
        """The loop over so many lanes, from an iteration on, that stores to some arrays only."""
        lane = self.nest.fresh(f"{self.loop.var}_lane")
        made = copies(self.nest, [{self.loop.var: add(first, Var(lane, INDEX))}])
        stores = [x for x in made if isinstance(x, Assign) and x.array in stored]
        body = Block((*used_lets(made, [y for x in stores for y in expressions(x)]), *stores))
        return For(lane, index(0), index(lanes), 1, body, LoopFacts(instruction=instruction))

    @property
    def plain(self) -> tuple[Stmt, ...]:
        """The loop as it was written."""
        if not self.locals:
            return (self.origin,)
        made: list[Stmt] = []
        apart = [(x, y) for x, y in zip(self.updates, self.locals, strict=True) if y is not None]
        for _, y in apart:
            made += [Alloc(y), Assign(y.name, (), Const(0, y.type))]
        cells = {(x.array, x.index): y for x, y in apart}
        body: list[Stmt] = []
        for stmt in self.loop.body.body:
            cell = cells.get((stmt.array, stmt.index)) if isinstance(stmt, Reduce) else None
            if isinstance(stmt, Reduce) and cell is not None:
                body.append(Reduce(cell.name, (), "add", as_type(stmt.value, cell.type)))
            else:
                body.append(stmt)
        made.append(replace(self.loop, body=Block(tuple(body))))
        for update, y in apart:
            made.append(Reduce(update.array, update.index, "add", as_type(Load(y.name, (), y.type), update.type)))
        return tuple(made)


def find_accumulated(kernel: Kernel) -> Iterator[AccumulatedLoop]:
    """The loops of a kernel that reduce integers to cells of their own. One that adds up rows comes twice: as a part of
    the sums of all of them, which is better, and by itself."""
    yield from _find(kernel, kernel.body.body, ())


def _find(kernel: Kernel, body: Sequence[Stmt], outer: tuple[For, ...]) -> Iterator[AccumulatedLoop]:
    rows = _promoted(kernel, body, outer) if outer else None
    if rows is not None:
        yield rows
    for x in body:
        found = _reduction_of(kernel, x, outer) if isinstance(x, For) else None
        if found is not None:
            yield found
        else:
            inner = (*outer, x) if isinstance(x, For) else outer
            for block in blocks_of(x):
                yield from _find(kernel, block.body, inner)


def _reduction_of(kernel: Kernel, loop: For, outer: Sequence[For]) -> AccumulatedLoop | None:
    if loop.step != 1 or loads(loop.lower) or loads(loop.upper):
        return None
    taken = set(used_names(kernel))
    local = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)}
    scratch = frozenset(x for x in local if is_only_in(kernel, loop, x))
    updates: list[AccumulatedCell] = []
    plain: list[Stmt] = []
    memory: dict[str, str] = {}
    for at, x in enumerate(loop.body.body):
        known = _update(x)
        if known is None:
            plain.append(x)
            continue
        op, array, place, type, value = known
        name = next(y for number in range(len(taken)) if (y := f"terms_{number}") not in taken)
        taken.add(name)
        while op == "add" and isinstance(value, Cast) and _is_cut(value):
            value = value.operand  # the same, modulo the bits of the cell
        terms = Array(name, type_of(value), (loop.upper,))
        behind = _stored_before(loop.body.body, at, value) - scratch
        for y in behind - {*memory}:
            memory[y] = take_name(y, taken)
        updates.append(AccumulatedCell(array, place, op, type, terms, bool(behind)))
        value = _read_from(value, {y: memory[y] for y in behind})
        plain.append(Assign(name, (Var(loop.var, INDEX),), value))
    cells = [x.array for x in updates]
    if not updates or not _are_apart(updates) or any(_touches(x, cells) for x in plain):
        return None
    own = {loop.var, *(x.var for x in plain if isinstance(x, Let))}
    if any(own & variables(y) for x in updates for y in x.index):
        return None
    stored = {x.array for x in plain if isinstance(x, Assign)}
    if not all(isinstance(x, Let | Assign) for x in plain) or stored & set(cells):
        return None
    try:
        body = straight_line(Block(tuple(plain)), scratch, taken, {x.name: x for x in kernel.arrays if x.values})
    except NotStraight:
        return None
    if not is_independent(body, [loop.var]):
        return None
    late = {x.terms.name for x in updates if x.behind}
    values = [x.value for x in body if isinstance(x, Assign) and x.array in late]
    if any(y.array in stored for x in (*values, *(z.value for z in used_lets(body, values))) for y in loads(x)):
        return None  # what is read behind the stores is to be what was there before
    back = {y: x for x, y in memory.items()}
    body = tuple(replace(x, value=_read_from(x.value, back)) for x in body)
    names = frozenset(taken | {x.var for x in body if isinstance(x, Let)})
    around = loop
    for x in reversed(outer):
        moved = any(x.var in variables(y) for z in updates for y in z.index)
        if moved or x.step != 1 or _others(x, loop, cells):
            break
        around = x
    nest = StripNest(loop, None, loop, body, frozenset(), names, False)
    return AccumulatedLoop(loop, around, tuple(updates), nest, loop)


def _are_apart(updates: Sequence[AccumulatedCell]) -> bool:
    """Whether cells are different ones: of one array those of different constants."""
    places: dict[str, set[int | None]] = {}
    for x in updates:
        at = constant(x.index[0]) if len(x.index) == 1 else None
        known = places.setdefault(x.array, set())
        if known and (at is None or None in known or at in known):
            return False
        known.add(at)
    return True


def _stored_before(body: Sequence[Stmt], at: int, value: Expr) -> frozenset[str]:
    """The arrays of which the statement number `at` reads, in its value, what the ones before have stored last; none
    where it reads other elements that an iteration stores."""
    found = set()
    read = list(loads(value))
    for number, x in enumerate(body):
        places = [y.index for y in read if isinstance(x, Assign) and y.array == x.array]
        if not places or not isinstance(x, Assign):
            continue
        if number > at or any(y != x.index for y in places):
            return frozenset()
        found.add(x.array)
    return frozenset(found)


def _read_from(x: Expr, names: Mapping[str, str]) -> Expr:
    """An expression that reads arrays under other names."""
    return map_expr(lambda y: replace(y, array=names[y.array]) if isinstance(y, Load) and y.array in names else y, x)


def _promoted(kernel: Kernel, body: Sequence[Stmt], outer: tuple[For, ...]) -> AccumulatedLoop | None:
    """The sums of rows that are added to others: cells of their own that begin with 0, one loop, and sums of these."""
    loops = [x for x in body if isinstance(x, For)]
    if len(loops) != 1:
        return None
    (loop,) = loops
    at = body.index(loop)
    own = _cleared(body[:at])
    added = [x for x in body[at + 1 :] if isinstance(x, Reduce) and x.op == "add"]
    if not own or len(own) != at or len(added) != len(body) - at - 1 or len(added) != len(own):
        return None
    local = {x.array.name: x.array for x in walk(kernel.body) if isinstance(x, Alloc)}
    targets: dict[tuple[str, tuple[Expr, ...]], Reduce] = {}
    for x in added:
        cell = _unwidened(x.value)
        if isinstance(cell, Cast) and type_of(cell.operand).bits < cell.type.bits:
            cell = cell.operand  # less than nothing is added modulo a power of two
        if isinstance(cell, Load):
            targets[cell.array, cell.index] = x
    if set(targets) != set(own) or not all(x in local and _uses(kernel, x) == 3 for x, _ in own):
        return None
    stmts: list[Stmt] = []
    cells: list[Array] = []
    locals: list[Array | None] = []
    for y in loop.body.body:
        if isinstance(y, Reduce) and y.op == "add" and (y.array, y.index) in targets:
            wide = targets[y.array, y.index]
            type = type_of(wide.value)
            stmts.append(Reduce(wide.array, wide.index, "add", as_type(y.value, type)))
            cells.append(Array(f"{y.array}_sum", type_of(y.value), memory="register"))
            locals.append(cells[-1])
        else:
            stmts.append(y)
            locals += [None] if _update(y) is not None else []
    if len(cells) != len(own):
        return None
    wider = replace(loop, body=Block(tuple(stmts)))
    last = replace(outer[-1], body=Block((wider,)))
    found = _reduction_of(kernel, wider, (*outer[:-1], last))
    if found is None or found.around is wider:
        return None
    used = used_names(kernel)
    if any(x.name in used for x in cells):
        return None
    return replace(
        found, around=outer[-1], origin=loop, gone=tuple(x for x in body if x is not loop), locals=tuple(locals)
    )


def _cleared(body: Sequence[Stmt]) -> set[tuple[str, tuple[Expr, ...]]]:
    """The cells that become 0."""
    zeros = (x for x in body if isinstance(x, Assign) and isinstance(x.value, Const) and x.value.value == 0)
    return {(x.array, x.index) for x in zeros}


def _uses(kernel: Kernel, array: str) -> int:
    """How many statements touch an array."""
    return sum(not isinstance(x, Alloc | For | If | Block) and array in arrays_in(x) for x in walk(kernel.body))


def used_lets(made: Iterable[Stmt], values: Iterable[Expr]) -> list[Let]:
    """The names among some statements that values need."""
    used = {y for x in values for y in variables(x)}
    kept = []
    for x in reversed([x for x in made if isinstance(x, Let)]):
        if x.var in used:
            used |= variables(x.value)
            kept.append(x)
    return kept[::-1]


def as_type(x: Expr, type: Type) -> Expr:
    """A value as one of a type."""
    return x if type_of(x) == type else Cast(x, type)


def _update(x: Stmt) -> tuple[ReduceOp, str, tuple[Expr, ...], Type, Expr] | None:
    """The operation, the cell, its type, and what it is updated with."""
    match x:
        case Reduce(array=array, index=place, op="add" | "min" | "max" | "and" | "or" as op, value=value):
            type = type_of(value)
            return (op, array, place, type, value) if type.is_int and not any(loads(y) for y in place) else None
        case Assign(array=array, index=place, value=value):
            return _extremum(array, place, value)
        case _:
            return None


def _extremum(
    array: str, place: tuple[Expr, ...], value: Expr
) -> tuple[ReduceOp, str, tuple[Expr, ...], Type, Expr] | None:  # fmt: skip
    """A cell that becomes the lesser, or the greater, of itself and a value that it can hold, both widened."""
    type = type_of(value)
    while isinstance(value, Cast) and _fits(type, value.type):
        value = value.operand
    chosen = value
    if not isinstance(chosen, Binary) or chosen.op not in ("min", "max") or not type.is_int:
        return None
    sides = [_unwidened(chosen.left), _unwidened(chosen.right)]
    here = Load(array, place, type)
    if here not in sides or any(loads(y) for y in place):
        return None
    other = sides[1 - sides.index(here)]
    if not _fits(type_of(other), type):
        return None
    given = other if type_of(other) == type else Cast(other, type)
    return ("min" if chosen.op == "min" else "max"), array, place, type, given


def _unwidened(x: Expr) -> Expr:
    """What a value is before it is widened, which keeps it."""
    while isinstance(x, Cast) and _fits(type_of(x.operand), x.type):
        x = x.operand
    return x


def _is_cut(x: Cast) -> bool:
    """Whether a value is the low bits of a wider integer."""
    wide = type_of(x.operand)
    return wide.is_int and x.type.bits < wide.bits


def _fits(type: Type, wide: Type) -> bool:
    if not type.is_int or not wide.is_int:
        return False
    if type.kind == wide.kind:
        return type.bits <= wide.bits
    return type.kind == "uint" and type.bits < wide.bits


def _touches(x: Stmt, cells: Sequence[str]) -> bool:
    return any(y.array in cells for e in expressions(x) for y in loads(e))


def _others(around: For, loop: For, cells: Sequence[str]) -> bool:
    """Whether anything in a loop but the one that reduces touches the cells, or decides whether that one is run."""
    inside = {id(x) for x in walk(loop)}
    for x in walk(around):
        if id(x) in inside:
            continue
        if isinstance(x, Alloc) and x.array.name in cells:
            return True
        if isinstance(x, Assign | Reduce) and x.array in cells:
            return True
        if isinstance(x, Let | Assign | Reduce | If) and _touches(x, cells):
            return True
    return False
