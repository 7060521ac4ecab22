"""Elements of tables of 256 bytes, chosen by bytes, a register of them at a time; tables whose end is not known are
copied as far as they are read.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel k(n; T: u8[256], x: u8[n], y: u8[n]) { for i in 0 .. n { y[i] = 255:u8 - T[i64(x[i])] } }"
>>> (found,) = find_lookups(parse_kernel(text))
>>> [(x.table, x.number.array) for x in found.lookups]
[('T', 'x')]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from planish.core.names import take_name
from planish.ir.accesses import map_accesses, reads
from planish.ir.conditional_accesses import ReadConditions, TooMany
from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Load, Var, index, type_of
from planish.ir.index.polynomial import add, mul, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Let, LoopFacts, Reduce, Stmt
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import expressions, loads, stored_arrays, substitute_block, used_names, walk, with_stmts
from planish.ir.types import INDEX, U8
from planish.isa.instruction import Instruction, make_instruction
from planish.library.loops.vector_strips.accumulated_loops import used_lets
from planish.library.loops.vector_strips.strip_nest import Part, is_independent
from planish.schedule.accesses import arrays_of, rename
from planish.select.instruction import VectorExtension

LANES = 64
ENTRIES = 256
NAME = "lookup_256_u8"
_FEATURE = "AVX512_VBMI"
_DEFINITION = (
    "kernel lookup(table: u8[256], at: u8[64], got: u8[64]) { for l in 0 .. 64 { got[l] = table[i64(at[l])] } }"
)
_TEXT = """{
  const __m512i planish_at = _mm512_loadu_si512((void *){at});
  const __m512i planish_low = _mm512_permutex2var_epi8(
    _mm512_loadu_si512((void *){table}), planish_at, _mm512_loadu_si512((char *)(void *){table} + 64));
  const __m512i planish_high = _mm512_permutex2var_epi8(_mm512_loadu_si512((char *)(void *){table} + 128), planish_at,
    _mm512_loadu_si512((char *)(void *){table} + 192));
  _mm512_storeu_si512((void *){got}, _mm512_mask_mov_epi8(planish_low, _mm512_movepi8_mask(planish_at), planish_high));
}"""

Choose = Callable[[Part, Sequence[Array]], str]
"""The name of the instruction for a loop over lanes, of arrays that are no operands of the kernel besides."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """An element of a table, and the byte that chooses it."""

    table: str
    number: Expr
    read: Load


@dataclass(frozen=True, slots=True)
class LookupNest:
    """A loop that looks bytes up, and does it for each iteration by itself."""

    loop: For
    lookups: tuple[Lookup, ...]
    taken: frozenset[str]

    @property
    def stmt(self) -> For:
        """What it stands for."""
        return self.loop


def has_lookups(registers: VectorExtension) -> bool:
    """Whether a machine permutes bytes of two registers by others."""
    return registers.isa == "x86" and registers.widths[0] == 8 * LANES and _FEATURE in registers.features


@cache
def lookup_instruction(header: str) -> Instruction:
    """The instruction that looks a register of bytes up in a table of 256."""
    return make_instruction(NAME, replace(parse_kernel(_DEFINITION), span=None), _TEXT, header=header)


def find_lookups(kernel: Kernel) -> Iterator[LookupNest]:
    """The innermost loops that look up in tables whose 256 bytes are known to be there."""
    arrays = [*kernel.arrays, *(x.array for x in walk(kernel.body) if isinstance(x, Alloc))]
    whole = {x.name for x in arrays if len(x.shape) == 1 and isinstance(x.shape[0], Const) and _entries(x) >= ENTRIES}
    for x in walk(kernel.body):
        found = _nest_of(kernel, x) if isinstance(x, For) else None
        if found is not None and all(y.table in whole for y in found.lookups):
            yield found


def _entries(x: Array) -> int:
    (extent,) = x.shape
    return int(extent.value) if isinstance(extent, Const) else 0


def _nest_of(kernel: Kernel, loop: For) -> LookupNest | None:
    """The loop as one that looks up; None where it does not, or more than that."""
    body = loop.body.body
    if loop.step != 1 or not all(isinstance(x, Let | Assign) for x in body):
        return None
    kinds = arrays_of(kernel)
    stored = stored_arrays(loop)
    found: dict[Load, Lookup] = {}
    for read in reads(loop.body):
        if any(map(loads, read.index)):
            number = _byte(read.index[0]) if len(read.index) == 1 else None
            if number is None or read.type != U8 or read.array in stored or kinds[read.array].type != U8:
                return None
            found[read] = Lookup(read.array, number, read)
    places = [y for x in body if isinstance(x, Assign) for y in x.index]
    if not found or any(map(loads, places)) or any(any(map(loads, _inner(x.number))) for x in found.values()):
        return None
    if not _always_read(body) >= {*found, *(y for x in found.values() for y in loads(x.number))}:
        return None
    nest = LookupNest(loop, tuple(found.values()), used_names(kernel))
    return nest if is_independent(_looked_up(nest, [f"{n}" for n in range(len(found))]), [loop.var]) else None


def _always_read(body: Sequence[Stmt]) -> set[Load]:
    """The elements that each iteration reads: neither a table nor what chooses from it need be there for another."""
    conditions = ReadConditions({x.var: x.value for x in body if isinstance(x, Let)})
    try:
        for x in body:
            if isinstance(x, Assign):
                conditions.store(x.value, Load(x.array, x.index, type_of(x.value)))
                for place in x.index:
                    conditions.read(place)
        return {*conditions.found} - {*conditions.conditions()}
    except TooMany:
        return set()


def _byte(x: Expr) -> Expr | None:
    """The byte that a subscript is."""
    while isinstance(x, Cast) and type_of(x) != U8:
        x = x.operand
    return x if type_of(x) == U8 else None


def _inner(x: Expr) -> list[Expr]:
    return [z for y in loads(x) for z in y.index]


def _looked_up(nest: LookupNest, names: Sequence[str], place: Expr | None = None) -> tuple[Let | Assign, ...]:
    """The body with what was looked up read of other arrays."""
    at = Var(nest.loop.var, INDEX) if place is None else place
    values = {x.read: Load(name, (at,), U8) for x, name in zip(nest.lookups, names, strict=True)}

    made = map_accesses(lambda x: values.get(x, x), nest.loop.body)
    return tuple(x for x in made.body if isinstance(x, Let | Assign))


def lookup_strips(nest: LookupNest, choose: Choose) -> tuple[Stmt, ...]:
    """The loop in strips of a register of bytes: numbers, what these choose, and what becomes of it. The last strip
    overlaps the one before where nothing that is stored is read; else the rest is as it was written. What `choose`
    raises where one of these has no instruction."""
    loop, taken = nest.loop, {*nest.taken}
    count = simplify(Binary("max", simplify(sub(loop.upper, loop.lower)), index(0)))
    strip = take_name(f"{loop.var}_strip", taken)
    strips = _Strips(nest, choose, take_name(f"{loop.var}_lane", taken), *(
        tuple(Array(take_name(x, taken), U8, (index(LANES),), memory="stack") for _ in nest.lookups)
        for x in ("at", "got")
    ))  # fmt: skip
    whole = simplify(Binary("floordiv", count, index(LANES)))
    main = strips.stages(simplify(add(loop.lower, mul(index(LANES), Var(strip, INDEX)))))
    made = For(strip, index(0), whole, 1, Block(main))
    rest = replace(loop, lower=simplify(add(loop.lower, mul(index(LANES), whole))), label=0)
    stored = stored_arrays(loop)
    if any(x.array in stored for x in reads(loop.body)):
        return made, rest
    last = strips.stages(simplify(sub(loop.upper, index(LANES))))
    enough = Compare("ge", count, index(LANES))
    left = Compare("gt", simplify(sub(rest.upper, rest.lower)), index(0))
    return made, If(left, Block((If(enough, Block(last), Block((rest,))),)))


@dataclass(frozen=True, slots=True)
class _Strips:
    """What makes strips of a loop: the name of lanes, and arrays of a register each for the numbers of all look-ups and
    for what these choose."""

    nest: LookupNest
    choose: Choose
    lane: str
    at: tuple[Array, ...]
    got: tuple[Array, ...]

    def stages(self, first: Expr) -> tuple[Stmt, ...]:
        """A strip from a place on."""
        lookups, here = self.nest.lookups, Var(self.lane, INDEX)
        lets = [x for x in self.nest.loop.body.body if isinstance(x, Let)]
        numbers = [Assign(x.name, (here,), y.number) for x, y in zip(self.at, lookups, strict=True)]
        results = _looked_up(self.nest, [x.name for x in self.got], here)
        stores = [x for x in results if isinstance(x, Assign)]
        read = [Assign(z.name, (here,), Load(x.table, (Cast(Load(y.name, (here,), U8), INDEX),), U8))
                for x, y, z in zip(lookups, self.at, self.got, strict=True)]  # fmt: skip
        return (
            *map(Alloc, (*self.at, *self.got)),
            self.selected(first, [*used_lets(lets, [x.value for x in numbers]), *numbers], self.at),
            *(self.part(first, [x], NAME) for x in read),
            self.selected(first, [*used_lets(results, [e for x in stores for e in expressions(x)]), *stores], self.got),
        )

    def part(self, first: Expr, body: Sequence[Stmt], name: str = "") -> For:
        """The loop over lanes that does some statements."""
        places = {self.nest.loop.var: simplify(add(first, Var(self.lane, INDEX)))}
        placed = substitute_block(Block(tuple(body)), places)
        return For(self.lane, index(0), index(LANES), 1, placed, LoopFacts(instruction=name))

    def selected(self, first: Expr, body: Sequence[Stmt], own: Sequence[Array]) -> For:
        """The same, given to the instruction that is chosen for it."""
        return self.part(first, body, self.choose(lambda begin, end: self.part(first, body), own))


def with_copied_tables(kernel: Kernel) -> Kernel:
    """The kernel where, before each loop that looks up in tables whose end is not known, what it reads of these is
    copied: from the least to the greatest number, between which an array has all elements; what was copied before is
    not again."""
    for loop in [x for x in walk(kernel.body) if isinstance(x, For)]:
        found = _nest_of(kernel, loop)
        if found is not None:
            kernel = _copied(kernel, found)
    return kernel


def _copied(kernel: Kernel, nest: LookupNest) -> Kernel:
    arrays = {x.name: x for x in kernel.arrays}
    read = dict.fromkeys(x.table for x in nest.lookups)
    tables = [x for x in read if x in arrays and len(arrays[x].shape) == 1 and _entries(arrays[x]) < ENTRIES]
    if not tables or any(x in stored_arrays(kernel.body) for x in tables):
        return kernel
    taken = {*used_names(kernel)}
    body = nest.loop.body
    before: list[Stmt] = []
    begun: list[Stmt] = []
    lets = [x for x in nest.loop.body.body if isinstance(x, Let)]
    for name in tables:
        copy = Array(take_name(f"{name}_copy", taken), U8, (index(ENTRIES),), memory="stack")
        least, most, low, high = (Array(take_name(x, taken), U8, (), memory="register")
                                  for x in ("least", "most", "low", "high"))  # fmt: skip
        begun += [Alloc(copy), Alloc(low), Alloc(high)]
        begun += [Assign(low.name, (), Const(255, U8)), Assign(high.name, (), Const(0, U8))]
        numbers = [x.number for x in nest.lookups if x.table == name]
        updates = [z for y in numbers for z in (Reduce(least.name, (), "min", y), Reduce(most.name, (), "max", y))]
        range_of = replace(nest.loop, body=Block((*used_lets(lets, numbers), *updates)), label=0)
        begin, end = (Cast(Load(x.name, (), U8), INDEX) for x in (low, high))
        entry = Var(take_name("entry", taken), INDEX)
        one = Assign(copy.name, (entry,), Load(name, (entry,), U8))
        fill = For(entry.name, begin, simplify(add(end, index(1))), 1, Block((one,)))
        wider = Binary(
            "or", Compare("lt", Load(least.name, (), U8), Load(low.name, (), U8)),
            Compare("gt", Load(most.name, (), U8), Load(high.name, (), U8)),
        )  # fmt: skip
        known = [
            Assign(low.name, (), Binary("min", Load(low.name, (), U8), Load(least.name, (), U8))),
            Assign(high.name, (), Binary("max", Load(high.name, (), U8), Load(most.name, (), U8))),
        ]
        before += [
            Alloc(least), Alloc(most), Assign(least.name, (), Const(255, U8)), Assign(most.name, (), Const(0, U8)),
            range_of, If(wider, Block((*known, fill))),
        ]  # fmt: skip
        body = rename(body, name, copy.name)
    inner = (*before, replace(nest.loop, body=body, label=0))
    whole = with_stmts(kernel.body, nest.loop, inner)
    return replace(kernel, body=Block((*begun, *whole.body)))
