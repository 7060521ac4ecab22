"""What notebooks show of compiled functions, kernels and reports."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import planish
from planish.report.account import Clocked, FunctionAccount, RacedVersion
from planish.report.page.notebook import render_outcome

TEXT = """\
void widen(int rows, int columns, double *restrict out, const double *restrict in) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            out[r * columns + c] = 2 * in[r * columns + c];
}
"""


class _Balance(HTMLParser):
    """Whether each element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _check(text: str) -> str:
    parser = _Balance()
    parser.feed(text)
    assert parser.open == [] and "<script" not in text
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


def test_a_compiled_function_shows_verdict_loops_and_c() -> None:
    made = planish.compile(TEXT, measure=False)
    shown = _check(made._repr_html_())
    assert "widen" in shown and "replaced" in shown and "Verified: " in shown and "as read" in shown
    assert "for r in 0 .. rows" in shown and "planish_widen_1" in shown
    assert "replaced" in _check(made.report._repr_html_())


def test_a_kernel_is_not_compiled_to_be_shown() -> None:
    n = planish.sizes("n")

    @planish.kernel
    def twice(x: planish.f64[n]) -> None:
        for i in range(n):
            x[i] *= 2.0

    assert "not compiled yet" in _check(twice._repr_html_())


def test_times_and_refusals_are_shown_and_escaped() -> None:
    times = Clocked(0.01, 0.01, 0.01), Clocked(0.002, 0.002, 0.002)
    raced = RacedVersion("nofuse", times[1]), RacedVersion("maxfuse", times[0])
    account = FunctionAccount(
        "f<g>", 1, True, ("line 2: `a<b`",), (), "n=3", None, *times, "nofuse", ("refused[x]: <b>",), "", raced
    )
    text = render_outcome(account, "strict", "cc -O3", cached=True)
    shown = _check(text)
    assert "5.00 times faster: 10 ms → 2 ms" in shown and "5.00x" in shown and "from the cache" in shown
    assert "f&lt;g&gt;" in text and "a&lt;b" in text and "<b>f" not in text.replace("<b>f&lt;g&gt;", "")
