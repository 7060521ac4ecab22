"""A C file for a VLIW machine: each nest becomes packets, which run in the simulator beside the nest's meaning.

>>> from planish.core.span import Source
>>> from planish.vliw.description import load_machine
>>> text = "void f(const float a[restrict 64], float b[restrict 64]) { for (int i = 0; i < 64; i++) b[i] += 2 * a[i]; }"
>>> (made,) = build_packets(Source("f.c", text), Options(), load_machine("ftmatrix"))
>>> made.function, made.message, made.naive > 10 * made.cycles, made.planned.described
('f', '', True, 'i in 32 lanes, 2 vectors')
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from planish.build.read import read_file
from planish.build.vliw_machines.packet_runs import (
    MOST_INTERPRETED,
    affordable_sizes,
    fault_or_difference,
    multiplies,
    run_packets,
    typical_sizes,
    work_of_nest,
    wrong_place,
)
from planish.build.vliw_machines.strip_packets import plan_strips
from planish.core.diagnostic import Diagnostic, PlanishError, Remark
from planish.core.progress import Progress, keep_quiet
from planish.core.span import Source, Span
from planish.frontend.c.translation_unit import CFunction, Region
from planish.ir.nest import Kernel
from planish.ir.traverse import stored_arrays
from planish.options import Options
from planish.poly.canonical.delinearise import delinearise
from planish.poly.isl.affine import NotAffineError
from planish.vliw.assembly import print_assembly
from planish.vliw.machine import VliwMachine
from planish.vliw.pack.reports import LoopReport, PackOptions
from planish.vliw.saturation.plan import saturated
from planish.vliw.saturation.rules import RuleSet
from planish.vliw.streams.cost import innermost
from planish.vliw.streams.image import Values, excess, read_arrays
from planish.vliw.streams.oracle import TEST_SIZES, difference, draw_values, with_room
from planish.vliw.streams.plan import Planned, plan, plan_scalar
from planish.vliw.streams.stream import RefusedError
from planish.vliw.tiling.planning import BlockPlan, plan_best_blocks

FAR_GRID = ((6, 3), (4, 2), (8, 1), (1, 4), (1, 1))
"""Rows and vectors of tiles that are tried for nests that have no room near."""

LARGER = (128, 129, 200, 255, 257, 384)
"""Further sizes for packets that need as many iterations as a strip has lanes."""

TYPICAL = (64, 32, 16, 8)
"""What sizes are near for which the number of cycles is told: the first one with which a nest is not too long."""


@dataclass(frozen=True, slots=True)
class PacketResult:
    """What became of a nest: its packets, and what they take for some `sizes` beside operations one by one, as they are
    written, without pipelining (`naive`; 0: not known). `checked`: so many calls were compared; `message`: where one
    was wrong. `busy`: the share of cycles in which units that multiply begin to. `remarks`: what was refused. `start`,
    `ordinal`: where it begins in the text, and its number in the function. `blocks`: how it is cut where its arrays are
    far; `loops`, `loop_cycles`: what it would be in loops, and would take, where it is written out."""

    function: str
    span: Span | None
    planned: Planned | None
    sizes: Mapping[str, int]
    cycles: int = 0
    naive: int = 0
    checked: int = 0
    busy: float = 0.0
    message: str = ""
    remarks: tuple[Remark, ...] = ()
    start: int = -1
    ordinal: int = 0
    blocks: BlockPlan | None = None
    loops: Planned | None = None
    loop_cycles: int = 0

    @property
    def speedup(self) -> float:
        """How many times as many cycles the naive stream takes."""
        return self.naive / self.cycles if self.cycles and self.naive else 0.0


def build_packets(
    source: Source, options: Options, machine: VliwMachine, tell: Progress = keep_quiet, check: bool = True
) -> tuple[PacketResult, ...]:
    """The packets of each nest of a file; PlanishError where it cannot be read, E0910 where arrays of the sizes that
    are asked for do not fit the machine. Without `check` nothing is run."""
    file = read_file(source, replace(options, target=machine.target or "generic")).without_early_exits()
    functions = [f for f in file.functions if options.takes(f.name)]
    out: list[PacketResult] = []
    for function in functions:
        if not function.regions:
            out += _without_nest(function, file.remarks)
        for region in function.regions:
            tell(f"{function.name}: making packets")
            made = _build(function.name, region, source, options, machine, check)
            out.append(replace(made, start=region.start, ordinal=region.ordinal))
    return tuple(out)


def _without_nest(function: CFunction, remarks: tuple[Remark, ...]) -> Iterator[PacketResult]:
    """A function that has loops but no nest, and why."""
    own = function.span
    why = tuple(x for x in remarks if own is not None and x.span is not None and _is_inside(x.span, own))
    if why:
        yield PacketResult(function.name, own, None, {}, remarks=why)


def _is_inside(span: Span, whole: Span) -> bool:
    return span.file == whole.file and whole.line <= span.line <= whole.end_line


def _build(
    name: str, region: Region, source: Source, options: Options, machine: VliwMachine, check: bool
) -> PacketResult:  # fmt: skip
    """The packets of a nest: of its loops, or of its strips in selected instructions, by what both take."""
    looped = _looped(name, region, source, options, machine, check)
    contract = options.fp != "strict"
    strips = plan_strips(region.kernel, machine, contract)
    if strips.planned is None:
        return replace(looped, remarks=(*looped.remarks, *strips.remarks))
    given = {kernel: options.sizes[text] for kernel, text in region.names if text in options.sizes}
    result = replace(looped, planned=strips.planned, sizes={**strips.sizes, **given}, cycles=0, naive=0, message="")
    if not check:
        return result
    stripped = _measured(result, region.kernel, strips.kernel, machine, contract)
    if looped.planned is None or looped.message:
        return stripped
    again = _measured(replace(looped, sizes=stripped.sizes), region.kernel, strips.kernel, machine, contract)
    told = f"{looped.planned.described}: {again.cycles} cycles; {strips.planned.described}: {stripped.cycles}"
    remark = Remark("vliw-strips", "note", told, region.span)
    better = not stripped.message and (again.message or stripped.cycles < again.cycles)
    chosen = stripped if better else looped
    return replace(chosen, remarks=(*chosen.remarks, remark))


def _looped(
    name: str, region: Region, source: Source, options: Options, machine: VliwMachine, check: bool
) -> PacketResult:  # fmt: skip
    given = {kernel: options.sizes[text] for kernel, text in region.names if text in options.sizes}
    contract, reassociate = options.fp != "strict", options.fp == "reassociate"
    try:
        kernel = delinearise(region.kernel)
    except NotAffineError:
        kernel = region.kernel
    sizes = {**typical_sizes(kernel, TYPICAL), **given}
    written_out = _written_out(kernel, machine, contract, reassociate)
    try:
        # The tiles of a nest that is cut into blocks anyway are only a beginning.
        grid = FAR_GRID if _is_far(kernel, machine, sizes) else None
        within = written_out.estimate if written_out is not None else 0.0
        planned = plan(kernel, machine, sizes, contract, reassociate, grid=grid, within=within)
    except RefusedError as error:
        result = PacketResult(name, region.span, written_out, sizes, remarks=(error.remark,))
        return _measured(result, region.kernel, kernel, machine, contract) if check and written_out else result
    except PlanishError as error:
        remark = Remark("vliw-pack", "refused", error.diagnostic.message, region.span)
        result = PacketResult(name, region.span, written_out, sizes, remarks=(remark,))
        return _measured(result, region.kernel, kernel, machine, contract) if check and written_out else result
    result = PacketResult(name, region.span, planned, sizes, remarks=(*_overlaps(kernel, machine), *planned.remarks))
    if not check:
        better = written_out is not None and written_out.estimate < planned.estimate
        return replace(result, planned=written_out) if better else result
    more = excess(planned.lowered, machine, draw_values(kernel, sizes))
    if not more:
        looped = _measured(result, region.kernel, kernel, machine, contract)
        return _quicker(looped, written_out, region.kernel, kernel, machine, contract)
    told = f"{more}{f' ({spell_sizes(sizes)})' if sizes else ''}"
    try:
        blocks = plan_best_blocks(planned, kernel, machine, sizes, contract, reassociate)
        result = replace(result, planned=blocks.planned, blocks=blocks)
        return _measured(result, region.kernel, kernel, machine, contract)
    except RefusedError as error:
        told += f"; {error.remark.message}"
    if given:
        raise PlanishError(Diagnostic("E0910", told, region.span), source)
    remark = Remark("vliw-lower", "refused", told, region.span)
    return PacketResult(name, region.span, None, sizes, remarks=(remark,))


def _is_far(kernel: Kernel, machine: VliwMachine, sizes: Mapping[str, int]) -> bool:
    """Whether arrays need more than all memories have that operations address, and there are transfers from others."""
    addressed = {y.memory for x in machine.operations if not x.transfer for y in x.definition.arrays}
    room = sum(x.bytes for x in machine.memories if x.name in addressed)
    values = draw_values(kernel, sizes)
    return any(x.transfer for x in machine.operations) and sum(values[x.name].nbytes for x in kernel.arrays) > room


def _written_out(kernel: Kernel, machine: VliwMachine, contract: bool, reassociate: bool) -> Planned | None:
    """A small kernel of fixed sizes as scalars and vectors that equality saturation finds; None where it is none, or C
    calls the packets: vectors store behind arrays, and there are tables of constants."""
    if machine.calling is not None:
        return None
    try:
        made = saturated(kernel, machine, RuleSet(contract=contract), reassociate)
    except (RefusedError, PlanishError):
        return None
    return Planned(kernel, made.lowered, made.packed, (), float(made.cycles), made.described)


def _quicker(
    looped: PacketResult, written_out: Planned | None, written: Kernel, kernel: Kernel, machine: VliwMachine,
    contract: bool,
) -> PacketResult:  # fmt: skip
    """The packets of loops, or those of the nest written out: by the cycles that both take."""
    if written_out is None or looped.message or written_out.estimate > looped.cycles:
        return looped
    other = _measured(replace(looped, planned=written_out), written, kernel, machine, contract)
    loops = looped.planned.described if looped.planned is not None else "loops"
    told = f"{loops}: {looped.cycles} cycles; written out: {other.cycles}"
    remark = Remark("vliw-saturation", "note", told, looped.span)
    better = bool(other.message) or other.cycles < looped.cycles
    chosen = replace(other, loops=looped.planned, loop_cycles=looped.cycles) if better else looped
    return replace(chosen, remarks=(*looped.remarks, remark))


def _overlaps(kernel: Kernel, machine: VliwMachine) -> Iterator[Remark]:
    """A note of the arrays that might be one, which packets take to be apart: a drop-in asks before it calls them."""
    stored = stored_arrays(kernel.body)
    open_ = [x for x in kernel.arrays if not x.distinct]
    pairs = [(x, y) for n, x in enumerate(open_) for y in open_[n + 1 :] if {x.name, y.name} & stored]
    met = [z.name for x, y in pairs if x.type == y.type or 8 in (x.type.bits, y.type.bits) for z in (x, y)]
    if met:
        names = ", ".join(f"`{x}`" for x in dict.fromkeys(met))
        tests = "which nothing tests" if machine.calling is None else "which is tested before they are called"
        yield Remark("vliw-overlap", "note", f"{names} are taken not to overlap, {tests}", kernel.span)


def _measured(
    result: PacketResult, written: Kernel, kernel: Kernel, machine: VliwMachine, contract: bool
) -> PacketResult:
    """With what the packets take, and whether they are right at all test sizes."""
    planned = result.planned
    assert planned is not None
    checked = 0
    for sizes in affordable_sizes(kernel, (*TEST_SIZES, *(LARGER if planned.needs else ()))):
        drawn = draw_values(kernel, sizes)
        if excess(planned.lowered, machine, drawn):
            continue
        message = next(
            (y for x in (planned, planned.aligned, planned.few) if x is not None
             and (y := wrong_place(x.packed.code, x.lowered, kernel, machine, drawn))), "",
        )  # fmt: skip
        checked += 1
        if message:
            return replace(result, checked=checked, message=f"{message}{f' ({spell_sizes(sizes)})' if sizes else ''}")
    values = draw_values(kernel, result.sizes)
    run = run_packets(planned.packed.code, planned.lowered, machine, values)
    message = fault_or_difference(run, planned.lowered, kernel, machine, values)
    if message:
        return replace(result, checked=checked, message=f"{message} ({spell_sizes(result.sizes)})")
    naive = _naive(result, written, kernel, machine, contract, values)
    busy = multiplies(machine, planned.packed.code, run)
    return replace(result, checked=checked, cycles=run.cycles, naive=naive, busy=busy)


def _naive(
    result: PacketResult, written: Kernel, kernel: Kernel, machine: VliwMachine, contract: bool, values: Values
) -> int:  # fmt: skip
    """What the nest takes as it is written, one by one, in memories in which all has room; 0 where that takes too long
    to be run."""
    roomy = with_room(machine)
    if work_of_nest(kernel, values) > MOST_INTERPRETED * 8:
        return 0
    try:
        plain = plan_scalar(written, roomy, result.sizes, contract, PackOptions(pipeline=False, unroll=0))
    except (RefusedError, PlanishError):
        return 0
    run = run_packets(plain.packed.code, plain.lowered, roomy, values)
    found = read_arrays(plain.lowered, roomy, values, run.state)
    return 0 if run.faults or difference(kernel, values, found) else run.cycles


def spell_sizes(sizes: Mapping[str, int]) -> str:
    """Sizes in words.

    >>> spell_sizes({"n": 4, "m": 5})
    'n = 4, m = 5'
    """
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def print_packets(result: PacketResult, machine: VliwMachine) -> str:
    """The assembly of a nest, with what its registers hold at the start."""
    planned = result.planned
    if planned is None:
        return ""
    named = {x.parameter.name: x for x in planned.lowered.given}
    heads = [f"; {result.function}: {planned.described}"]
    for parameter in planned.packed.code.parameters:
        given = named[parameter.name]
        what = f"the address of {given.array.name} in {parameter.memory}" if given.array is not None else parameter.name
        heads.append(f"; {parameter.register}: {what}")
    return "\n".join(heads) + "\n" + print_assembly(planned.packed.code, machine) + "\n"


def explain_loops(result: PacketResult) -> Iterator[tuple[LoopReport, Span | None]]:
    """What is known of each innermost loop, and its place."""
    planned = result.planned
    if planned is None:
        return
    loops = {x.name: x for x in innermost(planned.lowered.program.body)}
    for report in planned.packed.loops:
        loop = loops.get(report.name)
        yield report, loop.span if loop is not None else None
