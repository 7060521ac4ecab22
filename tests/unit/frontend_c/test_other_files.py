"""What files have of others, and what stays where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.core.span import Borrowed, Source
from planish.frontend.c.other_files import project
from planish.frontend.c.other_files.project import Project, ProjectUnit
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFile

CALLER = "int f(int x);\nvoid g(int n, int *restrict y, const int *restrict x)\n{\n" \
    "    for (int i = 0; i < n; i++) y[i] = f(x[i]);\n}\n"  # fmt: skip


def read(*texts: str, flags: tuple[tuple[str, ...], ...] = ((), ())) -> Borrowed:
    units = [ProjectUnit(Source(f"{name}.c", text), flags=given)
             for name, text, given in zip("abcde", texts, (*flags, *[()] * 3), strict=False)]  # fmt: skip
    return Project(units).read_with(units[0]).borrowed


def file_with(borrowed: Borrowed, text: str = CALLER) -> CFile:
    return read_c(Source("a.c", text, borrowed=borrowed))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("static int n; int f(int x) { return x + n++; }", "works on `n`, a variable of that file alone"),
        ("int n = 3; int f(int x) { return x + n; }", "works on `n`, which is not declared here"),
        ("static volatile const int n = 3; int f(int x) { return x + n; }", "works on `n`"),
        ("__attribute__((weak)) int f(int x) { return x; }", "declared with `weak`"),
        ("#define KEPT __attribute__((__noinline__))\nKEPT int f(int x) { return x; }", "declared with `noinline`"),
        ('int f(int x) __asm__("h"); int f(int x) { return x; }', "declared with `asm`"),
        ("#pragma weak f\nint f(int x) { return x; }", "#pragma weak"),
        ("inline int f(int x) { return x; }", "`inline`"),
        ("#ifdef __AVX2__\n#define K 1\n#else\n#define K 2\n#endif\nint f(int x) { return x + K; }", "__AVX2__"),
        ("long f(int x) { return x; }", "declared otherwise here"),
        ('#include "lost.h"\nint f(int x) { return x; }', "the header lost.h was not found"),
        ("int g(int x) { return x; } int f(int x) { return g(x); }", "calls `g`"),
        ("int f(int x) { return g(x); }", "needs `g`"),
        ("struct s { int a; char b; } __attribute__((packed)); int f(int x) { return x + (int)sizeof(struct s); }",
         "needs `s`, which is declared with `packed`"),
        ("__attribute__((weak)) int h(int x) { return x; } int f(int x) { return h(x); }", "calls `h`"),
    ],
)
def test_functions_that_stay_in_their_file(text: str, why: str) -> None:
    borrowed = read(CALLER, text)
    assert not borrowed.functions and why in dict(borrowed.refused)["f"]
    file = file_with(borrowed)
    assert not file.functions[0].regions
    (said,) = [x for x in file.remarks if x.id == "scop-call"]
    assert said.message.endswith(dict(borrowed.refused)["f"]) and "b.c defines" in said.message
    assert said.span is not None and (said.span.line, said.span.column) == (4, 40)
    assert "give Planish the file" not in said.advice and "in a header of both" in said.advice


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("int f(int x) { int f_local = x; return f_local * 3; }", ()),
        ("static int g(int x) { return x + 1; } int f(int x) { return g(x); }", ("g_of_b",)),
        ("static const short t[] = {1, -2, 3, 4}; int f(int x) { return t[x & 3]; }", ("t_of_b",)),
        ("const long t[2] = {1L << 40, 2}; int f(int x) { return (int)(t[x & 1] >> 39); }", ("t_of_b",)),
        ("typedef int number; number f(number x) { return (number)(x * 2); }", ("number",)),
        ("enum { K = 4, L }; static const int t[2] = {K, L}; int f(int n) { return t[n & 1] + K; }", ("K", "t_of_b")),
        ("int f(int x) { enum { n = 3 }; struct { int y; } s; s.y = 2; return x + n; }", ()),
    ],
)
def test_functions_come_with_what_they_need(text: str, named: tuple[str, ...]) -> None:
    borrowed = read(CALLER, text)
    assert dict(borrowed.functions) == {"f": "b.c"} and set(named) <= {*borrowed.names}
    file = file_with(borrowed)
    assert [x.name for x in file.functions] == ["g"]
    assert "b.c" not in file.preprocessed_as_written
    if "struct" not in text:
        (region,) = file.functions[0].regions
        assert [x.message for x in file.remarks if x.id == "c-inline"] == ["`f` of b.c is a part of this nest"]
        assert all(x in dict(borrowed.tables) for x in dict(region.names).values() if x.endswith("_of_b"))


@pytest.mark.parametrize(
    ("both", "named"),
    [
        ("static int n = 1;", "n"),
        ("int static n[4];", "n[1]"),
        ("_Alignas(16) static int n[4];", "n[1]"),
        ("struct { int x; } static n;", "n.x"),
        ("static const int *n;", "*n"),
        ("static int n[4]; static int h(void) { return n[1]; }", "h()"),
        ("static int n[4]; static int *const p = n;", "*p"),
    ],
)
def test_variables_of_each_file_are_not_one(both: str, named: str) -> None:
    borrowed = read(f"{both}\n{CALLER}", f"{both}\nint f(int x) {{ return x + {named}; }}")
    assert "a variable of that file alone" in dict(borrowed.refused)["f"]


def test_constants_with_the_same_text_are_those_of_what_they_name() -> None:
    first, both = "static const int t[2] = {1, 2};\n", "static const int *const p = t;\n"
    other = f"{both}int f(int x) {{ return p[x & 1]; }}"
    assert "works on `p`" in dict(read(f"{first}{both}{CALLER}", f"{first.replace('2}', '3}')}{other}").refused)["f"]
    assert not read(f"{first}{both}{CALLER}", first + other).refused


@pytest.mark.parametrize(
    ("both", "mine", "theirs", "copied"),
    [
        ("static int h(int i) { return t[i & 1]; }", "static const int t[2] = {1, 2};",
         "static const int t[2] = {5, 6};", {"h_of_b", "t_of_b"}),
        ("static int k(int i); static int h(int i) { return k(i) + 1; }", "static int k(int i) { return i; }",
         "static int k(int i) { return 3 * i; }", {"h_of_b", "k_of_b"}),
        ("static int h(int i) { return i + K; }", "enum { K = 3 };", "enum { K = 4 };", {"another one"}),
        ("static const int t[2] = {5, 6}; static int h(int i) { return t[i & 1] + e(i); }", "int e(int i);",
         "int e(int i);", set()),
        ("static int h(int i) { return i ? h(i - 1) : 0; }", "", "", set()),
    ],
)
def test_functions_are_shared_where_all_that_they_name_is(both: str, mine: str, theirs: str, copied: set[str]) -> None:
    borrowed = read(f"{mine}\n{both}\n{CALLER}", f"{theirs}\n{both}\nint f(int x) {{ return h(x); }}")
    if "another one" in copied:
        assert "needs `K`, another one here" in dict(borrowed.refused)["f"]
    else:
        assert dict(borrowed.functions) == {"f": "b.c"} and {*borrowed.names} == {"f", *copied}


def test_what_the_file_that_calls_says_of_functions_is_asked() -> None:
    one = "int f(int x) { return x; }"
    for pragma in ("#pragma redefine_extname f other", "#pragma weak f"):
        assert pragma.split(" f")[0] in dict(read(f"{pragma}\n{CALLER}", one).refused)["f"]
    assert read(f"{CALLER}#define GO _Pragma(\"GCC ivdep\")\n", one).functions
    weak = "__attribute__((weak)) int h(int x) { return x; }\n"
    borrowed = read(weak + CALLER, "int h(int x); int f(int x) { return h(x); }", "int h(int x) { return -x; }")
    assert "calls `h`, which is declared with `weak` here" in dict(borrowed.refused)["f"]


def test_nests_name_nothing_that_only_another_file_has() -> None:
    text = "struct pair { int a; short b; };\nstatic const struct pair t[2] = {{1, 2}, {3, 4}};\n"
    borrowed = read(CALLER, f"{text}int f(int x) {{ return t[0].b + x; }}")
    file = file_with(borrowed)
    assert not file.functions[0].regions or "t_of_b" not in f"{file.functions[0].regions}"


def test_a_function_is_had_of_one_file_alone() -> None:
    one, other = "int f(int x) { return x; }", "int f(int x) { return -x; }"
    assert dict(read(CALLER, one, other).refused) == {"f": "which b.c and c.c define"}
    assert dict(read(CALLER, one, other.replace("int f", "static int f")).functions) == {"f": "b.c"}
    assert read(CALLER, "int f(int x);").refused == ()
    pasted = "#define MAKE(x) int x##_(int n) { return n; }\n#define f_ f\nMAKE(f)\n"
    assert dict(read(CALLER, one, pasted).refused) == {"f": "which b.c and c.c define"}
    # By way of a third file, whose helper has the name of another one.
    chain = read(CALLER, "int h(int x); static int k(int x) { return x + 1; } int f(int x) { return h(k(x)); }",
                 "static int k(int x) { return x * 2; } int h(int x) { return k(x); }")  # fmt: skip
    assert {*chain.names} == {"f", "h", "k_of_b", "k_of_c"} and chain.files == ("b.c", "c.c")
    assert file_with(chain).functions[0].regions
    # What two of them declare is there before both.
    known = "long h(long x);\n"
    caller = f"int e(int x);\n{CALLER}".replace("f(x[i])", "f(x[i]) + e(x[i])")
    pair = read(
        caller, f"{known}int f(int x) {{ return h(x) + 1; }}",
        f"{known}int e(int x) {{ return h(x + 1); }}", "long h(long x) { return x * 2; }",
    )  # fmt: skip
    assert {x for x, _ in pair.functions} == {"e", "f", "h"} and not pair.refused


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ((("-O2", "-Wall"), ("-O3", "-g")), ""),
        ((("-fwrapv",), ("-fwrapv",)), ""),
        (((), ("-fwrapv",)), "-fwrapv"),
        ((("-std=c99",), ("-std=gnu11",)), "-std=c99, -std=gnu11"),
        (((), ("-Ofast",)), "-Ofast"),
        (((), ("-fPIC",)), "-fPIC"),
        ((("-fPIC",), ("-fPIC", "-fvisibility=hidden")), "-fvisibility=hidden"),
        (((), ("-include", "x.h")), "-include"),
        ((("-UX",), ()), "-UX"),
        (((), ("--include", "q.h")), "--include"),
        (((), ("--define-macro=K=7",)), "--define-macro"),
        (((), ("@resp",)), "@resp"),
        (((), ("-Wp,-DK=7",)), "-Wp,"),
        (((), ("-Xclang", "-fwrapv")), "-Xclang"),
        ((("-fwrapv", "-fno-wrapv"), ("-fno-wrapv", "-fwrapv")), "-fwrapv"),
        ((("-Ofast", "-O2"), ("-O2", "-Ofast")), "-Ofast"),
        (((), ("-fPIE", "-fPIC")), "-fPIC"),
        ((("gcc", "-MD", "-MT", "@x", "-c", "a.c"), ("cc", "-isystem", "x", "-Dk", "-o", "b.o", "-pipe", "--")), ""),
    ],
)
def test_flags_that_give_a_text_another_meaning(flags: tuple[tuple[str, ...], ...], why: str) -> None:
    borrowed = read(CALLER, "int f(int x) { return x; }", flags=flags)
    assert bool(borrowed.functions) == (not why) and why in dict(borrowed.refused).get("f", "")


def test_functions_that_no_compiler_takes_are_found_among_others(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Borrowed] = []
    own = project._refusal
    monkeypatch.setattr(project, "_refusal", lambda unit, made: asked.append(made) or own(unit, made))
    names = [f"f{n}" for n in range(32)]
    caller = "".join(f"int {x}(int x);\n" for x in names) + CALLER.replace("int f(int x);\n", "") \
        .replace("f(x[i])", " + ".join(f"{x}(x[i])" for x in names))  # fmt: skip
    other = "".join(f"{'long' if x == 'f9' else 'int'} {x}(int x) {{ return x; }}\n" for x in names)
    borrowed = read(caller, other)
    assert {x for x, _ in borrowed.functions} == {*names} - {"f9"} and [*dict(borrowed.refused)] == ["f9"]
    assert "declared otherwise here (conflicting types for" in dict(borrowed.refused)["f9"] and len(asked) <= 11


def test_each_file_is_read_with_its_own_macros(tmp_path: Path) -> None:
    (tmp_path / "k.h").write_text("#ifndef K\n#define K 1\n#endif\nstatic inline int k(void) { return K; }\n")
    first = ProjectUnit(Source(str(tmp_path / "a.c"), f'#include "k.h"\n#define x 7\n{CALLER}'.replace("int x", "int")
                        .replace("*restrict x", "*restrict z").replace("x[i]", "z[i] + k()")))  # fmt: skip
    other = ProjectUnit(Source(str(tmp_path / "b.c"), '#include "k.h"\nint f(int x) { return x * K + k(); }'), ("K=5",))
    source = Project([first, other]).read_with(first)
    assert "x * 5 + k_of_b()" in source.borrowed.text and "return 5;" in source.borrowed.text
    assert "x" in source.borrowed.undefined  # a macro here
    assert len(read_c(source).functions[0].regions) == 1


def test_what_a_file_includes_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc/far.h").write_text('#include "near.h"\n')
    (tmp_path / "inc/near.h").write_text("int f(int x) { return x + 2; }\n")
    (tmp_path / "x.c").write_text("int f(int x) { return x + 3; }\n")
    for text, folders in (('#include <far.h>\n', (tmp_path / "inc",)), ('# include "inc/far.h"\n', ()),
                          ('#define WHICH "x.c"\n#include WHICH\n', ()), ('#include "x.c"\n', ())):  # fmt: skip
        caller, one = (ProjectUnit(Source(str(tmp_path / x), y))
                       for x, y in (("a.c", CALLER), ("b.c", "int f(int x) { return x + 1; }")))  # fmt: skip
        last = ProjectUnit(Source(str(tmp_path / "c.c"), text), (), folders)
        assert dict(Project([caller, one]).read_with(caller).borrowed.functions) == {"f": one.name}
        assert "define" in dict(Project([caller, one, last]).read_with(caller).borrowed.refused)["f"], text


def test_a_variable_that_is_called_is_no_function() -> None:
    text = "static int f(int x) { return x + 1; }\n" + CALLER.replace("int f(int x);\n", "") \
        .replace("const int *restrict x)", "const int *restrict x, int (*f)(int))")  # fmt: skip
    (said,) = [x for x in read_c(Source("a.c", text)).remarks if x.kind == "refused"]
    assert "a call of a function pointer" in said.message


def test_names_are_those_of_the_text_and_of_its_macros(tmp_path: Path) -> None:
    one = "static const int t[2] = {3, 4}; int f(int x) { return t[x & 1]; }"
    assert "t_of_b_2" in read(f"#define t_of_b 99\n{CALLER}", one).names
    (tmp_path / "k.h").write_text("#define t_of_b 99\n")
    units = [ProjectUnit(Source(str(tmp_path / "a.c"), f'#include "k.h"\n{CALLER}')), ProjectUnit(Source("b.c", one))]
    assert "t_of_b_2" in Project(units).read_with(units[0]).borrowed.names
    caller = "struct w { void *p; };\nint f(int x, struct w *w);\n/* a part */\nvoid g(int n, int *restrict y, " \
        "struct w *w)\n{\n    for (int i = 0; i < n; i++) y[i] = f(i, w);\n}\n"  # fmt: skip
    borrowed = read(caller, "struct w { void *p; }; struct part { int n; };\n"
                    "int f(int x, struct w *w) { struct part *p = w->p; return x * p->n; }")  # fmt: skip
    assert not file_with(borrowed, caller).functions[0].regions
    inside = "int f(int x) { int h(int); return h(x); }"
    borrowed = read(f"static int h(int x) {{ return x; }}\n{CALLER}", inside, "int h(int x) { return -x; }")
    assert "needs `h`, which is nothing there and something here" in dict(borrowed.refused)["f"]


@pytest.mark.parametrize(
    "text",
    [
        "__attribute__((weak)) int f(int x) { return x; }",
        "#define OWN __attribute__((__weak__))\nOWN int f(int x);\nint f(int x) { return x; }",
        "#pragma weak f\nint f(int x) { return x; }",
    ],
)
def test_a_function_that_others_may_replace_is_a_part_of_no_nest(text: str) -> None:
    for name in ("f", "abs"):
        file = read_c(Source("a.c", f"{text}\n{CALLER}".replace("f(", f"{name}(").replace("weak f", f"weak {name}")))
        assert not any(x.regions for x in file.functions)
        assert any("declared with `weak`, so that another" in x.message for x in file.remarks)
    assert any(x.regions for x in file_with(Borrowed(), f"int f(int x) {{ return x; }}\n{CALLER} int weak;").functions)
