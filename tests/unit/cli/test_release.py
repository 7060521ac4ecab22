"""What a release is made of agrees: one version in all places, dependences of the conda recipe as in pyproject.toml."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

from planish.version import VERSION

ROOT = Path(__file__).resolve().parents[3]
RECIPE = (ROOT / "packaging" / "conda" / "meta.yaml").read_text()


def test_there_is_one_version() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION
    assert re.findall(r'version = "([\d.]+)"', RECIPE) == [VERSION]


def test_the_recipe_needs_what_the_package_needs() -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    listed = set(re.findall(r"^    - (\w[\w-]*) ?(\S*)$", RECIPE.partition("  run:")[2].partition("\ntest:")[0], re.M))
    assert {(re.split(r"[<>=]", x)[0], x[len(re.split(r"[<>=]", x)[0]) :]) for x in needed} <= listed
    assert {x for x, _ in listed} == {re.split(r"[<>=]", x)[0] for x in needed} | {"python", "gcc"}


def test_the_container_copies_what_its_context_has() -> None:
    kept = {x[1:] for x in (ROOT / ".dockerignore").read_text().splitlines() if x.startswith("!")}
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", (ROOT / "packaging" / "Dockerfile").read_text(), re.MULTILINE)
    assert {y for x in copied for y in x.split()} == kept and all((ROOT / x).exists() for x in kept)


def test_the_script_is_one() -> None:
    script = ROOT / "scripts" / "release.sh"
    assert script.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
