"""The package for CMake: a library of drop-ins is made, computes the same, and is made anew when a header changes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from planish.cli import main
from planish.cli.installation.cmake import PACKAGE
from planish.version import VERSION

FILES = {
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.20)
project(test C)
find_package(Planish 0.1 REQUIRED)
planish_add_library(kernels STATIC sub/scale.c ${OTHERWISE})
target_compile_options(kernels PRIVATE ${FLAGS})
target_compile_definitions(kernels PRIVATE OFFSET=0.5f)
target_include_directories(kernels PRIVATE "my headers")
add_executable(program main.c)
target_link_libraries(program PRIVATE kernels)
""",
    "my headers/factor.h": "#define FACTOR 3.0f\n",
    "sub/near.h": "#include <factor.h>\n",
    "sub/scale.c": """\
#include "near.h"
void scale(int n, float *restrict y, const float *restrict x)
{
    for (int i = 0; i < n; i++)
        y[i] = FACTOR * x[i] + OFFSET;
}
""",
    "main.c": """\
#include <stdio.h>
void scale(int n, float *restrict y, const float *restrict x);
int main(void)
{
    float x[40], y[40], sum = 0;
    for (int i = 0; i < 40; i++)
        x[i] = i;
    scale(40, y, x);
    for (int i = 0; i < 40; i++)
        sum += y[i];
    printf("%g\\n", sum);
}
""",
}
WORKS = shutil.which("cmake") and (shutil.which("ninja") or shutil.which("make")) and shutil.which("cc")


@pytest.mark.skipif(not WORKS, reason="CMake, what it generates files for, or a C compiler is not here")
def test_a_library_is_made_and_follows_its_headers(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    planish = tmp_path / "planish"
    planish.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m planish "$@"\n')
    planish.chmod(0o755)
    generator = "Ninja" if shutil.which("ninja") else "Unix Makefiles"
    found = [f"-DPlanish_DIR={PACKAGE}", f"-DPLANISH_EXECUTABLE={planish}"]
    run(tmp_path, "cmake", "-G", generator, "-B", "out", *found, ".")
    assert "Making sub/scale.c faster with Planish" in run(tmp_path, "cmake", "--build", "out")
    made = tmp_path / "out" / "planish" / "kernels" / "sub"
    assert "planish_scale_1(" in (made / "scale.c").read_text()
    assert run(tmp_path, "out/program") == "2360\n"
    rule, header = (made / "scale.d").read_text(), tmp_path / "my headers/factor.h"
    assert rule.startswith(f"{made / 'scale.c'}: ") and str(header).replace(" ", "\\ ") in rule
    assert "Making" not in run(tmp_path, "cmake", "--build", "out")
    later = made.joinpath("scale.c").stat().st_mtime + 5
    os.utime(header, (later, later))
    assert "Making" in run(tmp_path, "cmake", "--build", "out")
    if shutil.which("aarch64-linux-gnu-gcc"):
        cross = [f"-DCMAKE_SYSTEM_{x}" for x in ("NAME=Linux", "PROCESSOR=aarch64")]
        cross += ["-DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
        for flags, told in {"": "-march=armv8.2-a+fp16+dotprod", "-mcpu=cortex-a76": "-mcpu=cortex-a76"}.items():
            more = [*cross, "-DOTHERWISE=TARGET;neon", f"-DFLAGS={flags}"]
            run(tmp_path, "cmake", "-G", generator, "-B", "arm", *found, *more, ".")
            commands = (tmp_path / "arm" / "compile_commands.json").read_text()
            assert re.findall(r"-m(?:arch|cpu)=\S+", commands) == [told]


def run(folder: Path, *command: str) -> str:
    """What a command prints; it must end well."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout


def test_the_package_is_where_it_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cmake"]) == 0
    folder = Path(capsys.readouterr().out.strip())
    (version,) = re.findall(r'PACKAGE_VERSION "([\d.]+)"', (folder / "PlanishConfigVersion.cmake").read_text())
    assert (folder / "PlanishConfig.cmake").exists() and version == VERSION
