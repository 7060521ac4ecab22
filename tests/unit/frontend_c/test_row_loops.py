"""How long the rows of a sparse matrix are on average is asked only where the loop reads what is asked."""

from __future__ import annotations

import pytest
from pycparser.c_parser import CParser

from planish.frontend.c.analysis.row_loops import long_on_average

ROW = "for (k = start[i]; k < start[i + 1]; k++) s += v[k];"


def asked(body: str) -> str | None:
    text = f"void f() {{ for (i = 0; i < rows; i++) {{ {body} }} }}"
    loop = CParser().parse(text).ext[0].body.block_items[0]
    return long_on_average(loop, ("start[i]", "start[i + 1]"))


def test_all_rows_are_read() -> None:
    assert asked(f"s = 0; {ROW} if (s > 0) y[i] = s;") is not None


@pytest.mark.parametrize("body", [f"if (use[i]) {ROW}", f"{ROW} rows = less;", f"{ROW} start++;", f"{ROW} i++;"])
def test_the_last_row_may_not_be_read(body: str) -> None:
    assert asked(body) is None
