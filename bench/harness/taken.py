"""Which strategies take the nests of a program: those of the first version without the clock, and of all versions.

>>> from planish.library.registry import find_strategy
>>> text = "void f(int n, const int *x, int *y) { int s = 0; for (int i = 0; i < n; i++) { s += x[i]; y[i] = s; } }"
>>> file = read_in("c", text)
>>> first_versions(file), is_taken(find_strategy("simd-scan"), file.functions[0], OPTIONS)
(['simd-scan'], True)
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.harness.places import ROOT
from planish.build.devices import plan_devices
from planish.build.lower import lower_plan, lower_region
from planish.build.plan import plan_region
from planish.build.read import read_file
from planish.core.span import Source
from planish.emit.dropin.standalone import emit_standalone
from planish.frontend.c.translation_unit import CFile, CFunction
from planish.frontend.python.reader import read_python_source
from planish.library.registry import DEVICE_STRATEGIES
from planish.library.strategy import LOOPS, Strategy
from planish.options import Options
from planish.target.device import load_device
from planish.target.load import load_target

OPTIONS = Options(target="x86-avx512", measure=False)
DEVICE = "cuda-sm90"
"""What the strategies for GPUs are asked for."""

LANGUAGES = ("c", "python", "mlir")
WRITTEN = ROOT / "tests" / "unit" / "library" / "source_languages"
"""Files of kernels that are written in each language."""


@dataclass(frozen=True, slots=True)
class WrittenKernel:
    """A kernel as it is written in each language, and the versions that are taken of its nests, in their order;
    `costly`: it takes long to plan, so that the claims ask for it and the tests do not."""

    texts: Mapping[str, str]
    versions: Sequence[str]
    costly: bool = False


def written_kernels() -> dict[str, WrittenKernel]:
    """The kernels that are written in each language, by their names."""
    rows = {name: x for path in sorted(WRITTEN.glob("*.toml")) for name, x in tomllib.loads(path.read_text()).items()}
    return {
        name: WrittenKernel({y: x[y] for y in LANGUAGES}, x["versions"], x.get("costly", False))
        for name, x in rows.items()
    }  # fmt: skip


def read_in(language: str, text: str, options: Options = OPTIONS) -> CFile:
    """A file in `c`, `python` or `mlir`; ImportError where the packages that read it are missing."""
    match language:
        case "python":
            return emit_standalone(read_python_source(text, "kernel.py").kernel)
        case "mlir" | "c":
            return read_file(Source(f"kernel.{language}", text), options)
        case _:
            raise ValueError(language)


def first_versions(file: CFile, options: Options = OPTIONS) -> list[str]:
    """The version of each nest that is taken without the clock."""
    target = load_target(options.target)
    plans = [lower_region(x, options, target, 1) for f in file.functions for x in f.regions]
    return [x.versions[0].name for x in plans if x.versions]


def is_taken(strategy: Strategy[Any], function: CFunction, options: Options) -> bool:
    """Whether a strategy takes a nest of a function. One that is expected to be faster than any order of loops has to
    be the first; one that only the clock chooses has to make a version."""
    target = load_target(options.target)
    for region in function.regions:
        plan = plan_region(region, options, target)
        if any(strategy.makes(x.name) for x in lower_plan(plan, options, 1).versions):
            return True
        measured = replace(options, measure=True)
        cx = plan.context
        # Of what is found, some may be expected to be slower than an order of loops.
        costs = [strategy.cost_of(cx, x) for x in strategy.match(cx)] if cx.nest is not None else []
        behind = any(x >= LOOPS for x in costs)
        if behind and any(strategy.makes(x.name) for x in lower_plan(plan, measured).versions):
            return True
    return False


def takes_on_device(strategy: Strategy[Any], source: Source) -> Sequence[str]:
    """The functions of a file of which a strategy for GPUs takes a nest."""
    assert strategy in DEVICE_STRATEGIES
    made = plan_devices(source, Options(), load_device(DEVICE)).nests
    return [x.function for x in made if strategy.makes(x.version)]
