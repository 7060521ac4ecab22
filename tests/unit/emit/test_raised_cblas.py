"""Raised kernels as C with calls of a BLAS: they compile, link and compute what the loops as written compute."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import FLAGS, c_type
from raised_examples import DEFINITIONS, EXAMPLES, Example, check_close, copied, meant, numbers
from tests.property.sampling import one_in

from planish.emit.formats.blas.cblas_text import emit_cblas
from planish.emit.formats.blas.routines import RoutineCall, choose_calls
from planish.emit.formats.blas.triangular import Routine, list_routines
from planish.ir.expr import Var
from planish.ir.nest import Alloc, Array, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_expr
from planish.ir.types import F64, INDEX
from planish.raising.expansion import expand
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Raised, View, walk_steps, whole


@dataclass(frozen=True, slots=True)
class Blas:
    """How a BLAS is compiled with and linked."""

    flags: tuple[str, ...]
    wide: bool = False


PROBE = "#include <cblas.h>\nint bytes(void) { return sizeof(blasint); }\n"
PLACES = {
    False: (("-lopenblas",), ("-I/usr/include/openblas", "-lopenblas")),
    True: (("-I/usr/include/x86_64-linux-gnu/openblas64-pthread", "-lopenblas64"),
           ("-I/usr/include/aarch64-linux-gnu/openblas64-pthread", "-lopenblas64"),
           ("-I/usr/include/openblas64", "-lopenblas64")),
}  # fmt: skip
"""Where Debian and others put an OpenBLAS, by whether its integers have 64 bits."""


def find_blas(folder: Path, wide: bool) -> Blas:
    """An OpenBLAS of this machine; skips the test where there is none."""
    for flags in PLACES[wide]:
        made = build(PROBE, folder, flags)
        if isinstance(made, ctypes.CDLL) and made.bytes() == (8 if wide else 4):
            return Blas(flags, wide)
    package = "libopenblas64-dev" if wide else "libopenblas-dev"
    pytest.skip(f"no OpenBLAS with {64 if wide else 32}-bit integers here (Debian: {package})")


def build(text: str, folder: Path, flags: tuple[str, ...]) -> ctypes.CDLL | str:
    """A library of the text, or what the compiler says."""
    source = folder / "blas.c"
    source.write_text(text)
    library = folder / f"blas{len(list(folder.iterdir()))}.so"
    command = ["gcc", *FLAGS, "-shared", "-fPIC", str(source), "-o", str(library), *flags, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return ctypes.CDLL(str(library)) if done.returncode == 0 else f"{done.stderr}\n{text}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("blas")


@pytest.fixture(scope="module", params=[False, True], ids=["32 bits", "64 bits"])
def blas(request: pytest.FixtureRequest, folder: Path) -> Blas:
    return find_blas(folder, request.param)


@pytest.fixture(scope="module")
def narrow(folder: Path) -> Blas:
    return find_blas(folder, False)


def run(library: ctypes.CDLL, kernel: Kernel, values: Mapping[str, Any]) -> None:
    """Call a function of the library on values as the interpreter takes them."""
    function = getattr(library, kernel.name)
    kinds: list[Any] = [ctypes.c_ssize_t] * len(kernel.sizes)
    kinds += [c_type(x.type) for x in kernel.scalars] + [ctypes.c_void_p] * len(kernel.arrays)
    function.argtypes = kinds
    pointers = [values[x.name].ctypes.data for x in kernel.arrays]
    function(*(values[x] for x in (*kernel.sizes, *(s.name for s in kernel.scalars))), *pointers)


def check(raised: Raised, sizes: list[Mapping[str, int]], blas: Blas, folder: Path) -> str:
    kernel = raised.kernel
    text = emit_cblas(raised, wide=blas.wide)
    library = build(text, folder, blas.flags)
    assert isinstance(library, ctypes.CDLL), library
    for given in sizes:
        values = numbers(kernel, given)
        wanted = meant(kernel, values)
        found = copied(values)
        run(library, kernel, found)
        check_close(kernel, found, wanted, f"{given}\n{text}")
    return text


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda x: x.name)
def test_the_text_runs(example: Example, blas: Blas, folder: Path) -> None:
    check(example.raised, list(example.sizes), blas, folder)


WANTED = {
    "gemm": ["cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, alpha, &A[0][0], k, &B[0][0], n, beta, "
             "&C[0][0], n);"],
    "gemm_tt": ["CblasTrans, CblasTrans, m, n, k, alpha * 2.0, &A[0][0], m, &B[0][0], k, 1.0 - beta, &C[0][0], n)"],
    "gemm_into_columns": ["cblas_dgemm(CblasColMajor, CblasTrans, CblasTrans, m, n, k, 1.0, &A[0][0], k, &B[0][0], n, "
                          "1.0, &C[0][0], m);"],
    "two_products": ["n, 0.0, &T[0][0], n);", "1.0, &T[0][0], n, &C[0][0], k, beta, &D[0][0], k);"],
    "part_of_a_product": ["1.0, &A[3][1], n + 4, &B[1][1], 2 * n + 4, 1.0, &C[1][2], n + 5);"],
    "gemv_transposed": ["cblas_dgemv(CblasColMajor, CblasNoTrans, n, m, 1.0, &A[0][0], n, x, 1, 1.0, y, 1);"],
    "outer": ["cblas_dger(CblasRowMajor, n, n, 1.0, &x[0][1], 2, y, -1, &A[1][0][0], n);"],
    "dots": ["r[1] += cblas_ddot(n, &x[1], 2, &y[2], -3);"],
    "level_one": ["cblas_daxpy(n, a, x, -1, y, 2);", "cblas_dscal(n, a + 1.0, y, 1);",
                  "cblas_dcopy(n, &y[1], -2, z, 1);", "*s = cblas_dnrm2(n, z, 1);", "*t += cblas_dasum(n, z, 1);"],
    "batches": ["for (ptrdiff_t p = 0; p < 4; p++) {", "cblas_dgemm("],
    "diagonal": ["cblas_daxpy(n, a, &A[0][0], n + 1, y, 1);"],
    "symmetric": ["cblas_dsymm(CblasRowMajor, CblasLeft, CblasLower, m, n, alpha, &A[0][0], m, &B[0][0], n, beta, "
                  "&C[0][0], n);"],
    "updates": ["cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, k, alpha, &A[0][0], k, beta, &C[0][0], n);",
                "cblas_dsyr2k(CblasRowMajor, CblasLower, CblasNoTrans, n, k, alpha, &B[0][0], k, &A[0][0], k, beta, "
                "&D[0][0], n);"],
    "triangular": ["cblas_dtrmm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasUnit, m, n, alpha, &A[0][0], m, "
                   "&B[0][0], n);",
                   "cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, m, n, 1.0, "
                   "&A[0][0], m, &D[0][0], n);"],
    "forward": ["for (ptrdiff_t t = 1; t < n; t++) {", "x[t] += cblas_ddot(t, &A[t][0], 1, x, 1);",
                "*s += cblas_ddot(t, x, 1, &A[0][t], n);", "forward_2(n, t, A, x, s);"],
    "integers": ["no routine of a BLAS", "integers_1(m, n, k, A, B, C);"],
    "overlapping": ["&A[n][0], n, &B[0][0], n, 1.0, &A[0][0], n);", "overlapping_2(n, A, B, x);"],
}  # fmt: skip


@pytest.mark.parametrize("name", WANTED)
def test_the_calls(name: str) -> None:
    text = emit_cblas(next(x for x in EXAMPLES if x.name == name).raised)
    for line in WANTED[name]:
        assert line in text, text


def _operands(definition: Kernel, turned: str) -> tuple[list[Array], dict[str, View]]:
    """Arrays of their own for a definition's operands, those in `turned` transposed, and the views of them."""
    arrays, views = [], {}
    for array in definition.arrays:
        if array.name in turned:
            swapped = Array(f"{array.name}_", F64, array.shape[::-1])
            first = whole(swapped)
            views[array.name] = View(swapped.name, first.start, first.steps[::-1], array.shape)
            arrays.append(swapped)
        else:
            own = Array(f"{array.name}_", F64, array.shape)
            views[array.name] = whole(own)
            arrays.append(own)
    return arrays, views


TURNED = ["", "A", "BC", "ABC"]
"""The operands that are transposed."""


NAMES = {"symm", "symv", "syrk", "syr2k", "syr", "syr2", "trmm", "trsm", "trmv", "trsv"}


@pytest.mark.parametrize("turned", one_in(2, TURNED))
def test_some_forms_of_each_routine_do_what_their_definitions_say(
    turned: str, narrow: Blas, folder: Path
) -> None:
    first = TURNED.index(turned)
    chosen = [x for name in NAMES for x in [y for y in list_routines() if y.name == name][first::8]]
    seen = check_routines(turned, chosen, narrow, folder)
    assert turned not in ("", "ABC") or seen == NAMES


@pytest.mark.slow
@pytest.mark.parametrize("turned", TURNED)
def test_every_form_does_so_however_operands_lie(turned: str, narrow: Blas, folder: Path) -> None:
    seen = check_routines(turned, list_routines(), narrow, folder)
    # Matrices that lie in rows do not go with others in columns, except for the one that a word is for.
    assert turned == "BC" or seen == NAMES - ({"syr2k"} if turned == "A" else set())


def check_routines(turned: str, routines: Sequence[Routine], narrow: Blas, folder: Path) -> set[str]:
    """Build the calls of routines, and compare what they do; gives those for which there is a call."""
    made: list[tuple[Raised, Kernel]] = []
    seen: set[str] = set()
    for number, routine in enumerate(routines):
        own = routine.definition
        arrays, views = _operands(own, turned)
        kernel = replace(own, name=f"k{number}", arrays=tuple(arrays), body=replace(own.body, body=()))
        apply = Apply(
            Operation(routine.name, own), views, {x: Var(x, INDEX) for x in own.sizes},
            {x.name: Var(x.name, F64) for x in own.scalars},
        )  # fmt: skip
        kernel = expand(Raised(kernel, (apply,)))
        raised = Raised(kernel, (apply,))
        calls = choose_calls(apply, raised)
        if calls is None or not all(isinstance(x, RoutineCall) for x in calls):
            continue
        seen.add(routine.name)
        made.append((raised, kernel))
    library = build(emit_cblas(*(x for x, _ in made)), folder, narrow.flags)
    assert isinstance(library, ctypes.CDLL), library
    for raised, kernel in made:
        (apply,) = raised.steps
        assert isinstance(apply, Apply)
        for size in (0, 1, 5):
            values = numbers(kernel, {x: size + i * (size > 0) for i, x in enumerate(kernel.sizes)})
            for array in kernel.arrays:
                # Triangles are solved, so that what they are divided by should not be small.
                if len(array.shape) == 2 and len(kernel.arrays) == 2:
                    values[array.name] *= 0.3
                    values[array.name] += 2 * np.eye(*values[array.name].shape)
            wanted = copied(values)
            own = apply.operation.definition
            named = {
                x.name: wanted[f"{x.name}_"].T if x.name in turned else wanted[f"{x.name}_"] for x in own.arrays
            }
            inputs = {**wanted, **{k: np.ascontiguousarray(v) for k, v in named.items()}}
            run_kernel(own, {k: v for k, v in inputs.items() if not k.endswith("_")})
            found = copied(values)
            run(library, kernel, found)
            for array in own.arrays:
                result = found[f"{array.name}_"].T if array.name in turned else found[f"{array.name}_"]
                np.testing.assert_allclose(result, inputs[array.name], rtol=1e-10, atol=1e-12, err_msg=str(apply.sizes))
    return seen


def test_sizes_that_the_blas_cannot_be_told_run_loops(narrow: Blas, folder: Path) -> None:
    """A row of 2**31 elements is never touched: the leading dimension alone is too large."""
    example = next(x for x in EXAMPLES if x.name == "dots")
    (step,) = example.raised.steps
    kernel = replace(example.raised.kernel, arrays=(), sizes=("n", "w"))
    arrays = (Array("x", F64, (None, Var("w", INDEX)), True), Array("y", F64, (Var("n", INDEX),), True),
              Array("r", F64, (parse_expr("2"),), True))  # fmt: skip
    kernel = replace(kernel, arrays=arrays, name="wide")
    zero = parse_expr("0")
    views = {"x": View("x", (zero, zero), ((1, 0),), (Var("n", INDEX),)), "y": whole(arrays[1]),
             "s": View("r", (zero,), (), ())}  # fmt: skip
    assert isinstance(step, Apply)
    text = emit_cblas(Raised(kernel, (replace(step, operands=views),)))
    assert "planish_fits(w, -INT32_MAX)" in text
    library = build(text, folder, narrow.flags)
    assert isinstance(library, ctypes.CDLL), library
    x, y, r = np.array([[3.0]]), np.array([2.0]), np.array([1.0, 0.0])
    run(library, kernel, {"n": 1, "w": 1 << 40, "x": x, "y": y, "r": r})
    assert r[0] == 7.0


def test_arrays_that_overlap_run_the_loops(narrow: Blas, folder: Path) -> None:
    kernel = replace(next(x for x in EXAMPLES if x.name == "gemv_transposed").raised, locals=()).kernel
    raised = next(x for x in EXAMPLES if x.name == "gemv_transposed").raised
    library = build(emit_cblas(raised), folder, narrow.flags)
    assert isinstance(library, ctypes.CDLL), library
    values = numbers(kernel, {"m": 3, "n": 3})
    wanted = copied(values)
    wanted["x"] = wanted["y"]
    run_kernel(kernel, wanted)
    values["x"] = values["y"]
    run(library, kernel, values)
    np.testing.assert_allclose(values["y"], wanted["y"], rtol=1e-13)


def test_local_arrays_are_allocated(narrow: Blas, folder: Path) -> None:
    example = next(x for x in EXAMPLES if x.name == "two_products")
    kernel = example.raised.kernel
    (temporary,) = (x for x in kernel.arrays if x.name == "T")
    outer = replace(kernel, arrays=tuple(x for x in kernel.arrays if x.name != "T"))
    inner = replace(kernel.body, body=(Alloc(temporary), *kernel.body.body))
    raised = Raised(replace(outer, body=inner), example.raised.steps, (temporary,))
    text = check(raised, [dict(x) for x in example.sizes], narrow, folder)
    assert "planish_release(T_local)" in text or "planish_release(T)" in text




def test_every_definition_is_raised_somewhere() -> None:
    used = {x.operation.name for e in EXAMPLES for x in walk_steps(e.raised.steps) if isinstance(x, Apply)}
    assert set(DEFINITIONS) == used
