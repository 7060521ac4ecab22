"""What is nested too deep stays as written, alone; nothing of it is an error of ours."""

from __future__ import annotations

import pytest

from planish.core.diagnostic import PlanishError
from planish.core.fork_pool import Bounds, Lost, run_apart
from planish.core.progress import Progress
from planish.core.span import Source
from planish.frontend.c.reader import read_c

PLAIN = "void g(int n, float *a) { for (int i = 0; i < n; i++) a[i] *= 2; }\n"
LONG = "a[i] = a[i]" + " + 1" * 1200 + ";"
CHAIN = " else ".join(f"if (a[i] == {k}) a[i] = {k + 1};" for k in range(700))
BLOCKS = "{" * 600 + "a[i] = 1;" + "}" * 600
NEGATED = "a[i] = " + "-(" * 600 + "a[i]" + ")" * 600 + ";"


@pytest.mark.parametrize("statement", [LONG, CHAIN, BLOCKS, NEGATED], ids=["sum", "else-if", "blocks", "signs"])
def test_only_the_deep_function_stays_as_written(statement: str) -> None:
    text = f"{PLAIN}void f(int n, float *a) {{ for (int i = 0; i < n; i++) {statement} }}\n"
    file = read_c(Source("f.c", text))
    assert len(file.function("g").regions) == 1
    assert not file.function("f").regions
    (remark,) = (x for x in file.remarks if x.id == "analysis-depth")
    assert remark.span is not None and (remark.span.line, remark.span.column) == (2, 6)
    assert [x.name for x in file.interface.prototypes] == ["g", "f"]


def test_values_that_grow_deep_are_refused() -> None:
    body = "float t = a[i]; " + "t = t * b + 1; " * 400 + "a[i] = t;"
    text = f"{PLAIN}void f(int n, float *a, float b) {{ for (int i = 0; i < n; i++) {{ {body} }} }}"
    file = read_c(Source("f.c", text))
    assert len(file.function("g").regions) == 1


def test_what_the_parser_does_not_read_has_a_place() -> None:
    deep = "(" * 20_000 + "1" + ")" * 20_000
    with pytest.raises(PlanishError) as caught:
        read_c(Source("f.c", f"int k;\n\nint f(void) {{ return {deep}; }}\n"))
    diagnostic = caught.value.diagnostic
    assert diagnostic.code == "E0201" and "nested deeper" in diagnostic.message
    assert diagnostic.span is not None and diagnostic.span.line == 3


def test_a_piece_that_is_too_deep_is_lost() -> None:
    def count(n: int, tell: Progress) -> int:
        return 0 if n == 0 else 1 + count(n - 1, tell)

    assert list(run_apart(count, [10, 100_000, 2000], Bounds(cpu=20))) == [10, Lost("depth"), 2000]
