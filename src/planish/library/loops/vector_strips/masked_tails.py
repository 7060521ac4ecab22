"""The rest of a row that fills no strip, as the strip's program under masks: no lane behind the row is read or stored.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.select.instruction import extension_of, select
>>> from planish.target.load import load_target
>>> text = "kernel k(A: u8[64], B: u8[64]) { for l in 0 .. 64 { B[l] = select(A[l] < 9:u8, 0:u8, B[l]) } }"
>>> kernel = parse_kernel(text)
>>> strip = read_strip(kernel.body.body[0], {x.name: x for x in kernel.arrays}, {"B"})
>>> registers = extension_of(load_target("x86-avx512"))
>>> made = tail_of(strip, select(strip, registers).stores, registers)
>>> print(made.loop.upper.name, *made.template.splitlines()[3:5], sep="\\n")
n
  const __m512i planish_v1 = _mm512_maskz_loadu_epi8(planish_m0, (char *)(void *){m1});
  const __m512i planish_v2 = _mm512_set1_epi8((char)(9));
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from planish.core.cache import key
from planish.ir.accesses import accesses, map_accesses, map_values
from planish.ir.conditional_accesses import read_always
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Select, Var, index
from planish.ir.index.polynomial import add, mul, polynomial
from planish.ir.index.simplify import simplify
from planish.ir.nest import Array, Assign, Block, For, Kernel, Let, LoopFacts, Reduce
from planish.ir.text.printer import print_kernel
from planish.ir.traverse import loads, substitute_block, walk
from planish.ir.types import INDEX
from planish.isa.instruction import Instruction, make_instruction
from planish.isa.select.lane_values import NoCover
from planish.library.loops.vector_strips.padded_tails import Left, PaddedTail, require_match, strip_from
from planish.select.c_text import DIALECTS, Store, write_statements
from planish.select.instruction import SelectedProgram, VectorExtension
from planish.select.strip import Strip, read_strip

_COUNT = "n"
"""The size that says how many iterations there are."""


def reads_sometimes(loop: For) -> bool:
    """Whether iterations read elements under conditions alone: what is left of a row is no strip on copies then."""
    values = [x.value for x in walk(loop.body) if isinstance(x, Let | Assign | Reduce)]
    return any({*loads(x)} - {*read_always(x)} for x in values)


def tail_of(strip: Strip, stores: Sequence[Store], registers: VectorExtension) -> Instruction:
    """The instruction that does the first iterations of a strip; NoCover where masks do not say which elements these
    touch."""
    (loop,) = strip.kernel.body.body
    assert isinstance(loop, For) and isinstance(loop.upper, Const)
    ends = {x.name: (x.type.bits, _end(x, loop)) for x in strip.kernel.arrays}
    some = replace(strip.kernel, sizes=(_COUNT,), body=Block((replace(loop, upper=Var(_COUNT, INDEX)),)))
    return _masked(strip, stores, registers, ends, some)


def sum_tail_of(
    strip: Strip, stores: Sequence[Store], registers: VectorExtension, left: Left, kept: Container[str]
) -> tuple[Instruction, For]:
    """The instruction that does a strip which updates accumulators, the arrays that are `kept`, as if all behind the
    iterations that are left were 0, and the loop that it is for. NoCover where masks do not say which elements are
    read, or iterations share some."""
    (loop,) = strip.kernel.body.body
    assert isinstance(loop, For)
    sizes: dict[Expr, str] = {}
    ends: dict[str, tuple[int, str]] = {}
    behind: dict[str, str] = {}
    for x in strip.kernel.arrays:
        place = strip.places[x.name]
        if place.array in kept:
            continue
        step, (extent,) = left.steps.get(place.array, 0), x.shape
        assert isinstance(extent, Const)
        if int(extent.value) > step * left.iterations:
            raise NoCover(f"iterations share elements of `{place.array}`")
        missing = int(extent.value) - step * left.iterations
        end = simplify(add(mul(index(step), left.count), index(missing)))
        behind[x.name] = sizes.setdefault(end, f"{_COUNT}{len(sizes)}")
        ends[x.name] = x.type.bits, f"{{{behind[x.name]}}}"

    def there(x: Expr) -> Expr:
        if not isinstance(x, Load) or x.array not in behind:
            return x
        return Select(Compare("lt", x.index[0], Var(behind[x.array], INDEX)), x, Const(0, x.type))

    body = map_values(there, Block((loop,)))
    some = replace(strip.kernel, sizes=tuple(sizes.values()), body=body)
    counts = {name: end for end, name in sizes.items()}
    (own,) = map_accesses(partial(_placed, strip), substitute_block(body, {**strip.scalars, **counts})).body
    assert isinstance(own, For)
    return _masked(strip, stores, registers, ends, some), own


def _masked(
    strip: Strip, stores: Sequence[Store], registers: VectorExtension, ends: Mapping[str, tuple[int, str]], some: Kernel
) -> Instruction:
    """The instruction that does what `some` says of a strip, by the strip's program under masks: in C, the bits of an
    element of a row and how many of them there are."""
    operands = [*(x.name for x in strip.kernel.arrays), *(x.name for x in strip.kernel.scalars)]
    names = {x: f"{{{x}}}" for x in operands}
    lines = write_statements(stores, DIALECTS[registers.isa], names, strip.body.scalars, ends)
    text = "\n".join(["{", *(f"  {x}" for x in lines), "}"])
    name = f"select_{key(print_kernel(some), text)[:8]}"
    return make_instruction(name, replace(some, name=name), text, header=registers.header)


def _placed(strip: Strip, x: Load) -> Load:
    """An element of a strip's kernel in the array that its operand stands for."""
    if x.array not in strip.places:
        return x
    first = strip.places[x.array]
    last = simplify(add(add(first.index[-1], index(strip.rows[x.array][1])), x.index[0]))
    return replace(x, array=first.array, index=(*first.index[:-1], last))


def _end(row: Array, loop: For) -> str:
    """The C of how many elements of a row some iterations touch, or have between what they touch."""
    places = (x.index[-1] for x in accesses(loop.body) if x.array == row.name)
    steps = {polynomial(x).get((Var(loop.var, INDEX),), 0) for x in places}
    (extent,) = row.shape
    assert isinstance(extent, Const) and isinstance(loop.upper, Const)
    if len(steps) != 1 or min(steps) < 0:
        raise NoCover(f"iterations move in several ways in `{row.name}`")
    (step,) = steps
    return f"{step} * ({{{_COUNT}}}) + {int(extent.value) - step * int(loop.upper.value)}"


@dataclass(frozen=True, slots=True)
class MaskedTails:
    """Makes tails for the strips of a kernel that read or store under conditions: `arrays` that these touch, those that
    are `conditional`, names that are `taken`, what finds a selected program by the name of its instruction, and what is
    told of the instructions that are used besides."""

    arrays: Mapping[str, Array]
    conditional: Container[str]
    taken: set[str]
    registers: VectorExtension
    find: Callable[[str], SelectedProgram]
    give: Callable[[Iterable[Instruction]], None]

    def pad(self, strip: Callable[[Expr], For], begin: Expr, left: Left, kept: Sequence[Array] = ()) -> PaddedTail:
        """The tail of what is a strip from a place on: of one that updates accumulators, which are `kept`, a strip that
        reads 0 behind the row. NoCover as of `tail_of`, and where it is another strip."""
        begins, loop = strip_from(strip, begin, self.taken)
        arrays = {**self.arrays, **{x.name: x for x in kept}}
        whole = self.find(loop.facts.instruction)
        own = read_strip(replace(loop, facts=LoopFacts()), arrays, self.conditional, covered=not kept)
        if print_kernel(replace(own.kernel, name=whole.instruction.name)) != print_kernel(whole.instruction.definition):
            raise NoCover("the rest of a row is another strip")
        if kept:
            made, few = sum_tail_of(own, whole.stores, self.registers, left, {x.name for x in kept})
        else:
            made = tail_of(own, whole.stores, self.registers)
            few = replace(loop, upper=simplify(Binary("min", left.count, index(left.iterations))))
        few = replace(few, facts=LoopFacts(instruction=made.name))
        require_match(made, few, arrays)
        self.give([made])
        return PaddedTail((begins,), few, (), ())
