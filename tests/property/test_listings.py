"""Random C files of a second generator, which knows nothing of the compiler: a small sample goes through all of it.

More of them by hand: `python -m bench.sweeps.fuzz --count 10000`.

>>> len(SAMPLE)
3
"""

from __future__ import annotations

import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.property.listings.judge import SETTINGS, build_apart, compare_output, judge, printed_command, run_program
from tests.property.listings.listing import write_listing
from tests.property.listings.reduce import reduce_text

from planish.build import functions
from planish.core.fork_pool import Bounds
from planish.core.span import Source

SAMPLE = (3, 40, 102)
FOLDER = Path(__file__).parent / "reduced"
REDUCED = sorted(x.stem for x in FOLDER.glob("*.c"))
"""Programs that failed, reduced; those with a `main` are run, too."""

LIMIT = 30.0
"""Seconds of processor time that a build may take in a test, which is no place to measure it."""

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="the programs are compiled by gcc")


@needs_gcc
@pytest.mark.parametrize("seed", SAMPLE)
def test_any_version_computes_what_the_file_does(seed: int) -> None:
    setting = ("any", "any-strict")[seed % 2]
    ways = {"plain": ["gcc", "-O2", "-march=native"]}
    verdict = judge(write_listing(seed), {setting: SETTINGS[setting]}, LIMIT, ways)
    assert not [x for x in verdict.faults if x.kind != "caught"]


@needs_gcc
@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("setting", ["any", "any-strict"])
def test_what_failed_once_is_right(name: str, setting: str) -> None:
    text = (FOLDER / f"{name}.c").read_text()
    verdict = judge(text, {setting: SETTINGS[setting]}, LIMIT, {})
    assert not verdict.faults
    assert verdict.built[setting].text


@needs_gcc
@pytest.mark.parametrize(
    ("act", "kind"), [(lambda *given: os._exit(3), "crash"), (lambda *given: signal.pause(), "slow")]
)
def test_an_analysis_that_does_not_end_well_is_a_fault(
    act: Callable[..., Any], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functions, "_draft_first", act)
    monkeypatch.setattr(functions, "BOUNDS", Bounds(cpu=9, wall=0.5))
    text = "void f(int n, int *x) { for (int i = 0; i < n; i++) x[i] = 3 * x[i]; }\n"
    text += text.replace("f(", "g(")
    verdict = judge(text, {"default": SETTINGS["default"]}, LIMIT, {})
    assert [x.kind for x in verdict.faults] == [kind, kind]


@needs_gcc
def test_a_whole_build_is_judged() -> None:
    function = "void f(int n, int *x) { for (int i = 0; i < n; i++) x[i] = 3 * x[i]; }\n"
    main = '#include <stdio.h>\nint main(void) { int x[1] = {2}; f(1, x); printf("i x %d\\n", x[0]); return 0; }\n'
    verdict = judge(function + main, {"default": SETTINGS["default"]}, LIMIT, {})
    assert verdict.built["default"].taken == ("f",) and not verdict.faults


@needs_gcc
def test_programs_have_no_undefined_behaviour(tmp_path: Path) -> None:
    command = ["gcc", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    if run_program("int main(void) { return 0; }\n", command, tmp_path)[0]:
        pytest.skip("this gcc has no sanitizers")
    for seed in range(4):
        code, printed = run_program(write_listing(seed), command, tmp_path)
        assert code == 0 and printed


def test_programs_have_what_people_write() -> None:
    found: Counter[str] = Counter()
    marks = (
        "while (", "do {", "continue;", "break;", "--)", "+= 2", " ? ", "MIN(", "%", "/ ", "<<", ">>", "(float)",
        "const ",
        "restrict", "register", "static ", "/*", "label", "*p", "unsigned char", "size_t", "return s", "hash(", "~",
    )  # fmt: skip
    texts = [write_listing(seed).partition("float mixf")[2].partition("#ifdef MAIN")[0] for seed in range(120)]
    for text in texts:
        found.update(mark for mark in marks if mark in text)
    rare = [mark for mark in marks if found[mark] < 2]
    assert not rare
    assert max(text.count("for (") for text in texts) >= 15


def test_what_differs_is_seen() -> None:
    right = "i a 12\nd b 77 10.0 10.0 0\nf c 5 1.0 1.0 0\n"
    assert compare_output(right, right, exact=True) == ""
    assert compare_output(right, right.replace("77 10.0", "78 10.0"), exact=True)
    assert compare_output(right, right.replace("77 10.0", "78 10.0000000001"), exact=False) == ""
    assert compare_output(right, right.replace("77 10.0", "78 10.001"), exact=False)
    assert compare_output(right, right.replace("c 5 1.0 1.0 0", "c 5 1.0 1.0 1"), exact=False)
    # What moves as far by itself proves nothing.
    moved = (right.replace("77 10.0", "79 10.002"),)
    assert compare_output(right, right.replace("77 10.0", "78 10.001"), exact=False, moved=moved) == ""
    assert compare_output(right, right.replace("a 12", "a 13"), exact=False, moved=moved)


def test_a_build_that_cannot_be_read_is_told() -> None:
    built = build_apart(Source("bad.c", "void f(int n { }\n"), SETTINGS["default"], "default", LIMIT)
    assert [x.kind for x in built.faults] == ["refused"] and not built.text


def test_a_fault_is_reduced() -> None:
    text = "int a;\nvoid f(int n, int *x)\n{\n    for (int i = 0; i < n; i++) {\n        x[i] = bad(i) + 1;\n    }\n}\n"
    small = reduce_text(text, lambda t: "bad(i)" in t and t.count("{") == t.count("}"), seconds=20)
    assert small.strip() in ("bad(i)", "bad(i);") or len(small) < 20
    assert printed_command("/* x\n * compile: gcc -O3 -DA=1\n */") == ["gcc", "-O3", "-DA=1"]
