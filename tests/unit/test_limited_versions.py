"""A version for some sizes only: what is made of it, and that it changes nothing of what other versions ship."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planish.build import functions
from planish.build.functions import FunctionResult, build_function
from planish.build.job import make_job, make_workbench
from planish.build.read import read_file
from planish.build.selection import Probes, Selection
from planish.core.diagnostic import Remark
from planish.core.span import Source
from planish.emit.dropin.replacement import compose
from planish.options import Options
from planish.run.calls.signature import CallCase
from planish.run.workbench import DropIn
from planish.target.load import load_target

ADD = "for (int i = 0; i < n; i++) y[i] += 2 * x[i];"
ROWS = "for (int i = 0; i < n; i++) { s[i] = 0; for (int j = 0; j < n; j++) s[i] += a[j * n + i] * x[j]; }"
UNKNOWN = "int q = 0; while (q * q < n) q++; if (q < 0) return;"
STAGES = """for (int h = 1; h < n; h *= 2)
    for (int i = 0; i < n; i += 2 * h)
      for (int j = i; j < i + h; j++) { double t = y[j]; y[j] = t + y[j + h]; y[j + h] = t - y[j + h]; }"""
SMALL, LARGE = CallCase({"n": 10}, {}), CallCase({"n": 2000}, {})
RACING = Options(measure=False, race=True, target="generic")


class Chosen:
    """Stands for what selects: asks for a limited version of each, and takes the first one without a limit; where it
    has something to say, it first says that one nest is idle."""

    def __init__(self, said: tuple[Remark, ...]) -> None:
        self.said = said
        self.versions: tuple[DropIn, ...] = ()
        self.limited: dict[str, DropIn | None] = {}

    def __call__(self, reference: Any, versions: Sequence[DropIn], *given: Any) -> Selection:
        probes: Probes = given[-2]
        self.versions = tuple(versions)
        for label in (*(x.label for x in versions), "blas"):
            self.limited[label] = probes.limit(label, [LARGE], [SMALL])
        if self.said and len(versions[0].nests) > 1:
            return Selection(None, None, None, None, self.said, idle=frozenset({versions[0].nests[0].start}))
        return Selection(versions[0], None, None, None, self.said)


def run(
    body: str, folder: Path, monkeypatch: pytest.MonkeyPatch, every: bool, said: tuple[Remark, ...] = ()
) -> tuple[Chosen, FunctionResult, str]:
    source = Source("f.c", f"void f(int n, double *x, double *y, const double *a, double *s) {{\n  {body}\n}}\n")
    chosen, drafted = Chosen(said), functions._draft
    monkeypatch.setattr(functions, "select", chosen)
    monkeypatch.setattr(functions, "_draft", lambda f, job, tell, most: drafted(f, job, tell, None if every else most))
    file, target = read_file(source, RACING), load_target("generic")
    job = make_job(file.functions, file, RACING, target, make_workbench(RACING, target, folder, source))
    return chosen, build_function(file.functions[0], job), source.text


def test_what_ships_is_the_version_that_was_selected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, result, text = run(f"{ADD}\n  {UNKNOWN}\n  {ROWS}", tmp_path, monkeypatch, every=True)
    assert len(chosen.versions) > 1 and len({x.text for x in chosen.versions}) > 1
    for version in chosen.versions:
        limited = chosen.limited[version.label]
        assert limited is not None and limited.label == version.label
        assert len(limited.shipped) == 2 and all(any("n, 2000)" in y for y in x.guards) for x in limited.shipped)
    assert compose(text, result.replacements, "") == chosen.versions[0].text
    # Another text than that of a version, such as one that calls a BLAS, is not limited in its name.
    assert chosen.limited["blas"] is None


@pytest.mark.parametrize("body", [f"{ADD}\n  {STAGES}", STAGES])
def test_stages_are_limited_too(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, _, _ = run(body, tmp_path, monkeypatch, every=False)
    limited = chosen.limited[chosen.versions[0].label]
    assert limited is not None and len(limited.shipped) == len(chosen.versions[0].shipped)
    assert "_stages" in limited.text and limited.text.count("n, 2000)") >= len(limited.shipped) + 1


def test_a_nest_without_a_version_does_not_keep_the_others_from_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafted = functions.lower_plan

    def without_first(plan: Any, *given: Any, **named: Any) -> Any:
        made = drafted(plan, *given, **named)
        return replace(made, versions=()) if plan.region.ordinal == 1 else made

    monkeypatch.setattr(functions, "lower_plan", without_first)
    chosen, _, _ = run(f"{ADD}\n  {UNKNOWN}\n  {ROWS}", tmp_path, monkeypatch, every=False)
    (version,) = chosen.versions
    limited = chosen.limited[version.label]
    assert limited is not None and len(limited.shipped) == len(version.shipped) == 1


def test_what_was_refused_before_is_told_with_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, late = Remark("verify-result", "refused", "wrong"), Remark("clock", "refused", "crashed")
    body = f"{ADD}\n  {UNKNOWN}\n  {ROWS}"
    chosen, result, _ = run(body, tmp_path, monkeypatch, every=False, said=(wrong, late, wrong))
    assert len(chosen.versions[0].nests) == 1
    assert [x for x in result.remarks if x.kind == "refused"] == [wrong, late]
