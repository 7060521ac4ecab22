"""What surrounds the kernels: errors with their place, unknown types, offsets, remarks, prototypes."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFile
from planish.ir.expr import Cast
from planish.ir.index.polynomial import show
from planish.ir.nest import For, If, Reduce
from planish.ir.text.printer import print_expr, print_kernel
from planish.ir.traverse import expressions, walk, walk_expr
from planish.run.toolchains.toolchain import find_compilers


def read(text: str, fp: str = "reassociate") -> CFile:
    return read_c(Source("a.c", text), fp=fp)


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("void f(void) {\n  int x = 1 +;\n}\n", "E0201", 2, 14),
        ("void f(void) {\n  for (;;\n}\n", "E0201", 3, 1),
        ("int a;\n\nvoid f(int n { }\n", "E0201", 3, 14),
        ("#define N 3\n#error stop here\nvoid f(void) {}\n", "E0202", 2, 2),
        ("#if 1\nvoid f(void) {}\n", "E0202", 1, 1),
        ("int x;\n", "E0203", 1, 1),
        ("", "E0203", 1, 1),
    ],
)
def test_errors_point_at_their_place(text: str, code: str, line: int, column: int) -> None:
    with pytest.raises(PlanishError) as caught:
        read(text)
    diagnostic = caught.value.diagnostic
    assert diagnostic.code == code
    assert diagnostic.span is not None
    assert (diagnostic.span.file, diagnostic.span.line, diagnostic.span.column) == ("a.c", line, column)


def test_unknown_types_leave_the_rest() -> None:
    text = """#include "nowhere.h"
#include <also/nowhere.h>
strange_t *global;
void g(strange_t *p, other_t q) { for (int i = 0; i < 4; i++) p[i] = q; }
void f(int n, float *a) { weird w = (weird)n; for (int i = 0; i < n; i++) a[i] = 1; }
"""
    file = read(text)
    assert [len(f.regions) for f in file.functions] == [0, 1]
    assert file.function("g").parameters[0].type is None
    notes = [r.message for r in file.remarks if r.kind == "note"]
    assert any("nowhere.h" in m for m in notes)
    assert any("strange_t" in m and "other_t" in m and "weird" in m for m in notes)
    assert "planish-" not in file.preprocessed


def test_bf16_is_a_type_that_the_compiler_may_have() -> None:
    text = """typedef __bf16 half;
void dot(int n, float *s, const half *x, const __bf16 *y) { for (int i = 0; i < n; i++) *s += (float)x[i] * y[i]; }
"""
    file = read(text)
    assert not file.remarks
    (dot,) = file.functions
    assert [str(x.type) for x in dot.parameters] == ["i32", "f32", "bf16", "bf16"]
    assert "const __bf16 *y" in dot.prototype
    (update,) = (x for x in walk(dot.regions[0].kernel.body) if isinstance(x, Reduce))
    assert print_expr(update.value) == "f32(x[i]) * f32(y[i])"


@pytest.mark.parametrize("value", ["x[i] * x[i]", "-x[i]", "x[i] + 1", "(float)(x[i] - 1)"])
def test_what_compilers_round_in_several_ways_stays_as_written(value: str) -> None:
    file = read(f"void f(int n, float *s, const __bf16 *x) {{ for (int i = 0; i < n; i++) s[i] = {value}; }}")
    assert not file.functions[0].regions and any("arithmetic in bf16" in x.message for x in file.remarks)


def test_a_user_may_call_another_type_bf16() -> None:
    file = read("typedef unsigned short __bf16;\nvoid f(int n, __bf16 *x) { for (int i = 0; i < n; i++) x[i] += 1; }")
    assert str(file.functions[0].parameters[1].type) == "u16"


def test_a_function_that_cannot_be_parsed_stays_alone() -> None:
    text = """int g(int n) { int inner(int x) { return x + n; } return inner(2); }
void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = g(i) * 0; for (int i = 0; i < n; i++) a[i] = 2; }
"""
    file = read(text)
    assert len(file.function("f").regions) == 1
    assert [r.span.line for r in file.remarks if r.id == "scop-syntax" and r.span] == [1]


@pytest.mark.skipif(not find_compilers(), reason="a compiler says that these are no errors")
@pytest.mark.parametrize(
    ("first", "line"),
    [
        ("#include <stdalign.h>\nint unread(int n) { alignas(64) int t[16]; t[0] = n; return t[0]; }", 2),
        ("int unread(int n) { void *p[] = { &&a, &&b }; goto *p[n & 1]; a: return 1; b: return 2; }", 1),
        ("int k;\nint unread(int n) { return __builtin_types_compatible_p(int, long); }", 2),
    ],
)
def test_what_only_compilers_read_is_left_out(first: str, line: int) -> None:
    file = read(f"{first}\nvoid f(int n, int *a) {{ for (int i = 0; i < n; i++) a[i] = 2; }}\n")
    assert len(file.function("f").regions) == 1
    assert [r.span.line for r in file.remarks if r.id == "scop-syntax" and r.span] == [line]


@pytest.mark.parametrize(
    "first",
    [
        "static const int T[8] = { [2] = 5, [4 ... 6] = 7 };",
        "int unread(int n) { __asm__ volatile(\"nop\" : \"=r\"(n) : [m] \"m\"(n) : \"memory\"); return n; }",
        "int unread(int n)\n{\n    typeof(n) k = n ?: 7;\n    return k;\n}",
        "__float128 unread(__float128 x)\n{\n    return x;\n}",
        "int unread(int n) { switch (n) { case 2 ... 5: return 1; case 'a' ... 'z': return 3; } return 0; }",
        "extern int unread(int) __asm__(\"other\");",
    ],
)
def test_what_only_compilers_read_is_read(first: str) -> None:
    file = read(f"{first}\nvoid f(int n, int *a) {{ for (int i = 0; i < n; i++) a[i] = 2; }}\n")
    assert len(file.function("f").regions) == 1
    assert not [r for r in file.remarks if r.id == "scop-syntax"]


@pytest.mark.parametrize(
    ("before", "statement"),
    [
        ("static void g(int *p) { __asm__ volatile(\"incl %0\" : \"+m\"(*p)); }", "g(a + i);"),
        ("static void g(int *p) { void *q[] = { &&b }; goto *q[0]; b: *p = 1; }", "g(a + i);"),
        ("", "__asm__ volatile(\"incl %0\" : \"+m\"(a[i]));"),
        ("", "__asm__ volatile(\"\" ::: \"memory\");"),
        ("static int k; static void g(void) { __asm__(\"\" : \"=r\"(k)); }", "g();"),
    ],
)
def test_what_is_unread_keeps_loops_that_run_it(before: str, statement: str) -> None:
    file = read(f"{before}\nvoid f(int n, int *a) {{ for (int i = 0; i < n; i++) {{ a[i] = 2; {statement} }} }}\n")
    assert not file.function("f").regions


def test_lines_that_are_said_to_come_from_elsewhere_are_read() -> None:
    text = '#line 7 "other.c"\nvoid f(int n, int *a) {\n# line 3\nfor (int i = 0; i < n; i++) a[i] = 2; }\n'
    (region,) = read(text).functions[0].regions
    assert region.span is not None and region.span.line == 4


@pytest.mark.parametrize(
    "before",
    [
        '#line 1 \\\n  "other.c"\n/*\n#line 4 "x.c" */\n',
        '# 1 "other.c"\n\n# 30 "other.c" 2 3\n\n',
        "#line 9 /* a\nb */\n\n\n",
    ],
)
def test_places_that_a_text_claims_do_not_count(before: str) -> None:
    text = f"{before}void f(int n, int *a) {{\nfor (int i = 0; i < n; i++) a[i] = 2; }}\n"
    (region,) = read(text).functions[0].regions
    assert region.span is not None and region.span.line == 6


def test_headers_beside_the_file_and_given_directories(tmp_path: Path) -> None:
    (tmp_path / "sizes.h").write_text("#define N 7\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "types.h").write_text("typedef float real;\n")
    text = '#include "sizes.h"\n#include <types.h>\nvoid f(real a[N]) { for (int i = 0; i < N; i++) a[i] = K; }\n'
    source = Source(str(tmp_path / "x.c"), text)
    file = read_c(source, defines=["K=3"], include_dirs=[tmp_path / "deep"])
    (region,) = file.functions[0].regions
    assert [show(x) for x in region.kernel.arrays[0].shape if x is not None] == ["7"]
    assert not file.remarks


def test_offsets_cover_the_statements_as_written() -> None:
    text = """#define LAST(n) ((n) - 1)
#define CLEAR(x) x = 0
void f(int n, float *a)
{
  float s = 0; /* for (;;) { */
  for (int i = 0; i < LAST(n); i++) { CLEAR(a[i]); } // }
\tfor (int i = 0; i < n; i++)
    a[i] += 1;  /* tail */
  a[0] = s;
}
"""
    file = read(text)
    (region,) = file.functions[0].regions
    covered = text[region.start : region.end]
    assert covered.startswith("for (int i = 0; i < LAST(n)")
    assert covered.endswith("a[0] = s;")
    assert region.span is not None and (region.span.line, region.span.column) == (6, 3)
    spans = [x.span for x in walk(region.kernel.body) if isinstance(x, For)]
    assert [(s.line, s.column) for s in spans if s is not None] == [(6, 3), (7, 2)]
    body = file.functions[0]
    assert text[body.start] == "{" and text[body.end - 1] == "}"


def test_scop_marks_bound_a_region() -> None:
    text = """void f(int n, float *a) {
  for (int i = 0; i < n; i++) a[i] = 1;
#pragma scop
  for (int i = 0; i < n; i++) a[i] += 2;
#pragma endscop
  for (int i = 0; i < n; i++) a[i] *= 3;
}
"""
    regions = read(text).functions[0].regions
    assert [r.kernel.name for r in regions] == ["f_1", "f_2", "f_3"]
    assert [r.ordinal for r in regions] == [1, 2, 3]


@pytest.mark.parametrize(
    ("subscript", "taken"),
    [("i * n / m", 1), ("n * (i + 2) / (3 * m)", 1), ("k + i * n / m", 1), ("(i * n + 1) / m", 0), ("i*i*n / m", 0)],
)
def test_products_of_whole_quotients_are_asked_for(subscript: str, taken: int) -> None:
    """Where `n / m` is whole, `i * n / m` is so many times that."""
    text = f"void f(int n, int m, int k, float *a) {{ for (int i = 0; i < k; i++) a[{subscript}] = 1; }}"
    regions = read(text).functions[0].regions
    assert len(regions) == taken
    assert all("% (" in dict(x.names)[x.kernel.sizes[-1]] for x in regions)


@pytest.mark.parametrize(
    ("statement", "id", "named"),
    [
        ("for (i = 0; i < n; i++) a[i] = g(i);", "scop-call", "g"),
        ("for (i = 0; i < n; i++) a[b[i]] = 1;", "scop-data", "subscript"),
        ("for (i = 0; i < n; i++) { if (a[i]) break; a[i + 1] = 1; }", "scop-jump", "iterations store to a"),
        ("for (i = 0; i < n; i++) { if (a[i] > 2) b[i] = 1; a[i] = b[i]; }", "scop-condition", "store"),
        ("for (i = 1; i < n; i *= 2) a[i] = 1;", "scop-bound", "condition"),
        ("for (;;) a[0] = 1;", "scop-loop", "condition"),
        ("for (i = 0; i * i < n; i++) a[i] = 1;", "scop-bound", "affine"),
        ("for (i = 0; i < n; i++) a[i * i] = 1;", "scop-affine", "affine"),
        ("while (a[0]) a[0]--;", "scop-jump", "iterations store to a"),
        ("while (a[n]) n--;", "scop-jump", "reads backwards"),
        ("do i--; while (i > 0 && a[i] != n);", "scop-jump", "reads backwards"),
    ],
)
def test_refusals_name_the_construct(statement: str, id: str, named: str) -> None:
    file = read(f"int g(int);\nvoid f(int n, int *a, int *b) {{ int i;\n  {statement}\n}}\n")
    assert not file.functions[0].regions
    (remark,) = [r for r in file.remarks if r.kind == "refused"]
    assert remark.id == id and named in remark.message
    assert remark.span is not None and remark.span.line == 3


def test_restrict_and_objects_are_distinct() -> None:
    text = """float table[8];
void f(int n, float *restrict a, float *b, const float *restrict c) {
  float t[4]; for (int i = 0; i < 4; i++) { a[i] = b[i] + c[i] + table[i]; t[i] = a[i]; b[i] = t[i]; } }
void g(int n, float *a, float *b) {
  float *p = n ? a : b; for (int i = 0; i < n; i++) p[i] += a[i]; }
void h(float *restrict a, int n) {
  float *p = a + n; g(n, p, a); for (int i = 0; i < n; i++) p[i] += a[i]; }
"""
    file = read(text)
    distinct = {f.name: {a.name: a.distinct for a in f.regions[0].kernel.arrays} for f in file.functions}
    assert distinct["f"] == {"a": True, "b": False, "c": True, "table": False, "t": True}
    assert distinct["g"] == {"p": False, "a": False}
    assert distinct["h"] == {"p": False, "a": False}


def test_prototypes_and_parameters() -> None:
    head = "static inline long f(unsigned short n, const float a[restrict 4][n], double (*b)[3], _Bool *c)"
    text = f"{head} {{ return n; }}"
    (function,) = read(text).functions
    assert function.static and str(function.result) == "i64"
    assert [(p.name, str(p.type), p.pointer) for p in function.parameters] == [
        ("n", "u16", False),
        ("a", "f32", True),
        ("b", "f64", True),
        ("c", "bool", True),
    ]
    shown = [[None if x is None else show(x) for x in p.extents] for p in function.parameters]
    assert shown == [[], ["4", "n"], [None, "3"], [None]]
    assert function.prototype == f"{head};".replace("static inline", "inline static")


def test_updates_and_registers() -> None:
    text = """float f(int n, const float *x) {
  register float s = 0; int i = 2;
  for (; i < n; i += 3) s += *x++;
  return s + i + *x; }"""
    (region,) = read(text).functions[0].regions
    assert region.registers == ("s",)
    assert [(u.variable, u.kind) for u in region.updates] == [("i", "set"), ("x", "advance")]
    assert dict(region.names)["s"] == "&s"


def test_sums_of_terms_are_split_only_where_allowed() -> None:
    text = "void f(int n, float *a) { for (int i = 0; i < n; i++) a[0] = a[0] + a[i + 1] + 2; }"
    kinds = {fp: last_statement(read(text, fp)) for fp in ("strict", "contract", "reassociate")}
    assert kinds == {"strict": "Assign", "contract": "Assign", "reassociate": "Reduce"}


@pytest.mark.parametrize("fp", ["strict", "contract", "reassociate"])
def test_the_larger_integer_is_an_extremum_in_every_mode(fp: str) -> None:
    text = "void f(int n, T *a) { for (int i = 0; i < n; i++) a[0] = a[i + 1] > a[0] ? a[i + 1] : a[0]; }"
    assert last_statement(read(text.replace("T", "long"), fp)) == "Reduce"
    assert (last_statement(read(text.replace("T", "float"), fp)) == "Reduce") == (fp == "reassociate")


@pytest.mark.parametrize("fp", ["strict", "contract", "reassociate"])
def test_a_zero_is_left_out_only_where_its_sign_may_change(fp: str) -> None:
    loop = "for (int i = 0; i < n; i++) y[i] += (double)(i > 0 ? b[i - 1] : 0);"
    (region,) = read(f"void f(int n, double *y, const int *b) {{ {loop} }}", fp).functions[0].regions
    (branch,) = [x for x in walk(region.kernel.body) if isinstance(x, If)]
    assert bool(branch.otherwise.body) == (fp != "reassociate")


def last_statement(file: CFile) -> str:
    (region,) = file.functions[0].regions
    return type(list(walk(region.kernel.body))[-1]).__name__


def test_reading_is_the_same_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """#include <stddef.h>
#include "no.h"
#define N 4
void f(size_t n, float *a) { for (size_t i = N; i < n; i++) a[i] = N; }
"""
    with_compiler = read(text)
    monkeypatch.setattr("shutil.which", lambda name: None)
    without = read(text)
    assert without.functions == with_compiler.functions
    assert [r.id for r in without.remarks] == ["c-include"]


@pytest.mark.parametrize(
    ("defines", "plain"), [((), "i8"), (("__CHAR_UNSIGNED__=1",), "u8"), (("__CHAR_UNSIGNED__",), "u8"), (("X",), "i8")]
)
def test_a_plain_char_has_a_sign_where_compilers_do_not_say_otherwise(defines: tuple[str, ...], plain: str) -> None:
    text = """typedef char base;
void f(int n, const base *a, const char *b, const signed char *c, const unsigned char *d, int *out)
{
  for (int i = 0; i < n; i++)
    out[i] = a[i] + (char)(b[i] + 100) + c[i] + d[i];
}
"""
    (region,) = read_c(Source("a.c", text), defines=defines).functions[0].regions
    assert [str(x.type) for x in region.kernel.arrays if x.name != "out"] == [plain, plain, "i8", "u8"]
    assert region.characters == {"i8": "signed", "u8": "unsigned"}[plain]
    found = [x for s in walk(region.kernel.body) for e in expressions(s) for x in walk_expr(e)]
    assert plain in {str(x.type) for x in found if isinstance(x, Cast)}


@pytest.mark.parametrize(("defines", "value", "most"), [((), -23, 127), (("__CHAR_UNSIGNED__=1",), 233, 255)])
def test_characters_have_the_sign_of_the_target(defines: tuple[str, ...], value: int, most: int) -> None:
    loop = "for (int i = 0; i < n; i++) b[i] = a[i] > CHAR_MAX ? '\\xe9' : 'z';"
    text = f"#include <limits.h>\nvoid f(int n, const int *restrict a, int *restrict b) {{ {loop} }}\n"
    (region,) = read_c(Source("f.c", text), defines=defines).functions[0].regions
    assert region.characters == ("unsigned" if defines else "signed")
    printed = print_kernel(region.kernel)
    assert f"> {most}:i32" in printed and f"{value}:i32" in printed and "122:i32" in printed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('#include "low.h"\n', "LOW"),
        ("#define LOW '\\x0ff'\n", "LOW"),
        ("#define LOW '\\377'\n", "LOW"),
        ('#define LOW "\\x0ff"[0]\n', "1"),
        ("", "LOW"),
        ("#if 'a' > 1 && \\\n '\\377' < 0\n#define LOW 1\n#else\n#define LOW 2\n#endif\n", "LOW"),
    ],
)
def test_what_depends_on_the_sign_of_a_plain_char_is_found(text: str, value: str, tmp_path: Path) -> None:
    (tmp_path / "low.h").write_text("#include <limits.h>\n#define LOW CHAR_MIN\n")
    defines = () if text else ("LOW=CHAR_MIN",)
    loop = f"void f(int n, int *a) {{ for (int i = 0; i < n; i++) a[i] += {value}; }}"
    use = f"int g(void) {{ return {'LOW' if value == '1' else '0'}; }}\n"
    source = Source(str(tmp_path / "f.c"), f"#include <limits.h>\n{text}{use}{loop}\n")
    (region,) = read_c(source, defines=defines).functions[-1].regions
    assert region.characters == "signed"


@pytest.mark.parametrize("constant", ["'ab'", "'RIFF'", "'u\\0'", "'\\\nx80'", "'\u00e9'", "L'a'", "'\\x1ff'"])
def test_constants_of_several_characters_are_no_numbers(constant: str) -> None:
    nests = [
        f"for (int i = 0; i < n; i++) a[i] += {constant};",
        f"for (int i = 0; i < n; i++) a[i + {constant}] = 1;",
        "for (int i = 0; i < n; i++) a[i] += E;",
        f"for (int i = 0; i < n; i++) switch (a[i]) {{ case {constant}: a[i] = 1; break; default: a[i] = 2; }}",
        f"for (int i = {constant}; i < n; i++) a[i] += 1;",
    ]
    others = [
        f"int b[{constant} & 7]; for (int i = 0; i < n; i++) b[i & 1] = a[i];",
        f"if (n == {constant}) for (int i = 0; i < n; i++) a[i] += 1;",
    ]
    bodies = "".join(f"void f{k}(int n, int *a) {{ {x} }}\n" for k, x in enumerate([*nests, *others]))
    file = read_c(Source("f.c", f"enum {{ E = {constant} }};\n{bodies}"))
    assert [len(x.regions) for x in file.functions] == [0] * len(nests) + [1, 1]
