"""The blocks of a matrix product by measurement: some around those of the model are timed on this machine.

>>> from planish.ir.types import F32
>>> from planish.library.kernels.gemm.blocked import choose_blocking
>>> from planish.library.kernels.vectors import find_vectors
>>> v = find_vectors("avx512", F32)
>>> start = choose_blocking(v, 14, 2, level1=48 << 10, level2=1 << 20)
>>> [(x.depth, x.columns, x.height) for x in list_depths(v, start)]
[(384, 512, 2128), (192, 1024, 2128), (576, 320, 2128)]
>>> [x.height for x in list_heights(v, start)], [x.columns for x in list_columns(v, start)]
([2128, 1008, 4256], [512, 256, 1024])
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import lcm
from pathlib import Path
from statistics import geometric_mean

from planish.core.cache import Cache, key
from planish.core.diagnostic import Diagnostic, PlanishError, Remark
from planish.emit.dropin.kernel_file import emit_file
from planish.ir.types import INDEX
from planish.isa.instruction import Catalogue, Instruction
from planish.isa.shipped import shipped
from planish.library.kernels.as_instruction import make_callable
from planish.library.kernels.gemm.blocked import Blocking, define_product, make_packed
from planish.library.kernels.gemm.edges import count_family
from planish.library.kernels.gemm.whole import make_tiles
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.vectors import Vectors
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.signature import CallCase, Parameter, Signature
from planish.run.timing.clock import measure
from planish.run.toolchains.toolchain import Compiler, choose_compiler, compile_library
from planish.target.description import NATIVE
from planish.target.machine import Target

SIZES = (512, 1536)
"""The squares that are timed: one whose blocks are few, and one that is large."""
BUDGET = 2.0
"""Seconds for the race of one size."""
BETTER = 1.01
"""A blocking has to be faster by this factor than the one before: less is what the clock's noise may be."""
NAME = "planish_trial"
GRAIN = 192
"""The depths that are tried are multiples of this, so that two thirds of them are whole lines of the cache as well."""

Vary = Callable[[Vectors, Blocking], list[Blocking]]
Race = Callable[[Sequence[Blocking]], "list[BlockingTrial]"]


@dataclass(frozen=True, slots=True)
class BlockingTrial:
    """What a blocking reached: 10^9 operations a second for each size."""

    blocking: Blocking
    sizes: tuple[int, ...]
    gflops: tuple[float, ...]

    @property
    def score(self) -> float:
        """What trials are compared by."""
        return geometric_mean(self.gflops)


@dataclass(frozen=True, slots=True)
class Track:
    """Where races are run: what makes kernels, and the compiler for this machine."""

    vectors: Vectors
    machine: Target
    compiler: Compiler
    maker: KernelCache
    sizes: tuple[int, ...] = SIZES
    budget: float = BUDGET

    @property
    def flags(self) -> tuple[str, ...]:
        """How trials are compiled: as users are told to."""
        return ("-O3", *self.machine.flags_for(self.compiler.kind))

    def race(self, blockings: Sequence[Blocking]) -> list[BlockingTrial]:
        """What blockings reach, taking turns in a process of their own; PlanishError as of `compile_library` and
        `measure`."""
        with tempfile.TemporaryDirectory(prefix="planish-trial-") as folder:
            built = [(str(number), self._build(x, Path(folder))) for number, x in enumerate(blockings)]
            taken = []
            for size in self.sizes:
                self.maker.tell(f"timing products of {size} x {size} x {size}")
                taken.append(measure(built, describe_call(self.vectors), make_case(size), self.budget))
        return [
            BlockingTrial(x, self.sizes, tuple(2e-9 * n**3 / t.median for n, t in zip(self.sizes, times, strict=True)))
            for x, times in zip(blockings, zip(*taken, strict=True), strict=True)
        ]

    def _build(self, blocking: Blocking, folder: Path) -> Path:
        """The library of a packed product, which is kept like kernels are."""
        text = write_trial(self.vectors, blocking, self.maker) + entry_text(describe_call(self.vectors))
        # What -march=native means is the machine's affair; at what it runs is not.
        machine, cache = replace(self.machine, frequency_ghz=0.0), self.maker.cache or Cache()
        address = key("trial", self.compiler.stamp, machine, self.flags, text)
        known = cache.get(address)
        self.maker.tell(f"compiling {describe(blocking)}")
        if known is None:
            known = compile_library(self.compiler, text, self.flags, folder).read_bytes()
            cache.put(address, known)
        library = folder / f"{address}.so"
        library.write_bytes(known)
        return library


def refine_blocking(
    vectors: Vectors, start: Blocking, machine: Target, maker: KernelCache, race: Race | None = None
) -> tuple[Blocking, list[BlockingTrial]]:
    """The fastest of some blockings around `start`, and all that were tried, in order: first other depths, then other
    columns, then other heights; in the end the fastest and `start` once more. `race`: what times them, by default on
    this machine. PlanishError E0643 for another machine, and for products of groups."""
    check_native(vectors, machine)
    race = race or Track(vectors, machine, choose_compiler(None), maker).race
    best, tried = start, list[BlockingTrial]()
    varied: tuple[Vary, ...] = (list_depths, list_columns, list_heights)
    for vary in varied:
        trials = race(vary(vectors, best))
        best = choose_fastest(trials)
        tried += trials
    if best != start:
        # Of many that are alike the luckiest was chosen: it has to win again.
        trials = race([start, best])
        best = choose_fastest(trials)
        tried += trials
    return best, tried


def choose_fastest(trials: Sequence[BlockingTrial]) -> Blocking:
    """The blocking of the fastest trial, or of the first one where that is no slower by more than noise."""
    fastest = max(trials, key=lambda x: x.score)
    return (fastest if fastest.score > BETTER * trials[0].score else trials[0]).blocking


def check_native(vectors: Vectors, machine: Target) -> None:
    """That there is something to time here; PlanishError E0643."""
    if machine.name != NATIVE:
        message = f"blocks are refined by timing them on this machine, and `{machine.name}` is another one"
        raise PlanishError(Diagnostic("E0643", message, help="use --target native, or leave the choice to the model"))
    if vectors.product.group > 1:
        message = f"blocks of products of {vectors.product.name} are not refined"
        raise PlanishError(Diagnostic("E0643", message, help="leave the choice to the model"))


def remark_on(chosen: Blocking, tried: Iterable[BlockingTrial]) -> Remark:
    """What was tried and what it reached, and what was taken."""
    lines = [f"the blocks of the packed product were timed; taken: {describe(chosen)}"]
    for trial in tried:
        reached = ", ".join(f"{x:.4g} at {n}" for n, x in zip(trial.sizes, trial.gflops, strict=True))
        lines.append(f"  {describe(trial.blocking)}: GFLOPS {reached}")
    return Remark("gemm-refine", "done", "\n".join(lines))


def describe(blocking: Blocking) -> str:
    """The block's sizes in words."""
    return f"depth {blocking.depth}, columns {blocking.columns}, height {blocking.height}"


def count_trials(start: Blocking) -> int:
    """How much `refine_blocking` tells of at most: kernels, and races."""
    races, trials = 4, 11
    families = 2 * count_family(start.rows, start.vectors)
    # Each trial's own kernel and its compilation are told of, and the tiles, however often they are found again.
    return trials * (families + 2) + races * len(SIZES)


def list_depths(vectors: Vectors, present: Blocking) -> list[Blocking]:
    """The blocking, and some with other depths that have as large blocks of B."""
    out = [present]
    for depth in (_multiple(2 * present.depth // 3, GRAIN), -(-3 * present.depth // (2 * GRAIN)) * GRAIN):
        columns = _multiple(present.columns * present.depth // depth, present.vectors * vectors.lanes)
        out.append(replace(present, depth=depth, columns=columns))
    return list(dict.fromkeys(out))


def list_columns(vectors: Vectors, present: Blocking) -> list[Blocking]:
    """The blocking, and some with other numbers of columns of B."""
    width = present.vectors * vectors.lanes
    return list(dict.fromkeys(replace(present, columns=x) for x in _around(present.columns, width)))


def list_heights(vectors: Vectors, present: Blocking) -> list[Blocking]:
    """The blocking, and some with other numbers of rows of A: whole tiles, and whole squares to be transposed."""
    unit = lcm(present.rows, vectors.lanes)
    return list(dict.fromkeys(replace(present, height=x) for x in _around(present.height, unit)))


def _around(size: int, unit: int) -> Iterator[int]:
    """A size, and about half and twice of it."""
    yield size
    yield from (_multiple(x, unit) for x in (size // 2, 2 * size))


def _multiple(size: int, unit: int) -> int:
    return max(unit, size // unit * unit)


def write_trial(vectors: Vectors, blocking: Blocking, maker: KernelCache) -> str:
    """The C of a packed product by itself."""
    tiles = [blocking.tile(vectors, "rows", first) for first in (True, False)]
    made = make_tiles(tiles, blocking, maker)
    trial = maker.make(describe(blocking), _make_trial, vectors, blocking, Catalogue().with_instructions(made))
    assert trial.implementation is not None
    return emit_file(trial.implementation, catalogue=shipped().joined(Catalogue().with_instructions(made)))


def _make_trial(vectors: Vectors, blocking: Blocking, tiles: Catalogue) -> Instruction:
    definition = define_product(NAME, vectors, first=True)
    return make_callable(definition, make_packed(definition, vectors, blocking, tiles, first=True))


def describe_call(vectors: Vectors) -> Signature:
    """How the product is called."""
    sizes = (Parameter(x, INDEX, "value") for x in ("m", "n", "k", "lda", "ldb", "ldc"))
    arrays = (Parameter(x, vectors.type, "array") for x in "ABC")
    return Signature(NAME, (*sizes, Parameter("alpha", vectors.type, "value"), *arrays))


def make_case(size: int) -> CallCase:
    """A square product."""
    values = dict.fromkeys(("m", "n", "k", "lda", "ldb", "ldc"), size)
    return CallCase({**values, "alpha": 1.0}, dict.fromkeys("ABC", size * size), distribution="uniform")
