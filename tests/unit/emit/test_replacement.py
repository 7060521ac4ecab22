"""A region gives way to a call: its guards, its arguments, what it leaves in variables; and it compiles silently."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.emit.c.prologue import emit_prologue
from planish.emit.dropin.patched_file import assemble
from planish.emit.dropin.replacement import Replacement, guards_of, outer_counters, overlapping, replace_region
from planish.emit.idioms.conditional_stores import store_changes
from planish.frontend.c.reader import read_c
from planish.ir.expr import index
from planish.ir.nest import Array, Block, For, LoopFacts
from planish.ir.text.parser import parse_kernel
from planish.ir.types import F64
from planish.poly.scop.extraction import extract_scop
from planish.schedule.auto.plan import plan, prepare
from planish.target.load import load_target

COPY = "void copy(int n, const double *x, double *y) { for (int i = 0; i < n; i++) y[i] = x[i]; }"


def replaced(text: str) -> tuple[Replacement, str]:
    """The replacement of the last function's first region, and the whole new text."""
    file = read_c(Source("r.c", text))
    region = file.functions[-1].regions[0]
    prepared = prepare(region.kernel)
    kernel = plan(prepared, load_target("generic"), reassociate=False)[0].kernel
    made = replace_region(
        region, prepared.scop, kernel, text, threads=False, strict=True, comment="c", reserved=frozenset()
    )
    return made, assemble(text, [made.patch], "", emit_prologue([made.function], [made.patch.text]))


def compile_silently(text: str, place: Path) -> None:
    path = place / "r.c"
    path.write_text(text)
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fopenmp-simd", "-c"]
    subprocess.run(["cc", *flags, str(path), "-o", str(place / "r.o")], check=True)


def test_arrays_that_may_overlap_are_tested() -> None:
    made, text = replaced(COPY)
    assert len(made.guards) == 1 and "uintptr_t" in made.guards[0]
    assert "} else {" in text and text.count("y[i] = x[i]") >= 2


def test_restrict_needs_no_test() -> None:
    made, text = replaced(COPY.replace("double *y", "double *restrict y"))
    assert made.guards == ()
    assert "#ifdef PLANISH_ORIGINAL" in text


def test_what_loops_change_is_passed_as_a_copy(tmp_path: Path) -> None:
    loop = "for (int i = 0; i < n; i++) { if (k) { @ += a[i]; } else { @ -= a[i] >> 1; } }"
    for left, start in (("r.s", "struct { int s; } r = { 7 };"), ("x", "")):
        nest = loop.replace("@", left)
        made, text = replaced(f"int f(int n, int k, int x, const int *a) {{ {start} {nest} return {left} + x; }}")
        assert f"&{left}" not in text and nest in made.patch.text
        compile_silently(text, tmp_path)
        fixed = nest.replace("n;", "200;")
        made, text = replaced(f"int f(int k, int x, const int *a) {{ {start} {fixed} return {left} + x; }}")
        assert not made.guards and f"#ifdef PLANISH_ORIGINAL\n{fixed}\n#else\n{{\n" in made.patch.text
        assert f"  {left} = planish_of_{left.replace('.', '_')};\n}}\n#endif" in made.patch.text
        compile_silently(text, tmp_path)


def test_only_pairs_with_a_store_count() -> None:
    a, b, c = (Array(n, F64, (index("n"),), distinct=n == "c") for n in "abc")
    assert overlapping((a, b, c), frozenset("a")) == ((a, b),)
    assert overlapping((a, b, c), frozenset()) == ()
    assert overlapping((a, c), frozenset("ac")) == ()


def test_bf16_goes_as_bits_that_may_be_of_another_type() -> None:
    text = "void f(int n, float *restrict y, const __bf16 *restrict x) { for (int i = 0; i < n; i++) y[i] += x[i]; }"
    made, whole = replaced(text)
    assert "const planish_bf16 *restrict x" in made.function and "y[i] += planish_from_bf16(x[i])" in made.function
    assert "(n, y, (void *)x)" in made.patch.text and "may_alias" in whole


def test_values_of_bf16_are_not_copied() -> None:
    with pytest.raises(PlanishError, match="E0710"):
        replaced("void f(int n, float *y, __bf16 x) { for (int i = 0; i < n; i++) y[i] += (float)x; }")


def test_a_subscript_below_zero_is_tested() -> None:
    made, _ = replaced("void f(int n, int s, double *x) { for (int i = 0; i < n; i++) x[i + s] = 1; }")
    assert any("s" in g for g in made.guards)


def test_rows_are_tested() -> None:
    made, _ = replaced(
        "void f(int m, int n, int lda, double *x)"
        " { for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) x[i*lda + j] = 1; }"
    )
    assert any("lda" in g for g in made.guards)


@pytest.mark.parametrize(
    "text",
    [
        "void f(int n, double *x) { int i, j; for (i = 0; i < n; i++) for (j = 0; j < n; j++) x[j] += i; }",
        "void f(int n, char *x) { for (int i = 0; i < n; i++) x[i] = 3; }",
        "void f(int n, long long *x, const long long *y) { for (int i = 0; i < n; i++) x[i] = y[i] + 3; }",
        "double f(int n, const double *x) { register double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }",
        "int f(int n, const double *x, double *y) { int i; for (i = 0; i < n; i++) y[i] = x[i]; return i; }",
        "char f(int n, char *x) { register char s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }",
        "void f(int n, double *x, double *y) { while (n-- > 0) *x++ = *y++; }",
    ],
)
def test_what_comes_out_compiles_without_a_warning(text: str, tmp_path: Path) -> None:
    _, new = replaced(text)
    assert "planish_f_1" in new
    compile_silently(new, tmp_path)


def test_what_loops_leave_is_stored() -> None:
    _, text = replaced("int f(int n, double *restrict x) { int i; for (i = 0; i < n; i++) x[i] = 1; return i; }")
    _, _, tail = text.partition("#ifdef PLANISH_ORIGINAL")
    assert "i = " in tail.partition("#else")[2].partition("#endif")[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("for (i = 0; i < n; i++) for (j = 0; j < i; j++) a[i] = j;", ("i", "j")),
        ("for (int i = 0; i < n; i++) a[i] = 0;", ()),
        ("int i; for (i = 0; i < n; i++) a[i] = 0;", ()),
        ("while (n--) *p++ = 0;", ()),
        ("/* for (i = 0; */ for (k = 0; k < n; k++) a[k] = 0;", ("k",)),
        ("for (i = 0, j = n; i < j; i++) a[i] = 0;", ("i",)),
    ],
)
def test_counters_from_outside_are_found(text: str, found: tuple[str, ...]) -> None:
    assert outer_counters(text) == found


def test_a_body_without_braces_stays_one_statement(tmp_path: Path) -> None:
    text = (
        "int f(int n, double on, double *restrict y)\n{\n  int i = 7;\n  if (on > 0)\n"
        "    for (i = 0; i < n; i++) y[i] = 1;\n  else\n    i = 5;\n  return i;\n}\n"
    )
    _, whole = replaced(text)
    assert "#ifdef PLANISH_ORIGINAL" in whole
    compile_silently(whole, tmp_path)
    _, without = replaced(text.replace("  else\n    i = 5;\n", ""))
    update = without[without.index("int f(") :].partition("#else")[2]
    assert update.index("{") < update.index("i = ") < update.index("}")


def test_only_changes_are_stored_where_the_original_stores_under_a_condition(tmp_path: Path) -> None:
    text = """void f(int n, int *restrict a, const int *restrict b)
{
  for (int i = 0; i < n; i++)
    if (b[i] < a[i])
      a[i] = b[i];
}
"""
    made, whole = replaced(text)
    stored = made.function[: made.function.index("a[i] =")].splitlines()[-2]
    assert stored.strip().startswith("if (") and "a[i]" in stored
    call = "\nint main(void) { static const int a[9] = {1, 2}; int b[9] = {1, 2}; f(9, (int *)a, b); return 0; }\n"
    path = tmp_path / "r.c"
    path.write_text(whole + call)
    # The array cannot be written: a store that the original does not make would end the program.
    subprocess.run(["cc", "-O2", "-fopenmp-simd", str(path), "-o", str(tmp_path / "r")], check=True)
    assert subprocess.run([str(tmp_path / "r")], check=False).returncode == 0


def test_an_instruction_that_stores_in_any_case_does_not_store_changes_only() -> None:
    facts = LoopFacts(simd=True, stream="avx512_stream_f32")
    kernel = parse_kernel("kernel k(n; a: f32[n] distinct) { for i in 0 .. n { a[i] = 2.0:f32 } }")
    (loop,) = kernel.body.body
    assert isinstance(loop, For)
    kernel = replace(kernel, body=Block((replace(loop, facts=facts),)))
    assert store_changes(kernel, ()) is kernel
    with pytest.raises(PlanishError, match="E0715"):
        store_changes(kernel, ("a",))


def test_a_read_without_its_condition_has_a_reason_of_its_own() -> None:
    kernel = parse_kernel("kernel k(n; a: f32[n] distinct) { for i in 0 .. n { a[i] = a[i] + 2.0:f32 } }")
    with pytest.raises(PlanishError, match="E0714.*is read in any case"):
        store_changes(kernel, ("a",), ("a",))


def test_where_the_sign_of_a_zero_counts_floats_are_stored_under_their_condition_or_not_at_all() -> None:
    sum_, choice = (
        parse_kernel(f"kernel k(n; a: f32[n] distinct) {{ for i in 0 .. n {{ a[i] = {x} }} }}")
        for x in ("a[i] + 0.0:f32", "select(a[i] > 1.0:f32, 1.0:f32, a[i])")
    )
    assert store_changes(sum_, ("a",)) != sum_
    with pytest.raises(PlanishError, match="E0714"):
        store_changes(sum_, ("a",), exact=True)
    assert store_changes(choice, ("a",), exact=True) == store_changes(choice, ("a",))


LOOP = "for (int i = 0; i < n; i++) y[i] = x[i] * 3;"
PRAGMAS = {
    "threads": ("#pragma omp parallel for", LOOP, True),
    "lanes": ("# pragma omp simd \\\n  safelen(8)", LOOP, False),
    "hint": ("#pragma GCC unroll 4", LOOP, False),
    "told_twice": ('_Pragma("GCC ivdep") _Pragma("GCC unroll 2")', LOOP, False),
    "device": ("#pragma acc parallel loop", LOOP, True),
    "hidden": ("THREADS", LOOP, True),
    "hidden_with_the_loop": ("", "EACH(i, n) y[i] = x[i] * 3;", True),
    "team": ("#pragma omp parallel\n#pragma omp for", LOOP, True),
    "shared_out_inside": ("", "for (int k = 0; k < 3; k++)\n#pragma omp parallel for\n" + LOOP, True),
    "called": ("", "for (int i = 0; i < n; i++) add(&y[0], x[i]);", True),
    "branch": ("if (n > 3)\n#pragma omp simd", LOOP + " else y[0] = 0;", False),
    "team_of_one": ("#pragma omp parallel num_threads(3)\n#pragma omp critical", LOOP + LOOP, True),
    "team_of_a_block": ("#pragma omp parallel", "{\n#pragma omp for\n" + LOOP + "\n}\n" + LOOP, True),
    "sections": ("#pragma omp sections", "{\n#pragma omp section\n" + LOOP + "\n}", True),
    "tasks": ("#pragma omp task", LOOP + "\n#pragma omp taskwait\n#pragma omp critical\n" + LOOP, True),
    "one_after_the_other": ("for (int k = 0; k < 3; k++)\n#pragma omp ordered", LOOP, True),
    "hidden_team": ("TEAM {", LOOP + "}" + LOOP, True),
    "sometimes_shared_out": ("", "for (int k = 0; k < 3; k++)\nSHARED " + LOOP, True),
    "waited_for": ("#pragma omp barrier", LOOP, True),
}


@pytest.mark.parametrize("name", PRAGMAS)
def test_what_stands_for_a_loop_does_not_stand_behind_its_pragmas(name: str, tmp_path: Path) -> None:
    pragma, loop, threaded = PRAGMAS[name]
    text = (
        '#define THREADS _Pragma("omp parallel for")\n#define TEAM _Pragma("omp parallel")\n'
        '#ifdef _OPENMP\n#define SHARED _Pragma("omp for")\n#else\n#define SHARED\n#endif\n'
        '#define EACH(i, n) _Pragma("omp parallel for") for (int i = 0; i < n; i++)\n'
        "static inline void add(int *s, int k) {\n#pragma omp atomic\n*s += k; }\n"
        f"void f(int n, int *restrict y, const int *restrict x) {{\n{pragma}\n{loop}\n(void)add; }}\n"
    )
    made, whole = replaced(text)
    assert ("(planish_undirected)" in made.guards) == threaded
    # What a pragma is for ends where it does in the original: all of it is in the branch that is written as it was.
    written = whole[whole.index("void f(") :].partition("else")[2]
    assert not threaded or all(x in written for x in pragma.splitlines() if "omp" in x and "barrier" not in x)
    (tmp_path / "r.c").write_text(whole)
    for flags in ("-fopenmp", "-fopenacc", "-O1"):
        subprocess.run(["gcc", "-w", flags, "-fsyntax-only", "r.c"], cwd=tmp_path, check=True)


CALLS = "g(y); "
UNSURE = {
    "group": "#ifdef _OPENMP\n#pragma omp parallel for\n#endif\n" + LOOP,
    "either": "#if 1\n#pragma GCC ivdep\n#else\n#pragma omp simd\n#endif\n" + LOOP,
    "around": "#pragma omp simd\n#ifdef _OPENMP\n" + CALLS + "\n#else\n" + LOOP + "\n#endif",
    "macro": "#ifdef _OPENMP\nTHREADS\n#endif\n" + LOOP,
    "other_macro": "#ifdef _OPENMP\n#define TEAM THREADS\n#else\n#define TEAM\n#endif\nTEAM " + LOOP,
    "collapsed": "#pragma omp parallel for collapse(2)\nfor (int k = g(y); k < 3; k++)\n" + LOOP,
    "in_sections": "#pragma omp sections\n{ " + LOOP + "\n#pragma omp section\n" + CALLS + "}",
}


@pytest.mark.parametrize("name", UNSURE)
def test_a_loop_stays_where_it_is_not_certain_what_a_pragma_is_for(name: str) -> None:
    text = '#define THREADS _Pragma("omp simd")\nint g(int *y);\n'
    text += f"void f(int n, int *restrict y, const int *restrict x) {{\n{UNSURE[name]}\n}}\n"
    file = read_c(Source("r.c", text))
    assert file.functions[0].regions == ()
    (told,) = (x for x in file.remarks if x.id == "scop-pragma")
    assert told.place is not None and told.message.startswith("the loop stays as written: ")
    plain = "\n".join(x for x in text.splitlines() if not x.startswith("#") and x != "THREADS").replace("TEAM", "")
    assert read_c(Source("r.c", plain)).functions[0].regions


def test_a_loop_that_goes_on_keeps_its_hints_and_is_no_loop_of_threads() -> None:
    body = "for (int i = 0; i < n; i++) if (x[i] == 3) return i;"
    text = f"int f(int n, const int *x) {{\n#pragma PRAGMA\n{body} return n; }}"
    (region,) = read_c(Source("r.c", text.replace("PRAGMA", "GCC unroll 2"))).functions[0].regions
    assert region.exits is not None and region.exits.loop.opening.startswith("\n#pragma GCC unroll 2\nfor (;")
    file = read_c(Source("r.c", text.replace("PRAGMA", "omp parallel for")))
    assert file.functions[0].regions == () and [x.id for x in file.remarks] == ["scop-pragma"]


def test_a_loop_over_a_ring_is_not_cut_behind_a_pragma() -> None:
    loop = "for (int i = 0; i < n; i++) x[i] = line[at++ % m];"
    text = f"void f(int n, int m, int at, int *x, int *line) {{\n#pragma omp simd\n{loop} }}"
    file = read_c(Source("r.c", text))
    assert file.functions[0].regions == () and [x.message for x in file.remarks if x.id == "scop-pragma"]
    assert read_c(Source("r.c", text.replace("#pragma omp simd", ""))).functions[0].regions
    group = "#ifdef _OPENMP\n#pragma omp simd\n#endif"
    for other in ("#pragma omp critical", group):
        assert read_c(Source("r.c", text.replace("#pragma omp simd", other))).functions[0].regions == ()


def test_what_an_unsigned_type_decides_is_not_asked() -> None:
    """Compilers warn of such comparisons (-Wtype-limits)."""
    body = "{ for (unsigned i = k; i < n; i++) y[i - k] = x[i] * 3; }"
    for type, asked in (("unsigned", False), ("uint16_t", False), ("int", True)):
        text = f"#include <stdint.h>\nvoid f({type} n, {type} k, const int *x, int *y) {body.replace('unsigned', type)}"
        (region,) = read_c(Source("f.c", text)).functions[0].regions
        guards = guards_of(region, extract_scop(region.kernel))
        assert any(re.search(r"\(int64_t\)k (?:>= 0|<= -1|> -1|< 0)", x) for x in guards) == asked, guards
