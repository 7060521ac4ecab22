"""Kernels read from MLIR compute what LLVM's lowering of the same text computes, element by element.

Each file in kernels/ has functions for one construct. A line `// NAME: size=number …` says with which sizes a function
is called; others are 5, 6 or 7. With `corners` its floats are NaN, infinities and zeros of both signs, too.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.frontend_mlir.lowered import Memref, call, dense, lower, missing_tools
from xdsl.dialects.builtin import MemRefType

from planish.core.span import Source
from planish.frontend.mlir.reader import read_mlir
from planish.frontend.mlir.syntax import parse_module
from planish.frontend.mlir.types import layout_of, scalar_type
from planish.ir.nest import Array, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.types import Floats, Type
from planish.poly.scop.extents import evaluate_extent

FILES = sorted((Path(__file__).parent / "kernels").glob("*.mlir"))
STRIDED = 400
"""Elements of the memory behind a strided memref."""
CORNERS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5)


def test_there_are_many() -> None:
    assert len(FILES) >= 5


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_means_what_llvm_makes_of_it(path: Path, tmp_path: Path) -> None:
    if missing_tools():
        pytest.skip(f"no {missing_tools()} here")
    check_file(path, tmp_path)


def check_file(path: Path, folder: Path) -> None:
    """Compare every function of a file."""
    library = lower(path, folder)
    source = Source(str(path), path.read_text())
    types = {op.sym_name.data: list(op.function_type.inputs.data) for op in parse_module(source).operations}
    readings: tuple[Floats, ...] = ("strict", "reassociate")
    for floats in readings:
        for kernel in read_mlir(source, (), floats):
            given = re.search(rf"^// {kernel.name}:(.*)$", source.text, re.MULTILINE)
            words = given[1].split() if given else []
            if "corners" in words and floats != "strict":
                continue  # no NaN is promised then
            compare(kernel, types[kernel.name], words, library, 32 if "many" in words else 4)


def compare(kernel: Kernel, types: list[Any], words: list[str], library: Any, times: int) -> None:
    sizes = {name: 5 + number % 3 for number, name in enumerate(kernel.sizes)}
    sizes |= {name: int(value) for name, _, value in (x.partition("=") for x in words) if value}
    for seed in range(times):
        random = np.random.default_rng(seed)
        arrays = {a.name: fill(shape_of(a, sizes), a.type, random, "corners" in words) for a in kernel.arrays}
        scalars = {s.name: fill((), s.type, random, "corners" in words)[()] for s in kernel.scalars}
        mine = {name: array.copy() for name, array in arrays.items()}
        run_kernel(kernel, {**sizes, **scalars, **mine})
        call(library, kernel.name, llvm_arguments(kernel, types, sizes, scalars, arrays))
        for name, array in arrays.items():
            message = f"{kernel.name}: {name} with {sizes}"
            if array.dtype.kind == "f":
                close = {"rtol": 4e-6, "atol": 1e-6} if array.dtype == np.float32 else {"rtol": 1e-13, "atol": 1e-13}
                np.testing.assert_allclose(mine[name], array, err_msg=message, equal_nan=True, **close)
                numbers = ~np.isnan(array)
                assert (np.signbit(mine[name]) == np.signbit(array))[numbers].all(), message
            else:
                np.testing.assert_array_equal(mine[name], array, err_msg=message)


def shape_of(array: Array, sizes: dict[str, int]) -> tuple[int, ...]:
    return tuple(STRIDED if x is None else evaluate_extent(x, sizes) or 0 for x in array.shape)


def fill(shape: tuple[int, ...], type: Type, random: np.random.Generator, corners: bool) -> np.ndarray[Any, Any]:
    if type.is_float:
        values = random.choice(CORNERS, shape) if corners else random.normal(size=shape)
        return np.asarray(values, type.numpy)
    if type.kind == "bool":
        return np.asarray(random.integers(0, 2, shape), "bool")
    low, high = (1, 100) if type.kind == "uint" else (-100, 100)
    small = random.integers(low, high, shape)
    wide = random.integers(np.iinfo(type.numpy).min, np.iinfo(type.numpy).max, shape, dtype=type.numpy)
    return np.asarray(np.where(random.integers(0, 2, shape) == 1, small, wide), type.numpy)


def llvm_arguments(
    kernel: Kernel, types: list[Any], sizes: dict[str, int], scalars: dict[str, Any], arrays: dict[str, Any]
) -> list[Any]:
    """The arguments in the order of the function: its sizes that no memref brings, scalars and memrefs."""
    behind = iter(kernel.arrays)
    plain = iter(scalars.values())
    called = iter([x for x in kernel.sizes if x in ("n", "m", "k", "n2")])
    out: list[Any] = []
    for type in types:
        if not isinstance(type, MemRefType):
            scalar = scalar_type(type)
            assert scalar is not None
            is_size = str(type) == "index" or not scalar.is_float and len(kernel.scalars) == 0
            out.append(np.dtype(scalar.numpy).type(sizes[next(called)]) if is_size else next(plain))
            continue
        array, layout = next(behind), layout_of(type)
        assert not isinstance(layout, str)
        if layout.strides is None:
            out.append(dense(arrays[array.name]))
            continue
        extents = [sizes[f"{array.name}_{i}"] if n is None else n for i, n in enumerate(layout.extents)]
        strides = [sizes[f"{array.name}_stride{i}"] if n is None else n for i, n in enumerate(layout.strides)]
        offset = sizes[f"{array.name}_offset"] if layout.offset is None else layout.offset
        out.append(Memref(arrays[array.name], offset, tuple(extents), tuple(strides)))
    return out
