"""Programs that were not handled well once, each built as a user would, however he compiles what comes out.

`cases/NAME.c` holds functions, a `main` under `#ifdef MAIN`, and what it demands in its first lines (see `judging`);
`cases/NAME.expected` is what it prints. One whose first line is `// slow` is only built behind that marker.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from judging import judge, run_planish

FOLDER = Path(__file__).parent / "cases"
NAMES = sorted(path.stem for path in FOLDER.glob("*.c"))
FAILING: dict[str, str] = {}
"""What a case still asks for and does not get."""
SETTINGS = {"default": ("--no-measure",), "strict": ("--no-measure", "--fp", "strict")}
WAYS = {"default": ("as told", "clang-19 -O3 -march=native", "clang -O3 -march=native", "sanitized"),
        "strict": ("as told", "gcc -O2", "sanitized")}  # fmt: skip
"""How what comes out is compiled, by the setting; in every way that there is behind the marker, and for both settings
by `bench/claims.py correctness`."""

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")


def marked(name: str) -> object:
    """A case as a parameter."""
    failing = [pytest.mark.xfail(reason=FAILING[name], strict=True)] if name in FAILING else []
    slow = [pytest.mark.slow] if (FOLDER / f"{name}.c").read_text().startswith("// slow") else []
    return pytest.param(name, marks=[*failing, *slow])


@pytest.mark.each_value
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", [marked(x) for x in NAMES])
def test_case(name: str, setting: str, tmp_path: Path) -> None:
    check(name, SETTINGS[setting], tmp_path, WAYS[setting])


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", NAMES)
def test_case_in_every_way(name: str, setting: str, tmp_path: Path) -> None:
    check(name, SETTINGS[setting], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [x for x in NAMES if "// measured" in (FOLDER / f"{x}.c").read_text()])
def test_case_with_the_clock(name: str, tmp_path: Path) -> None:
    check(name, (), tmp_path)


def check(name: str, settings: tuple[str, ...], place: Path, ways: tuple[str, ...] = ()) -> None:
    expected = (FOLDER / f"{name}.expected").read_text()
    faults = judge(FOLDER / f"{name}.c", expected, settings, place, ways)
    assert not faults, "\n".join(faults)


def test_a_context_without_brackets_is_a_diagnostic(tmp_path: Path) -> None:
    name = "isl-context"
    shutil.copy(FOLDER / f"{name}.st", tmp_path)
    code, said = run_planish(["astgen", f"{name}.st"], tmp_path, 60)
    assert code == 1, said
    assert f" --> {name}.st:3:" in said and "^" in said
    assert "  = help: " in said
