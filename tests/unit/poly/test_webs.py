"""A local scalar that serves several purposes becomes several; one that carries a value stays one."""

from __future__ import annotations

from planish.ir.nest import Alloc, Kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.ir.traverse import walk
from planish.poly.canonical.webs import split_webs
from planish.poly.scop.dependence import find_dependences
from planish.poly.scop.extraction import extract_scop

HEAD = "kernel k(n; A: f64[n], B: f64[n], C: f64[n], D: f64[n])"


def split(kernel: Kernel) -> Kernel:
    scop = extract_scop(kernel)
    return split_webs(kernel, scop, find_dependences(scop).flow)


def webs(body: str) -> tuple[list[str], str]:
    """The names of the locals after the split, and the kernel's text."""
    kernel = split(parse_kernel(f"{HEAD} {{ {body} }}"))
    return [s.array.name for s in walk(kernel.body) if isinstance(s, Alloc)], print_kernel(kernel)


def test_two_uses_one_after_the_other_are_told_apart() -> None:
    names, text = webs(
        "alloc t: f64[]  for i in 0 .. n { t[] = A[i]  B[i] = t[] }  for i in 0 .. n { t[] = C[i]  D[i] = t[] }"
    )
    assert names == ["t", "t_2"]
    assert "D[i] = t_2[]" in text and "B[i] = t[]" in text


def test_a_value_that_flows_on_keeps_its_scalar() -> None:
    names, _ = webs("alloc t: f64[]  t[] = A[0]  for i in 1 .. n { B[i] = t[]  t[] = A[i] }")
    assert names == ["t"]


def test_an_update_in_place_is_one_use() -> None:
    names, _ = webs("alloc t: f64[]  for i in 0 .. n { t[] = 0.0  for j in 0 .. n { t[] += A[j] }  B[i] = t[] }")
    assert names == ["t"]


def test_a_new_name_is_free() -> None:
    text = "kernel k(n; t_2: f64[n], B: f64[n]) { alloc t: f64[]  t[] = 1.0  B[0] = t[]  t[] = 2.0  t_2[0] = t[] }"
    kernel = split(parse_kernel(text))
    assert [s.array.name for s in walk(kernel.body) if isinstance(s, Alloc)] == ["t", "t_3"]


def test_without_locals_nothing_changes() -> None:
    kernel = parse_kernel(f"{HEAD} {{ for i in 0 .. n {{ A[i] = B[i] }} }}")
    assert split(kernel) is kernel
