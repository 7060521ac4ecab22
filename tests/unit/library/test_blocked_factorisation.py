"""Solves, triangular products and factorisations by blocks compute what their definitions do, at sizes around those of
the blocks.

>>> sorted(x.split("_")[0] for x in NAMES)[:3]
['cholesky', 'cholesky', 'lu']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from planish.ir.expr import Compare, index
from planish.ir.index.polynomial import sub
from planish.ir.nest import Array, Block
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.types import F64, I32
from planish.library.dense.blocked_factorisation import CHOLESKY, LU, cut_factor, is_factor
from planish.library.parallel.work_sharing import are_apart
from planish.raising.expansion import expand, write_steps
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Loops, Raised, Repeat, Shares, Step, View, walk_steps, whole
from planish.raising.tdl.reader import load_tactics

KNOWN = {x.operation.name: x.operation for x in load_tactics()}
NAMES = [x for x in KNOWN if x in (*CHOLESKY, *LU) or x.startswith(("trsm_", "trmm_"))]
SIZES = [(0, 3), (1, 1), (3, 4), (4, 3), (7, 5), (9, 9), (11, 2)]


def apply(operation: Operation) -> Apply:
    """The operation on arrays of its own."""
    definition = operation.definition
    operands = {x.name: whole(x) for x in definition.arrays}
    return Apply(operation, operands, {x: index(x) for x in definition.sizes})


def backwards(step: Apply) -> Apply:
    """The operation on the same arrays, seen from their last row and column on."""

    def turned(view: View) -> View:
        start = tuple(sub(x, index(1)) for x in view.shape)
        return View(view.array, start, tuple(tuple(-x for x in y) for y in view.steps), view.shape)

    return replace(step, operands={x: turned(y) for x, y in step.operands.items()})


def fill(operation: Operation, sizes: dict[str, int]) -> dict[str, Any]:
    """Matrices that can be factorised: large on their diagonals."""
    generator = np.random.default_rng(sum(sizes.values()))
    out: dict[str, Any] = dict(sizes)
    for array in operation.definition.arrays:
        shape = [sizes[str(x.name)] for x in array.shape]  # type: ignore[union-attr]
        made = generator.random(shape) + (sum(shape) * np.eye(*shape) if array.name == "A" else 0.0)
        out[array.name] = (made + made.T) / 2 if operation.name in CHOLESKY else made
    return out


@pytest.mark.parametrize("seen", [apply, lambda x: backwards(apply(x))], ids=["forwards", "backwards"])
@pytest.mark.parametrize("name", NAMES)
def test_blocks_compute_what_is_defined(name: str, seen: Callable[[Operation], Apply]) -> None:
    operation = KNOWN[name]
    step, empty = seen(operation), replace(operation.definition, body=Block(()))
    definition = expand(Raised(empty, (step,)))
    arrays = {x.name: x for x in definition.arrays}
    steps, own = cut_factor(step, arrays, 3, {*arrays, *definition.sizes})
    products = [x for x in walk_steps(steps) if isinstance(x, Apply) and x.operation.name == "gemm"]
    assert products
    if name.startswith("tr"):
        # The library's product would not take a triangle that is seen backwards.
        triangles = [y for x in products for y in x.operands.values() if y.array == "A"]
        assert triangles and all(sum(step) > 0 for y in triangles for step in y.steps)
    blocked = expand(Raised(empty, steps, own))
    for m, n in SIZES:
        sizes = {x: {"m": m, "n": n}[x] for x in definition.sizes}
        wanted, found = fill(operation, sizes), fill(operation, sizes)
        run_kernel(definition, wanted)
        run_kernel(blocked, found)
        for array in arrays:
            np.testing.assert_allclose(found[array], wanted[array], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_threads_have_shares_that_lie_apart(name: str) -> None:
    operation = KNOWN[name]
    step, empty = apply(operation), replace(operation.definition, body=Block(()))
    arrays = {x.name: x for x in operation.definition.arrays}
    taken = {*arrays, *operation.definition.sizes}
    steps, own = cut_factor(step, arrays, 3, {*taken}, threads=3, grain=2)
    shared = [x for x in walk_repeats(steps) if x.shares is not None]
    assert shared
    for repeat in shared:
        around = replace(empty, sizes=(*empty.sizes, "first"), assumptions=(Compare("ge", index("first"), index(0)),))
        assert are_apart(repeat, Block(tuple(write_steps(repeat.steps, arrays, {*taken}))), around)
    definition, cut = expand(Raised(empty, (step,))), expand(Raised(empty, steps, own))
    for m, n in SIZES:
        sizes = {x: {"m": m, "n": n}[x] for x in definition.sizes}
        wanted, found = fill(operation, sizes), fill(operation, sizes)
        run_kernel(definition, wanted)
        run_kernel(cut, found)
        for array in arrays:
            np.testing.assert_allclose(found[array], wanted[array], rtol=1e-12, atol=1e-14)


def walk_repeats(steps: Sequence[Step]) -> Iterator[Repeat]:
    """All that is repeated, and what is repeated in it."""
    for step in steps:
        if isinstance(step, Repeat):
            yield step
            yield from walk_repeats(step.steps)


def test_shares_that_meet_are_found() -> None:
    around = parse_kernel("kernel k(n; A: f64[n, n], x: f64[n]) { }")
    step = Repeat("part", index(0), index("n"), 2, (), Shares(2, "width", "share"))
    columns = "for i in 0 .. n { for j in part .. min(n, part + width) { A[i, j] += "
    for value, apart in (("x[j]", True), ("A[i, 0]", False), ("A[j, j]", True), ("A[j, i]", False)):
        text = f"kernel k(n, part, width; A: f64[n, n], x: f64[n]) {{ {columns}{value} }} }} }}"
        assert are_apart(step, parse_kernel(text).body, around) == apart, value


def test_a_block_is_left_as_it_is_defined() -> None:
    step = replace(apply(KNOWN["lu"]), sizes={"n": index(3)})
    steps, own = cut_factor(step, {"A": KNOWN["lu"].definition.arrays[0]}, 3, {"A"})
    assert [type(x) for x in steps] == [Loops] and not own


@pytest.mark.parametrize("columns", [False, True], ids=["by rows", "by columns"])
@pytest.mark.parametrize("name", [x for x in NAMES if x.startswith("trsm_")])
def test_equations_that_lie_along_memory_are_turned(name: str, columns: bool) -> None:
    operation, lies_along = KNOWN[name], ("_left_" in name) == columns
    step, definition = apply(operation), operation.definition
    if columns:
        b = step.operands["B"]
        stored = View("B", b.start, b.steps[::-1], b.shape)
        step = replace(step, operands={**step.operands, "B": stored})
        shapes = {"B": definition.array("B").shape[::-1]}
        definition = replace(
            definition, arrays=tuple(replace(x, shape=shapes.get(x.name, x.shape)) for x in definition.arrays)
        )
    arrays = {x.name: x for x in definition.arrays}
    sizes = {"m": 5, "n": 70} if "_left_" in name else {"m": 70, "n": 5}
    size = "m" if "_left_" in name else "n"
    step = replace(step, sizes={**step.sizes, size: index(sizes[size])})
    steps, own = cut_factor(step, arrays, 5, {*arrays, *definition.sizes})
    assert bool(own) == lies_along
    empty = replace(definition, body=Block(()))
    values = {**sizes, "A": np.random.default_rng(1).random((5, 5)) + 5 * np.eye(5)}
    shape = (sizes["n"], sizes["m"]) if columns else (sizes["m"], sizes["n"])
    results = []
    for each in (Raised(empty, (step,)), Raised(empty, steps, own)):
        b = np.random.default_rng(2).random(shape)
        run_kernel(expand(each), {**values, "B": b})
        results.append(b)
    np.testing.assert_allclose(*results, rtol=1e-12)


def test_only_floats_and_shipped_definitions_are_cut() -> None:
    step = apply(KNOWN["cholesky"])
    arrays = {"A": Array("A", F64, (index("n"), index("n")))}
    assert is_factor(step, arrays)
    assert not is_factor(step, {"A": replace(arrays["A"], type=I32)})
    own = replace(step.operation, definition=replace(step.operation.definition, body=Block(())))
    assert not is_factor(replace(step, operation=own), arrays)
