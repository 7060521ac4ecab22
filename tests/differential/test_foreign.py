"""Drop-ins for a processor of another kind, built as a user builds them, checked in an emulator as any version is."""

from __future__ import annotations

import platform
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planish import compile as compile_function
from planish.build import functions
from planish.build.assemble import FileResult
from planish.build.emit import make_drop_ins
from planish.build.selection import Selection
from planish.core.diagnostic import PlanishError, Remark
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file
from planish.run.toolchains.cross import compiler_for, runner_for, takes
from planish.run.toolchains.toolchain import find_compilers
from planish.run.workbench import DropIn
from planish.target.load import load_target
from planish.target.machine import Target

NAME = "x86-avx2" if platform.machine() in ("aarch64", "arm64") else "aarch64-neon"
TARGET = load_target(NAME)
TEXT = """\
void product(int n, int m, int k, const float *restrict a, const float *restrict b, float *restrict c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            float s = 0;
            for (int p = 0; p < k; p++)
                s += a[i * k + p] * b[p * m + j];
            c[i * m + j] = s;
        }
}
void turn(int n, int m, const double *restrict a, double *restrict b)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            b[j * n + i] = a[i * m + j];
}
void fir(int n, int taps, const float *restrict h, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < n; i++) {
        float s = 0;
        for (int k = 0; k < taps; k++)
            s += h[k] * x[i + k];
        y[i] = s;
    }
}
void square(int n, float *a)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            float t = a[i * n + j];
            a[i * n + j] = a[j * n + i];
            a[j * n + i] = t;
        }
}
void letters(int n, const char *s, int *seen)
{
    for (int i = 0; i < n; i++)
        seen[i] = (char)(s[i] * 3) < 0 ? -1 : s[i] + 1;
}
"""
RIGHT, WRONG = "(int32_t)s[i] + 1", "(int32_t)s[i] + 2"
"""What a version of `letters` computes, and what would not be right."""

pytestmark = pytest.mark.usefixtures("few_registers")


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    try:
        compiler = compiler_for(TARGET, None)
    except PlanishError as error:
        pytest.skip(error.diagnostic.message)
    with tempfile.TemporaryDirectory() as folder:
        if missing := runner_for(TARGET, compiler, Path(folder)).missing:
            pytest.skip(missing)


def labels(built: FileResult) -> dict[str, str]:
    """What was taken of each function, after a check at many calls."""
    out = {}
    for x in built.functions:
        assert isinstance(x.selection, Selection) and x.selection.version is not None, x.remarks
        assert x.selection.verdict is not None and x.selection.verdict.cases_run >= 10
        assert x.selection.before is None and x.selection.after is None
        out[x.function.name] = x.selection.version.label
    return out


def test_the_library_is_used_without_being_asked_for() -> None:
    built = build_file(Source("some.c", TEXT), Options(target=NAME))
    assert built.emulator.startswith("qemu-")
    assert labels(built) == {
        "product": "operations", "turn": "operations", "fir": "fir", "square": "transpose-inplace", "letters": "maxfuse"
    }  # fmt: skip


def test_strictly_and_on_threads() -> None:
    built = build_file(Source("some.c", TEXT), Options(target=NAME, fp="strict", threads=2))
    found = labels(built)
    assert (found["turn"], found["product"]) == ("operations", "nofuse")
    assert all(x.selection.verdict.worst_absolute == 0 for x in built.functions)  # type: ignore[union-attr]


def test_clang_makes_it_too() -> None:
    clang = next((x for x in find_compilers() if x.kind == "clang" and takes(x, TARGET)), None)
    if clang is None:
        pytest.skip("no clang here that links for another processor")
    built = build_file(Source("some.c", TEXT), Options(target=NAME, compiler=clang.name, functions=("product",)))
    assert labels(built) == {"product": "operations"}


def test_what_differs_there_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that takes a plain `char` as this processor's compilers do is never entered on another one."""
    wrong = ("__CHAR_UNSIGNED__=1",) if not TARGET.predefined else ()
    monkeypatch.setattr(Target, "predefined", wrong)
    built = build_file(Source("some.c", TEXT), Options(target=NAME, functions=("letters",)))
    (function,) = built.functions
    assert function.selection is not None and function.selection.version is None
    assert "verify-exercised" in {x.id for x in function.selection.remarks}
    assert TEXT in built.text


def test_wrong_results_there_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a version for another processor computes is compared there."""

    def make_wrong(*given: Any) -> tuple[tuple[DropIn, ...], tuple[Remark, ...]]:
        made, remarks = make_drop_ins(*given)
        assert all(RIGHT in x.counted for x in made)
        return tuple(replace(x, counted=x.counted.replace(RIGHT, WRONG)) for x in made), remarks

    monkeypatch.setattr(functions, "make_drop_ins", make_wrong)
    built = build_file(Source("some.c", TEXT), Options(target=NAME, functions=("letters",)))
    (function,) = built.functions
    assert function.selection is not None and function.selection.version is None
    assert "verify-result" in {x.id for x in function.selection.remarks}
    assert TEXT in built.text


def test_mlir_is_one_of_its_languages() -> None:
    text = """\
func.func @scale(%x: memref<?xf32>, %a: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    %v = affine.load %x[%i] : memref<?xf32>
    %w = arith.mulf %v, %a : f32
    affine.store %w, %x[%i] : memref<?xf32>
  }
  return
}
"""
    built = build_file(Source("scale.mlir", text), Options(target=NAME))
    assert labels(built) == {"scale": "maxfuse"}


def test_it_cannot_be_called_from_python() -> None:
    with pytest.raises(PlanishError) as caught:
        compile_function(TEXT, "turn", target=NAME)
    assert caught.value.diagnostic.code == "E0122"
