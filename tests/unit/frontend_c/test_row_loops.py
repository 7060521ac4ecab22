"""How long the rows of a sparse matrix are on average is asked only where the loop reads what is asked."""

from __future__ import annotations

import pytest
from pycparser.c_parser import CParser

from planish.frontend.c.analysis.row_loops import long_on_average
from planish.frontend.c.analysis.scope import bind_file, bind_function

ROW = "for (k = start[i]; k < start[i + 1]; k++) s += v[k];"


def asked(body: str, step: str = "i++") -> str | None:
    given = "int i, int k, int rows, int less, int s, int *start, int *other, int *use, int *v, int *y"
    tree = CParser().parse(f"void f({given}) {{ for (i = 0; i < rows; {step}) {{ {body} }} }}")
    bound = bind_function(tree.ext[0], bind_file(tree))
    return long_on_average(bound.function.body.block_items[0], ("start[i]", "start[i + 1]"), bound)


def test_all_rows_are_read() -> None:
    assert asked(f"s = 0; {ROW} if (s > 0) y[i] = s;") is not None
    assert asked(f"{{ int rows = 0; rows++; }} {ROW}") is not None


@pytest.mark.parametrize("step", ["++i", "i += 1u", "i = i + 1"])
def test_rows_are_counted_in_any_way(step: str) -> None:
    assert asked(ROW, step) is not None
    assert asked(ROW, "i += 2") is None


@pytest.mark.parametrize(
    "body",
    [
        f"if (use[i]) {ROW}", f"{ROW} rows = less;", f"{ROW} start++;", f"{ROW} i++;",
        f"const int *start = other; {ROW}", f"const int *start; start = other; {ROW}", f"{ROW} get(&rows);",
    ],
)  # fmt: skip
def test_the_last_row_may_not_be_read(body: str) -> None:
    assert asked(body) is None
