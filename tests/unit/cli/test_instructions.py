"""`planish isa`: which instructions are listed, and what is written of some of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planish.cli import main


def test_either_of_two_extensions_lists_an_instruction(capsys: pytest.CaptureFixture[str]) -> None:
    for feature in ("AVX512F", "KNCNI"):
        assert main(["isa", "list", "_mm512_fmadd_ps", "--feature", feature]) == 0
        assert "AVX512F/KNCNI" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list", "--feature", "avx512_vnni"], "--feature knows no 'avx512_vnni'"),
        (["find", "--isa", "sve", "int d, a; d = a;"], "one of x86, arm, hvx"),
        (["show", ""], "there is no instruction ''"),
        (["export", "-o", "out", "--isa", "x86", "--class", "sha256h"], "`planish isa classes NAME`"),
        (["export", "-o", "out", "--class", "zzz*"], "there is no class 'zzz*'"),
    ],
)
def test_the_refusal_says_why(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_classes_are_found_by_patterns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", "classes", "-q", "add_sat*"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert len(told) > 1
    assert all(x.startswith(("class", "add_sat", " ")) for x in told)


def test_only_the_instructions_of_chosen_classes_are_written(tmp_path: Path) -> None:
    assert main(["isa", "export", "-o", str(tmp_path), "--isa", "arm", "--class", "add_saturate"]) == 0
    found = json.loads((tmp_path / "instructions.json").read_text())
    assert {x["class"] for x in found["instructions"]} == {"add_saturate"}
    assert {x["name"] for x in found["instructions"]} == {y for x in found["classes"] for y in x["members"]}
