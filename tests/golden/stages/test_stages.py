"""Every stage of real kernels as text: it parses back to the same value, and what is read stays what it was.

`python tests/golden/stages/test_stages.py` writes the expected texts anew (look at the difference before you keep it).
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from planish.build.dump import STAGES, Stage, parse_stage, print_stages, stage_text
from planish.build.lower import RegionPlan, lower_region
from planish.build.read import read_file
from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFile
from planish.ir.nest import Kernel
from planish.options import Options
from planish.poly.isl.schedule_text import same_schedule
from planish.target.load import load_target

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[2] / "examples"
OPTIONS = Options(target="generic", defines=("MINI_DATASET",))
KERNELS = (
    "polybench/gemm", "polybench/atax", "polybench/trisolv", "polybench/jacobi-2d", "polybench/floyd-warshall",
    "dsp/dot", "dsp/prefix_sum", "dsp/transpose", "dsp/matmul_ptr",
)  # fmt: skip
NAMED: tuple[Stage, ...] = ("read", "prepare", "schedule", "nest")


def load(name: str) -> Source:
    # A name without folders, so that texts and places are the same on every machine.
    path = EXAMPLES / f"{name}.c"
    return Source(path.name, path.read_text(encoding="utf-8"))


@cache
def planned(name: str) -> tuple[CFile, tuple[RegionPlan, ...]]:
    options = Options(target="generic", defines=OPTIONS.defines, include_dirs=((EXAMPLES / name).parent,))
    file = read_file(load(name), options)
    target = load_target("generic")
    return file, tuple(lower_region(r, options, target) for f in file.functions for r in f.regions)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("stage", NAMED)
def test_text_parses_back_to_the_same_value(name: str, stage: Stage) -> None:
    file, plans = planned(name)
    records = parse_stage(stage_text(stage, plans, file, OPTIONS))
    want = [
        (f"{p.region.function} {p.region.ordinal}", version, value)
        for p in plans for version, value in values(stage, p)
    ]  # fmt: skip
    assert want
    assert [(r.region, r.version) for r in records] == [(region, version) for region, version, _ in want]
    for record, (_, _, value) in zip(records, want, strict=True):
        assert record.stage == stage
        if isinstance(value, Kernel):
            assert record.value == value
        else:
            assert same_schedule(record.value, value)


def values(stage: Stage, plan: RegionPlan) -> list[tuple[str, object]]:
    match stage:
        case "read":
            return [("", plan.region.kernel)]
        case "prepare":
            return [("", plan.prepared.kernel)] if plan.prepared is not None else []
        case "schedule":
            return [(c.name, c.schedule) for c in plan.candidates]
        case _:
            return [(c.name, c.kernel) for c in plan.candidates]


@pytest.mark.parametrize("name", ["polybench/gemm", "dsp/prefix_sum"])
def test_c_is_the_whole_file_and_compiles(name: str, tmp_path: Path) -> None:
    file, plans = planned(name)
    (record,) = parse_stage(stage_text("c", plans, file, OPTIONS))
    assert isinstance(record.value, str)
    made = read_c(Source("made.c", record.value), defines=OPTIONS.defines, include_dirs=((EXAMPLES / name).parent,))
    assert {f.name for f in file.functions} < {f.name for f in made.functions}
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is not None:
        (tmp_path / "made.c").write_text(record.value)
        flags = ["-fsyntax-only", "-DMINI_DATASET", f"-I{(EXAMPLES / name).parent}"]
        subprocess.run([compiler, *flags, "made.c"], cwd=tmp_path, check=True)


def test_different_schedules_are_told_apart() -> None:
    _, plans = planned("polybench/atax")
    first, second = plans[0].candidates[:2]
    assert not same_schedule(first.schedule, second.schedule)


def test_stages_come_all_or_one_by_one() -> None:
    source = load("dsp/dot")
    texts = print_stages(source, OPTIONS)
    assert tuple(texts) == STAGES
    assert print_stages(source, OPTIONS, ("read",)) == {"read": texts["read"]}


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_read_is_what_was_expected(name: str) -> None:
    file, plans = planned(name)
    assert stage_text("read", plans, file, OPTIONS) == expected(name).read_text(encoding="utf-8")


def expected(name: str) -> Path:
    return HERE / f"{Path(name).name}.read.txt"


def bless() -> None:
    """Write what is read now as what is expected."""
    for name in KERNELS:
        file, plans = planned(name)
        expected(name).write_text(stage_text("read", plans, file, OPTIONS), encoding="utf-8")


if __name__ == "__main__":
    bless()
