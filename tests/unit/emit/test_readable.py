"""The C of a nest of instances: what it looks like, and that it runs what the nest runs.

>>> MODULO.count("(")
5
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from planish.astgen.checking.judge import choose_sizes, find_ranges
from planish.astgen.checking.verify import Instance, trace_nest
from planish.astgen.code_size.isl_codegen import rival_nest
from planish.astgen.formats import generate_input, load_input
from planish.core.diagnostic import PlanishError
from planish.emit.formats.readable import MACROS, emit_readable
from planish.ir.nest import Assign, Block
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk

MODULO = MACROS["modulo"]
EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "astgen").glob("*.*"))
COMPILER = shutil.which("gcc") or shutil.which("clang")

HARNESS = """
#include <stdint.h>
#include <stdio.h>
static void put(const char *name, int count, const int64_t *at)
{
    printf("%s", name);
    for (int i = 0; i < count; i++)
        printf(" %lld", (long long)at[i]);
    printf("\\n");
}
#define RUN(name, ...) \\
    put(name, sizeof((int64_t[]){0, ##__VA_ARGS__}) / sizeof(int64_t) - 1, (int64_t[]){0, ##__VA_ARGS__} + 1)
"""


def nest_of(text: str) -> Block:
    arrays = "S: bool[9], T: bool[9], A: bool[9, 9], E: bool[], double: bool[9]"
    return parse_kernel(f"kernel test(n, m, int; {arrays}) {{ {text} }}").body


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("for i in 0 .. n { S[i] = true }", "for (int64_t i = 0; i < n; i += 1)\n  S(i);\n"),
        ("for i in 0 .. 10 step 3 { S[i] = true }", "for (int64_t i = 0; i <= 9; i += 3)\n  S(i);\n"),
        ("for i in 0 .. n + 1 { S[i] = true }", "for (int64_t i = 0; i <= n; i += 1)\n  S(i);\n"),
        ("E[] = true", "E();\n"),
        ("E[] = true S[n] = true", "{\n  E();\n  S(n);\n}\n"),
        ("if n > 3 { E[] = true }", "if (n > 3)\n  E();\n"),
        (
            "if n > 3 { E[] = true } else { if m > 3 { S[0] = true } else { S[1] = true T[2] = true } }",
            "if (n > 3) {\n  E();\n} else if (m > 3) {\n  S(0);\n} else {\n  S(1);\n  T(2);\n}\n",
        ),
        (
            "if n > 3 { if m > 3 { E[] = true } } else { S[0] = true }",
            "if (n > 3) {\n  if (m > 3)\n    E();\n} else {\n  S(0);\n}\n",
        ),
        ("S[n - (m - 1)] = true", "S(n - (m - 1));\n"),
        ("S[n - -m] = true", "S(n - (-m));\n"),
        ("S[(n + m) * 2] = true", "S((n + m) * 2);\n"),
        ("if n > 3 && (m > 3 || n > m) { E[] = true }", "if (n > 3 && (m > 3 || n > m))\n  E();\n"),
        ("if n > 3 && m > 3 || n > m { E[] = true }", "if ((n > 3 && m > 3) || n > m)\n  E();\n"),
        ("if !(n > 3) { E[] = true }", "if (!(n > 3))\n  E();\n"),
        ("let k = n + 1 S[k] = true", "{\n  const int64_t k = n + 1;\n  S(k);\n}\n"),
        ("double[int] = true", "double_(int_);\n"),
        ("for i in 0 .. n { S[i // 4] = true T[i % 4] = true }",
         "for (int64_t i = 0; i < n; i += 1) {\n  S(i / 4);\n  T(i % 4);\n}\n"),
    ],
)  # fmt: skip
def test_text(text: str, wanted: str) -> None:
    assert emit_readable(nest_of(text)) == wanted


def test_macros_come_first() -> None:
    text = emit_readable(nest_of("for i in max(n, m) .. 9 { S[i // 4 % 3] = true }"), {"n": (-9, 9), "m": (-9, 9)})
    assert text.splitlines()[:3] == [MACROS["max"], MACROS["floord"], MACROS["modulo"]]
    assert "S(modulo(floord(i, 4), 3));" in text
    known = emit_readable(nest_of("for i in max(n, m) .. 9 { S[i // 4 % 3] = true }"), {"n": (0, 9), "m": (-9, 9)})
    assert "S(i / 4 % 3);" in known and "floord" not in known


@dataclass(frozen=True, slots=True)
class Trial:
    """A text that is to be run for some values of its parameters, and the statements in it."""

    text: str
    parameters: tuple[str, ...]
    statements: frozenset[str]
    sizes: Sequence[dict[str, int]]


def run_c(trials: Sequence[Trial], folder: Path) -> list[str]:
    """What each text prints for each choice of its parameters."""
    parts, calls = [HARNESS], []
    for name in sorted({x for trial in trials for x in trial.statements}):
        parts.append(f'#define {name}(...) RUN("{name}", ##__VA_ARGS__)\n')
    for i, trial in enumerate(trials):
        head = ", ".join(f"int64_t {x}" for x in trial.parameters) or "void"
        parts.append(f"static void nest{i}({head})\n{{\n{trial.text}}}\n")
        for values in trial.sizes:
            calls.append(f"nest{i}({', '.join(str(values[x]) for x in trial.parameters)});")
    rule = 'puts("--");'
    parts.append(f"int main(void)\n{{\n{''.join(f'{call} {rule}' for call in calls)} return 0;\n}}\n")
    source, program = folder / "nests.c", folder / "nests"
    source.write_text("".join(parts))
    assert COMPILER is not None
    subprocess.run([COMPILER, "-std=gnu11", "-O1", "-w", "-o", program, source], check=True, timeout=120)
    done = subprocess.run([program], check=True, timeout=60, capture_output=True, text=True)
    return done.stdout.split("--\n")[:-1]


@pytest.mark.skipif(COMPILER is None, reason="no C compiler here")
def test_it_runs_what_the_nest_runs(tmp_path: Path) -> None:
    trials, wanted = list[Trial](), list[list[Instance]]()
    for path in EXAMPLES:
        found = load_input(str(path))
        for make in (generate_input, rival_nest):
            try:
                nest = make(found)
            except PlanishError:
                continue
            # What the context says of the parameters, and what nothing is known of, both have to come out right.
            sizes = choose_sizes(found)[:3]
            statements = frozenset(x.array for x in walk(nest) if isinstance(x, Assign))
            for known in (find_ranges(found), dict.fromkeys(found.parameters, (-99, 99))):
                trials.append(Trial(emit_readable(nest, known), found.parameters, statements, sizes))
                wanted += [trace_nest(nest, values) for values in sizes]
    printed = run_c(trials, tmp_path)
    assert len(printed) == len(wanted) > 60
    for text, trace in zip(printed, wanted, strict=True):
        assert text == "".join(f"{' '.join([name, *map(str, at)])}\n" for name, at in trace)
