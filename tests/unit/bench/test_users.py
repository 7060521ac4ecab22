"""What is expected by users, and what of it is said to be lacking."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from bench.promises import expectations, users
from bench.promises.claim import Claim, Note
from bench.promises.expectations import FOLDER, find_lack
from bench.promises.explorer_users import OUTSIDE, lay_out


def test_twenty_are_listed_and_each_shows_something() -> None:
    listed = tomllib.loads((FOLDER / "expectations.toml").read_text())["expectation"]
    assert len({x["what"] for x in listed}) == users.EXPECTATIONS
    assert all({"commands", "holds", "missing"} & x.keys() for x in listed)


def test_what_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = "written\n\nfunction  what was done\nscale     lanes\n\nadvice: none\n"
    monkeypatch.setattr(expectations, "_run", lambda arguments, *_: (int(arguments[0] == "fail"), told))
    (tmp_path / "a").write_text("one")
    (tmp_path / "b").write_text("two")
    wishes: dict[str, dict[str, Any]] = {
        "": {"commands": [["build"]], "prints": "written", "widest": 23, "holds": {"a": "on"}, "same": ["a", "a"]},
        "planish fail: exit code 1: written": {"commands": [["fail"], ["build"]]},
        "(?m)^none is not in what is printed": {"commands": [["build"]], "prints": "(?m)^none"},
        "the table has more than 22 columns": {"commands": [["build"]], "widest": 22},
        "two is not in a": {"holds": {"a": "two"}},
        "x is not in c": {"holds": {"c": "x"}},
        "a and b differ": {"same": ["a", "b"]},
        "of another day": {"missing": "of another day"},
    }
    assert {find_lack(x, tmp_path) for x in wishes.values()} == set(wishes)
    assert all(find_lack(x, tmp_path) == lack for lack, x in wishes.items())
    assert find_lack({"commands": [["fail"]], "exit": 1}, tmp_path) == ""
    assert find_lack({"commands": [["build"], ["build"]], "prints": "(?s)none.*written"}, tmp_path) == ""


def test_a_command_that_ends_before_it_is_interrupted_is_told(tmp_path: Path) -> None:
    wish = {
        "interrupted": ["--version"],
        "once": ["--version"],
        "shows": "nothing like that",
        "commands": [["--version"]],
    }
    assert find_lack(wish, tmp_path) == "planish --version: exit code 0, not 130, where it is interrupted"


@pytest.mark.parametrize(("failing", "bad"), [("pip", []), ("build", ["users.stranger_seconds"])])
def test_only_an_installation_that_fails_is_not_measured(
    failing: str, bad: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(users, "_run", lambda command, *_: "it fails" if failing in command else "")
    found = list(users._stranger(quick=False))
    assert [x.name for x in found if isinstance(x, Claim) and not x.ok] == bad
    assert any("it fails" in x.text for x in found if isinstance(x, Note))


def test_no_drop_in_in_both_styles_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "SAMPLE", ())
    short = [x.name for x in users._same_code(quick=True) if isinstance(x, Claim) and not x.ok]
    assert short == ["users.compact_code_compared"]


def test_what_is_not_shown_makes_the_claim_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "show_expectations", lambda quick: iter((("a", ""), ("b", "nothing to run"))))
    claims = [x for x in users._expectations(quick=True) if isinstance(x, Claim)]
    assert [str(x) for x in claims] == ["claim users.expectations value=1 bar=2 short"]


def test_a_browser_test_that_fails_is_no_lack_of_a_browser() -> None:
    failed = users.judge_browser_tests(1, "1 failed, 1 skipped, 8 deselected in 2.1s")
    assert isinstance(failed, Claim) and failed.value == 0
    assert isinstance(users.judge_browser_tests(0, "1 passed, 1 skipped, 8 deselected in 2.1s"), Note)
    passed = users.judge_browser_tests(0, "2 passed, 8 deselected in 2.1s")
    assert isinstance(passed, Claim) and passed.value == 2


def test_what_an_explorer_must_not_show_is_there(tmp_path: Path) -> None:
    folder = lay_out(tmp_path)
    names = [path.partition("name=")[2] for path, _, _ in OUTSIDE]
    assert [x for x in names if not (folder / x).read_text()] == []
