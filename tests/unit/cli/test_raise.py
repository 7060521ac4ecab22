"""`planish raise`: what it prints and writes, and that PolyBench's kernels come out right in every form that runs."""

from __future__ import annotations

import ctypes
import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "emit"))

from raised_examples import check_close, copied, numbers
from test_raised_cblas import build, find_blas
from test_raised_cblas import run as run_blas
from test_raised_mlir import build as build_mlir
from test_raised_mlir import call as call_mlir

from planish.build.read import read_file
from planish.cli import main
from planish.cli.raise_ import FORMS, raise_kernels
from planish.core.files import read_input
from planish.emit.formats.blas.cblas_text import emit_cblas
from planish.emit.formats.json_text import emit_json, parse_json
from planish.emit.formats.mlir.mlir_text import emit_mlir
from planish.emit.formats.numpy.numpy_text import emit_numpy
from planish.ir.semantics.interpreter import run_kernel
from planish.options import Options
from planish.raising.raised import Raised

POLYBENCH = Path(__file__).resolve().parents[3] / "examples" / "polybench"
KERNELS = ("2mm", "atax", "bicg", "covariance", "doitgen", "floyd-warshall", "gemm", "gemver", "gesummv", "jacobi-2d",
           "mvt", "nussinov", "symm", "syr2k", "syrk", "trisolv", "trmm")  # fmt: skip
ZERO = "void zero(int n, float *a) { for (int i = 0; i < n; i++) a[i] = 0; }\n"
HARD = "void sum(int n, float *a) { for (int i = 1; i < n; i++) a[i] = a[i] / a[i - 1]; }\n"


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_printed(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.c").write_text(ZERO)
    assert main(["raise", str(tmp_path / "a.c"), "--to", form]) == 0
    printed = capsys.readouterr()
    assert "zero" in printed.out and not printed.err


def test_a_file_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.c").write_text(ZERO)
    target = tmp_path / "new" / "a.json"
    assert main(["raise", str(tmp_path / "a.c"), "--to", "json", "-o", str(target)]) == 0
    assert capsys.readouterr().out == f"wrote {target}\n"
    assert json.loads(target.read_text())["kernels"][0]["name"] == "zero"


def test_a_nest_without_operations_is_told_and_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.c").write_text(ZERO + HARD)
    assert main(["raise", str(tmp_path / "a.c"), "--to", "numpy"]) == 0
    printed = capsys.readouterr()
    assert "note[raise-nothing]: no operation was found in `sum`" in printed.err and "a.c:2:29" in printed.err
    assert "`zero`" not in printed.err
    assert "a[i] = a[i] / a[i - 1]" in printed.out
    assert main(["raise", str(tmp_path / "a.c"), "--to", "numpy", "-q"]) == 0
    assert not capsys.readouterr().err


def test_the_order_of_sums_is_kept_where_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.c").write_text("float sum(int n, float *a) { float s = 0; for (int i = 0; i < n; i++) s += a[i];"
                                  " return s; }\n")  # fmt: skip
    assert main(["raise", str(tmp_path / "a.c"), "--to", "numpy", "-q"]) == 0
    assert ".sum()" in capsys.readouterr().out
    assert main(["raise", str(tmp_path / "a.c"), "--to", "numpy", "-q", "--fp", "strict"]) == 0
    assert "for i in range(n):" in capsys.readouterr().out


def test_wide_integers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.c").write_text("void add(int n, float *restrict a, float *restrict b)"
                                  " { for (int i = 0; i < n; i++) a[i] += b[i]; }\n")  # fmt: skip
    for options, limited in (([], True), (["--ilp64"], False)):
        assert main(["raise", str(tmp_path / "a.c"), "--to", "cblas", *options]) == 0
        printed = capsys.readouterr().out
        assert "cblas_saxpy(" in printed and ("INT32_MAX" in printed) == limited


@pytest.fixture(scope="module")
def raised() -> Mapping[str, Raised]:
    """PolyBench's kernels."""
    out = {}
    for name in KERNELS:
        options = Options()
        (kernel,) = raise_kernels(read_file(read_input(str(POLYBENCH / f"{name}.c")).source, options), options)
        out[name] = kernel
    return out


def values_of(raised: Raised) -> tuple[dict[str, Any], dict[str, Any]]:
    """Small sizes, and what the kernel as it was makes of them."""
    kernel = raised.kernel
    sizes = {x: 4 + i for i, x in enumerate(kernel.sizes)}
    values = numbers(kernel, sizes)
    for array in kernel.arrays:
        if array.type.is_float and len(array.shape) == 2 and len(kernel.arrays) < 4:
            # What is divided by should not be small.
            values[array.name] += 2 * np.eye(*values[array.name].shape)
    wanted = copied(values)
    run_kernel(kernel, wanted)
    return values, wanted


@pytest.mark.parametrize("name", KERNELS)
def test_polybench_with_numpy(name: str, raised: Mapping[str, Raised]) -> None:
    found = raised[name]
    assert parse_json(emit_json(found)) == (found,)
    values, wanted = values_of(found)
    scope: dict[str, Any] = {}
    exec(emit_numpy(found), scope)
    scope[found.kernel.name](*values.values())
    check_close(found.kernel, values, wanted, name)


def test_polybench_with_a_blas(raised: Mapping[str, Raised], tmp_path: Path) -> None:
    blas = find_blas(tmp_path, False)
    library = build(emit_cblas(*raised.values()), tmp_path, blas.flags)
    assert isinstance(library, ctypes.CDLL), library
    for name, kernel in raised.items():
        values, wanted = values_of(kernel)
        run_blas(library, kernel.kernel, values)
        check_close(kernel.kernel, values, wanted, name)


def test_polybench_with_mlir(raised: Mapping[str, Raised], tmp_path: Path) -> None:
    names = {"mlir-opt": "mlir-opt-19", "mlir-translate": "mlir-translate-19", "clang": "clang-19"}
    found = {plain: shutil.which(full) or shutil.which(plain) for plain, full in names.items()}
    tools = {name: path for name, path in found.items() if path is not None}
    if len(tools) < len(names):
        pytest.skip("no MLIR here (Debian: mlir-19-tools, clang-19)")
    library = build_mlir(emit_mlir(*raised.values()), tools, tmp_path)
    for name, kernel in raised.items():
        values, wanted = values_of(kernel)
        call_mlir(library, kernel.kernel, values)
        check_close(kernel.kernel, values, wanted, name)
