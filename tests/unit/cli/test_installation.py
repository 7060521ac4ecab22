"""`planish doctor`, `planish completion`, `planish man`: what is found here, and what commands say of themselves."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from planish.cli.entry import COMMANDS, main
from planish.cli.exits import EXIT_CODES
from planish.cli.installation import doctor
from planish.cli.installation.described import describe_commands
from planish.run.installation import Finding

OPTIONS = Path(__file__).parents[3] / "docs" / "options.md"


@pytest.mark.parametrize(("missing", "code"), [("", 0), ("gcc", 1)])
def test_doctor_says_what_is_there(
    missing: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = (
        Finding("needed", "C compiler", "" if missing else "gcc", "compiles", "apt install gcc"),
        Finding("optional", "nvcc", "", "compiles CUDA", "install CUDA"),
    )
    monkeypatch.setattr(doctor, "examine", lambda: found)
    assert main(["doctor"]) == code
    text = capsys.readouterr().out
    assert "install CUDA" in text and ("cannot work: C compiler (apt install gcc)" in text) is bool(missing)
    assert main(["doctor", "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["usable"] is not bool(missing) and [x["found"] for x in told["findings"]] == [not missing, False]


def test_what_is_here_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor", "--json"])
    told = {x["name"]: x for x in json.loads(capsys.readouterr().out)["findings"]}
    assert (code == 0) is all(x["found"] for x in told.values() if x["need"] == "needed")
    assert told["islpy"]["found"] and told["Python"]["found"]
    assert all(x["install"] for x in told.values() if not x["found"])


def test_completion_knows_all_commands_and_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {x.name for x in COMMANDS}
    for shell in ("bash", "zsh", "fish"):
        assert main(["completion", shell]) == 0
        script = capsys.readouterr().out
        assert all(re.search(rf"\b{x}\b", script) for x in names), shell
        assert "stop-after" in script and "reassociate" in script
        path = tmp_path / shell
        path.write_text(script)
        if program := shutil.which(shell):
            assert subprocess.run([program, "-n", str(path)], check=False).returncode == 0
    asks = 'COMP_WORDS=(planish {}); COMP_CWORD={}; _planish; echo "${{COMPREPLY[@]}}"'
    ask = "; ".join(
        [f". {tmp_path}/bash", asks.format("bu", 1), asks.format("build --fp r", 3), asks.format("isa fi", 2)]
    )
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["build", "reassociate", "find"]


def test_manual_pages_have_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["man"]) == 0
    page = capsys.readouterr().out
    assert page.startswith(".TH PLANISH 1") and all(f"planish {x.name}" in page for x in COMMANDS)
    for command in ("build", "cc"):
        assert main(["man", command]) == 0
        page = capsys.readouterr().out.replace("\\-", "-")
        (described,) = describe_commands([command])
        assert all(name in page for x in described.options for name in x.names)
        assert main([command, "--help"]) == 0
        told = set(re.findall(r"(?<![\w-])(--[a-z][\w-]*)", capsys.readouterr().out)) - {"--help"}
        assert told <= set(re.findall(r"--[a-z][\w-]*", page))
    assert main(["man", "nothing"]) == 1
    assert "E0116" in capsys.readouterr().err


def test_exit_codes_are_documented() -> None:
    rows = re.findall(r"^\| ([\d, ]+) \|", OPTIONS.read_text(), re.MULTILINE)
    assert rows == [codes for codes, _ in EXIT_CODES]
