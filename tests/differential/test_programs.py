"""The example programs compile without warnings, are read as they should, and print the same with the drop-in."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from examples import FOLDER

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.options import Options
from planish.pipeline import build_file

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")


@dataclass(frozen=True)
class Program:
    """A program in a folder of the examples: `part` is the file that planish replaces, `flags` choose it.

    `outside` counts the loop nests that are no static control part.
    """

    folder: str
    part: str
    functions: int
    outside: int = 0
    flags: tuple[str, ...] = ()

    @property
    def place(self) -> Path:
        return FOLDER / self.folder

    @property
    def source(self) -> Source:
        path = self.place / self.part
        return Source(str(path), path.read_text())

    def compile(self, part: Path, output: Path) -> None:
        """Compile the program with `part` in the place of its part."""
        command = ["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fopenmp-simd", f"-I{self.place}"]
        main = self.place / "main.c"
        subprocess.run([*command, *self.flags, "-o", str(output), str(main), str(part), "-lm"], check=True)


PROGRAMS = (
    # The means of the clusters go through what is read from memory.
    Program("programs/kmeans", "cluster.c", 3, outside=2),
    Program("programs/pca", "analysis.c", 6),
    Program("programs/kalman", "tracker.c", 5),
    Program("programs/convnet", "layers.c", 4),
    *(Program("chains", f"chain{n}.c", 1, flags=(f"-DCHAIN={n}",)) for n in (4, 5, 6)),
)


def run(program: Path) -> str:
    return subprocess.run([str(program)], check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda x: x.part)
def test_it_is_read(program: Program, tmp_path: Path) -> None:
    program.compile(program.place / program.part, tmp_path / "plain")
    file = read_c(program.source, include_dirs=(program.place,))
    assert len(file.functions) == program.functions and all(x.regions for x in file.functions)
    assert len([x for x in file.remarks if x.kind == "refused"]) == program.outside


@pytest.mark.parametrize("program", [x for x in PROGRAMS if x.flags], ids=lambda x: x.part)
def test_what_a_chain_leaves_in_between_is_scratch(program: Program) -> None:
    (function,) = read_c(program.source, include_dirs=(program.place,)).functions
    (region,) = function.regions
    letters = "ABCDEF"[: int(program.flags[0][-1])]
    assert region.scratch == tuple(letters[:n] for n in range(2, len(letters)))


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda x: x.part)
def test_it_prints_the_same_with_the_drop_in(program: Program, tmp_path: Path) -> None:
    result = build_file(program.source, Options(measure=False, include_dirs=(program.place,)))
    assert any(x.replacements for x in result.functions)
    (tmp_path / program.part).write_text(result.text)
    program.compile(program.place / program.part, tmp_path / "plain")
    program.compile(tmp_path / program.part, tmp_path / "planish")
    assert run(tmp_path / "planish") == run(tmp_path / "plain")
