"""Files that need unknown types, or that have parts in other dialects, are read but for these parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.frontend.c.reader import read_c

NEST = "void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = i; }\n"


@pytest.mark.parametrize(
    "before",
    [
        "typedef struct { long at; strange *next; } link;\nextern int put(link *x, other *y);\n",
        "int first(const rare_t *a, rare_t *b);\nstatic void g(stage *s, queue *q) { s->at = q->at; }\n",
        "extern void *find(const void *, known *, seldom, int (*)(const void *));\n",
    ],
)
def test_types_that_no_header_declares_do_not_hide_nests(before: str) -> None:
    assert len(read_c(Source("f.c", before + NEST)).function("f").regions) == 1


def test_declarations_that_are_left_out_leave_others_where_they_are() -> None:
    strange = "static int many[8] = { [0 ... 3] = 1 };\n"
    text = "".join(f"{strange}{NEST}".replace("many", f"x{n}").replace("f(", f"f{n}(") for n in range(3))
    file = read_c(Source("f.c", text))
    assert [len(x.regions) for x in file.functions] == [1, 1, 1]


def test_formats_of_fixed_widths_are_known() -> None:
    text = "#include <inttypes.h>\n#include <stdio.h>\nvoid g(int64_t x) { printf(\"%\" PRId64 \"\\n\", x); }\n"
    assert len(read_c(Source("f.c", text + NEST)).function("f").regions) == 1


OLD = "void g{}(n, a) int n; int *a; {{ for (int i = 0; i < n; i++) a[i] += i; }}\n"
IMPLICIT = "int h(a, n) register int *a; register n; { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }\n"


@pytest.mark.parametrize("count", [1, 4, 15])
def test_a_parameter_without_a_type_costs_its_definition_alone(count: int) -> None:
    old = [OLD.format(n) for n in range(count)]
    file = read_c(Source("f.c", "".join((*old[: count // 2], IMPLICIT, *old[count // 2 :], NEST))))
    assert [len(x.regions) for x in file.functions] == [1] * (count + 1)
    told = [x for x in file.remarks if x.id == "scop-syntax"]
    assert [x.span.line for x in told if x.span] == [count // 2 + 1]
    assert not [x for x in file.remarks if x.id == "c-type"], "its names are no types"


def test_faults_are_told_where_the_parser_found_them() -> None:
    many = "".join(IMPLICIT.replace("h(", f"h{n}(") for n in range(40))
    file = read_c(Source("f.c", f"int z;\n{OLD.format(1)}{many}\nint last;\n"))
    assert [len(x.regions) for x in file.functions] == [1]
    assert [x.span.line for x in file.remarks if x.id == "scop-syntax" and x.span] == [*range(3, 43)]


@pytest.mark.parametrize(
    "before", ["BENCH_DOC(\"name\", x)\n", "struct PACKED tight { char c; };\n", "ALIGN(8) int t[4];\n"]
)
def test_words_of_a_missing_header_cost_what_they_stand_in(before: str) -> None:
    file = read_c(Source("f.c", f"#include \"lost.h\"\n{before}{NEST}"))
    assert len(file.function("f").regions) == 1
    with pytest.raises(PlanishError):
        read_c(Source("f.c", f"{before}{NEST}"))


def test_headers_cost_what_is_named_alone(tmp_path: Path) -> None:
    names = ", ".join(f"k{n} = {n}" for n in range(6))
    lists = f"static const int table[] = {{ {', '.join(['1'] * 9000)} }};\n"
    types = f"enum {{ {names} }};\nstruct s {{ int n; }};\ntypedef struct s *p;\n"
    (tmp_path / "h.h").write_text(types + lists, "utf-8")
    text = "#include \"h.h\"\nvoid f(p q, int *a) { for (int i = k1; i < q->n; i++) a[i] = table[i]; }\n"
    file = read_c(Source(str(tmp_path / "f.c"), text))
    assert len(file.function("f").regions) == 1


def test_types_without_a_place_are_found_in_structures() -> None:
    record = "typedef struct { long_t dim; int n; other_t *next; } book;\ntypedef long_t (*call)(rare_t, int *);\n"
    text = "void g(book *b, int *a) { for (int i = 0; i < b->n; i++) a[i] = 1; }\n"
    file = read_c(Source("f.c", f"#include \"lost.h\"\n{record}{text}"))
    assert len(file.function("g").regions) == 1 and not [x for x in file.remarks if x.id == "scop-syntax"]


def test_types_of_the_library_are_known_without_its_headers() -> None:
    text = "#include \"lost.h\"\nvoid f(size_t n, uint16_t *a) { for (size_t i = 0; i < n; i++) a[i] += 1; }\n"
    assert len(read_c(Source("f.c", text)).function("f").regions) == 1


def test_arguments_of_any_number_are_read() -> None:
    text = "#include <stdarg.h>\nint g(int n, ...) { va_list l; va_start(l, n); int s = 0;\n"
    text += "for (int i = 0; i < n; i++) s += va_arg(l, int); va_end(l); return s; }\n"
    file = read_c(Source("f.c", text + NEST))
    assert [len(x.regions) for x in file.functions] == [0, 1]
    assert not [x for x in file.remarks if x.id == "scop-syntax"]


def test_promoted_parameters_are_told_as_such() -> None:
    text = "void f(n, a) short n; int *a; { for (int i = 0; i < n; i++) a[i] = i; }\n"
    assert "promoted" in read_c(Source("f.c", text)).function("f").uncallable
    assert not read_c(Source("f.c", text.replace("short", "int"))).function("f").uncallable
