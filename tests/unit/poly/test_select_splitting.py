"""Index-set splitting by choices in subscripts: which parts are made, what is ruled out, and that the meaning stays."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.checker import check_kernel
from planish.ir.nest import Assign, Kernel, Reduce
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr
from planish.ir.traverse import walk
from planish.poly.canonical.select_splitting import split_choices
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.extraction import extract_scop

LEFT = "select(i < 1, i + n - 1, i - 1)"
RIGHT = "select(i - n + 1 < 0, i + 1, i - n + 1)"
KERNELS = {
    "ring": f"kernel k(n; a: i32[n], b: i32[n]) {{ for i in 0 .. n {{ b[i] = a[{LEFT}] + 2:i32 * a[{RIGHT}] }} }}",
    "in place": f"kernel k(n; a: i32[n]) {{ for i in 0 .. n {{ a[i] = a[{LEFT}] + 2:i32 * a[{RIGHT}] }} }}",
    "stored around": f"kernel k(n; a: i32[n], b: i32[n]) {{ for i in 0 .. n {{ b[{RIGHT}] += a[i] }} }}",
    "by a scalar": (
        "kernel k(n; a: i32[n], b: i32[n]) { for i in 0 .. n {"
        f" alloc s: i32[] register  s[] = a[{LEFT}]  a[i] += 1:i32  s[] += a[{RIGHT}]  b[i] = s[] }} }}"
    ),
    "a scalar that is read behind": (
        "kernel k(n; a: i32[n], b: i32[n]) { for i in 0 .. n {"
        f" alloc s: i32[] register  s[] = a[{LEFT}]  for j in 0 .. n {{ b[j] += s[] }} }} }}"
    ),
    "a number": f"kernel k(n; a: i32[n], b: i32[n]) {{ for i in 0 .. n {{ b[i] = a[{LEFT}] + i32({RIGHT}) }} }}",
    "under a condition": (
        f"kernel k(n; a: i32[n], b: i32[n]) {{ for i in 0 .. n {{"
        f" if i > 0 {{ b[i] = a[{LEFT}] }} else {{ b[i] = a[{RIGHT}] }} }} }}"
    ),
    "a choice in a choice": (
        "kernel k(n; a: i32[n], b: i32[n]) { for i in 0 .. n {"
        f" b[i] = a[select({LEFT} < 1, {LEFT} + n - 1, {LEFT} - 1)] }} }}"
    ),
}


def arrays_after(kernel: Kernel, n: int) -> dict[str, np.ndarray]:
    values = {x.name: np.arange(7, n + 7, dtype="int32") for x in kernel.arrays}
    run_kernel(kernel, {"n": n, **values})
    return values


def parts(kernel: Kernel) -> int:
    return sum(isinstance(x, Assign | Reduce) for x in walk(kernel.body))


@pytest.mark.parametrize("name", KERNELS)
def test_parts_mean_what_the_whole_means(name: str) -> None:
    kernel = parse_kernel(KERNELS[name])
    made, remarks = split_choices(kernel)
    check_kernel(made, "read")
    extract_scop(made)
    assert remarks
    for n in (0, 1, 2, 3, 17):
        try:
            found = arrays_after(made, n)
        except ValueError:
            # Ruled out: the original does it.
            assert n < 3
            continue
        wanted = arrays_after(kernel, n)
        assert all((wanted[x] == found[x]).all() for x in wanted), n


def test_parts_that_cannot_be_are_not_made() -> None:
    made, _ = split_choices(parse_kernel(KERNELS["ring"]))
    assert parts(made) == 3
    assert [print_expr(x) for x in made.assumptions] == ["n >= 2"]
    made, _ = split_choices(parse_kernel(KERNELS["under a condition"]))
    assert parts(made) == 2


def test_large_sizes_are_not_ruled_out() -> None:
    value = "a[select(i < 99, 0, i)] + a[select(i < n - 1, i, 0)]"
    text = f"kernel k(n; a: f32[n], b: f32[n]) {{ for i in 0 .. n {{ b[i] = {value} }} }}"
    made, _ = split_choices(parse_kernel(text))
    assert parts(made) == 4
    assert made.assumptions == ()


def test_sizes_of_loops_around_do_not_matter() -> None:
    loops = f"for s in 0 .. t {{ for i in 0 .. n {{ b[i] = a[{LEFT}] * a[{RIGHT}] }} }}"
    text = f"kernel k(t, n; a: f32[n], b: f32[n]) {{ {loops} }}"
    made, _ = split_choices(parse_kernel(text))
    assert [print_expr(x) for x in made.assumptions] == ["n >= 2"]


def test_too_many_parts_are_refused() -> None:
    loads = " + ".join(f"a[select(i < {9 * n}, 0, i)]" for n in range(1, 20))
    with pytest.raises(NotAffineError, match="more than 12 conditions"):
        split_choices(parse_kernel(f"kernel k(n; a: f32[n], b: f32[n]) {{ for i in 0 .. n {{ b[i] = {loads} }} }}"))


def test_what_chooses_nothing_stays() -> None:
    kernel = parse_kernel("kernel k(n; a: f32[n]) { for i in 0 .. n { a[i] = select(i < 1, 1.0, a[i]) } }")
    assert split_choices(kernel) == (kernel, ())
