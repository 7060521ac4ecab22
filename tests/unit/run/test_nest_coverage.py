"""A check counts where new code ran: guards are searched for calls that enter, and what none enters is not used."""

from __future__ import annotations

from typing import Any

import pytest

from planish.build.assemble import FileResult
from planish.build.selection import Selection, select
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file
from planish.run.oracle.nest_coverage import LEAST_CALLS
from planish.run.workbench import Reference
from planish.schedule.arguments import NestChoice, Point

_MODE = """
void apply(int mode, int n, const int *a, int *b)
{
    if (mode != 77777)
        return;
    for (int i = 0; i < n; i++)
        b[i] = a[i] * 3 - b[i];
}
"""
_KINDS = """
enum kind { FIRST = 3, SECOND = 0x51 };
struct options { enum kind kind; int rounds; };
void kinds(const struct options *o, unsigned flags, int n, const short *a, short *b)
{
    switch (o->kind) {
    case FIRST:
        for (int i = 0; i < n; i++) b[i] = a[i];
        break;
    case SECOND:
        if (flags & 0x40 && o->rounds > 900)
            for (int i = 0; i < n; i++) b[i] = (short)(a[i] + 2);
        break;
    }
}
"""
_OPTIONAL = """
void optional(int n, const float *mask, const float *a, float *b)
{
    if (!mask) {
        for (int i = 0; i < n; i++) b[i] += a[i];
    } else {
        for (int i = 0; i < n; i++) b[i] += a[i] * mask[i];
    }
}
"""
_SQUARE = """
int square(int rows, int cols, const int *a, int *b)
{
    if (rows != cols || rows % 8 || rows < 16) return 1;
    for (int i = 0; i < rows; i++) for (int j = 0; j < cols; j++) b[j * rows + i] = a[i * cols + j] + 1;
    return 0;
}
"""
_CLIP = "void clip(int n, float *x) { for (int i = 0; i < n; i++) if (x[i] > 1000) x[i] = 1000; }\n"
_ROWS = """
void rows(int n, int m, double a[500][300], double b[500][300])
{
    for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) b[i][j] += a[i][j];
}
"""
"""What asks whether the arrays overlap counts on the declared rows, of which calls reach a part."""
_ASSERTED = """
#include <assert.h>
#include <stdlib.h>
int asserted(int mode, int k, int q, int n, float *restrict a, const float *restrict b)
{
    assert(k > 0);
    if (q <= 0) exit(3);
    if (mode != 77 || k != 12345) return -1;
    for (int i = 0; i < n; i++) a[i] = b[i] * 2;
    return 0;
}
"""
"""Most calls that are proposed end the process."""
_SWEPT = """
void swept(int steps, int n, float *restrict a, float *restrict b)
{
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i + 1];
        for (int i = 1; i < n - 1; i++) a[i] = b[i] * 0.5f;
    }
}
"""
"""Tiles are for lines of several ones, which are longer than those of most calls."""
_HIDDEN = """
static unsigned mix(unsigned x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; return x ^ x >> 16; }
void hidden(unsigned secret, int n, const float *a, float *b)
{
    for (int i = 0; i < n; i++) b[i] = a[i] * 3 + 1;
    if (mix(secret) != 0x3d2f1e07u) return;
    for (int i = 0; i < n; i++) b[i] = b[i] * a[i] - 1;
}
"""


def _build(text: str) -> FileResult:
    return build_file(Source("a.c", text), Options(measure=False))


@pytest.mark.parametrize("text", [_MODE, _KINDS, _OPTIONAL, _SQUARE, _CLIP, _ROWS, _ASSERTED])
def test_calls_are_found_that_enter_every_nest(text: str) -> None:
    result = _build(text).functions[-1]
    assert len(result.replacements) == len(result.function.regions)
    selection = result.selection
    assert selection is not None and selection.verdict is not None and selection.version is not None
    assert min(selection.verdict.ran[: len(result.replacements)]) >= 2
    assert len(selection.cases) == selection.verdict.cases_run


def test_calls_are_as_large_as_new_code_asks() -> None:
    choice = NestChoice("", Point.of({"version": "stencil-lanes-tiled"}), only=True)
    (result,) = build_file(Source("a.c", _SWEPT), Options(measure=False, choices=(choice,))).functions
    assert result.replacements and result.replacements[0].asked, result.remarks
    assert result.selection is not None and result.selection.verdict is not None
    assert result.selection.verdict.ran[0] >= LEAST_CALLS


def test_what_no_call_enters_is_not_used_and_the_rest_is() -> None:
    built = _build(_HIDDEN)
    result = built.functions[-1]
    assert [x.patch.start for x in result.replacements] == [result.function.regions[0].start]
    (remark,) = [x for x in result.remarks if x.id == "verify-exercised"]
    assert "ran and changed something in none of" in remark.message
    assert remark.span is not None and remark.span.line == 7


def test_shipped_text_has_no_trace_of_counters() -> None:
    assert "planish_entered" not in _build(_MODE).text


def test_a_mistake_behind_a_guard_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(reference: Reference, *rest: Any) -> Selection:
        return select(Reference(reference.text.replace("* 3", "* 4"), reference.bench), *rest)

    monkeypatch.setattr("planish.build.functions.select", spoil)
    result = _build(_MODE).functions[-1]
    assert not result.replacements
    assert any(x.id == "verify-result" and "mismatch" in x.message for x in result.remarks)
