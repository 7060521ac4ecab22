"""isl's own inputs of AST generation, and the parameter values with which the nests of an input are run.

    for path in find_inputs(None): print(path)
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import islpy as isl

from bench.harness.places import ROOT
from planish.astgen.code_size.effort import EffortLimitError, Run, compile_nest
from planish.astgen.formats import PARAM, CodegenInput
from planish.ir.nest import Block
from planish.poly.isl.affine import CONTEXT, isl_name

SET = isl.dim_type.set
FOLDERS = (ROOT / "build" / "isl-tests", ROOT.parent / "shared" / "anchors" / "isl-codegen")
"""Where the inputs are looked for: as `scripts/fetch_isl_tests.sh` puts them, or beside the repository."""

MOST_INSTANCES = 30_000
MOST_STEPS = 400_000
"""Runs with more instances or loop steps are left out."""

SHRUNK = ((8, 5), (4, 3), (2, 1))
"""How constants are made smaller where no run is affordable, in the order of trying: see `shrink_constants`."""
_NUMBER = re.compile(r"(?<![\w'.])\d+")

WANTED = 4
_VALUES = (5, 9, 3, 17, 33, 12, 7, 2, 65, 1, 20, 130, 0, -3, 1025)
"""What each parameter is moved towards, in this order, as far as the context and the instances allow."""


def find_inputs(folder: Path | None) -> list[Path]:
    """The inputs in a folder, or in the fullest of the usual places; empty where there are none."""
    places = [folder] if folder is not None else list(FOLDERS)
    found = [sorted(x for x in place.rglob("*") if x.suffix in (".st", ".in")) for place in places]
    return max(found, key=len)


def name_inputs(paths: Sequence[Path]) -> list[str]:
    """A name for each input: its path below the folder that all of them share."""
    shared = Path(os.path.commonpath([path.parent for path in paths]))
    return [path.relative_to(shared).as_posix() for path in paths]


Sizes = dict[str, int]


def choose_sizes(found: CodegenInput, nest: Block, wanted: int) -> Iterator[tuple[Sizes, Run]]:
    """Parameter values that the context allows, at most `wanted` with something to run and one with nothing; `nest`
    says what is affordable, and its runs come along."""
    execute = compile_nest(nest)
    busy, idle = 0, 0
    for sizes in propose_sizes(found):
        if busy >= wanted:
            return
        run = _try(execute, sizes)
        if run is None or (not run.trace and idle):
            continue
        idle += not run.trace
        busy += bool(run.trace)
        yield sizes, run


def _try(execute: Callable[[Mapping[str, int], int], Run], sizes: Sizes) -> Run | None:
    try:
        run = execute(sizes, MOST_STEPS)
    except EffortLimitError:
        return None
    return run if len(run.trace) <= MOST_INSTANCES else None


def shrink_constants(text: str, most: int, gap: int) -> str:
    """The text with its numbers above `most` made smaller: their order stays, no gap exceeds `gap`."""
    body = "\n".join(line.partition("#")[0] for line in text.splitlines())
    fresh: dict[int, int] = {}
    before, last = most, most
    for number in sorted({int(x) for x in _NUMBER.findall(body)}):
        if number > most:
            last += min(number - before, gap)
            before, fresh[number] = number, last
    return _NUMBER.sub(lambda match: str(fresh.get(int(match[0]), int(match[0]))), body)


def propose_sizes(found: CodegenInput) -> Iterator[Sizes]:
    """Different parameter values, first such that something runs; one empty proposal where there are no parameters."""
    names = found.parameters
    inside = found.context.align_params(found.instances().get_space())
    busy = inside.intersect(found.instances().params())
    seen: list[Sizes] = []

    def fresh(region: isl.Set, wanted: list[int]) -> Iterator[Sizes]:
        sizes = nearest_sizes(region, names, wanted)
        if sizes is not None and sizes not in seen:
            seen.append(sizes)
            yield sizes

    for region, values in ((busy, _VALUES), (inside, (1, 0, 8))):
        for value in values:
            # Unequal neighbours, so that two parameters are not always ordered in the same way.
            for offsets in ((0, 1, 3, 2), (3, 1, 0, 2)) if len(names) > 1 else ((0,),):
                yield from fresh(region, [value + offsets[i % len(offsets)] for i in range(len(names))])
    # A context may leave little room, far from all of these.
    for near in tuple(seen):
        for distance in (1, 2, -1):
            for changed in names:
                yield from fresh(busy, [value + distance * (name == changed) for name, value in near.items()])


def nearest_sizes(region: isl.Set, names: tuple[str, ...], wanted: list[int]) -> Sizes | None:
    """Values in the region, each as near to the wanted one as those before allow; None where the region is empty."""
    if region.is_empty():
        return None
    positions = [region.find_dim_by_name(PARAM, isl_name(name)) for name in names]
    rest = isl.Set.from_params(region).move_dims(SET, 0, PARAM, 0, region.dim(PARAM))
    sizes: Sizes = {}
    for name, position, value in zip(names, positions, wanted, strict=True):
        sizes[name] = _nearest(rest, position, value)
        rest = rest.fix_val(SET, position, isl.Val.int_from_si(CONTEXT, sizes[name]))
    return sizes


def _nearest(region: isl.Set, position: int, wanted: int) -> int:
    """The value of one dimension in the region that is nearest to a wanted one, the greater of two."""
    value = isl.Val.int_from_si(CONTEXT, wanted)
    above, below = region.lower_bound_val(SET, position, value), region.upper_bound_val(SET, position, value)
    candidates = [] if above.is_empty() else [int(above.dim_min_val(position).to_python())]
    candidates += [] if below.is_empty() else [int(below.dim_max_val(position).to_python())]
    return min(candidates, key=lambda x: (abs(x - wanted), -x))
