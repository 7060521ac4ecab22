"""Kernels become operations on the right operands, run as before, and what is refused is refused with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.raising.definitions import OPERATIONS
from tests.unit.raising.interpreted import assert_same, make_values

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.checker import check_kernel
from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr
from planish.raising.expansion import expand
from planish.raising.match.semantic_match import recognise
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Loops, Raised, Repeat, walk_steps

POLYBENCH = Path(__file__).parents[3] / "examples" / "polybench"


def named(*names: str) -> list[Operation]:
    return [x for x in OPERATIONS if x.name in names]


def only(raised: Raised) -> Apply:
    (step,) = raised.steps
    assert isinstance(step, Apply), [x.reasons for x in walk_steps(raised.steps) if isinstance(x, Loops)]
    return step


def raise_text(text: str, *names: str, sizes: tuple[int, ...] = (0, 1, 2, 5)) -> Raised:
    """The kernel raised with some operations, and run for all its sizes being one of a few numbers."""
    kernel = parse_kernel(text)
    raised = recognise(kernel, named(*names))
    run(kernel, raised, [dict.fromkeys(kernel.sizes, x) for x in sizes])
    return raised


def run(kernel: Kernel, raised: Raised, sizes: list[dict[str, int]]) -> None:
    inlined = expand(raised)
    check_kernel(inlined, "inlined")
    for here in sizes:
        assert_same(kernel, inlined, make_values(kernel, here))


def reason(raised: Raised) -> str:
    (step,) = raised.steps
    assert isinstance(step, Loops)
    return " ".join(step.reasons.values())


FOUND = {
    "2mm": ["gemm", "gemm_scaled"], "3mm": ["gemm"] * 3, "gemm": ["gemm_scaled"], "doitgen": ["contraction"],
    "syrk": ["syrk"], "syr2k": ["syr2k"], "symm": ["symm"], "trmm": ["trmm"],
    "atax": ["fill", "gemv", "gemv_scaled"], "bicg": ["gemv"] * 2, "mvt": ["gemv_scaled"] * 2,
    "gemver": ["ger2", "gemv_scaled", "axpby", "gemv_scaled"], "gesummv": ["gemv", "gemv", "axpby"],
    "cholesky": ["cholesky"], "lu": ["lu_rows"], "floyd-warshall": ["floyd_warshall"], "trisolv": ["copy", "trsv"],
    "correlation": ["colsum", "syrk_strict"], "covariance": ["colsum", "syrk_set"],
    "gramschmidt": ["dot_add", "gemv_scaled", "ger"], "durbin": ["dot_add", "copy"], "jacobi-1d": ["jacobi1d"] * 2,
    "adi": [], "deriche": [], "fdtd-2d": [], "heat-3d": [], "jacobi-2d": [], "ludcmp": [], "nussinov": [],
    "seidel-2d": [],
}  # fmt: skip
"""Operations that are found in each kernel, in this order (others may stand between them)."""


@pytest.mark.parametrize("name", FOUND)
def test_polybench(name: str) -> None:
    path = POLYBENCH / f"{name}.c"
    file = read_c(Source(str(path), path.read_text()), defines=["MINI_DATASET"], include_dirs=[POLYBENCH])
    kernel = file.functions[0].regions[0].kernel
    raised = recognise(kernel, OPERATIONS)
    found = iter([x.operation.name for x in walk_steps(raised.steps) if isinstance(x, Apply)])
    assert all(any(x == y for y in found) for x in FOUND[name]), f"not all of {FOUND[name]}"
    least = 2 if name == "correlation" else 0
    for n in (0, 1, 2, 5, 6):
        run(kernel, raised, [{x: max(least, n + (i * 7 % 3 - 1) * (n % 2)) for i, x in enumerate(kernel.sizes)}])


def test_operands_are_transposed_strided_reversed_and_blocks() -> None:
    loops = "for i in 0 .. n { for j in 0 .. n { for k in 0 .. n { "
    head = "kernel k(n; A: f32[2 * n, n + 1], B: f32[n, n], C: f32[n, n]) { "
    step = only(raise_text(head + loops + "C[j, i] += A[2 * i + 1, k + 1] * B[j, n - 1 - k] } } } }", "gemm_scaled"))
    views = {x: str(y) for x, y in step.operands.items()}
    assert views == {
        "A": "B[0 + x0, n - 1 - x1 | x0 < n, x1 < n]",
        "B": "A[1 + 2 * x1, 1 + x0 | x0 < n, x1 < n]",
        "C": "C[0 + x0, 0 + x1 | x0 < n, x1 < n]",
    }
    assert {x: print_expr(y) for x, y in step.scalars.items()} == {"alpha": "1.0:f32", "beta": "1.0:f32"}


def test_a_diagonal_and_a_window_are_operands() -> None:
    text = "for i in 0 .. n { s[] += A[i, i] * A[0, i] }"
    dot = only(raise_text("kernel k(n; A: f64[n, n], s: f64[]) { " + text + " }", "dot_add"))
    assert str(dot.operands["x"]) == "A[0 + x0, 0 + x0 | x0 < n]"
    text = "for i in 0 .. n { y[i] = 0.0 for a in 0 .. 3 { y[i] += h[a] * x[i + a] } }"
    conv = only(raise_text("kernel k(n; x: f64[n + 2], h: f64[3], y: f64[n]) { " + text + " }", "conv1d"))
    assert print_expr(conv.sizes["t"]) == "3"


def test_an_initialisation_happens_though_nothing_is_added() -> None:
    text = "for i in 0 .. m { for j in 0 .. n { C[i, j] = 0.0 for p in 0 .. k { C[i, j] += A[i, p] * B[p, j] } } }"
    kernel = parse_kernel("kernel k(m, n, k; A: f64[m, k], B: f64[k, n], C: f64[m, n]) { " + text + " }")
    raised = recognise(kernel, named("gemm"))
    only(raised)
    run(kernel, raised, [{"m": 2, "n": 3, "k": 0}, {"m": 2, "n": 0, "k": 3}])


OTHER_UPDATES = [("f64", "max"), ("f64", "min"), ("f64", "*"), ("i32", "max"), ("i32", "min"), ("i32", "*"),
                 ("i32", "&"), ("i32", "|"), ("i32", "^")]  # fmt: skip


@pytest.mark.parametrize(("type", "sign"), OTHER_UPDATES)
def test_another_update_is_no_sum(type: str, sign: str) -> None:
    sums = ("axpby", "scal", "dot_add", "gemv_scaled", "ger", "gemm_scaled", "copy")
    axpy = f"kernel k(n; x: {type}[n], y: {type}[n]) {{ for i in 0 .. n {{ y[i] {sign}= x[i] }} }}"
    assert isinstance(raise_text(axpy, *sums).steps[0], Loops)
    alike = raise_text(axpy.replace(f"{sign}=", "+="), *sums)
    assert only(alike).operation.name == "axpby"
    total = f"kernel k(n; x: {type}[n], y: {type}[n], s: {type}[]) {{ for i in 0 .. n {{ s[] {sign}= x[i] * y[i] }} }}"
    assert isinstance(raise_text(total, *sums).steps[0], Loops)
    product = f"for i in 0 .. n {{ for j in 0 .. n {{ for k in 0 .. n {{ C[i, j] {sign}= A[i, k] * B[k, j] }} }} }}"
    arrays = ", ".join(f"{x}: {type}[n, n]" for x in "ABC")
    assert isinstance(raise_text(f"kernel k(n; {arrays}) {{ {product} }}", *sums).steps[0], Loops)


PRODUCT = "kernel k(n; x: f64; A: f64[n, n], B: f64[n, n], C: f64[n, n]) { "
LOOPS = "for i in 0 .. n { for j in 0 .. n { for k in 0 .. "
NO_PRODUCT = {
    "i + 1 { C[i, j] += A[i, k] * B[k, j]": "`A[0, 1] * B[1, 0]` does not go into `C[0, 0]`",
    "n { C[i, j] += A[i, k] + B[k, j]": "the product is `A` where the definition has",
    "n { C[i, j] += A[i, k] * C[k, j]": "an earlier iteration has written it",
    "n { C[i, j] += A[i, k] * B[k, j] * B[i, k]": "the product is `A * B * B` where the definition has",
    "n { C[i, j] += A[i, k] * B[k + j - i, j]": "the subscripts of `A * B` move in another way",
    "n { C[i, j] max= A[i, k] * B[k, j]": "values are combined by `max`",
    "n { C[i, j] += A[i, k]": "the product is `A` where the definition has",
}
"""Ends of three loops, and what is told of them."""


@pytest.mark.parametrize("body", NO_PRODUCT)
def test_what_is_no_product_is_refused_with_a_reason(body: str) -> None:
    kernel = parse_kernel(PRODUCT + LOOPS + body + " } } } }")
    raised = recognise(kernel, named("gemm", "gemm_scaled"))
    assert NO_PRODUCT[body] in " ".join(
        x for step in walk_steps(raised.steps) if isinstance(step, Loops) for x in step.reasons.values()
    )


def test_a_scalar_that_changes_within_the_nest_is_no_factor() -> None:
    inner = "for j in 0 .. n { for k in 0 .. n { C[i, j] += t[] * A[i, k] * B[k, j] } }"
    text = "for i in 0 .. n { t[] = B[i, i] " + inner + " }"
    head = "kernel k(n; A: f64[n, n], B: f64[n, n], C: f64[n, n], t: f64[]) { "
    raised = raise_text(head + text + " }", "gemm_scaled")
    assert not any(isinstance(x, Apply) and x.operation.name == "gemm_scaled" for x in raised.steps)


def test_what_is_read_in_between_keeps_the_two_parts_apart() -> None:
    text = "for i in 0 .. n { y[i] = 0.0 } for i in 0 .. n { z[i] = y[0] } " \
        "for i in 0 .. n { for j in 0 .. n { y[i] += A[i, j] * z[j] } }"  # fmt: skip
    head = "kernel k(n; A: f64[n, n], y: f64[n], z: f64[n]) { "
    raised = raise_text(head + text + " }", "gemv", "gemv_scaled", "fill")
    assert [x.operation.name for x in raised.steps if isinstance(x, Apply)] == ["fill", "fill", "gemv_scaled"]


def test_sums_keep_their_order_where_they_must() -> None:
    text = "kernel k(n; x: f64[n], y: f64[n], s: f64[]) { for i in 0 .. n { s[] += x[i] * y[i] } }"
    kernel = parse_kernel(text)
    assert "(--fp)" in reason(recognise(kernel, named("dot_add"), reassociate=False))
    divided = parse_kernel("kernel k(n; a: f64; x: f64[n]) { for i in 0 .. n { x[i] = x[i] / a } }")
    assert only(recognise(divided, named("scal"))).operation.name == "scal"
    assert "(--fp)" in reason(recognise(divided, named("scal"), reassociate=False))
    scaled = parse_kernel("kernel k(n; a: f64; x: f64[n]) { for i in 0 .. n { x[i] = a * x[i] } }")
    assert only(recognise(scaled, named("scal"), reassociate=False)).operation.name == "scal"
    whole = parse_kernel(text.replace("f64", "i32"))
    assert only(recognise(whole, named("dot_add"), reassociate=False)).operation.name == "dot_add"


def test_elements_are_of_one_type() -> None:
    text = "kernel k(n; x: f32[n], y: f64[n], s: f64[]) { for i in 0 .. n { s[] += f64(x[i]) * y[i] } }"
    raised = raise_text(text, "dot_add")
    assert isinstance(raised.steps[0], Loops)


def test_operations_in_a_loop_that_stays_use_its_variable() -> None:
    text = "for t in 0 .. n { for i in 0 .. n { y[i] = 0.0 for j in 0 .. n { y[i] += A[i, j] * x[j] } } " \
        "for i in 0 .. n { x[i] = y[i] + A[t, i] } }"  # fmt: skip
    raised = raise_text("kernel k(n; A: f64[n, n], x: f64[n], y: f64[n]) { " + text + " }", "gemv")
    (repeat,) = raised.steps
    assert isinstance(repeat, Repeat) and repeat.var == "t"
    assert [type(x).__name__ for x in repeat.steps] == ["Apply", "Loops"]


def test_a_contraction_needs_no_name() -> None:
    text = "C[a, b, c] += A[a, c, d] * B[d, b]"
    for x in "dcba":
        text = f"for {x} in 0 .. n {{ {text} }}"
    head = "kernel k(n; A: f64[n, n, n], B: f64[n, n], C: f64[n, n, n]) { "
    step = only(raise_text(head + text + " }", sizes=(0, 1, 3)))
    assert step.operation.einsum == "acd,db->abc"


def test_a_recurrence_in_another_order_of_loops() -> None:
    text = "for j in 0 .. n { X[j] = X[j] / M[j, j] for i in j + 1 .. n { X[i] += -(X[j] * M[i, j]) } }"
    step = only(raise_text("kernel k(n; M: f64[n, n], X: f64[n]) { " + text + " }", "trsv", sizes=(0, 1, 3, 6)))
    assert {x: y.array for x, y in step.operands.items()} == {"L": "M", "x": "X"}


def test_a_recurrence_against_its_order_is_another() -> None:
    text = "for i in 1 .. n { x[i] += x[i - 1] }"
    scan = Operation("scan", parse_kernel("kernel scan(n; x: f64[n]) { " + text + " }"))
    forward = parse_kernel("kernel k(n; A: f64[n]) { for i in 1 .. n { A[i] += A[i - 1] } }")
    backward = parse_kernel("kernel k(n; A: f64[n]) { for i in 1 .. n { A[n - i] += A[n - i - 1] } }")
    assert only(recognise(forward, [scan])).operation is scan
    assert isinstance(recognise(backward, [scan]).steps[0], Loops)
