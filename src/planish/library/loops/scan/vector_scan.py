"""The scan strategy: vector scans of alignment rows, decaying peaks, running extrema and prefix sums.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> loop = "for j in 1 .. n { x[j] = max(max(y[j], 0:i32), x[j - 1] - 2:i32) }"
>>> kernel = parse_kernel("kernel k(n; x: i32[n] distinct, y: i32[n] distinct) { %s }" % loop)
>>> [x.remarks[0].message for x in scan_versions(prepare(kernel), load_target("x86-avx512"))]
['x: scan in registers of 16 lanes, which carry one value onwards']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from planish.core.diagnostic import PlanishError, Remark
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Alloc, Block, For, Kernel, LoopFacts, Stmt
from planish.ir.traverse import arrays_in, map_block, used_names, walk
from planish.ir.types import F32
from planish.ir.wrapping import with_wrapping
from planish.isa.instruction import Catalogue
from planish.isa.shipped import extension
from planish.library.kernels.vectors import choose_vectors
from planish.library.loops.scan.affine_gap import find_gaps
from planish.library.loops.scan.max_plus import MaxPlusChain, find_chain
from planish.library.loops.scan.max_plus_lanes import MaxPlusStrips
from planish.library.loops.scan.parallel_prefix_sum import SPANS, PrefixSumShares, may_share
from planish.library.loops.scan.prefix_sum import RunningSum, find_sum
from planish.library.loops.scan.prefix_sum_lanes import Sums
from planish.library.loops.scan.strip_statements import STRIP, ValueRegisters
from planish.schedule.auto.plan import Prepared, Version
from planish.schedule.nodes import label_kernel
from planish.schedule.program import Program
from planish.schedule.steps.instructions import Replace
from planish.target.machine import Target

NAME = "simd-scan"
"""What the version is called."""
PARTS = 4
"""So many parts of a sum fit into the second cache: what is read and what is stored, with room for what comes next."""


def scan_versions(
    prepared: Prepared, target: Target, reassociate: bool = False, threads: int = 1, strip: int = STRIP
) -> tuple[Version, ...]:
    """The version of a kernel whose chains and growing sums of integers are made in registers, and with `reassociate`
    its sums of floats that grow; none where there are none, or no instructions for them. With several `threads`: the
    one in which these make parts of a sum, none where there is no such sum that is not in another loop. `strip`: the
    values of a strip."""
    kernel = prepared.kernel
    long = target.cache(2).share // PARTS
    taken = {*used_names(kernel)}
    scalars, own = {x.name for x in kernel.scalars}, own_arrays(kernel)
    remarks: list[Remark] = []
    given: list[tuple[str, str]] = []
    facts: dict[str, LoopFacts] = {}

    def visit(stmt: Stmt) -> Stmt:
        found = _find(stmt, scalars, own)
        if isinstance(found, RunningSum) and found.cell.type.is_float and not reassociate:
            return stmt
        registers = _registers(target, found) if found is not None else None
        if found is None or registers is None:
            return stmt
        registers = replace(registers, strip=strip)
        strips = (
            Sums(found, registers, taken) if isinstance(found, RunningSum) else MaxPlusStrips(found, registers, taken)
        )
        made: Sums | MaxPlusStrips | PrefixSumShares = strips
        if threads > 1:
            if not isinstance(strips, Sums) or not may_share(strips.found) or stmt not in kernel.body.body:
                return stmt
            made = PrefixSumShares(strips, threads, long // strips.type.size)
            message = f"{threads} threads scan parts of {made.long} values, from {SPANS * made.span} values on"
            remarks.append(Remark("parallel-scan", "done", message, found.loop.span or kernel.span))
        whole = made.stmt()
        if whole is None:
            return stmt
        given.extend(strips.given)
        facts.update(strips.facts)
        message = f"{found.target.array}: scan in registers of {registers.lanes} lanes, which carry one value onwards"
        remarks.append(Remark(NAME, "done", message, found.loop.span or kernel.span))
        return whole

    body = map_block(visit, kernel.body)
    if not remarks:
        return ()
    body = _without_unused(simplify_block(body, assumptions=kernel.assumptions), own)
    try:
        program = Program.of(label_kernel(replace(kernel, body=body)), "reassociate" if reassociate else "strict")
        program = _with_instructions(program, given)
    except PlanishError:
        return ()
    catalogue = Catalogue().with_instructions(program.found)
    made = replace(program.kernel, body=with_wrapping(_with_facts(program.kernel.body, facts)))
    name = NAME if threads == 1 else f"{NAME}, parallel-scan"
    return (Version(name, prepared.scop.schedule, made, tuple(remarks), 0.0, catalogue),)


def find_scans(kernel: Kernel) -> tuple[Stmt, ...]:
    """The loops that are chains or growing sums."""
    scalars, own = {x.name for x in kernel.scalars}, own_arrays(kernel)
    return tuple(x for x in walk(kernel.body) if _find(x, scalars, own) is not None)


def own_arrays(kernel: Kernel) -> Counter[str]:
    """How often a kernel mentions the arrays that it declares itself."""
    local = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)}
    return Counter(x for x in arrays_in(kernel.body) if x in local)


def _find(stmt: Stmt, scalars: set[str], own: Counter[str]) -> MaxPlusChain | RunningSum | None:
    return find_chain(stmt, scalars) or find_gaps(stmt, scalars) or find_sum(stmt, scalars, own)


def _without_unused(block: Block, own: Counter[str]) -> Block:
    """Statements without the declarations of arrays that were mentioned, and no longer are."""
    gone = {*own} - {*arrays_in(block)}
    return map_block(lambda x: () if isinstance(x, Alloc) and x.array.name in gone else x, block)


def _registers(target: Target, scan: MaxPlusChain | RunningSum) -> ValueRegisters | None:
    """The registers of a machine for the values of a scan; None where it has none, or does not move their lanes, or has
    no extremum of floats that leaves the same NaNs."""
    type = scan.type
    try:
        vectors = choose_vectors(target, F32)
    except PlanishError:
        return None
    known = extension(vectors.extension)
    kind = known.memories[vectors.memory]
    if type not in kind.types:
        return None
    found = ValueRegisters(vectors.extension, vectors.memory, kind.lanes(type))
    asked = [found.slide(x, str(type)) for x in found.moves]
    if isinstance(scan, MaxPlusChain) and type.is_float:
        asked += [found.extremum(scan.op, type, kind) for kind in ("", "scalar_")]
    return found if found.moves and all(x in known.instructions for x in asked) else None


def _with_instructions(program: Program, given: list[tuple[str, str]]) -> Program:
    """A kernel with loops over lanes given to instructions; PlanishError where there is none for one of them."""
    for loop, instruction in given:
        program = program.apply(Replace(loop, instruction))
    return program


def _with_facts(block: Block, facts: Mapping[str, LoopFacts]) -> Block:
    """Statements in which something is known of loops of some names."""

    def visit(stmt: Stmt) -> Stmt:
        return replace(stmt, facts=facts[stmt.var]) if isinstance(stmt, For) and stmt.var in facts else stmt

    return map_block(visit, block)
