"""Kernels of one name and other texts, as products whose blocks are tuned in several ways are: each has its own."""

from __future__ import annotations

from planish.emit.dropin.distinct_callees import name_apart

INNER = "planish_apart static void tile(\n    ptrdiff_t n, float *x)\n{\n  x[n] = %d;\n}\n"
OUTER = "static int product(ptrdiff_t n, float *x)\n{\n  tile(n, x);\n  return 0;\n}\n"
DECLARED = "double cblas_ddot(int n);\n"


def test_equal_kernels_are_one() -> None:
    parts = [((DECLARED, INNER % 1, OUTER), "a"), ((DECLARED, INNER % 1, OUTER), "b")]
    made = name_apart(parts)
    assert [tuple(x) for x, _ in made] == [(DECLARED, INNER % 1, OUTER)] * 2


def test_a_kernel_that_calls_another_one_is_another_one() -> None:
    first, second, third = name_apart([((INNER % n, OUTER), "product(n); my_product(n);") for n in (1, 2, 1)])
    assert first == third and second[0][0] == (INNER % 2).replace("tile", "tile_2")
    assert second[0][1] == OUTER.replace("product", "product_2").replace("tile", "tile_2")
    assert second[1] == "product_2(n); my_product(n);"
