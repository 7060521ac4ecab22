"""The compiler on one screen: what it reads, what it refuses, what it leaves alone, what it puts together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planish.build.assemble import FileResult
from planish.build.dump import STAGES
from planish.build.emit import make_drop_ins
from planish.build.lower import lower_region
from planish.build.read import read_file
from planish.core.diagnostic import PlanishError
from planish.core.passes import PassTimes
from planish.core.span import Source
from planish.emit.dropin.replacement import compose
from planish.ir.types import BF16, Type
from planish.options import Options
from planish.pipeline import PASSES, build_file
from planish.run.toolchains.toolchain import find_compilers, knows
from planish.target.load import load_target

ROOT = Path(__file__).parents[2]
SCALE = "/* doubles */\nvoid scale(int n, double *x) {\n  for (int i = 0; i < n; i++)\n    x[i] *= 2; // here\n}\n"
TWO = SCALE + "void other(int n, double *x) { for (int i = 0; i < n; i++) x[i] += 1; }\n"
QUIET = Options(measure=False, target="generic")


def build(text: str, options: Options = QUIET) -> FileResult:
    return build_file(Source("scale.c", text), options)


def test_a_file_comes_out_replaced_and_verified() -> None:
    heard: list[str] = []
    result = build_file(Source("scale.c", SCALE), QUIET, heard.append)
    (function,) = result.functions
    assert function.selection is not None and function.selection.verdict is not None
    assert (function.selection.verdict.status, len(function.replacements)) == ("ok", 1)
    assert "/* doubles */" in result.text and "// here" in result.text
    assert "void scale(int n, double *x);" in result.header
    assert heard[0] == "reading" and any(x.startswith("scale: checking") for x in heard)


def test_the_text_is_the_same_every_time() -> None:
    assert build(SCALE).text == build(SCALE).text


def test_one_function_only() -> None:
    result = build(TWO, Options(measure=False, target="generic", functions=("other",)))
    assert [f.function.name for f in result.functions] == ["other"]
    assert "planish_other_1" in result.text and "planish_scale_1" not in result.text
    both = build(TWO, Options(measure=False, target="generic", functions=("other", "scale")))
    assert {f.function.name for f in both.functions} == {"other", "scale"}


@pytest.mark.parametrize(
    ("text", "function", "code"),
    [
        (SCALE, "missing", "E0104"),
        ("int two(void) { return 2; }", None, "E0105"),
        (TWO.replace("other", "scale"), None, "E0204"),
    ],
)
def test_refusals_have_codes(text: str, function: str | None, code: str) -> None:
    with pytest.raises(PlanishError) as caught:
        read_file(Source("scale.c", text), Options(functions=() if function is None else (function,)))
    assert caught.value.diagnostic.code == code
    assert caught.value.diagnostic.advice


def test_what_cannot_be_planned_stays_and_says_why() -> None:
    text = "void f(int n, const int *p, double *x) { for (int i = 0; i < n; i++) x[p[i]] += 1; }"
    result = build(text)
    assert result.text.endswith(text)
    assert not result.functions[0].replacements
    assert [r.kind for r in (*result.remarks, *result.functions[0].remarks)] == ["refused"]


def test_a_function_that_cannot_be_called_is_left_alone_with_a_reason() -> None:
    text = "void f(int, double *x) { for (int i = 0; i < 8; i++) x[i] = 1; }\n"
    result = build(text)
    assert result.text.endswith(text) and result.functions[0].selection is None
    assert any("a parameter has no name" in r.message for r in result.functions[0].remarks)


def test_the_original_is_kept_where_the_text_is_composed_of_nothing() -> None:
    assert compose(SCALE, [], "") == SCALE


def test_options_are_spelt_as_on_the_command_line() -> None:
    options = Options(target="generic", threads=4, sizes={"n": 5}, defines=("A=1",))
    assert options.describe() == "--target generic --fp reassociate --threads 4 --size n=5 -DA=1"


def test_a_region_has_its_candidates_in_order() -> None:
    file = read_file(Source("scale.c", SCALE), QUIET)
    found = lower_region(file.functions[0].regions[0], QUIET, load_target("generic"))
    assert found.prepared is not None and found.candidates and found.remarks == ()


@pytest.mark.parametrize("raising", [True, False])
def test_calls_of_the_library_are_only_tried_where_they_are_wanted(raising: bool) -> None:
    options = replace(QUIET, raising=raising)
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[j * n + i] = x[i * n + j];"
    file = read_file(Source("f.c", f"void f(int n, float *restrict x, float *restrict y) {{ {loops} }}\n"), options)
    plan = lower_region(file.functions[0].regions[0], options, load_target("x86-avx2"))
    assert ("operations" in [x.name for x in plan.versions]) == raising
    assert ("--no-raise" in options.describe()) != raising


def test_each_stage_is_made_by_one_pass_and_all_time_is_of_passes() -> None:
    assert [y for x in PASSES for y in x.stages] == list(STAGES)
    times = PassTimes()
    build_file(Source("scale.c", SCALE), QUIET, times=times)
    assert {*times.seconds} <= {x.name for x in PASSES} and len(times.seconds) == len(PASSES)


def test_a_script_for_a_bit_reversal_says_why_it_cannot_be() -> None:
    text = (ROOT / "examples/dsp/fft_radix2.c").read_text()
    script = Source("s.sched", "unroll i 4\n")
    for region in (x for f in read_file(Source("f.c", text), QUIET).functions for x in f.regions if x.reversal):
        plan = lower_region(region, replace(QUIET, script=script), load_target("generic"))
        assert not plan.versions and [x.kind for x in plan.remarks] == ["refused"]


HALVES = "float dot(int n, const __bf16 *x) { float s = 0; for (int i = 0; i < n; i++) s += (float)x[i]; return s; }\n"


def compiler_for(type: Type, known: bool) -> str:
    """A compiler that has a type, or has it not."""
    found = next((x.name for x in find_compilers() if knows(x, type) == known), None)
    return found or pytest.skip(f"no compiler {'has' if known else 'lacks'} the type")


def test_without_the_type_nothing_is_checked() -> None:
    result = build(HALVES + SCALE, replace(QUIET, compiler=compiler_for(BF16, known=False)))
    assert not any(x.replacements for x in result.functions)
    assert all("has no `__bf16`" in x.remarks[0].message for x in result.functions)


def test_bf16_is_read_as_its_bits() -> None:
    result = build(HALVES, replace(QUIET, compiler=compiler_for(BF16, known=True)))
    (function,) = result.functions
    assert function.selection is not None and function.selection.verdict is not None
    assert (function.selection.verdict.status, len(function.replacements)) == ("ok", 1)
    assert "planish_from_bf16(" in result.text


def test_stages_come_first_whatever_other_nests_have() -> None:
    text = """void f(int *a, int n, int m)
{
    for (int i = 0; i < m; i++) a[i] += 1;
    for (int h = 1; h < n; h *= 2)
        for (int i = 0; i < n; i += 2 * h)
            for (int j = i; j < i + h; j++) { int x = a[j]; a[j] = x + a[j + h]; a[j + h] -= x; }
}
"""
    file = read_file(Source("f.c", text), QUIET)
    plans = tuple(lower_region(x, QUIET, load_target("generic"), 1) for x in file.functions[0].regions)
    versions, _ = make_drop_ins(plans, file, QUIET)
    assert [x.label for x in versions] == ["fft-radix-16", "maxfuse"]
    assert [len(x.shipped) for x in versions] == [2, 2]
    assert "planish_f_1(" in versions[0].text and "planish_f_2_stages4(" in versions[0].text
