"""Strips for HVX are called in an emulator beside the loops that they stand for; arrays end at forbidden pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planish.core.diagnostic import PlanishError, Remark
from planish.emit.c.instruction_calls import headers_of
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.ir.text.parser import parse_kernel
from planish.ir.types import I64
from planish.isa.shipped import shipped
from planish.library.loops.vector_strips.selected_strips import strip_versions
from planish.run.calls.abi_wrapper import entries_text
from planish.run.calls.loaded_library import Arguments, Drawn
from planish.run.calls.signature import Parameter, Placement, Signature
from planish.run.toolchains.cross import compiler_for, runner_for
from planish.run.toolchains.emulated import open_library
from planish.run.toolchains.toolchain import Compiler, compile_library
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target

TARGET = load_target("hexagon-hvx")
LINES = {
    "average": ("A: u8[n], B: u8[n]", "B[i] = u8(i32(A[i]) + i32(B[i]) + 1:i32 >> 1:i32)"),
    "greatest": ("A: u8[n + 2], B: u8[n]", "B[i] = max(max(A[i], A[i + 1]), A[i + 2])"),
    "pairs": (
        "A: u8[n + 2], B: u8[n]", "B[i] = u8(i32(A[i]) + 2:i32 * i32(A[i + 1]) + i32(A[i + 2]) + 2:i32 >> 2:i32)"
    ),
    "shorts": ("A: i16[n], B: i16[n]", "B[i] = min(A[i], B[i])"),
    "rounded high products": (
        "A: i32[n], C: i32[n], B: i16[n]",
        "B[i] = i16(max(min((i64(A[i]) * i64(C[i]) + 1073741824:i64) >> 31:i64, 32767:i64), -32768:i64))",
    ),
    "scaled bytes": (
        "A: u8[n], C: i32[n], B: u8[n]",
        "B[i] = u8(max(min((i64(i32(A[i]) - 7:i32) * i64(C[i]) + 128:i64) >> 8:i64, 255:i64), 0:i64))",
    ),
    "low products": (
        "A: u32[n], C: u32[n], B: i16[n]",
        "B[i] = i16(max(min(i32(A[i] * C[i] * (A[i] + 40503:u32)), 32767:i32), -32768:i32))",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> tuple[Compiler, tuple[str, ...]]:
    """The compiler, and the command that calls libraries."""
    try:
        compiler = compiler_for(TARGET, None)
    except PlanishError as error:
        pytest.skip(error.diagnostic.message)
    runner = runner_for(TARGET, compiler, tmp_path_factory.mktemp("caller"))
    if runner.missing:
        pytest.skip(runner.missing)
    return compiler, runner.command


@pytest.mark.parametrize("name", LINES)
def test_strips_for_hvx_are_the_same(name: str, tools: tuple[Compiler, tuple[str, ...]], tmp_path: Path) -> None:
    compiler, command = tools
    head, statement = LINES[name]
    arrays = head.replace("]", "] distinct")
    kernel = parse_kernel(f"kernel k(n; {arrays}) {{ for i in 0 .. n {{ {statement} }} }}")
    (made,) = (x for x in strip_versions(prepare(kernel), TARGET) if not isinstance(x, Remark))
    known = shipped().joined(made.catalogue)
    texts = [
        emit_function(kernel, "plain", noalias=True),
        emit_function(made.kernel, "strips", noalias=True, catalogue=known),
    ]
    parameters = (Parameter("n", I64, "value"), *(Parameter(x.name, x.type, "array") for x in kernel.arrays))
    signatures = [Signature(x, parameters) for x in ("plain", "strips")]
    text = emit_prologue(texts, headers=headers_of(made.kernel, known)) + entries_text(signatures)
    assert "Q6_" in text
    library = str(compile_library(compiler, text, (*TARGET.flags_for(compiler.kind), "-O2"), tmp_path))
    functions = [open_library(library, x, command) for x in signatures]
    for n in (0, 5, 128, 200, 4000):
        random = np.random.default_rng(n)
        values = {x.name: random.integers(*_range(x.type.numpy), n + 2).astype(x.type.numpy) for x in kernel.arrays}
        for x in values.values():
            x[n // 2 :] = random.choice([*x[:3], np.iinfo(x.dtype).min, np.iinfo(x.dtype).max], n + 2 - n // 2)
        for placement in _PLACEMENTS:
            results = []
            for signature, function in zip(signatures, functions, strict=True):
                drawn = Drawn(values, {"n": np.array([n], np.int64)})
                given = Arguments(signature, drawn, placement)
                function.call(given)
                assert not given.spilled()
                results.append({x: y.tolist() for x, y in given.views.items()})
            assert results[0] == results[1], (n, placement)


_PLACEMENTS: tuple[Placement, ...] = ("start", "end")


def _range(kind: Any) -> tuple[int, int]:
    found = np.iinfo(kind)
    return int(found.min), int(found.max) + 1
