"""Names and imports of the whole program: a public class name means one thing, no modules import one another in a
circle, and a folder is small enough to be read at a glance."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
ENTRIES = 20
"""Modules and folders in one folder below a layer's, at most; about fifteen are wanted."""
GENERIC = ("utils", "helpers", "misc", "common", "versions")
"""Names that say nothing of what a module holds."""


_CLASS = re.compile(r"^class ([^\W_]\w*)", re.MULTILINE)
_FROM = re.compile(r"^ *from ([\w.]+) import (\([^)]*\)|[^(\n]*)", re.MULTILINE)
_IMPORT = re.compile(r"^ *import ([\w., ]+)$", re.MULTILINE)


@cache
def modules() -> dict[str, str]:
    """The texts of the program's modules by their names; patterns find names in them sooner than trees are made."""
    found = {}
    for path in sorted((SOURCE / "planish").rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        found[name] = path.read_text("utf-8")
    return found


def test_a_public_class_name_means_one_thing() -> None:
    homes = defaultdict(list)
    for name, text in modules().items():
        for found in _CLASS.findall(text):
            homes[found].append(name)
    assert len(homes) > 500
    assert {x: where for x, where in homes.items() if len(where) > 1} == {}


@cache
def imports() -> dict[str, set[str]]:
    """The modules that each one imports."""
    return {name: _imported(text) - {name} for name, text in modules().items()}


def test_no_modules_import_one_another_in_a_circle() -> None:
    assert sum(map(len, imports().values())) > 5000
    list(TopologicalSorter(imports()).static_order())  # raises CycleError, which names the circle


def test_the_interface_of_python_loads_no_templates_before_a_notebook_asks() -> None:
    reached, coming = set[str](), ["planish.api"]
    while coming:
        if (name := coming.pop()) not in reached:
            reached.add(name)
            coming += imports()[name]
    assert "planish.compiled" in reached and "planish.report.page.notebook" not in reached
    assert "planish.report.page.rendering" not in reached


def _imported(text: str) -> set[str]:
    found = set()
    for module, names in _FROM.findall(text):
        if module in modules():
            for name in re.findall(r"\w+", re.sub(r" as \w+|#.*", "", names)):
                inner = f"{module}.{name}"
                found.add(inner if inner in modules() else module)
    for names in _IMPORT.findall(text):
        found |= {x for x in re.findall(r"[\w.]+", re.sub(r" as \w+", "", names)) if x in modules()}
    return found


def test_module_names_say_what_is_in_them() -> None:
    assert [x for x in modules() if x.rpartition(".")[2] in GENERIC] == []


def test_folders_are_small() -> None:
    large = {}
    for folder in (x.parent for x in (SOURCE / "planish").glob("*/**/__init__.py")):
        inner = {x for x in folder.glob("*.py") if x.stem != "__init__"} | set(folder.glob("*/__init__.py"))
        if len(inner) > ENTRIES:
            large[str(folder.relative_to(SOURCE))] = len(inner)
    assert large == {}
