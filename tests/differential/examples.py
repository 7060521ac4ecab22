"""The examples as kernels, with data on which each of them is well conditioned."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.expr import Binary, Expr, Var, index
from planish.ir.nest import Block, For, Kernel, Stmt
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.traverse import map_block, map_exprs, substitute
from planish.ir.types import INDEX
from planish.poly.scop.extents import evaluate_extent, pick_sizes, valid_sizes
from planish.poly.scop.extraction import extract_scop

FOLDER = Path(__file__).parents[2] / "examples"
POLYBENCH = tuple(sorted(p.stem for p in (FOLDER / "polybench").glob("*.c")))
DSP = tuple(sorted(p.stem for p in (FOLDER / "dsp").glob("*.c")))

Values = dict[str, int | float | np.ndarray]


@cache
def kernel_of(name: str) -> Kernel:
    """The kernel of a PolyBench file."""
    path = FOLDER / "polybench" / f"{name}.c"
    file = read_c(Source(str(path), path.read_text()), defines=("MINI_DATASET",), include_dirs=(path.parent,))
    (function,) = file.functions
    (region,) = function.regions
    return region.kernel


def sizes_near(kernel: Kernel, value: int) -> dict[str, int]:
    """Sizes about as large as `value`, a little apart, that no access leaves its array with."""
    wanted = {name: value + (i % 3 if value > 2 else 0) for i, name in enumerate(kernel.sizes)}
    picked = pick_sizes(valid_sizes(extract_scop(kernel)), wanted)
    assert picked is not None
    return picked


def make_values(kernel: Kernel, sizes: dict[str, int], seed: int) -> Values:
    """Random data: matrices are symmetric with a heavy diagonal, so that they can be factorised and divided by."""
    rng = np.random.default_rng(seed)
    out: Values = dict(sizes)
    for scalar in kernel.scalars:
        out[scalar.name] = float(rng.uniform(0.2, 0.8)) if scalar.type.is_float else 2
    for array in kernel.arrays:
        shape = tuple(evaluate_extent(x, sizes) or 0 for x in array.shape if x is not None)
        assert len(shape) == len(array.shape)
        if not array.type.is_float:
            out[array.name] = rng.integers(0, 9, size=shape).astype(array.type.numpy)
            continue
        data = rng.uniform(0.01, 0.1, size=shape)
        if len(shape) == 2:
            short = min(shape)
            square = data[:short, :short]
            data[:short, :short] = (square + square.T) / 2 + np.eye(short) * 8
        out[array.name] = data.astype(array.type.numpy)
    return out


def run_arrays(kernel: Kernel, values: Values) -> dict[str, np.ndarray]:
    """The arrays after a run on a copy of the data."""
    mine: Values = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in values.items()}
    run_kernel(kernel, mine)
    return {k: v for k, v in mine.items() if isinstance(v, np.ndarray)}


def find_difference(before: dict[str, np.ndarray], after: dict[str, np.ndarray], exact: bool) -> str | None:
    """The first array that differs, in any bit or by more than rounding; None where all agree."""
    for name, wanted in before.items():
        assert np.all(np.isfinite(wanted)), f"{name} is not finite: the data say nothing"
        got = after[name]
        rounding = 1e-4 if wanted.dtype == np.float32 else 1e-9
        same = wanted.tobytes() == got.tobytes()
        if same or (not exact and np.allclose(got, wanted, rtol=rounding, atol=1e-12)):
            continue
        at = tuple(int(x) for x in np.argwhere(wanted != got)[0])
        return f"{name}{list(at)} is {got[at]}, not {wanted[at]}"
    return None


def turn_back(kernel: Kernel) -> Kernel:
    """The kernel with every loop that is said to be independent run backwards; sums in lanes stay as they are."""

    def turned(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For) or not (stmt.facts.simd or stmt.facts.parallel) or stmt.facts.reductions:
            return stmt
        spread = Binary("sub", Binary("sub", stmt.upper, index(1)), stmt.lower)
        steps = Binary("mul", Binary("floordiv", spread, index(stmt.step)), index(stmt.step))
        last = Binary("add", Binary("add", stmt.lower, stmt.lower), steps)
        mirrored: dict[str, Expr] = {stmt.var: Binary("sub", last, Var(stmt.var, INDEX))}
        return replace(stmt, body=_substituted(stmt.body, mirrored))

    return replace(kernel, body=map_block(turned, kernel.body))


def _substituted(block: Block, values: dict[str, Expr]) -> Block:
    return map_block(lambda stmt: map_exprs(lambda x: substitute(x, values), stmt), block)
