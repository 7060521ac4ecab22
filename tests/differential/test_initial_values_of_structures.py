"""Structures that a nest declares hold what their initial values say, and these leave what they do besides: in branches
that only calls of the test reach, too."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file

TYPES = """
struct pair { float x, y; };
struct outer { struct pair p; float z; };
struct row { float y[2]; float z; };
struct mixed { char c[4]; float z; };
struct held { union { int i; float f; } u; float z; };
struct far { const float *at; float z; };
struct narrow { int k : 3; int z; };
"""
TAKEN = {
    "both": "struct pair t = {k++, x[i]}; o[i] = t.y * 3 + t.x;",
    "address": "struct far t = {w++, x[i]}; o[i] = t.z;",
    "walked": "struct pair t = *e++; o[i] = t.y * 3 + t.x;",
    "walked_rows": "struct row t = *(r++); o[i] = t.z;",
    "nested": "struct outer t = {{x[i], k++}, 3}; o[i] = t.p.x * t.p.y + t.z;",
    "partial": "struct outer t = {{x[i]}}; o[i] = t.p.x + t.p.y * 7 + t.z;",
    "member": "struct pair t = {e++->y, x[i]}; o[i] = t.x * 3 + t.y;",
    "member_address": "const float *z = &e++->y; o[i] = *z + x[i];",
    "member_alone": "float t = (++e)->x; o[i] = t + e->y;",
    "nothing": "struct row t = {0}; t.z += x[i]; o[i] = t.z;",
}
RARE = {
    "first": "struct pair t = {k++, x[i]}; o[i] = t.y;",
    "last": "struct pair t = {x[i], k++}; o[i] = t.x;",
    "listed": "struct mixed t = {{k++, 1}, x[i]}; o[i] = t.z;",
    "braces": "struct pair t = {{x[i]}, 2}; o[i] = t.x + t.y;",
}
"""In branches that no call takes which finds out whether a kernel is right; those in LEFT are in such as well."""
LEFT = {
    "whole": "struct pair q = {x[i], 3}; struct outer t = {q, 1}; o[i] = t.p.x + t.p.y + t.z;",
    "elided": "struct outer t = {x[i], 2}; o[i] = t.p.x + t.p.y * 10 + t.z;",
    "designated": "struct pair t = {.y = x[i], .x = k++}; o[i] = t.y;",
    "designated_rows": "struct row t = {{[1] = k++}, x[i]}; o[i] = t.z;",
    "of_union": "struct held t = {{k++}, x[i]}; o[i] = t.z;",
    "bits": "struct narrow t = {(int)x[i], 2}; o[i] = t.k + t.z;",
}
MOST = 100_000
MAIN = """
#include <stdio.h>
#include <string.h>
static float x[%d], o[%d];
int main(void) {
    static int sizes[] = {0, 1, 7, 64, %d};
    for (int i = 0; i < %d; i++) x[i] = (float)(i * 37 %% 101);
    for (int s = 0; s < 5; s++) {
        int n = sizes[s];
%s
    }
}
"""
CALL = """        memset(o, 0, sizeof o);
        { int k = %s(n, x, (void *)x, (void *)x, o); double v = 0;
          for (int i = 0; i < n; i++) v += o[i] * (i %% 7); printf("%s %%d %%d %%.9g\\n", n, k, v); }"""


def _function(name: str, body: str) -> str:
    return (
        f"int {name}(int n, const float *x, const struct pair *p, const struct row *q, float *restrict o) {{\n"
        "  int k = 0; const struct pair *e = p; const struct row *r = q; const float *w = x;\n"
        f"  for (int i = 0; i < n; i++) {{ {body} }}\n"
        "  return k + (int)(e - p) + (int)(r - q) + (int)(w - x);\n}\n"
    )


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")
def test_initial_values_are_those_of_the_original(tmp_path: Path) -> None:
    rare = {name: f"if (n > 90000) {{ {body} }} else {{ o[i] = x[i] * 2; }}" for name, body in (RARE | LEFT).items()}
    functions = {**TAKEN, **rare}
    text = TYPES + "".join(_function(name, body) for name, body in functions.items())
    made = build_file(Source("s.c", text), Options(measure=False, fp="strict"))
    taken = {x.function.name for x in made.functions if x.replacements}
    assert taken == {*TAKEN, *RARE}, taken
    calls = "\n".join(CALL % (name, name) for name in functions)
    printed = []
    for program in (text, made.text):
        (tmp_path / "p.c").write_text(program + MAIN % (3 * MOST, 3 * MOST, MOST, 3 * MOST, calls))
        command = ["gcc", "-O1", "-w", "-fno-strict-aliasing", "p.c", "-o", "p"]
        subprocess.run(command, cwd=tmp_path, check=True)
        printed.append(subprocess.run([str(tmp_path / "p")], capture_output=True, text=True, check=True).stdout)
    assert printed[0] == printed[1]
