"""The rest of a row that fills no strip, as a strip on copies: what lies behind the row is 0 there, and is not stored.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = '''kernel k(n; A: u8[n], B: u8[n]) {
...   for l in 0 .. 64 { B[64 * (n // 64) + l] = A[64 * (n // 64) + l] ^ 1:u8 } }'''
>>> kernel = parse_kernel(text)
>>> arrays, taken = {x.name: x for x in kernel.arrays}, {"n", "A", "B", "l"}
>>> left = parse_kernel("kernel k(n) { let x = n % 64 }").body.body[0].value
>>> made = pad_tail(kernel.body.body[0], arrays, Left(64, left, {"A": 1, "B": 1}), (), taken)
>>> for x in made.before[1:]: print(print_stmt(x).strip())
alloc A_tail: u8[64] stack
for lane in 0 .. 64 as masked_load_u8 {
  A_tail[lane] = select(lane < n % 64, A[64 * (n // 64) + lane], 0:u8)
}
>>> print(print_stmt(made.behind[0]), end="")
for lane in 0 .. min(n % 64, 64) as masked_store_u8 {
  B[64 * (n // 64) + lane] = B_tail[lane]
}
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

from planish.core.names import take_name
from planish.ir.accesses import accesses, map_accesses, reads
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Select, Var, index
from planish.ir.index.polynomial import add, constant, mul, polynomial, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Let, LoopFacts, Stmt
from planish.ir.traverse import substitute_block, variables, walk
from planish.ir.types import INDEX, Type
from planish.isa.instruction import Instruction, make_instruction
from planish.isa.select.lane_values import NoCover
from planish.poly.match.matcher import MismatchError
from planish.schedule.match_instruction import match_instruction
from planish.select.instruction import VectorExtension
from planish.select.strip import Strip, read_strip

_REGISTER = 512
_INT = {8: "epi8", 16: "epi16", 32: "epi32", 64: "epi64"}


@dataclass(frozen=True, slots=True)
class PaddedTail:
    """What copies rows, the strip on the copies, and what stores its results; `pads`: the copies."""

    before: tuple[Stmt, ...]
    strip: For
    behind: tuple[Stmt, ...]
    pads: tuple[Array, ...]


def has_masks(registers: VectorExtension) -> bool:
    """Whether a machine loads and stores some lanes of a register only."""
    return registers.isa == "x86" and registers.widths[0] == _REGISTER


@dataclass(frozen=True, slots=True)
class Left:
    """Of the iterations of a strip those that are left, and the elements that each moves on in an array. `apart`: all
    that the others read has to be 0, so that no two iterations may read the same element."""

    iterations: int
    count: Expr
    steps: Mapping[str, int]
    apart: bool = False


def steps_of(body: Sequence[Stmt], var: str) -> dict[str, int]:
    """The elements that an iteration moves on in each array that it moves in; NoCover where these are several, or go
    down."""
    found: dict[str, set[int]] = {}
    for x in accesses(Block(tuple(body))):
        if any(var in variables(y) for y in x.index):
            found.setdefault(x.array, set()).add(polynomial(x.index[-1]).get((Var(var, INDEX),), 0))
    if any(len(x) > 1 or min(x) < 1 for x in found.values()):
        raise NoCover("iterations move in several ways")
    return {name: min(x) for name, x in found.items()}


def pad_tail(
    loop: For, arrays: Mapping[str, Array], left: Left, kept: Container[str], taken: set[str]
) -> PaddedTail:  # fmt: skip
    """A loop over the lanes of a strip, some of whose iterations are left, on copies of its rows but for arrays that
    are `kept`. NoCover where not all that lies between elements that are stored is."""
    strip = read_strip(replace(loop, facts=LoopFacts()), arrays)
    (body,) = strip.kernel.body.body
    assert isinstance(body, For) and isinstance(loop.upper, Const)
    lane = take_name("lane", taken)
    renamed: dict[str, str] = {}
    before: list[Stmt] = []
    behind: list[Stmt] = []
    pads: list[Array] = []
    for operand in strip.kernel.arrays:
        if (name := strip.places[operand.name].array) in kept:
            renamed[operand.name] = name
            continue
        row = _Row.of(strip, operand, body, arrays, left)
        if left.apart and row.extent > row.step * left.iterations:
            raise NoCover(f"iterations share elements of `{name}`")
        pad = Array(take_name(f"{row.array.name}_tail", taken), row.array.type, (index(row.padded),), memory="stack")
        renamed[operand.name] = pad.name
        pads.append(pad)
        before.append(Alloc(pad))
        if row.read:
            before += [row.load(pad, at, left.count, lane) for at in range(0, row.padded, row.lanes)]
        if row.stored:
            behind += [row.store(pad, at, left.count, lane) for at in range(0, row.step * left.iterations, row.lanes)]
    made = substitute_block(Block((body,)), strip.scalars)
    (lane_loop,) = map_accesses(lambda x: replace(x, array=renamed.get(x.array, x.array)), made).body
    assert isinstance(lane_loop, For)
    return PaddedTail(tuple(before), replace(lane_loop, facts=loop.facts), tuple(behind), tuple(pads))


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of `extent` elements of an array, of which each iteration moves a step on; `first` is its first one."""

    array: Array
    first: tuple[Expr, ...]
    extent: int
    step: int
    count: int
    read: bool
    stored: bool

    @classmethod
    def of(cls, strip: Strip, operand: Array, body: For, arrays: Mapping[str, Array], left: Left) -> _Row:
        place = strip.places[operand.name]
        (extent,) = operand.shape
        assert isinstance(extent, Const)
        stores = [x.index[0] for x in walk(body.body) if isinstance(x, Assign) and x.array == operand.name]
        read = any(x.array == operand.name for x in reads(body.body))
        step = left.steps.get(place.array, 0)
        offsets = {constant(sub(x, mul(index(step), Var(body.var, INDEX)))) for x in stores}
        if stores and offsets != {*range(step)}:
            raise NoCover(f"not all of `{place.array}` is stored")
        first = (*place.index[:-1], simplify(add(place.index[-1], index(strip.rows[operand.name][1]))))
        return cls(arrays[place.array], first, int(extent.value), step, left.iterations, read, bool(stores))

    @property
    def lanes(self) -> int:
        return _REGISTER // self.array.type.bits

    @property
    def padded(self) -> int:
        """The elements of the copy: whole registers."""
        return -(-self.extent // self.lanes) * self.lanes

    def at(self, number: Expr) -> tuple[Expr, ...]:
        return (*self.first[:-1], simplify(add(self.first[-1], number)))

    def load(self, pad: Array, at: int, left: Expr, name: str) -> For:
        """The loop that copies a register full, as far as iterations read it."""
        lane, type = Var(name, INDEX), self.array.type
        there = simplify(add(mul(index(self.step), left), index(self.extent - self.step * self.count - at)))
        read = Load(self.array.name, self.at(add(lane, index(at))), type)
        value = Select(Compare("lt", lane, there), read, Const(0, type))
        body = Block((Assign(pad.name, (simplify(add(lane, index(at))),), value),))
        return For(name, index(0), index(self.lanes), 1, body, LoopFacts(instruction=load_name(type)))

    def store(self, pad: Array, at: int, left: Expr, name: str) -> For:
        """The loop that copies what iterations store of a register."""
        lane, type = Var(name, INDEX), self.array.type
        there = Binary("min", simplify(sub(mul(index(self.step), left), index(at))), index(self.lanes))
        value = Load(pad.name, (simplify(add(lane, index(at))),), type)
        body = Block((Assign(self.array.name, self.at(add(lane, index(at))), value),))
        return For(name, index(0), there, 1, body, LoopFacts(instruction=store_name(type)))


def _letter(type: Type) -> str:
    return f"{'u' if type.kind == 'uint' else 'i'}{type.bits}"


def load_name(type: Type) -> str:
    """The name of the instruction that loads the first lanes of a register."""
    return f"masked_load_{_letter(type)}"


def store_name(type: Type) -> str:
    """The name of the instruction that stores the first lanes of a register."""
    return f"masked_store_{_letter(type)}"


class Tails(Protocol):
    """What makes the tails of a kernel's strips, under names that are not `taken`."""

    @property
    def taken(self) -> set[str]: ...

    def pad(self, strip: Callable[[Expr], For], begin: Expr, left: Left, kept: Sequence[Array] = ()) -> PaddedTail:
        """The tail of what is a strip from a place on, of which some iterations are left; `kept` are accumulators.
        NoCover where there is none."""


def strip_from(strip: Callable[[Expr], For], begin: Expr, taken: set[str]) -> tuple[Let, For]:
    """The name of the place where a tail begins, which is then written alike everywhere, and the strip from there."""
    name = take_name("begin", taken)
    return Let(name, begin), strip(Var(name, INDEX))


def require_match(instruction: Instruction, loop: For, arrays: Mapping[str, Array]) -> None:
    """Raises NoCover where a loop is not what an instruction does."""
    try:
        match_instruction(instruction, loop, arrays, {})
    except MismatchError as error:
        raise NoCover(error.reason) from error


@dataclass(frozen=True, slots=True)
class TailPadding:
    """Makes tails for a kernel's nests: `arrays` that they touch, names that are `taken`, the header of intrinsics,
    what finds an instruction by its name, and what is told of those that are used besides."""

    arrays: Mapping[str, Array]
    taken: set[str]
    header: str
    find: Callable[[str], Instruction]
    give: Callable[[Iterable[Instruction]], None]

    def pad(self, strip: Callable[[Expr], For], begin: Expr, left: Left, kept: Sequence[Array] = ()) -> PaddedTail:
        """The tail of what is a strip from a place on, as of `pad_tail`; NoCover as of that, and where the copies are
        no operands of the strip's instruction."""
        begins, loop = strip_from(strip, begin, self.taken)
        arrays = {**self.arrays, **{x.name: x for x in kept}}
        made = pad_tail(loop, arrays, left, {x.name for x in kept}, self.taken)
        require_match(self.find(loop.facts.instruction), made.strip, {**arrays, **{x.name: x for x in made.pads}})
        self.give(y for x in {x.type for x in made.pads} for y in masked_copies(x, self.header))
        return replace(made, before=(begins, *made.before))


@cache
def masked_copies(type: Type, header: str) -> tuple[Instruction, Instruction]:
    """The instructions that load, and store, the first lanes of a register of a type, by AVX-512's masks."""
    lanes, lane = _REGISTER // type.bits, Var("i", INDEX)
    count = Var("n", INDEX)
    memory, pad = Array("m", type, (index(lanes),)), Array("p", type, (index(lanes),))
    value = Select(Compare("lt", lane, count), Load("m", (lane,), type), Const(0, type))
    loading = For("i", index(0), index(lanes), 1, Block((Assign("p", (lane,), value),)))
    storing = For("i", index(0), count, 1, Block((Assign("m", (lane,), Load("p", (lane,), type)),)))
    bits = f"planish_n >= {lanes} ? ~0ull : planish_n <= 0 ? 0 : (1ull << planish_n) - 1"
    head = f"{{\n  const ptrdiff_t planish_n = {{n}};\n  const __mmask{lanes} planish_m = (__mmask{lanes})({bits});\n  "
    kind = _INT[type.bits]
    load = f"{head}_mm512_storeu_si512((void *){{p}}, _mm512_maskz_loadu_{kind}(planish_m, (void *){{m}}));\n}}"
    store = f"{head}_mm512_mask_storeu_{kind}((void *){{m}}, planish_m, _mm512_loadu_si512((void *){{p}}));\n}}"
    made = []
    for name, arrays, loop, text in (
        (load_name(type), (memory, pad), loading, load), (store_name(type), (pad, memory), storing, store),
    ):  # fmt: skip
        kernel = Kernel(name, ("n",), arrays=arrays, body=Block((loop,)))
        made.append(make_instruction(name, kernel, text, header=header))
    return made[0], made[1]
