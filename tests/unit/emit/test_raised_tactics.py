"""Every operation that comes with Planish, in every form that runs: it computes what its definition says."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from raised_examples import check_close, copied, meant, numbers
from test_raised_cblas import Blas, build, find_blas
from test_raised_cblas import run as run_blas
from test_raised_mlir import build as build_mlir
from test_raised_mlir import call as call_mlir
from test_raised_mlir import tools as tools

from planish.emit.formats.blas.cblas_text import emit_cblas
from planish.emit.formats.json_text import emit_json, parse_json
from planish.emit.formats.mlir.mlir_text import emit_mlir
from planish.emit.formats.numpy.numpy_text import emit_numpy
from planish.ir.expr import Var
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Kernel
from planish.ir.types import INDEX
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Raised, whole
from planish.raising.tdl.reader import load_tactics

OPERATIONS = [x.operation for x in load_tactics()]


def raised_alone(operation: Operation) -> Raised:
    """An operation on whole arrays."""
    own = operation.definition
    apply = Apply(
        operation, {x.name: whole(x) for x in own.arrays}, {x: Var(x, INDEX) for x in own.sizes},
        {x.name: Var(x.name, x.type) for x in own.scalars}, own.assumptions,
    )  # fmt: skip
    return Raised(own, (apply,))


def choices(kernel: Kernel) -> Iterator[Mapping[str, int]]:
    """Small sizes for which the kernel means something."""
    found = 0
    for values in product((3, 2, 4, 1, 5), repeat=len(kernel.sizes)):
        sizes = dict(zip(kernel.sizes, values, strict=True))
        good = all(evaluate(x, sizes) for x in kernel.assumptions)
        if good and all(evaluate(e, sizes) >= 0 for x in kernel.arrays for e in x.shape if e is not None):
            yield sizes
            found += 1
        if found == 2:
            return


def cases(kernel: Kernel) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Values, and what the definition makes of them."""
    for sizes in choices(kernel):
        values = numbers(kernel, sizes)
        for array in kernel.arrays:
            if array.type.is_int:
                values[array.name][...] = 0
            elif len(array.shape) == 2 and values[array.name].shape[0] == values[array.name].shape[1]:
                # What is factored or solved should be far from singular.
                size = values[array.name].shape[0]
                values[array.name][...] = 0.2 * (values[array.name] + values[array.name].T) + 3 * np.eye(size)
        yield values, meant(kernel, values)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda x: x.name)
def test_numpy_and_json(operation: Operation) -> None:
    raised = raised_alone(operation)
    assert parse_json(emit_json(raised)) == (raised,)
    text = emit_numpy(raised)
    scope: dict[str, Any] = {}
    exec(text, scope)
    tried = 0
    for values, wanted in cases(raised.kernel):
        found = copied(values)
        next(v for k, v in scope.items() if k.rstrip("_") == raised.kernel.name)(*found.values())
        check_close(raised.kernel, found, wanted, text)
        tried += 1
    assert tried


def test_cblas(tmp_path: Any) -> None:
    blas: Blas = find_blas(tmp_path, False)
    every = {x.name: raised_alone(x) for x in OPERATIONS}
    text = emit_cblas(*every.values())
    library = build(text, tmp_path, blas.flags)
    assert isinstance(library, ctypes.CDLL), library
    for name, raised in every.items():
        for values, wanted in cases(raised.kernel):
            found = copied(values)
            run_blas(library, raised.kernel, found)
            check_close(raised.kernel, found, wanted, name)


def test_mlir(tools: dict[str, str], tmp_path: Any) -> None:
    every = {x.name: raised_alone(x) for x in OPERATIONS}
    library = build_mlir(emit_mlir(*every.values()), tools, tmp_path)
    for name, raised in every.items():
        for values, wanted in cases(raised.kernel):
            found = copied(values)
            call_mlir(library, raised.kernel, found)
            check_close(raised.kernel, found, wanted, name)
