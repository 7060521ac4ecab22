"""Branches and cases that all store to one place are one store of a chosen value, and compute what they did."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file

TAKEN = {
    "chain": "if (k[i] < -9) a[i] += b[i]; else if (k[i] < 9) { a[i] = b[i] * 2; } else a[i] -= 1;",
    "nested": "if (k[i] < 0) { if (b[i] > 3) a[i] = 1; else a[i] = b[i]; } else a[i] = k[i];",
    "cases": "switch (k[i] & 3) {"
    " case 0: a[i] += b[i]; break; case 1: case 2: a[i] = k[i]; break; default: a[i] = 7; }",
    "early_default": "switch (k[i] % 3) { default: a[i] = 7; break; case 2: a[i] = b[i]; break; case -1: a[i] = 5; }",
    "bytes": "if (k[i] == 3) c[i] += 200; else if (b[i] == 2) c[i] = 300; else c[i] *= k[i];",
    "choice": "k[i] < 0 ? (a[i] = b[i]) : (a[i] = k[i] * 2);",
    "pointed": "k[i] < 0 ? (*(a + i) |= b[i]) : (*(a + i) &= ~b[i]);",
    "shortcuts": "k[i] < 9 && (s += b[i]); b[i] || s++;",
    "sums": "if (k[i] < 0) s += b[i]; else if (k[i] < 20) s += 2; else s -= k[i];",
}
LEFT = {
    "lasting": "volatile int v = 1; k[i] < 0 ? v : 0; a[i] = 1;",
    "falls": "switch (k[i] & 3) { case 0: a[i] += b[i]; case 1: a[i] = k[i]; break; default: a[i] = 7; }",
}
UNDER_CONDITIONS = {
    "chosen_alone": "k[i] < 0 ? (void)(a[i] = b[i]) : (void)0;",
    "partly": "switch (k[i] & 3) { case 0: a[i] = b[i]; break; case 1: a[i] = k[i]; break; }",
    "apart": "if (k[i] < 0) a[i] = 1; else if (b[i] > 3) a[i + 1] = 2; else a[i] = b[i];",
}


def write(bodies: dict[str, str]) -> str:
    """A function for each body."""
    head = "int {}(int n, int *restrict a, const int *restrict b, unsigned char *restrict c, const int *restrict k)"
    loop = "\n{{\n    int s = 0;\n    for (int i = 0; i < n; i++) {{\n        {}\n    }}\n    return s;\n}}\n"
    return "".join(head.format(x) + loop.format(y) for x, y in bodies.items())


def write_main() -> str:
    """Prints what each function leaves, for some lengths."""
    calls = "".join(
        f"    fill(); r = {x}(n, a, b, c, k); for (int i = 0; i < 300; i++) r = r * 31 + a[i] + c[i];"
        f' printf("{x} %d %d\\n", n, r);\n'
        for x in (*TAKEN, *UNDER_CONDITIONS, *LEFT)
    )
    return (
        "#include <stdio.h>\nstatic int a[300], b[300], k[300];\nstatic unsigned char c[300];\n"
        "static void fill(void) { for (int i = 0; i < 300; i++)"
        " { a[i] = i % 11; b[i] = i * 7 % 13 - 4; c[i] = (unsigned char)i; k[i] = i * 41 % 67 - 33; } }\n"
        "int main(void)\n{\n    unsigned r;\n"
        f"    for (int n = 0; n < 290; n += n < 40 ? 1 : 83) {{\n{calls}    }}\n}}\n"
    )


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")
def test_branches_are_those_of_the_original(tmp_path: Path) -> None:
    text = write(TAKEN) + write(UNDER_CONDITIONS) + write(LEFT)
    made = build_file(Source("b.c", text), Options(measure=False))
    taken = {x.function.name for x in made.functions if x.replacements}
    assert taken == {*TAKEN, *UNDER_CONDITIONS}, taken
    printed = []
    for program in (text, made.text):
        (tmp_path / "p.c").write_text(program + write_main())
        subprocess.run(["gcc", "-O2", "-march=native", "-fwrapv", "-w", "p.c", "-o", "p"], cwd=tmp_path, check=True)
        printed.append(subprocess.run([str(tmp_path / "p")], capture_output=True, text=True, check=True).stdout)
    assert printed[0] == printed[1]
