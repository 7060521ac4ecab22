"""The page of a report: what it tells of functions, that its lines belong together, and that browsers show it."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planish.cli.entry import main
from planish.core.cache import Cache
from planish.core.span import Source
from planish.options import Options
from planish.report.account import Clocked, FileAccount, RacedVersion
from planish.report.page.contents import FilePage, FunctionPage, describe_outcome, gather_file, state_of
from planish.report.page.rendering import MOST_BYTES, render_page
from planish.report.page.roofline import Roofline
from planish.report.store import build_cached
from planish.report.verdicts.json_summary import summarise_function

SOURCE = Source("three.c", """\
/* <three> & more */
void scale(int rows, int columns, double a, double *restrict out, const double *restrict in) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            out[r * columns + c] = a * in[r * columns + c]; /* each </pre> */
}
float total(long count, const float *values) {
    float sum = 0.0f;
    for (long k = 0; k < count; k++)
        sum += values[k] * values[k];
    return sum;
}
void shift(int n, int *x) {
    for (int i = 0; i < n; i++)
        x[x[i]] = i;
}
""")  # fmt: skip


@pytest.fixture(scope="module")
def account() -> FileAccount:
    return build_cached(SOURCE, Options(measure=False), Cache())[0]


@pytest.fixture(scope="module")
def page(account: FileAccount) -> FilePage:
    """As if versions had been timed."""
    times = Clocked(0.01, 0.009, 0.011), Clocked(0.002, 0.002, 0.003)
    first = account.functions[0]
    raced = (RacedVersion(first.version, times[1]), RacedVersion("nofuse", times[0]))
    named = "rows=1000, columns=500"
    timed = first.__class__(**{
        **{k: getattr(first, k) for k in first.__slots__}, "before": times[0], "after": times[1], "raced": raced,
        "timed": named,
    })  # fmt: skip
    functions = (timed, *account.functions[1:])
    whole = FileAccount(**{**{k: getattr(account, k) for k in account.__slots__}, "functions": functions})
    return gather_file(SOURCE, Options(measure=False), whole, Cache())


@pytest.fixture(scope="module")
def text(page: FilePage) -> str:
    return render_page([page], "three.c")


def _function(page: FilePage, name: str) -> FunctionPage:
    return next(x for x in page.functions if x.account.function == name)


def test_verdicts_are_first_and_true(page: FilePage) -> None:
    assert _function(page, "scale").verdict == "5.00 times faster: 10 ms → 2 ms"
    assert _function(page, "total").state == "replaced"
    shift = _function(page, "shift")
    assert shift.state == "kept" and shift.account.refusals and not shift.candidates


def test_what_is_slower_is_not_called_faster(page: FilePage) -> None:
    scale = _function(page, "scale").account
    slower = replace(scale, before=scale.after, after=scale.before)
    assert (state_of(slower), describe_outcome(slower)) == ("replaced", "replaced, 0.20 times as fast: 2 ms → 10 ms")
    assert (state_of(scale), summarise_function(slower)["state"]) == ("faster", "replaced")
    untimed = replace(scale, before=None, after=None)
    assert (state_of(untimed), describe_outcome(untimed)) == ("replaced", "replaced; nothing was timed")


def test_what_no_version_is_faster_than_says_so(page: FilePage) -> None:
    scale = _function(page, "scale")
    reason = "line 5: maxfuse: it is not faster"
    kept = replace(scale, state="kept", account=replace(scale.account, replaced=False, reasons=(reason,)))
    shown = render_page([replace(page, functions=(kept,))], "one.c")
    assert f"<dd>{reason}</dd>" in shown and "nothing holds it back" not in shown
    assert "nothing holds it back" in render_page([replace(page, functions=(scale,))], "one.c")


def test_lines_of_c_belong_to_the_statements_that_they_do(page: FilePage) -> None:
    for name, statement in (("scale", 5), ("total", 10)):
        own = [x for x in _function(page, name).passages if x.own]
        assert [x.name for x in own] == [name, f"planish_{name}_1"]
        made = [(text, places) for _, text, places in own[1].lines]
        stored = {"scale": "out[", "total": "values["}[name]
        doing = [places for text, places in made if stored in text and "=" in text and "static" not in text]
        assert doing and all(statement in x for x in doing)
        loops = [places for text, places in made if "for (" in text and stored not in text]
        assert all(places and statement not in places for places in loops) and (loops or name == "total")
        # What is repeated in the other branch is the line itself.
        kept = [places for _, text, places in own[0].lines if text.strip() and text.strip() in SOURCE.line(statement)]
        assert kept == [(statement,)]


def test_assembly_names_lines_of_the_c_beside_it(page: FilePage) -> None:
    shown = _function(page, "total")
    numbers = {k for x in shown.passages for k, _, _ in x.lines}
    lines = [x.line for passage in shown.assembly for x in passage.lines]
    assert {x.name for x in shown.assembly} <= {x.name for x in shown.passages}
    assert len(lines) > 20 and sum(x in numbers for x in lines) > len(lines) / 2


def test_work_is_counted_and_versions_lie_under_roofs(page: FilePage) -> None:
    roofline = _function(page, "scale").roofline
    assert isinstance(roofline, Roofline) and roofline.work.type == "f64"
    assert (roofline.work.operations, roofline.work.bytes) == (500_000, 8_000_000)
    assert {x.name: round(x.rate) for x in roofline.points}["source file"] == 50_000_000
    assert isinstance(_function(page, "total").roofline, str)


def test_versions_say_what_became_of_them(page: FilePage) -> None:
    rows = {x.name: x for x in _function(page, "scale").candidates}
    assert [x.state for x in rows.values()][0] == "chosen" and rows["nofuse"].state in ("slower", "chosen")
    assert all(x.does or x.why or x.state == "slower" for x in rows.values())


def test_a_page_is_whole_small_and_escaped(text: str) -> None:
    assert len(text.encode()) < MOST_BYTES
    assert not re.findall(r"(?:src|href)=\"(?!#)[^\"]*\"|@import|url\(", text)
    assert "</pre> */" not in text and "each &lt;/pre&gt;" in text
    shown = html.unescape(re.sub(r"<[^>]+>", "", text))
    for said in ("5.00 times faster", "carried by the loop", "rows=1000", "refused["):
        assert said in shown


def test_a_page_of_many_functions_has_less_of_each(page: FilePage) -> None:
    many = [page] * 12
    assert len(render_page(many, "many").encode()) <= MOST_BYTES


def test_the_command_writes_a_page_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], account: FileAccount
) -> None:
    (tmp_path / "one.c").write_text("void zero(int n, float *a) { for (int i = 0; i < n; i++) a[i] = 0; }\n")
    out = tmp_path / "one.html"
    assert main(["report", str(tmp_path / "one.c"), "-o", str(out), "--no-measure", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["format"] == 1 and said["functions"][0]["function"] == "zero"
    assert out.read_text().startswith("<!doctype html>")
    out.write_text("mine")
    assert main(["report", str(tmp_path / "one.c"), "-o", str(out), "--no-measure"]) == 1
    assert "error[E0904]" in capsys.readouterr().err and out.read_text() == "mine"
    assert main(["report", str(tmp_path / "one.c"), "-o", str(out), "--target", "cuda-sm90"]) == 1
    assert "error[E0127]" in capsys.readouterr().err


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    program = next((x for x in map(shutil.which, ("chromium", "google-chrome", "chromium-browser")) if x), None)
    if program is None:
        pytest.skip("there is no Chromium here")
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


def test_a_browser_links_lines_and_obeys_keys(browser: Any, text: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(text)
    shown = browser.new_page(viewport={"width": 1400, "height": 900}, color_scheme="dark")
    errors: list[str] = []
    shown.on("pageerror", lambda x: errors.append(str(x)))
    shown.on("request", lambda x: None if x.url.startswith("file:") else errors.append(x.url))
    shown.goto(path.as_uri())
    dark = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    first = shown.locator(".code").first
    first.locator("[data-pane=source] li", has_text="a * in[").click()
    for pane in ("made", "assembly"):
        assert first.locator(f"[data-pane={pane}] li.on").count() > 0
    assembly = first.locator("[data-pane=assembly] li.on").first
    assembly.click()
    assert first.locator("[data-pane=source] li.on", has_text="a * in[").count() == 1
    shown.keyboard.press("Escape")
    assert first.locator("li.on").count() == 0
    first.locator(".pane").first.focus()
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("ArrowDown")
    assert first.locator("[data-pane=source] li.here").get_attribute("value") == "3"
    shown.keyboard.press("Escape")
    shown.keyboard.press("e")
    assert shown.locator("details.part:not([open])").count() == 0
    shown.keyboard.press("t")
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") != dark
    narrow = browser.new_page(viewport={"width": 390, "height": 800})
    narrow.goto(path.as_uri())
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 390
    assert errors == []
