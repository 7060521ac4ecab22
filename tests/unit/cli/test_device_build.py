"""`planish build --target` with GPUs: what is said of functions that no kernel is made of, and of unknown names."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.cli.entry import main

SEARCH = "int f(int n, const int *a) { int i = 0; while (i < n) { if (a[i] == 7) break; i++; } return i; }\n"
EMPTY = "int g(int x) { return x; }\n"


@pytest.mark.parametrize("command", [["build", "--target", "cuda-sm90"], ["explain", "--target", "opencl"]])
def test_functions_without_a_nest_are_told_with_the_reason(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.c").write_text(EMPTY + SEARCH)
    folder = ["-o", str(tmp_path / "out")] if command[0] == "build" else []
    assert main([command[0], str(tmp_path / "f.c"), *command[1:], *folder]) == 0
    out = capsys.readouterr().out
    assert "refused[scop-jump]: the loop stays as written: iterations may leave it early" in out and "f.c:2:" in out


@pytest.mark.parametrize(
    ("name", "near"), [("cuda-sm9", "cuda-sm90"), ("hip-gfx92", "hip-gfx942"), ("x86-avx51", "x86-avx512")]
)
def test_an_unknown_name_is_near_to_one_of_any_kind(
    name: str, near: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.c").write_text(SEARCH)
    assert main(["build", str(tmp_path / "f.c"), "--target", name]) == 1
    told = capsys.readouterr().err
    assert f"did you mean '{near}'?" in told and "GPUs: cuda-sm100" in told
