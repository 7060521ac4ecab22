"""Names and imports of the whole program: a public class name means one thing, no modules import one another in a
circle, and a folder is small enough to be read at a glance."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
ENTRIES = 20
"""Modules and folders in one folder below a layer's, at most; about fifteen are wanted."""
GENERIC = ("utils", "helpers", "misc", "common", "versions")
"""Names that say nothing of what a module holds."""


@cache
def modules() -> dict[str, ast.Module]:
    """The modules of the program by their names."""
    found = {}
    for path in sorted((SOURCE / "planish").rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        found[name] = ast.parse(path.read_text("utf-8"))
    return found


def test_a_public_class_name_means_one_thing() -> None:
    homes = defaultdict(list)
    for name, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    assert {x: where for x, where in homes.items() if len(where) > 1} == {}


@cache
def imports() -> dict[str, set[str]]:
    """The modules that each one imports."""
    return {name: _imported(tree) - {name} for name, tree in modules().items()}


def test_no_modules_import_one_another_in_a_circle() -> None:
    list(TopologicalSorter(imports()).static_order())  # raises CycleError, which names the circle


def test_the_interface_of_python_loads_no_templates_before_a_notebook_asks() -> None:
    reached, coming = set[str](), ["planish.api"]
    while coming:
        if (name := coming.pop()) not in reached:
            reached.add(name)
            coming += imports()[name]
    assert "planish.compiled" in reached and "planish.report.page.notebook" not in reached
    assert "planish.report.page.rendering" not in reached


def _imported(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in modules():
            for x in node.names:
                inner = f"{node.module}.{x.name}"
                found.add(inner if inner in modules() else node.module)
        elif isinstance(node, ast.Import):
            found |= {x.name for x in node.names if x.name in modules()}
    return {x for x in found if x is not None}


def test_module_names_say_what_is_in_them() -> None:
    assert [x for x in modules() if x.rpartition(".")[2] in GENERIC] == []


def test_folders_are_small() -> None:
    large = {}
    for folder in (x.parent for x in (SOURCE / "planish").glob("*/**/__init__.py")):
        inner = {x for x in folder.glob("*.py") if x.stem != "__init__"} | set(folder.glob("*/__init__.py"))
        if len(inner) > ENTRIES:
            large[str(folder.relative_to(SOURCE))] = len(inner)
    assert large == {}
