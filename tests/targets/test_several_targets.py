"""One drop-in with code for several targets: which version runs where, that each is right, and what is said of it."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest
from typer.testing import CliRunner

from planish.build import several_targets
from planish.build.several_targets import TargetBuild, per_target, split_targets
from planish.cli.build import app
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.emit.c.compiler_attributes import CompilerSettings
from planish.emit.dropin.patched_file import Patch
from planish.emit.dropin.replacement import Replacement
from planish.emit.dropin.target_versions import TargetVersions, compose_targets
from planish.options import Options
from planish.pipeline import build_file
from planish.run.oracle.comparison import Verdict
from planish.run.toolchains.toolchain import find_compilers
from planish.schedule.arguments import NestChoice, Point
from planish.tuning.choices import print_record, read_records

TEXT = """\
#include <stddef.h>
#ifdef __aarch64__
#include "arm.h"
#endif
/* Not of the user: planish_able, planish_max, planish_promise. */

#define SUM float sum = 0; for (int i = 0; i < n; i++) sum += a[i] * w[i]; return sum;
float weigh(int n, const float *restrict a, const float *restrict w)
#ifdef __CHAR_UNSIGNED__
{ SUM }
#else
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += w[i] * a[i];
    return sum;
}
#endif

int first_above(int n, const int *a, int limit)
{
    for (int i = 0; i < n; i++)
        if (a[i] > limit)
            return i;
    return -1;
}

void blend(size_t rows, size_t columns, double t, const double *restrict a, double *restrict b)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            b[i * columns + j] += t * (a[i * columns + j] - b[i * columns + j]);
}
"""
ARM_HEADER = """\
#include <arm_neon.h>
static inline float lane(float32x4_t x) { return vgetq_lane_f32(x, 0); }
"""
MAIN = """
#include <stdio.h>
int main(void)
{
    static float a[500], w[500];
    static int k[500];
    static double p[500], q[500];
    double sum = 0;
    for (int i = 0; i < 500; i++) { a[i] = i % 7; w[i] = i % 5 - 2; k[i] = i % 321; p[i] = i; q[i] = 3 * (i % 11); }
    blend(20, 25, 0.5, p, q);
    for (int i = 0; i < 500; i++) sum += q[i] * (i % 3);
    printf("%g %d %d %g\\n", weigh(499, a, w), first_above(500, k, 300), first_above(500, k, 400), sum);
}
"""
TWO_NESTS = Source("two.c", """\
void two(int n, const int *go, int *restrict a, float *restrict b)
{
    for (int i = 0; i < n; i++) a[i] *= 3;
    if (*go != 5)
        for (int i = 0; i < n; i++) b[i] += 2;
}
""")
FUNCTIONS = ("weigh", "first_above", "blend")
CROSS, ARM_EMULATOR, X86_EMULATOR = "aarch64-linux-gnu-gcc", shutil.which("qemu-aarch64"), shutil.which("qemu-x86_64")
ARM = shutil.which(CROSS) is not None and ARM_EMULATOR is not None
PROCESSOR = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
X86 = platform.machine() == "x86_64" and " avx2" in PROCESSOR
WIDE = X86 and " avx512bw" in PROCESSOR
needs_x86 = pytest.mark.skipif(not X86, reason="this processor has no AVX2")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a drop-in for AVX2, AVX-512 where this processor has it, and Neon where it can be checked."""
    folder = tmp_path_factory.mktemp("several")
    (folder / "k.c").write_text(TEXT)
    (folder / "arm.h").write_text(ARM_HEADER)
    names = ",".join(["avx2", *(["avx512"] if WIDE else []), *(["neon"] if ARM else [])])
    arguments = [str(folder / "k.c"), "--no-measure", "--target", f"{names}", "-o", str(folder / "out"), "--json"]
    arguments += ["--depfile", str(folder / "k.d")]
    done = CliRunner().invoke(app, arguments if "," in names else [*arguments, "--target", f"{names},neon"])
    assert done.exit_code == 0, done.output
    (folder / "told.json").write_text(done.stdout)
    (folder / "marked.c").write_text(mark((folder / "out" / "k.c").read_text()) + MAIN)
    return folder


def mark(text: str) -> str:
    """A drop-in whose new functions say which target they are for."""
    heads = re.compile(r"^static [^;{}]*?\bplanish_(\w+?)_(\w+)_1\([^;{}]*\)\n\{\n", re.MULTILINE)
    return "#include <stdio.h>\n" + heads.sub(r'\g<0>  printf("\1 \2\\n");' + "\n", text)


def ran(folder: Path, *flags: str, compiler: str = "gcc", emulator: tuple[str, ...] = ()) -> tuple[set[str], str]:
    """The variants whose code runs, and what comes out of it."""
    program = folder / " ".join([compiler, *flags])
    if not program.exists():
        subprocess.run([compiler, "-O1", *flags, folder / "marked.c", "-o", program], check=True)
    done = subprocess.run([*emulator, program], capture_output=True, text=True, check=True)
    *called, result = done.stdout.splitlines()
    return {x.partition(" ")[0] for x in called}, result


@needs_x86
def test_the_widest_version_that_the_processor_has_runs(built: Path) -> None:
    hidden = ("-DPLANISH_WITHOUT_AVX512",)
    none, right = ran(built, "-DPLANISH_ORIGINAL")
    assert none == set()
    assert ran(built) == ({"avx512"} if WIDE else {"avx2"}, right)
    assert ran(built, *hidden) == ({"avx2"}, right)
    assert ran(built, *hidden, "-DPLANISH_WITHOUT_AVX2") == (set(), right)


@needs_x86
@pytest.mark.skipif(X86_EMULATOR is None, reason="there is no qemu-x86_64 here")
def test_processors_without_the_instructions_run_others(built: Path) -> None:
    _, right = ran(built, "-DPLANISH_ORIGINAL")
    for name, wanted in (("Haswell", {"avx2"}), ("Nehalem", set())):
        assert ran(built, emulator=(str(X86_EMULATOR), "-cpu", name)) == (wanted, right)


@pytest.mark.skipif(not ARM or not X86, reason="no code for AArch64 can be made and checked here")
def test_on_another_architecture_its_own_version_runs(built: Path) -> None:
    _, right = ran(built, "-DPLANISH_ORIGINAL")
    for flags, wanted in (((), {"neon"}), (("-DPLANISH_ORIGINAL",), set())):
        assert ran(built, "-static", *flags, compiler=CROSS, emulator=(str(ARM_EMULATOR),)) == (wanted, right)


@needs_x86
def test_no_compiler_warns_of_it(built: Path) -> None:
    for x, way in product(find_compilers(), ("-O1", "-DPLANISH_ORIGINAL")):
        command = [x.path, way, "-Wall", "-Wextra", "-Werror", "-c", built / "out" / "k.c", "-o", built / "k.o"]
        subprocess.run(command, check=True)


@needs_x86
def test_what_is_told_names_the_target_of_each_entry(built: Path) -> None:
    (file,) = json.loads((built / "told.json").read_text())["files"]
    made = {(x["function"], x["target"]) for x in file["functions"] if x["state"] == "replaced"}
    targets = ["x86-avx2", *(["x86-avx512"] if WIDE else []), *(["aarch64-neon"] if ARM else [])]
    assert made >= {(x, y) for x in FUNCTIONS for y in targets}
    assert file["compile"].startswith(find_compilers()[0].name) and "-march" not in file["compile"].partition(";")[0]


def test_headers_for_any_of_the_targets_are_dependences(built: Path) -> None:
    rule = (built / "k.d").read_text().splitlines()[0]
    assert [Path(x).name for x in rule.split()] == ["k.c:", "k.c", *(["arm.h"] if ARM else [])]


@needs_x86
@pytest.mark.parametrize(("ran", "kept"), [((3, 2), 2), ((3, 0), 0)])
def test_what_is_not_seen_to_run_beside_other_targets_is_left_out(
    ran: tuple[int, ...], kept: int, two_nests: TargetBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Verdict("ok", 9, 0.0, 0.0, None, "", ran=ran)
    monkeypatch.setattr(several_targets, "compare_together", lambda *given: {})
    monkeypatch.setattr(several_targets, "verify", lambda *given: ((seen, Path()), ()))
    (build,) = several_targets.join_targets(TWO_NESTS, two_nests.options, [two_nests], lambda what: None).builds
    (result,) = build.result.functions
    assert len(result.replacements) == kept
    assert any("no call runs all of it" in x.message for x in result.remarks) == (not kept)


@pytest.fixture(scope="module")
def two_nests() -> TargetBuild:
    """What becomes of a function with two nests on one of several targets."""
    options = Options(target="x86-avx2", variant="avx2", measure=False)
    return TargetBuild(options, build_file(TWO_NESTS, options))


def test_other_languages_are_told_what_is_the_same_for_all_targets() -> None:
    text = "void f(int n, char *a) { while (n--) a[n] = 0; }\nvoid g(int n, float *a) { while (n--) a[n] = 0; }\n"
    found = several_targets.read_for_all(Source("k.c", text), Options(target="avx2,neon")).interface
    assert [x.name for x in found.prototypes] == ["g"]
    assert found.left_out == (("f", "it is not the same for all targets"),)


def test_each_target_has_its_own_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("fir", "gemv-rows"):
        Path(f"{name}.json").write_text(print_record([NestChoice("k", Point.of({"version": name}))]))
    choices = read_records("fir.json,gemv-rows.json", split_targets("neon,avx2"))
    each = per_target(Options(target="avx2,neon", choices=choices))
    assert [(x.target, *(y.version for y in x.choices)) for x in each] == [
        ("x86-avx2", "gemv-rows"), ("aarch64-neon", "fir"),
    ]  # fmt: skip
    with pytest.raises(PlanishError, match="a name is missing in 'fir.json,'"):
        read_records("fir.json,", split_targets("neon,avx2"))


def test_targets_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    own = tmp_path / "my-core.toml"
    text = (Path(split_targets.__code__.co_filename).parents[1] / "target/machines/x86-avx2.toml").read_text()
    own.write_text(text.replace('name = "x86-avx2"', 'name = "my-core"'))
    with pytest.raises(PlanishError, match="cannot be told apart"):
        per_target(Options(target=f"avx2,{own}"))
    assert [x.variant for x in per_target(Options(target=f"neon,{own}"))] == ["neon", "core"]


def test_what_is_no_single_branch_stands_in_one_and_names_of_the_user_stay() -> None:
    text = "void f(int n)\n{\n  for (int planish_max = 0; planish_max < n; planish_max++) work();\n}\n"
    start, end = text.index("for"), text.index(";\n}") + 1
    inner = f"if (planish_able) {{\n    planish_f_1(n);\n  }} else {{\n  {text[start:end]}\n  }}"
    block = Patch(start, end, f"{{\n  int planish_of_x = x;\n  {inner}\n  }}")
    versions = [
        TargetVersions(name, "x86_64", (Replacement(f"static void planish_f_1(int n) {{ {name}(); }}", block, (),
                                                    settings=CompilerSettings(features=(name,), variant=name)),))
        for name in ("avx512f", "avx2")
    ]  # fmt: skip
    made = compose_targets(text, versions, "")
    assert made.count("planish_max++") == 3  # in each block, and at the end
    assert "} else if (planish_avx2_able) {\n  {\n  int planish_of_x = x;" in made
    assert "planish_able" not in made and "planish_avx2_max" not in made
    assert compose_targets(text, [], "/* */\n") == f"/* */\n{text}"


def test_only_what_generated_code_defines_is_renamed() -> None:
    text = '#include "own.h"\n/* planish_f_1 */\nvoid f(planish_seen *s)\n{\n  for (;;) work(s);\n}\n'
    patch = Patch(text.index("for"), text.index(";\n}") + 1, "planish_f_1(s, &planish_offset);")
    function = (
        "static void planish_f_1(planish_seen *s, float *planish_p0)\n{\n"
        "  planish_see(s, planish_max(planish_p0[0] * planish_offset, 2));\n}\n"
    )
    settings = CompilerSettings(features=("avx2",), variant="avx2")
    versions = [TargetVersions("avx2", "x86_64", (Replacement(function, patch, (), settings=settings),))]
    made = compose_targets(text, versions, "")
    assert "static void planish_avx2_f_1(planish_seen *s, float *planish_p0)\n" in made
    assert "  planish_see(s, planish_avx2_max(planish_p0[0] * planish_offset, 2));\n" in made
    assert "planish_avx2_f_1(s, &planish_offset);" in made and "planish_max" not in made and "/* planish_f_1 */" in made
