"""No function stays as it was written without a reason, and no reason lacks a place and advice: over the examples, the
cases, and programs of both generators.

Reading is quick, so that every file is read; some are built, too, and their drop-ins are run.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.differential.judging import judge_runs, read_demands
from tests.property.listings.listing import write_listing
from tests.property.sampling import slow

from planish.build.assemble import FileResult
from planish.build.read import read_file
from planish.core.diagnostic import PlanishError, Remark
from planish.core.span import Source
from planish.frontend.c.text.lexer import tokenize
from planish.frontend.c.translation_unit import CFunction
from planish.options import Options
from planish.pipeline import build_file
from planish.report.account import remarks_of
from planish.report.explanation import explain_file

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "differential" / "cases"
FILES = [
    *sorted((ROOT / "examples").rglob("*.c")), *sorted(CASES.rglob("*.c")),
    *sorted((ROOT / "tests" / "raising").rglob("*.c")), *sorted((ROOT / "tests" / "property" / "reduced").glob("*.c")),
]  # fmt: skip
SEEDS = range(1000, 1012)
BUILT = [*sorted((CASES / "reach").glob("*.c"))]


def source_of(path: Path) -> Source:
    return Source(str(path), path.read_text())


def has_loop(function: CFunction, source: Source) -> bool:
    body = tokenize(source.text[function.start : function.end])
    return any(token.text in ("for", "while", "do") for token in body.tokens)


def unexplained(remarks: tuple[Remark, ...], source: Source) -> Iterator[str]:
    """What is refused without a line of the file, a caret, or advice."""
    for remark in remarks:
        told = remark.render(source)
        if "^" not in told or "  = help: " not in told:
            yield told


def check_read(source: Source) -> None:
    try:
        file = read_file(source, Options(defines=("MINI_DATASET",)))
    except PlanishError as error:
        assert error.diagnostic.advice, str(error)
        return
    refused = tuple(x for x in file.remarks if x.kind == "refused")
    assert not [*unexplained(refused, source)]
    for function in file.functions:
        if not function.regions and has_loop(function, source):
            assert remarks_of(function, (), file.remarks), f"{source.name}: {function.name}"


def check_built(source: Source) -> FileResult:
    result = build_file(source, Options(measure=False))
    for function in result.functions:
        refused = remarks_of(function.function, function.remarks, result.remarks)
        assert not [*unexplained(refused, source)], function.function.name
        if not function.replacements and has_loop(function.function, source):
            assert refused, f"{function.function.name} stays as it was written without a reason"
    return result


@pytest.mark.parametrize("path", FILES, ids=lambda x: f"{x.parent.name}-{x.stem}")
def test_what_is_read(path: Path) -> None:
    check_read(source_of(path))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_read_of_random_programs(seed: int) -> None:
    check_read(Source("random.c", write_listing(seed)))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
@pytest.mark.parametrize("path", BUILT, ids=lambda x: x.stem)
def test_what_is_built(path: Path, tmp_path: Path) -> None:
    result, expected = check_built(source_of(path)), path.with_suffix(".expected").read_text()
    (tmp_path / path.name).write_text(result.text)
    faults = judge_runs(read_demands(result.source.text), path.name, expected, tmp_path, ("as told", "sanitized"))
    assert not faults, "\n".join(faults)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
@pytest.mark.parametrize("seed", [x if x == 1004 else slow(x) for x in SEEDS])
def test_what_is_built_of_random_programs(seed: int) -> None:
    check_built(Source("random.c", write_listing(seed)))


def test_an_explanation_gives_advice() -> None:
    text = "void f(int n, int *a, const int *b)\n{\n    for (int i = 0; i < n; i++)\n        a[b[i]] = i;\n}\n"
    told = explain_file(Source("f.c", text), Options())
    assert "refused[scop-data]" in told and "  = help: put what does not need these values" in told
