"""What the command and the library make of MLIR, and what they say where xDSL is missing."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

import planish
from planish.cli import main
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.frontend.mlir import reader
from planish.ir.semantics.interpreter import run_kernel
from planish.options import Options
from planish.pipeline import build_file

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples/mlir").glob("*.mlir"))
ALLOCATES = """
func.func @smooth(%A: memref<?xf64>, %B: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %A, %c0 : memref<?xf64>
  %t = memref.alloc(%n) : memref<?xf64>
  affine.for %i = 0 to %n {
    %x = affine.load %A[%i] : memref<?xf64>
    %y = arith.addf %x, %x : f64
    affine.store %y, %t[%i] : memref<?xf64>
  }
  affine.for %i = 1 to %n {
    %x = affine.load %t[%i] : memref<?xf64>
    %y = affine.load %t[%i - 1] : memref<?xf64>
    %z = arith.addf %x, %y : f64
    affine.store %z, %B[%i] : memref<?xf64>
  }
  memref.dealloc %t : memref<?xf64>
  return
}
func.func @zero(%B: memref<4xf64>) {
  %z = arith.constant 0.0 : f64
  linalg.fill ins(%z : f64) outs(%B : memref<4xf64>)
  return
}
"""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_are_verified(path: Path) -> None:
    result = build_file(Source(str(path), path.read_text()), Options(measure=False))
    for function in result.functions:
        assert function.selection is not None and function.selection.version is not None
        assert function.selection.verdict is not None and function.selection.verdict.status == "ok"
    assert result.source.name == str(path)


def test_a_function_that_takes_memory_says_whether_it_could(tmp_path: Path) -> None:
    result = build_file(Source("smooth.mlir", ALLOCATES), Options(measure=False))
    assert "int smooth(ptrdiff_t n, ptrdiff_t B_0, const double *A, double *B);" in result.header
    assert "void zero(double *B);" in result.header
    (tmp_path / "smooth.mlir").write_text(ALLOCATES)
    smooth = planish.compile(str(tmp_path / "smooth.mlir"), "smooth", measure=False)
    A, B = np.arange(9.0), np.zeros(9)
    assert smooth(A, B) == 0
    assert np.array_equal(B[1:], 2 * (A[1:] + A[:-1]))


def test_one_function_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calls = ALLOCATES.replace("affine.store %z, %B[%i]", "call @g() : () -> ()\n affine.store %z, %B[%i]")
    Path("two.mlir").write_text(calls)
    assert main(["build", "two.mlir", "--no-measure"]) == 1
    assert main(["build", "two.mlir", "--no-measure", "--function", "zero"]) == 0
    text = Path("planish-out/two.c").read_text()
    assert "void zero(" in text and "smooth" not in text
    assert main(["explain", "two.mlir", "--function", "zero"]) == 0


def test_without_xdsl(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(reader, "version", missing)
    with pytest.raises(PlanishError) as caught:
        reader.read_mlir(Source("a.mlir", ""))
    assert caught.value.diagnostic.code == "E0860"
    assert "planish[mlir]" in caught.value.diagnostic.help
    (tmp_path / "a.mlir").write_text(ALLOCATES)
    assert main(["build", str(tmp_path / "a.mlir"), "-o", str(tmp_path / "out")]) == 1
    assert "error[E0860]" in capsys.readouterr().err


def test_with_an_xdsl_of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(name: str) -> object:
        raise ImportError("cannot import name 'X' from 'xdsl.ir'", name="xdsl.ir")

    monkeypatch.setattr(reader, "import_module", other)
    with pytest.raises(PlanishError) as caught:
        reader.read_mlir(Source("a.mlir", ""))
    assert caught.value.diagnostic.code == "E0860"


WHILE = """
func.func @count(%n: index, %out: memref<1xindex>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %last = scf.while (%i = %c0) : (index) -> index {
    %go = arith.cmpi slt, %i, %n : index
    scf.condition(%go) %i : index
  } do {
  ^bb0(%i: index):
    %next = arith.addi %i, %c2 : index
    scf.yield %next : index
  }
  memref.store %last, %out[%c0] : memref<1xindex>
  return
}
"""


def test_loops_without_a_count() -> None:
    (kernel,) = reader.read_mlir(Source("count.mlir", WHILE))
    out = np.zeros(1, np.int64)
    run_kernel(kernel, {"n": 5, "out": out})
    assert out[0] == 6


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("scf.condition(%go) %i", "scf.condition(%go) %n", "other values"),
        ("%go = arith", "memref.store %i, %out[%c0] : memref<1xindex>\n    %go = arith", "statements in its condition"),
    ],
)
def test_conditions_that_are_more_than_that_are_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(PlanishError, match=message):
        reader.read_mlir(Source("count.mlir", WHILE.replace(old, new)))
