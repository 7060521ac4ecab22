"""What commands print as data: JSON of builds and explanations, SARIF of remarks."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from planish.cli.entry import main
from planish.tuning.session import TunedResult

TEXT = """\
float halve(long n, float *values) {
    float sum = 0; for (long k = 0; k < n; k++) sum += values[k];
    return sum * 0.5f;
}
void follow(int n, int *next) {
    for (int i = 0; i < n; i++)
        next[next[i]] = i;
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.c"
    path.write_text(TEXT)
    return path


def test_a_build_is_told_as_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = file.parent / "out"
    assert main(["build", str(file), "-o", str(out), "--no-measure", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    (built,) = said["files"]
    assert said["format"] == 1 and [Path(x).name for x in built["written"]] == ["two.c", "two.h"]
    halve, follow = built["functions"]
    assert (halve["state"], follow["state"]) == ("replaced", "kept") and halve["verified"]["cases"] > 3
    assert follow["version"] is None and follow["reasons"] and follow["verified"] is None
    for more in (["--dump", "nest"], ["--stop-after", "nest"], ["--print-changed"]):
        assert main(["build", str(file), "-o", str(out), "--json", *more]) == 1
        assert f"error[E0127]: there is no JSON with {more[0]}" in capsys.readouterr().err


@pytest.mark.parametrize(("more", "version"), [((), "maxfuse"), (("--gain", "1.1"), None)])
def test_loops_are_asked_for_a_gain(
    more: tuple[str, ...], version: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "twice.c"
    path.write_text("void twice(int n, float *a) { for (int i = 0; i < n; i++) a[i] *= 2; }")
    assert main(["build", str(path), "-o", str(tmp_path / "out"), "--no-measure", "--json", *more]) == 0
    ((built,),) = [x["functions"] for x in json.loads(capsys.readouterr().out)["files"]]
    assert built["version"] == version


def test_what_is_tuned_before_a_build_is_no_part_of_its_data(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned = TunedResult(Mock(label="two.c: halve, line 2"), Mock(), None)
    monkeypatch.setattr("planish.cli.tuning.project.tune_units", lambda *_: iter((tuned,)))
    build = ["build", str(file), "-o", str(file.parent / "out"), "--no-measure", "--tune", "--store", str(file) + ".db"]
    assert main([*build, "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["files"] and "halve, line 2: not tuned" in told.err
    assert main(build) == 0
    assert "halve, line 2: not tuned" in capsys.readouterr().out


def test_an_explanation_is_told_as_json_and_sarif(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(file), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["files"]
    assert [x["name"] for x in told["functions"]] == ["halve", "follow"] and len(told["problems"]) == 1
    assert main(["explain", str(file), "--sarif"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (result["level"], place["region"]["startLine"]) == ("note", 7)
    assert place["artifactLocation"]["uri"] == file.as_uri()
    for form in ("--json", "--sarif"):
        assert main(["explain", str(file), form, "--function", "halve"]) == 0
        assert "scop-data" not in (told := capsys.readouterr().out) and ('"follow"' in told) is False
        assert main(["explain", str(file), form, "--function", "none"]) == 1
        assert "E0104" in capsys.readouterr().out
        assert main(["explain", str(file), form, "-v"]) == 1
        assert f"error[E0127]: -v is of no use with {form}" in capsys.readouterr().err
    file.write_text("void f( {\n")
    assert main(["explain", str(file), "--sarif"]) == 1
    assert json.loads(capsys.readouterr().out)["runs"][0]["results"][0]["level"] == "error"


def test_a_file_that_cannot_be_read_is_one_of_the_problems(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    Path("no space.c").write_text("void f( {\n")
    assert main(["explain", "two.c", "missing.c", "no space.c", "--json"]) == 1
    two, missing, _ = json.loads(capsys.readouterr().out)["files"]
    assert two["functions"] and (missing["problems"][0]["code"], missing["functions"]) == ("E0101", [])
    assert main(["explain", "missing.c", "no space.c", "--sarif"]) == 1
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    places = [x["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for x in results]
    assert places == ["missing.c", "no%20space.c"]
    assert main(["explain", "two.c", "--json", "--sarif"]) == 1


@pytest.mark.parametrize(("text", "code"), [("int x;\n", "E0203"), ("int f(void) { return 1; }\n", "E0105")])
def test_a_file_without_loops_is_a_problem_in_all_forms(
    text: str, code: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(text)
    for form in ((), ("--json",), ("--sarif",)):
        assert main(["explain", str(file), *form]) == 1
        told = capsys.readouterr()
        assert code in (told.out if form else told.err)
