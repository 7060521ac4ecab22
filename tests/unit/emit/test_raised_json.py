"""Raised kernels as JSON: they come back as they were, and what is not of the form is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from raised_examples import EXAMPLES, Example

from planish.core.diagnostic import PlanishError
from planish.emit.formats.json_text import emit_json, parse_json
from planish.ir.text.parser import parse_expr, parse_kernel
from planish.raising.raised import Apply, Raised


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda x: x.name)
def test_it_comes_back(example: Example) -> None:
    text = emit_json(example.raised)
    assert parse_json(text) == (example.raised,)
    assert emit_json(*parse_json(text)) == text


def test_locals_conditions_and_reserved_names_come_back() -> None:
    kernel = parse_kernel("kernel k(`step`, n; `row`: f32; x: f64[?, n] distinct) assume n >= `step` { }")
    local = parse_kernel("kernel k(n; `alloc`: f32[n, 2] scratch, t: i8[]) { }").arrays
    first = next(x for x in EXAMPLES if x.name == "diagonal").raised.steps[0]
    assert isinstance(first, Apply)
    step = replace(first, conditions=(parse_expr("n > 2"),))
    raised = Raised(kernel, (step,), local)
    scalars = {"a": parse_expr("2.5")}
    raised = replace(raised, steps=(replace(step, scalars=scalars, operands={}),))
    assert parse_json(emit_json(raised)) == (raised,)


def test_the_schema() -> None:
    value = json.loads(emit_json(next(x for x in EXAMPLES if x.name == "dots").raised))
    assert (value["format"], value["version"]) == ("planish-raised", 1)
    (step,) = value["kernels"][0]["steps"]
    assert step["operands"]["y"] == {"array": "y", "start": ["3 * n - 1"], "steps": [[-3]], "shape": ["n"]}
    assert step["span"] == {"file": "dots.k", "line": 3, "column": 1, "end_line": 3, "end_column": 9}


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"format": "planish-raised", "version": 2}', '{"format": "planish-raised", "version": 1}',
     '{"format": "planish-raised", "version": 1, "kernels": [{}]}',
     '{"format": "planish-raised", "version": 1, "kernels": 3}'],
)  # fmt: skip
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(PlanishError, match="E0842"):
        parse_json(text)
