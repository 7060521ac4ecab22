"""The site has every page, and the notebook that it begins with runs."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
TOOLS = ("mkdocs", "material", "mkdocstrings", "mkdocstrings_handlers.python")


def site_pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "scripts" / "site_pages.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_navigation_has_every_page_once() -> None:
    named = re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    pages = site_pages()
    assert sorted(named) == sorted([*(x.name for x in (ROOT / "docs").glob("*.md")), *pages.ELSEWHERE.values()])
    assert all((ROOT / x).is_file() for x in pages.ELSEWHERE)
    assert doctest.testmod(pages).failed == 0


def is_here(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.skipif(not all(map(is_here, TOOLS)), reason="the extra `docs` is not installed")
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "planish.api.compile" in (tmp_path / "site" / "api.html").read_text()


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda x: x.name)
def test_notebooks_run(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cell by cell, as a notebook does it; what a cell ends with can be shown."""
    monkeypatch.chdir(tmp_path)
    cells = [x for x in json.loads(notebook.read_text())["cells"] if x["cell_type"] == "code"]
    assert all(not x["outputs"] and x["execution_count"] is None for x in cells), "clear the outputs"
    names: dict[str, Any] = {"__name__": "notebook"}
    shown = 0
    for number, cell in enumerate(cells):
        # A file, because kernels are read from the text that they stand in.
        file = tmp_path / f"cell{number}.py"
        file.write_text("".join(cell["source"]))
        body = ast.parse(file.read_text()).body
        last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None  # type: ignore[attr-defined]
        exec(compile(ast.Module(body, []), str(file), "exec"), names)
        value = None if last is None else eval(compile(last, str(file), "eval"), names)
        if hasattr(value, "_repr_html_"):
            assert "<" in value._repr_html_()
            shown += 1
    assert shown >= 2
