"""Functions of a file are checked together; what is no good there comes out as it does alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planish.build.assemble import FileResult
from planish.build.emit import make_replacement
from planish.build.functions import FunctionResult
from planish.core.span import Source
from planish.emit.dropin.replacement import Replacement
from planish.frontend.c.translation_unit import Region
from planish.ir.types import F64, I32
from planish.options import Options
from planish.pipeline import build_file
from planish.run.calls.abi_wrapper import entries_text, entry_text
from planish.run.calls.signature import CallCase, Parameter, Signature
from planish.run.oracle.comparison import Limits, compare_each, make_comparison
from planish.run.oracle.differential import Comparison
from planish.run.toolchains.toolchain import choose_compiler, compile_library

HIDDEN = """\
unsigned mix(unsigned k)
{
    for (unsigned r = 0; r < 40; r++) k = (k ^ (k >> 7)) * 2654435761u + r * k;
    return k;
}
void hidden(int n, double *x, double *y, unsigned secret)
{
    f0(n, x, y);
    if (mix(secret) != 0x3d2f1e07u) return;
    for (int i = 0; i < n; i++) y[i] = y[i] * x[i] - 1;
}
"""
CALLER = """\
void caller(int n, double *x, double *y)
{
    for (int i = 0; i < n; i++) y[i] = x[i] - 2;
    wrong(n, x, y);
}
"""


def _plain(name: str, k: int) -> str:
    body = f"for (int i = 0; i < n; i++) y[i] = x[i] * {k} + y[i];"
    return f"void {name}(int n, double *x, double *y)\n{{\n    {body}\n}}\n"


GOOD = [f"f{k}" for k in range(7)]
FAULTY = ["crashes", "wrong", "broken"]
TEXT = "".join(_plain(name, k + 2) for k, name in enumerate(GOOD + FAULTY)) + HIDDEN + CALLER
SPOILED = {"crashes": "__builtin_trap();", "wrong": "if (n > 3) y[1] = 7;", "broken": "no such statement;"}


def _spoil(region: Region, *rest: Any) -> Replacement:
    """A replacement that crashes, is wrong or does not compile."""
    made = make_replacement(region, *rest)
    head, brace, body = made.function.partition("{\n")
    return replace(made, function=head + brace + SPOILED.get(region.function, "") + body)


def _build(heard: Callable[[str], None], *functions: str) -> FileResult:
    return build_file(Source("many.c", TEXT), Options(measure=False, functions=functions, target="generic"), heard)


def _describe(result: FunctionResult) -> object:
    """What came out, without the place where libraries lay."""
    selection = result.selection
    assert selection is not None
    version = selection.version and selection.version.text
    return result.replacements, result.remarks, result.timed, version, selection.verdict, selection.idle


def test_each_function_comes_out_as_it_does_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planish.build.emit.make_replacement", _spoil)
    heard: list[str] = []
    found = {x.function.name: x for x in _build(heard.append).functions}
    alone = [x.partition(":")[0] for x in heard if ": checking " in x]
    assert set(alone) == {*FAULTY, "hidden"}
    taken = {name for name, x in found.items() if x.replacements}
    assert {*GOOD, "caller"} <= taken and not taken & {*FAULTY, "hidden"}
    told = {name: {r.id for r in x.remarks if r.kind == "refused"} for name, x in found.items()}
    assert "verify-result" in told["crashes"] and "verify-order" in told["wrong"] and "verify-compile" in told["broken"]
    assert "verify-exercised" in told["hidden"]
    for name in (*FAULTY, "hidden"):
        (single,) = _build(lambda _: None, name).functions
        assert _describe(single) == _describe(found[name])


def test_what_is_lost_for_another_function_is_checked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planish.build.emit.make_replacement", _spoil)
    heard: list[str] = []
    text = _plain("f0", 2) + _plain("wrong", 3) + CALLER
    built = build_file(Source("call.c", text), Options(measure=False, target="generic"), heard.append)
    assert {x.partition(":")[0] for x in heard if ": checking " in x} == {"wrong", "caller"}
    assert [bool(x.replacements) for x in built.functions] == [True, False, True]


def test_where_all_are_good_the_text_that_was_checked_is_shipped() -> None:
    text = "".join(_plain(f"f{k}", k + 2) for k in range(3))
    heard: list[str] = []
    built = build_file(Source("few.c", text), Options(measure=False, target="generic"), heard.append)
    assert not any(": checking " in x for x in heard)
    selections = [x.selection for x in built.functions]
    assert len({x.library for x in selections if x is not None and x.version is not None}) == 1


X = (Parameter("n", I32, "value"), Parameter("x", F64, "array"))
RIGHT = "void {0}(int n, double *x) {{ for (int i = 0; i < n; i++) x[i] += 1; }}\n"
FRESH = RIGHT.replace("{{ for", "{{ static int calls; if (++calls > 3) __builtin_trap(); for")
VERSIONS = {
    "good": RIGHT,
    "dies": RIGHT.replace("x[i] += 1", "*(volatile int *)0 = 1"),
    "other": RIGHT.replace("+= 1", "+= 2"),
    "endless": RIGHT.replace("x[i] += 1", "for (volatile int k = 0;;) k++"),
    "leaves": "void exit(int);\n" + RIGHT.replace("x[i] += 1", "exit(0)"),
    "fresh": FRESH,
    "again": RIGHT,
}  # fmt: skip


def _requests(folder: Path) -> list[Comparison]:
    signatures = {name: Signature(name, X) for name in VERSIONS}
    entries = entries_text(list(signatures.values()))
    compiler = choose_compiler(None)
    right = compile_library(compiler, "".join(RIGHT.format(x) for x in VERSIONS) + entries, ("-w",), folder)
    text = "".join(x.format(name) for name, x in VERSIONS.items())
    made = compile_library(compiler, text + entries, ("-w",), folder)
    cases = [CallCase({"n": n}, {"x": n}, seed=n) for n in (1, 5)]
    return [make_comparison(right, made, x, cases, "exact", 1.0, ()) for x in signatures.values()]


def test_each_comparison_is_as_if_it_were_the_only_one(tmp_path: Path) -> None:
    requests = _requests(tmp_path)
    limits = Limits(seconds=4)
    verdicts = compare_each([*requests, *[requests[5]] * 4], limits)
    assert [x.status for x in verdicts] == ["ok", "crashed", "mismatch", "timeout", "crashed", *["ok"] * 6]
    assert [x.cases_run for x in verdicts[:5]] == [2, 0, 0, 0, 0]
    assert "SIGSEGV" in verdicts[1].message and "the candidate did not come to its end" in verdicts[3].message
    for n in (1, 2, 4):
        assert compare_each(requests[n : n + 1], limits) == (verdicts[n],)


def test_entries_of_several_functions_complete_the_library_once() -> None:
    both = [Signature(name, X, completion="int missing;\n") for name in ("a", "b")]
    assert entries_text(both).count("int missing;") == 1
    assert entries_text(both[:1]) == entry_text(both[0])
