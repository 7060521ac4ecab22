"""What is promised of generated nests beside the race: code size, examples, random maps, full tiles, whole kernels.

    for item in examine_rest(quick=True): print(item)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.property.maps import MAP_CHECKS, check_map

from bench.codegen import codesize
from bench.harness.places import EXAMPLES, RESULTS
from bench.promises.claim import Claim, Note, at_least, at_most
from planish.astgen.checking.judge import verify_input
from planish.astgen.formats import generate_input, load_input
from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.expr import Binary, Expr
from planish.ir.nest import For, If, Let
from planish.ir.traverse import walk, walk_expr
from planish.schedule.auto.plan import plan, prepare
from planish.target.load import load_target

SIMPLE, UNSIGNED = "modulo, simple", (12, 3)
"""The paper's smallest case, and what clang made of isl's code with the unsigned operator: bytes, instructions."""

LARGE_BEFORE = 5.0
"""The geometric mean over the best compiler on PolyBench LARGE with the generator that was there before."""

MAPS, FEW_MAPS = 1000, 60


def examine_rest(quick: bool) -> Iterator[Claim | Note]:
    """All claims that need no race."""
    yield from judge_sizes()
    proven = [path.name for path in sorted((EXAMPLES / "astgen").iterdir()) if _is_proven(path)]
    yield at_least("astgen.examples_proven", len(proven), len(list((EXAMPLES / "astgen").iterdir())))
    yield from judge_maps(FEW_MAPS if quick else MAPS)
    yield from judge_tiles(quick)
    yield from judge_kernels()


def judge_sizes() -> Iterator[Claim | Note]:
    """Tables I and II and the other figures of the paper: cells in which ours takes more than isl's."""
    reason = codesize.missing()
    if reason:
        yield Note(f"code size is not measured: {reason}")
        return
    rows = codesize.measure_tables()
    over = list(codesize.losses(rows))
    for text in over:
        yield Note(text)
    yield at_most("astgen.cells_above_isl", len(over), 0)
    found = [x for x in rows if (x.case, x.tool, x.compiler) == (SIMPLE, "ours", "clang")]
    if found:
        best = min(found, key=lambda x: (x.size, x.instructions))
        yield at_most("astgen.modulo_bytes", best.size, UNSIGNED[0])
        yield at_most("astgen.modulo_instructions", best.instructions, UNSIGNED[1])


def _is_proven(path: Path) -> bool:
    found = load_input(str(path))
    return verify_input(found, generate_input(found), ()).answer == "proven"


def judge_maps(count: int) -> Iterator[Claim | Note]:
    """Random maps and options: generated, run, and read back."""
    seen: Counter[str] = Counter()
    faults = [fault for seed in range(count) for fault in check_map(seed, MAP_CHECKS, seen)]
    yield Note(f"{count} random maps: {seen['proven']} proven, {seen['given up']} too much work for isl")
    for fault in faults[:3]:
        yield Note(fault.splitlines()[0])
    yield at_most("astgen.maps_wrong", len(faults), 0)


def judge_tiles(quick: bool) -> Iterator[Claim | Note]:
    """Kernels with full tiles whose cells stay in registers, and in how many of them those tiles' loops over lanes have
    no minimum in their bounds and no test inside."""
    paths = sorted((EXAMPLES / "polybench").glob("*.c"))
    tiles = {path.stem: list(_full_tiles(path)) for path in paths[:: 5 if quick else 1]}
    tiled = {name: all(map(_is_clean, loops)) for name, loops in tiles.items() if loops}
    blame = [name for name, clean in tiled.items() if not clean]
    if blame:
        yield Note(f"a full tile has a minimum or a test: {', '.join(blame)}")
    yield at_least("astgen.clean_tiles", len(tiled) - len(blame), len(tiled))


def _full_tiles(path: Path) -> Iterator[For]:
    """The loops over the lanes of full tiles in the best version of each region of a file."""
    file = read_c(Source(str(path), path.read_text()), include_dirs=(path.parent,), fp="reassociate")
    for function in file.functions:
        for region in function.regions:
            best = plan(prepare(region.kernel), load_target("x86-avx512"), reassociate=True)[0].kernel
            for loop in walk(best.body):
                if isinstance(loop, For) and loop.facts.simd and any(isinstance(x, Let) for x in loop.body.body):
                    yield loop


def _is_clean(loop: For) -> bool:
    return not any(isinstance(x, If) for x in walk(loop)) and not any(map(_extrema, (loop.lower, loop.upper)))


def _extrema(expr: Expr) -> bool:
    return any(isinstance(x, Binary) and x.op in ("min", "max") for x in walk_expr(expr))


def judge_kernels() -> Iterator[Claim | Note]:
    """The race of whole kernels, as it is stored."""
    path = RESULTS / "polybench-large.json"
    if not path.exists():
        yield Note("no race of kernels is stored: run `python -m bench.races.polybench`")
        return
    mean = json.loads(path.read_text(encoding="utf-8"))["over_compilers"]
    yield at_least("astgen.large_mean", mean, LARGE_BEFORE)
