"""What is written otherwise before it is read: places and text are the user's where nothing of it is replaced."""

from __future__ import annotations

import random

import pytest

from planish.core.span import Source, TextChange, rewrite
from planish.emit.dropin.patched_file import Patch, assemble
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFile

RINGS = """\
void apart(short *y, int n, int d, int size, int w) {
  for (int i = 0; i < n; i++) { y[(w + i) % size] = y[(w + i + d) % size] / 2; }
}
void turn(int *restrict out, const int *restrict ring, int n, int size, int start) {
  int k = 0;  for (int i = 0; i < n; i++) out[i] = ring[(start + i) % size]; out[0] += k;
}
void mask(float *restrict line, const float *restrict x, int n, unsigned at) {
  for (int i = 0; i < n; i++)
    line[
      at++ & 63] = x[i];
}
"""
MACROS = """\
#define SUM(T) T sum_##T(int n, const T *x) { T s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
#define BOTH(a) for (int i = 0; i < n; i++) a[i] = 1; work(a); for (int i = 0; i < n; i++) a[i] = next(a[i]);
void work(double *a);
double next(double);
SUM(float) SUM(
  double)
void both(int n, double *restrict p, double *restrict q) {
  BOTH(p) work(q);
  BOTH(q) for (int i = 0; i < n; i++) p[i] = 3;
}
"""


def read(text: str) -> CFile:
    file = read_c(Source("a.c", text))
    assert file.source.made is not None, "nothing of it was written otherwise"
    return file


@pytest.mark.parametrize("text", [RINGS, MACROS])
def test_remarks_speak_of_what_the_user_wrote(text: str) -> None:
    file = read(text)
    assert file.given == Source("a.c", text)
    spans = [x.span for f in file.functions for x in f.regions]
    spans += [x.place for x in file.remarks] + [f.span for f in file.functions]
    lines = text.split("\n")
    for span in spans:
        assert span is not None
        assert span.column <= len(lines[span.line - 1]) + 1 and span.end_column <= len(lines[span.end_line - 1]) + 1
    assert not any("planish_" in x.render(file.source) for x in file.remarks)


def test_a_cut_loop_is_told_as_the_loop() -> None:
    file = read(RINGS)
    apart, turn, mask = (f.regions[-1].span for f in file.functions)
    assert apart is not None and (apart.line, apart.column, apart.end_column) == (2, 3, 81)
    assert turn is not None and RINGS.split("\n")[4][turn.column - 1 : turn.end_column - 1].startswith("for (int i")
    assert mask is not None and (mask.line, mask.column, mask.end_line, mask.end_column) == (8, 3, 10, 25)
    (refused,) = (x for x in file.remarks if x.kind == "refused" and x.place is not None and x.place.line == 2)
    assert refused.message == "the loop stays as written: the subscript (w + i)%size is not affine"


def test_a_macro_is_told_as_where_it_is_named() -> None:
    spans = [f.regions[0].span for f in read(MACROS).functions]
    assert [(x.line, x.column, x.end_line, x.end_column) for x in spans if x is not None] == [
        (5, 1, 5, 11), (5, 12, 6, 10), (8, 3, 8, 10),
    ]  # fmt: skip


def test_nests_of_one_macro_are_told_apart() -> None:
    loops = "for (int i = 0; i < n; i++) a[i] = 1; work(); for (int i = 0; i < n; i++) a[i] = 2;"
    text = f"#define TWO(a) {loops}\nvoid work(void);\nvoid f(int n, int *x) {{ TWO(x) }}\n"
    first, second = (x.span for x in read(text).functions[0].regions)
    assert first is not None and second is not None
    assert str(first) == str(second) == "a.c:3:25" and first != second


@pytest.mark.parametrize("text", [RINGS, MACROS])
def test_what_holds_no_replaced_nest_is_as_written(text: str) -> None:
    file = read(text)
    assert assemble(file.source, [], "", "") == text
    regions = [x for f in file.functions for x in f.regions]
    for region in regions:
        made = assemble(file.source, [Patch(region.start, region.end, "NEST;")], "", "")
        assert made.count("NEST;") == 1
        for other in (f for f in file.functions if f.name != region.function and "sum" not in f.name):
            lines = text.split("\n")[other.span.line - 1 : other.span.end_line]
            assert "\n".join(lines) in made


def test_a_patch_may_reach_out_of_what_was_written_otherwise() -> None:
    source = Source("a.c", "a; M b; M c;\n")
    made = rewrite(source, "a; x; y; b; x; y; c;\n", [TextChange(3, 4, 3, 8, (3, 4)), TextChange(8, 9, 12, 17, (8, 9))])
    assert assemble(made, [Patch(6, 10, "NEST")], "", "") == "\na; x; NEST; M c;\n"
    assert assemble(made, [Patch(10, 13, "NEST")], "", "") == "\na; M bNEST; y; c;\n"


def test_a_cut_loop_stays_beside_its_replacement() -> None:
    file = read(RINGS)
    (region,) = file.function("apart").regions
    made = assemble(file.source, [Patch(region.start, region.end, "NEST;")], "", "")
    loop = RINGS.split("\n")[1]
    before, sep, rest = made.partition(f"int w) {{\n\n#ifdef PLANISH_ORIGINAL\n{loop}\n#else\n  for (")
    assert sep and "planish_" not in before and "NEST; }" in rest
    assert rest.partition("\n#endif\n")[2] == RINGS.partition("2; }\n")[2]


@pytest.mark.parametrize("seed", range(20))
def test_places_of_made_texts(seed: int) -> None:
    """Twice rewritten: characters that are not changed are told where they are, and no patch brings the text back."""
    rng = random.Random(seed)
    source = made = Source("a.c", "".join(rng.choice("abcdef\n") for _ in range(60)))
    for kind in "XY":
        cuts = sorted(rng.sample(range(len(made.text)), 6))
        text, at, changes = "", 0, []
        for start, end in zip(cuts[::2], cuts[1::2], strict=True):
            text += made.text[at:start]
            new = kind * rng.randrange(4) + "\n" * made.text.count("\n", start, end)
            changes.append(TextChange(start, end, len(text), len(text) + len(new), (start, end)))
            text, at = text + new, end
        made = rewrite(made, text + made.text[at:], changes)
    lines = source.text.split("\n")
    for number, line in enumerate(made.text.split("\n"), 1):
        for column, character in enumerate(line, 1):
            span = made.point(number, column)
            if character in "abcdef":
                assert lines[span.line - 1][span.column - 1] == character
                assert (span.end_line, span.end_column) == (span.line, span.column + 1)
    assert assemble(made, [], "", "") == source.text
