"""What is prepared for a run on a GPU, what a run keeps, and the table of it; no device and no torch are needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import gpu_device
from bench.devices.host_calls import shapes_of
from bench.devices.manifest import (
    Built,
    HostFunction,
    Manifest,
    Parameter,
    find_head,
    read_flags,
    read_launches,
    read_manifest,
    read_parameters,
    value_of,
)
from bench.devices.native import anchor_heads, read_usage
from bench.devices.prepare import ANCHORS
from bench.devices.programs import PARTS, PROGRAMS, SOURCES
from bench.devices.state import State
from bench.devices.table import claims_of, lines_of
from bench.devices.timing import ROUNDS, run_rounds

HEADER = """
int planish_f_1_launch(ptrdiff_t n, const float *a, float *b, void *workspace, cudaStream_t stream);
size_t planish_f_1_workspace(ptrdiff_t n);
"""


def test_arrays_of_c_are_pointers() -> None:
    text = "int m, const float a[m][(m + 1) * f(m, 2)], float c[restrict m][m], unsigned char *restrict x"
    read = read_parameters(text)
    assert read == (
        Parameter("int", "m"), Parameter("float *", "a"), Parameter("float *", "c"), Parameter("unsigned char *", "x")
    )  # fmt: skip
    assert read_parameters("void") == ()


def test_a_manifest_comes_back_as_it_was(tmp_path: Path) -> None:
    built = Built(
        "f", "own", "f.own/original.c", "f.own/f.cu", read_flags("/* …; compile: nvcc -O3 -arch=sm_90 -c f.cu */\n"),
        read_launches(HEADER), read_launches(HEADER, "workspace"), "said", sizes={"n": 8},
    )  # fmt: skip
    assert built.flags == ("-O3", "-arch=sm_90")
    assert [x.name for x in (*built.launches, *built.workspaces)] == ["planish_f_1_launch", "planish_f_1_workspace"]
    Manifest((built,), "abc").write(tmp_path)
    assert read_manifest(tmp_path) == Manifest((built,), "abc")


def test_values_are_found_by_the_names_of_launches() -> None:
    assert value_of({"n": 3, "_x": 4}, "v_x") == 4
    with pytest.raises(KeyError):
        value_of({"n": 3}, "m")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda x: x.name)
def test_each_program_has_a_c_file_whose_parameters_have_values(program) -> None:
    source = (SOURCES / f"{program.source}.c").read_text()
    head = find_head(source, program.function or program.name)
    sizes = program.sizes_at(7, 1)
    known = {**sizes, **program.scalars, **program.tensors}
    assert {x.name for x in head.parameters[1:]} <= known.keys()
    for x in program.tensors.values():
        assert all(y.isdigit() or y in sizes for y in x.shape)
    anchors = {x.name for x in program.anchors}
    assert program.part in PARTS
    for measure in program.measures:
        assert set(measure.bars) <= anchors
        assert program.work(dict(measure.sizes) or program.sizes_at(measure.size, 0)) > 0


def test_a_missing_function_is_named() -> None:
    with pytest.raises(ValueError, match="no function g"):
        find_head("void f(int n) { }", "g")


def test_anchors_have_launches() -> None:
    heads = anchor_heads(ANCHORS.read_text())
    wanted = read_parameters("ptrdiff_t n, const float *a, float *b, cudaStream_t stream")
    assert heads["anchor_copy"] == HostFunction("anchor_copy", wanted)
    assert len(heads) == 4


def test_shapes_stand_in_preprocessed_heads() -> None:
    source = "void kernel_f(int n, double alpha,\n double A[10][20], double x[20])\n{\n}"
    assert shapes_of(source, "kernel_f") == {"A": (10, 20), "x": (20,)}


def test_registers_and_spills_are_read() -> None:
    said = (
        "ptxas info : Compiling entry function '_Z3fooi' for 'sm_90'\n"
        " 0 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
        "ptxas info : Used 32 registers, 64 bytes smem\n"
    )
    assert read_usage(said) == {"_Z3fooi": {"registers": 32, "spilled": 12, "shared": 64}}


def test_contestants_take_turns() -> None:
    met: list[str] = []
    times = run_rounds(None, "cpu", {"a": [lambda: met.append("a")], "b": [lambda: met.append("b")]}, 5.0)
    assert {len(x.seconds) for x in times.values()} == {ROUNDS}
    assert set(met[:2]) == {"a", "b"} and all(x.median >= 0 for x in times.values())


def test_a_state_survives_the_process_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    state = State(path)
    state.begin("check f.own", 1.0)
    after = State(path)
    assert after.content["current"] == "check f.own" and not after.is_done("check f.own")
    after.fail("check f.own", "its process ended with -9")
    assert State(path).is_done("check f.own") and State(path).content["faults"]


def _content(card: str) -> dict:
    measured = {"own": 30.0, "own-tall": 45.0, "cublas": 50.0}
    timed = {
        "unit": "TFLOPS", "sets": 2, "rates": {x: {"rate": y, "rounds": 21} for x, y in measured.items()},
        "bars": {"cublas": 0.85}, "card_bars": {"H200": {"cublas": 0.95}},
    }  # fmt: skip
    return {
        "facts": {"card": card, "commit": "abc"}, "compiled": {"f.own": {"error": "no"}}, "faults": [],
        "items": {
            "check gemm.own": {"calls": 12, "wrong": []}, "time gemm.1024": timed,
            "time gemm.2048": {"skipped": "the time of its part was over"},
        },
    }  # fmt: skip


def test_the_table_has_a_claim_for_each_bar() -> None:
    lines = list(lines_of(_content("NVIDIA H100")))
    assert "claim gpu.device.gemm_1024_over_cublas value=0.9 bar=0.85 ok" in lines
    assert "f.own: not compiled" in lines and "time gemm.2048: skipped: the time of its part was over" in lines
    assert [str(x) for x in claims_of(_content("NVIDIA H200"))][-1].endswith("bar=0.95 short")


def test_what_is_wrong_or_failed_is_counted() -> None:
    content = _content("NVIDIA H100")
    content["items"]["check dot.own"] = {"failed": "an illegal address"}
    claims = {x.name: x for x in claims_of(content)}
    assert not claims["gpu.device.wrong"].ok and not claims["gpu.device.checked"].ok


def test_a_verb_that_is_unknown_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_device.main(["measure"]) == 2
    assert "prepare" in capsys.readouterr().err
