"""`planish vliw` packs programs, runs them in the simulator and shows their packets; `planish isa` knows operations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planish.cli.entry import main

AXPY = """program axpy on ftmatrix
param x: AR.x in AM f32[224]
param y: AR.y in AM f32[224]
param a: S.a f32 = 2.0
param n: S.n i64 = 7          ; vectors of 32 words

SVBCAST V.a, S.a
SMVAA AR.out, AR.y
loop rows S.n {
  VLDW V.x, *AR.x++128            @x.all[0:128 +128]
  VLDW V.y, *AR.y++128            @y.all[0:128 +128]
  VFMULAS32 V.s, V.a, V.x, V.y
  VSTW *AR.out++128, V.s          @y.all[0:128 +128]
}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "axpy.sa").write_text(AXPY)
    return str(tmp_path / "axpy.sa")


def test_a_program_runs(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vliw", "run", file, "--show", "y"]) == 0
    out = capsys.readouterr().out
    assert "y = -24 -3 18 -12 9 -21 0" in out
    assert "memories hold what the program says" in out
    assert main(["vliw", "run", file, "--set", "n=0", "--set", "a=0.5", "--show", "y"]) == 0
    assert "y = -8 -1 6 -4 3" in capsys.readouterr().out


def test_packets_run_as_they_are(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vliw", "pack", file]) == 0
    (tmp_path / "packed.sa").write_text(capsys.readouterr().out)
    assert main(["vliw", "run", file]) == 0
    cycles = re.search(r"(\d+) cycles", capsys.readouterr().out)
    assert main(["vliw", "run", str(tmp_path / "packed.sa"), "--show", "y"]) == 0
    again = capsys.readouterr().out
    assert cycles is not None and f"{cycles[1]} cycles" in again and "y = -24 -3 18" in again
    assert main(["vliw", "pack", file, "--assembly"]) == 0
    assert re.search(r"VFMULAS32\.VMAC\d VR\d+, VR\d+, VR\d+, VR\d+", capsys.readouterr().out)


def test_the_trace_tells_units_and_lines(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vliw", "trace", file]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^packet +times .*VLDST1 .*lines$", out, re.MULTILINE)
    assert re.search(r"VLDW.*\b10\b", out) and "cycles: packets in" in out
    page = tmp_path / "axpy.html"
    assert main(["vliw", "trace", file, "--html", str(page)]) == 0
    text = page.read_text()
    assert "<title>axpy on ftmatrix</title>" in text and "VFMULAS32 V.s, V.a" in text and "http" not in text


def test_an_array_that_is_none(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vliw", "run", file, "--show", "z"]) == 1
    assert "'z' is no array of the program" in capsys.readouterr().err
    assert main(["vliw", "run", file, "--set", "n"]) == 1
    assert "--set n gives no number" in capsys.readouterr().err


def test_operations_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", "list", "--isa", "ftmatrix", "VFMUL*"]) == 0
    assert "VFMULAS32" in capsys.readouterr().out
    assert main(["isa", "list", "--isa", "ftmatrix", "nothing*"]) == 0
    assert "no operation is so" in capsys.readouterr().out
    assert main(["isa", "show", "VBALE2"]) == 0
    assert "kernel VBALE2(d: f32[32] @V" in capsys.readouterr().out
    assert main(["isa", "show", "VLDX", "--isa", "ftmatrix"]) == 1
    assert "did you mean" in capsys.readouterr().err
    assert main(["targets"]) == 0
    assert "ftmatrix" in capsys.readouterr().out
