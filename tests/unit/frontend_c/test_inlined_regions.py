"""What is refused in a function that is called is told of the loop that calls it, and costs no loop beside the call."""

from __future__ import annotations

from planish.build.read import read_file
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFile
from planish.options import Options
from planish.report.account import is_about

BOUND = """\
static void least(const int *p, int n, int *low)
{
    *low = p[0];
    for (int i = 1; i < n; i++)
        if (p[i] < *low)
            *low = p[i];
}
void rows(int n, const int *given, const int *a, int *out)
{
    for (int i = 0; i < n; i++) {
        int low;
        least(a + 8 * i, given[i], &low);
        out[i] = low;
    }
}
"""
STEPS = """\
static void step(const short *in, short *out, int n)
{
    int half = n / 2;
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < half; i++)
            out[b * half + i] = in[2 * i] + in[2 * i + 1];
}
void frames(short *state, short *work, int n, int steps)
{
    for (int s = 0; s < steps; s++) {
        step(state, work, n);
        for (int i = 0; i < n; i++)
            state[i] = work[i];
    }
}
"""


def read(text: str) -> CFile:
    return read_file(Source("calls.c", text), Options(measure=False, target="generic"))


def test_a_refusal_in_a_callee_is_about_the_loop_that_calls() -> None:
    file = read(BOUND)
    least, rows = file.functions
    (remark,) = [x for x in file.remarks if x.id == "scop-bound"]
    assert "in least, which is called in line 12" in remark.message
    assert remark.span is not None and remark.span.line == 4
    assert is_about(remark, rows) and not is_about(remark, least)


def test_loops_beside_a_call_are_regions_where_those_around_it_are_none() -> None:
    file = read(STEPS)
    frames = file.functions[-1]
    assert [x.span.line for x in frames.regions if x.span is not None]== [12]
    assert any(is_about(x, frames) for x in file.remarks)


def test_what_takes_structures_has_its_own_name_in_remarks() -> None:
    text = (
        "typedef struct { float x, y; } pair; float g(float);"
        "static float length(pair a) { float s = 0; for (int k = 0; k < 3; k++) s += g(a.x) * a.y; return s; }"
        "static float late(pair a) { goto end; end: return a.y; }"
        "void f(int n, const pair *v, float *y) { for (int i = 0; i < n; i++) y[i] = length(v[i]); }"
        "void h(int n, const pair *v, float *y) { for (int i = 0; i < n; i++) { y[i] = late(v[i]); } }"
    )
    told = [x.message for x in read(text).remarks]
    assert any("(in length, which is called in line 1)" in x for x in told)
    assert any("a call of late, which" in x for x in told) and not any("by members" in x for x in told)
