"""The tables of the suites agree with the C files."""

from __future__ import annotations

import doctest
import importlib

import pytest

from bench.harness.suite import DATASETS, Suite, evaluate_length, read_source
from bench.races.dsp import DSP, LENGTHS
from bench.races.polybench import POLYBENCH
from planish.build.read import read_file
from planish.options import Options

SCRIPTS = ("harness.suite", "harness.record", "harness.progress", "harness.places", "promises.claim", "races.dsp")


@pytest.mark.parametrize("module", [*SCRIPTS, "guards.build_time", "guards.ranking"])
def test_examples_in_the_scripts(module: str) -> None:
    outcome = doctest.testmod(importlib.import_module(f"bench.{module}"))
    assert outcome.attempted > 0 and outcome.failed == 0


def test_every_pointer_of_every_function_has_a_length() -> None:
    described = set()
    for file in DSP.files():
        for function in read_file(read_source(file), Options()).functions:
            pointers = {p.name for p in function.parameters if p.pointer}
            assert pointers == set(LENGTHS[function.name]), function.name
            described.add(function.name)
            for dataset in DATASETS:
                elements = DSP.case(function, DSP.sizes(file, dataset)).elements
                assert all(elements[name] > 0 for name in pointers)
    assert described == set(LENGTHS)


def test_the_extents_of_a_dataset_hold_its_sizes() -> None:
    file = POLYBENCH.files(["gemm"])[0]
    options = Options(defines=POLYBENCH.defines("MEDIUM"), include_dirs=(POLYBENCH.folder,))
    function = read_file(read_source(file), options).functions[0]
    sizes = POLYBENCH.sizes(file, "MEDIUM")
    case = POLYBENCH.case(function, sizes)
    assert case.elements["A"] == sizes["ni"] * sizes["nk"]
    assert {name: case.values[name] for name in sizes} == sizes


@pytest.mark.parametrize("suite", [POLYBENCH, DSP])
def test_every_file_has_sizes_for_every_dataset(suite: Suite) -> None:
    for file in suite.files():
        for dataset in DATASETS:
            assert all(value > 0 for value in suite.sizes(file, dataset).values())


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="no kernel gem in polybench; it has 2mm, 3mm"):
        POLYBENCH.files(["gemm", "gem"])


@pytest.mark.parametrize("text", ["n ** 2", "m", "n.real", "f(n)", "1.5"])
def test_a_length_is_sizes_and_plain_arithmetic(text: str) -> None:
    with pytest.raises(ValueError, match="cannot evaluate the length"):
        evaluate_length(text, {"n": 3})
