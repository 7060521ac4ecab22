"""Plans beside those that were expected: other names are told from other nests, and only what is meant is accepted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bench.guards.golden_plans import Comparison, read_rows, write_rows
from bench.guards.plan_rows import Setting, compare_rows, hash_nest, parse_row, plan_file
from planish.ir.text.parser import parse_kernel

ROW = parse_row("a.c f.1 generic strict timed 1 | 4s | 00000000 as read | 11111111 fused | 22222222 dots")


def changed(old: str, new: str) -> Comparison:
    """The row beside one whose text is another one."""
    return Comparison({ROW.key: ROW}, {ROW.key: parse_row(str(ROW).replace(old, new))})


def test_a_name_is_told_from_a_nest() -> None:
    assert changed("dots", "gemv-rows").report().endswith("renamed, nest the same: dots -> gemv-rows (1 times)")
    assert "NEST CHANGED: dots" in changed("22222222", "33333333").report()
    assert "GONE: dots" in changed(" | 22222222 dots", "").report()
    assert "NEW: more" in changed("dots", "dots | 44444444 more").report()
    swapped = changed("11111111 fused | 22222222 dots", "22222222 dots | 11111111 fused")
    assert "ORDER CHANGED: now dots, fused" in swapped.report()
    assert not changed("4s", "8s").differences()


def test_nests_are_accepted_only_where_that_is_asked_for() -> None:
    renamed, other = changed("dots", "gemv-rows"), changed("22222222", "33333333")
    assert renamed.blessed(nests=False)[ROW.key].names == ("as read", "fused", "gemv-rows")
    assert other.blessed(nests=False) == {ROW.key: ROW}
    assert other.blessed(nests=True)[ROW.key].hashes[-1] == "33333333"


def test_rows_that_are_new_or_gone_differ() -> None:
    other = replace(ROW, key=ROW.key.replace("f.1", "f.2"))
    found = Comparison({ROW.key: ROW}, {other.key: other})
    assert [str(x) for x in found.differences().values()] == ["ROW IS GONE", "ROW IS NEW"]
    assert found.blessed(nests=True) == {other.key: other}


def test_rows_are_read_as_they_are_written(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.txt", {ROW.key: ROW})
    assert read_rows(tmp_path / "rows.txt") == {ROW.key: ROW}


def test_a_nest_is_its_loops_and_not_its_name() -> None:
    text = "kernel one(n; A: f64[n]) { for i in 0 .. n { A[i] = 1.0 } }"
    assert hash_nest(parse_kernel(text)) == hash_nest(parse_kernel(text.replace("one", "two")))
    assert hash_nest(parse_kernel(text)) != hash_nest(parse_kernel(text.replace("1.0", "2.0")))


def test_what_is_planned_does_not_depend_on_where_a_file_is(tmp_path: Path) -> None:
    path = tmp_path / "twice.c"
    path.write_text("void twice(int n, double *a) { for (int i = 0; i < n; i++) a[i] = 2 * a[i]; }\n")
    (row,) = plan_file(path, "some/", Setting("generic", "strict", "untimed"))
    assert row.key == "some/twice.c twice.1 generic strict untimed 1"
    assert len(row.versions) == 2 and not compare_rows(row, row)
