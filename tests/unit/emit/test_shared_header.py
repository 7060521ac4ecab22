"""A drop-in in several files is the same program as in one."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from planish.emit.c.compiler_attributes import CompilerSettings, settings_for
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.emit.dropin.shared_header import share_prologue
from planish.ir.text.parser import parse_kernel
from planish.ir.types import Floats
from planish.target.load import load_target

COMPILERS = [x for x in ("gcc", "clang-19", "clang") if shutil.which(x)][:2]
KERNEL = """
kernel k(n; x: f64[n] distinct, s: f64[] distinct) {
  for i in 0 .. n simd reduce(add: s) { s[] += x[min(i, 3)] * x[i] }
}
"""
MAIN = """
#include <stdio.h>
int main(void)
{
  double x[100], s = 1;
  for (int i = 0; i < 100; i++) x[i] = i;
  if (ABLE) planish_k(100, x, &s);
  printf("%g", s);
}
"""


def whole(settings: CompilerSettings) -> str:
    function = emit_function(parse_kernel(KERNEL), "planish_k", strict=settings.floats == "strict")
    able = "planish_able" if settings.features else "1"
    return f"/* Banner. */\n{emit_prologue([function], (), (), settings)}{MAIN.replace('ABLE', able)}"


@pytest.mark.parametrize("floats", ["strict", "contract", "reassociate"])
@pytest.mark.parametrize("target", ["generic", "x86-avx2"])
def test_the_same_program(target: str, floats: Floats, tmp_path: Path) -> None:
    text = whole(settings_for(load_target(target), floats))
    parted = share_prologue(text)
    assert len(parted.headers) == 2 and len(parted.text.splitlines()) < 30
    (tmp_path / "whole.c").write_text(text)
    (tmp_path / "parted.c").write_text(parted.text)
    for name, header in parted.headers.items():
        (tmp_path / name).write_text(header)
    printed = set()
    for compiler in COMPILERS:
        for name in ("whole", "parted"):
            command = [compiler, "-O2", "-Wall", "-Wextra", "-Werror", f"{name}.c", "-o", name, "-lm"]
            subprocess.run(command, cwd=tmp_path, check=True)
            printed.add(subprocess.run([f"./{name}"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout)
    assert printed <= {"14847"}


def test_settings_that_differ_have_headers_that_differ() -> None:
    targets = ("generic", "x86-avx2", "x86-avx512")
    made = {}
    for floats in ("strict", "contract", "reassociate"):
        for target in targets:
            headers = share_prologue(whole(settings_for(load_target(target), floats))).headers
            name = next(iter(headers))
            assert made.setdefault(name, headers[name]) == headers[name]
    assert len(made) == 9


def test_files_without_functions_of_ours_stay() -> None:
    text = "int f(void) { return 1; }\n"
    assert share_prologue(text).text == text
    twice = whole(CompilerSettings()) * 2
    assert share_prologue(twice).text == twice
    assert re.search("planish", share_prologue(text).text) is None
