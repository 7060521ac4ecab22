"""Libraries are told apart by calling them; one that is not there, or has other integers, is an error with advice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from planish.core.diagnostic import PlanishError
from planish.emit.formats.blas.interface import BlasInterface
from planish.run.processes.process import Limits, run_process
from planish.run.toolchains import blas
from planish.run.toolchains.blas import Blas, find_blas
from planish.run.toolchains.toolchain import Compiler, choose_compiler

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")

DDOT = """
#include <stdint.h>
double {name}({integer} n, const double *x, {integer} x_step, const double *y, {integer} y_step)
{{
  double sum = 0;
  for ({integer} i = 0; i < n; i++)
    sum += x[i * x_step] * y[i * y_step];
  return sum;
}}
"""


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiler]:
    """A machine on which only the libraries in a folder are found."""
    (tmp_path / "lib").mkdir()
    monkeypatch.setattr(blas, "_LINKED", dict.fromkeys(blas._LINKED, (("nowhere_to_be_found",),)))
    monkeypatch.setattr(blas, "_folders", lambda: (tmp_path / "lib",))
    blas._ask.cache_clear()
    yield choose_compiler("gcc")
    blas._ask.cache_clear()


def put(compiler: Compiler, path: Path, name: str, integer: str) -> None:
    """A library with one function."""
    source = path.with_suffix(".c")
    source.write_text(DDOT.format(name=name, integer=integer))
    command = [str(compiler.path), "-shared", "-fPIC", str(source), "-o", str(path)]
    assert run_process(command, Limits(seconds=60)).code == 0


@pytest.mark.parametrize(
    ("file", "function", "integer", "interface"),
    [
        ("libopenblas.so.0", "cblas_ddot", "int", BlasInterface()),
        ("libopenblas64.so.0", "cblas_ddot", "int64_t", BlasInterface(wide=True)),
        ("libopenblas64.so.0", "cblas_ddot64_", "int64_t", BlasInterface("", "64_", True)),
        ("libscipy_openblas.so", "scipy_cblas_ddot", "int", BlasInterface("scipy_")),
        ("libscipy_openblas64_.so", "scipy_cblas_ddot64_", "int64_t", BlasInterface("scipy_", "64_", True)),
    ],
)
def test_names_and_integers(
    file: str, function: str, integer: str, interface: BlasInterface, compiler: Compiler, tmp_path: Path
) -> None:
    put(compiler, tmp_path / "lib" / file, function, integer)
    found = find_blas("openblas", interface.wide, compiler)
    assert found == Blas("openblas", interface, (str(tmp_path / "lib" / file), f"-Wl,-rpath,{tmp_path / 'lib'}"))


@pytest.mark.parametrize("name", ["openblas", "blis", "mkl", "cblas"])
@pytest.mark.parametrize("wide", [False, True])
def test_none_is_there(name: str, wide: bool, compiler: Compiler) -> None:
    with pytest.raises(PlanishError) as caught:
        find_blas(name, wide, compiler)
    assert caught.value.diagnostic.code == "E0846"
    assert f"no {name} with integers of {64 if wide else 32} bits" in caught.value.diagnostic.message
    assert "install" in caught.value.diagnostic.help


@pytest.mark.parametrize("wide", [False, True])
def test_the_other_integers(wide: bool, compiler: Compiler, tmp_path: Path) -> None:
    put(compiler, tmp_path / "lib" / "libblis.so.4", "cblas_ddot", "int" if wide else "int64_t")
    with pytest.raises(PlanishError) as caught:
        find_blas("blis", wide, compiler)
    assert caught.value.diagnostic.code == "E0849"
    assert ("leave out --ilp64" if wide else "ask for it with --ilp64") in caught.value.diagnostic.help


def test_the_one_that_fits_is_taken(compiler: Compiler, tmp_path: Path) -> None:
    put(compiler, tmp_path / "lib" / "libblis.so.4", "cblas_ddot", "int")
    put(compiler, tmp_path / "lib" / "libblis64.so.4", "cblas_ddot", "int64_t")
    assert [find_blas("blis", x, compiler).interface.wide for x in (False, True)] == [False, True]


def test_what_does_not_answer_is_none(compiler: Compiler, tmp_path: Path) -> None:
    broken = DDOT.replace("return sum", "return sum + 1")
    source = tmp_path / "broken.c"
    source.write_text(broken.format(name="cblas_ddot", integer="int"))
    library = tmp_path / "lib" / "libblis.so.4"
    run_process([str(compiler.path), "-shared", "-fPIC", str(source), "-o", str(library)], Limits(seconds=60))
    assert library.exists()
    with pytest.raises(PlanishError) as caught:
        find_blas("blis", False, compiler)
    assert caught.value.diagnostic.code == "E0846"
