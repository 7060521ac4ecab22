"""Arrays of every arithmetic type of C: what is generated keeps to C's rules on what may alias, and to its types.

A compiler that sees both the caller and a function that reads `long long` as `long` may give the caller old values.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planish.build.emit import make_drop_ins
from planish.build.lower import lower_region
from planish.core.span import Source
from planish.emit.dropin.replacement import compose
from planish.frontend.c.reader import read_c
from planish.options import Options
from planish.run.toolchains.toolchain import find_compilers
from planish.target.load import load_target

DECLARED = """\
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <sys/types.h>
enum shade { NONE, LIGHT, DARK, BLACK };
enum depth { BELOW = -1, ABOVE = 5 };
enum mask { FIRST = 1 << 2, LAST = 0xfffffff0 };
typedef enum { LOW, HIGH = 'h' } level;
typedef struct { enum kind { ROUND, FLAT } kind; } thing;
typedef long long wide;
typedef wide wider;
typedef const wider *wider_row;
typedef size_t count;
"""
WHOLE = (
    "char", "signed char", "unsigned char", "short", "short unsigned int", "int", "unsigned", "long", "unsigned long",
    "long long", "long long unsigned", "_Bool", "bool", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t",
    "uint32_t", "int64_t", "uint64_t", "size_t", "ptrdiff_t", "intptr_t", "uintptr_t", "wchar_t", "ssize_t",
    "int_least16_t", "int_fast16_t", "uint_fast32_t", "intmax_t", "uintmax_t", "enum shade", "enum depth", "enum mask",
    "level", "enum kind", "wider", "count",
)  # fmt: skip
FLOATS = ("float", "double")
PLANAR = ("long long", "char", "enum shade", "size_t", "wider", "float")
"""Those of which arrays with two subscripts are made as well."""
WARNINGS = ("-Wall", "-Wextra", "-Wincompatible-pointer-types", "-Werror", "-fstrict-aliasing", "-O3")

PLAIN = """
void map_@(int n, const TYPE *from, TYPE *to)
{
    for (int i = 0; i < n; i++)
        to[2 * i] = from[i] + to[2 * i + 1];
}
TYPE sum_@(int n, const TYPE *x)
{
    TYPE s = 0;
    for (int i = 0; i < n; i++)
        s += x[i];
    return s;
}
"""
PLANE = """
static void turn_@(int n, int m, const TYPE *from, TYPE *to)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            to[j * n + i] = from[i * m + j];
}
static TYPE held_@[8];
void columns_@(int n, TYPE a[][8])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 8; j++)
            held_@[j] += a[i][j];
}
double planes_@(TYPE *from, TYPE *to)
{
    from[1] = 3;
    to[0] = 1;
    turn_@(4, 8, from, to);
    held_@[4] = 2;
    columns_@(4, (TYPE (*)[8])to);
    return (double)to[4] + (double)held_@[4];
}
"""
CALLER = """
static double call_@(void)
{
    TYPE from[32], to[64];
    double out = 0;
    for (int i = 0; i < 64; i++)
        to[i] = (TYPE)(i % 5 == 1);
    for (int i = 0; i < 32; i++)
        from[i] = (TYPE)(i % 3);
    to[0] = (TYPE)1;
    to[2] = (TYPE)0;
    map_@(32, from, to);
    out += 100 * (double)to[0] + 10 * (double)to[2] + (double)to[62];
    from[0] = (TYPE)1;
    out = 4 * out + (double)sum_@(3, from);
    return out;
}
"""


def write(name: str, text: str, folder: Path) -> Path:
    (folder / name).write_text(text)
    return folder / name


def texts() -> tuple[str, str, str]:
    """The functions, prototypes of them, and a program that calls them all."""
    functions, prototypes, program, calls = DECLARED, "", "#include <stdio.h>\n", ""
    for number, type in enumerate((*WHOLE, *FLOATS)):
        planar = type in PLANAR
        functions += (PLAIN + PLANE * planar).replace("@", str(number)).replace("TYPE", type)
        prototypes += f"void map_{number}(int, const {type} *, {type} *); {type} sum_{number}(int, const {type} *);\n"
        prototypes += f"double planes_{number}({type} *, {type} *);\n" * planar
        program += CALLER.replace("@", str(number)).replace("TYPE", type)
        planes = f'{{ {type} a[64] = {{0}}, b[64] = {{0}}; printf("%g ", planes_{number}(a, b)); }}' * planar
        calls += f'    printf("{type}: %g\\n", call_{number}());\n    {planes}\n'
    return functions, prototypes, f"{program}\nint main(void)\n{{\n{calls}    return 0;\n}}\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder with the new functions and their callers, and what the program prints without them."""
    folder = tmp_path_factory.mktemp("types")
    functions, prototypes, program = texts()
    file = read_c(Source("types.c", functions))
    target, options = load_target("generic"), Options(target="generic")
    plans = [(lower_region(region, options, target, 1), x.name) for x in file.functions for region in x.regions]
    replaced = [r for plan, _ in plans for x in make_drop_ins((plan,), file, options)[0] for r in x.shipped[:1]]
    assert len(replaced) == len(plans) == sum(1 for x in file.functions if not x.name.startswith("planes"))
    new = compose(functions, replaced, "")
    write("original.c", f"{functions}{program}", folder)
    write("new.c", new, folder)
    write("included.c", f'#include "new.c"\n{program}', folder)
    write("apart.c", f"{DECLARED}{prototypes}{program}", folder)
    plain = ["gcc", "-O0", "-w", "original.c", "-o", "plain", "-lm"]
    subprocess.run(plain, cwd=folder, check=True)
    return folder, subprocess.run(["./plain"], cwd=folder, check=True, capture_output=True, text=True).stdout


def spelt(kind: str) -> str:
    found = [x for x in find_compilers() if x.kind == kind]
    if not found:
        pytest.skip(f"there is no {kind}")
    return str(found[0].path)


@pytest.mark.each_value
@pytest.mark.parametrize("sources", [("included.c",), ("apart.c", "new.c")], ids=["included", "linked"])
@pytest.mark.parametrize("kind", ["gcc", "clang"])
def test_callers_see_what_was_stored(made: tuple[Path, str], kind: str, sources: tuple[str, ...]) -> None:
    folder, wanted = made
    compiler, flags = spelt(kind), list(WARNINGS)
    if len(sources) > 1:
        flags.append("-flto")
        if kind == "clang" and not shutil.which("ld.lld"):
            pytest.skip("clang links such objects with lld, which is not there")
        flags += ["-fuse-ld=lld"] if kind == "clang" else []
    program = f"{kind}-{len(sources)}"
    done = subprocess.run(
        [compiler, *flags, *sources, "-o", program, "-lm"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:4000]
    assert subprocess.run([f"./{program}"], cwd=folder, capture_output=True, text=True, check=True).stdout == wanted


def test_generated_functions_take_the_declared_types(made: tuple[Path, str]) -> None:
    text = (made[0] / "new.c").read_text()
    assert "(ptrdiff_t n, long long *restrict to, const long long *restrict from)" in text
    assert "(ptrdiff_t n, size_t *restrict s, const size_t *restrict x)" in text
    assert "char *restrict to, const char *restrict from)" in text
    number = WHOLE.index("long long")
    assert f"planish_map_{number}_1(n, to, from);" in text, "a conversion would hide that types differ"
