"""Butterflies and passes, interpreted beside numpy's transform."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from planish.ir.expr import Expr, Load, Var, index
from planish.ir.nest import Alloc, Array, Block, Kernel, Let, Stmt
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.types import F64
from planish.library.kernels.fft.butterfly import (
    ComplexValue,
    RealValue,
    StraightLineCode,
    count_operations,
    root,
    transform,
)
from planish.library.kernels.fft.radices import choose_radices
from planish.library.kernels.fft.stockham_passes import make_passes, set_parts

XY, AB = ("xr", "xi"), ("yr", "yi")


def load(part: int, place: Expr) -> RealValue:
    return RealValue(Load(XY[part], (place,), F64))


def store(place: Expr, number: ComplexValue, code: StraightLineCode) -> list[Stmt]:
    return set_parts(AB, (place,), number, code)


def run(size: int, body: tuple[Stmt, ...], own: tuple[Array, ...] = ()) -> tuple[np.ndarray, np.ndarray]:
    """What a kernel makes of random numbers, and numpy of the same."""
    arrays = tuple(Array(x, F64, (index(size),)) for x in (*XY, *AB))
    kernel = Kernel("dft", (), (), arrays, Block((*map(Alloc, own), *body)))
    rng = np.random.default_rng(size)
    values = {x: rng.standard_normal(size) for x in (*XY, *AB)}
    run_kernel(kernel, values)
    return values["yr"] + 1j * values["yi"], np.fft.fft(values["xr"] + 1j * values["xi"])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 20, 25, 31, 32, 49])
def test_a_butterfly_is_a_transform(size: int) -> None:
    made = make_passes(size, (size,), F64, load, store, set())
    got, want = run(size, made.body, made.arrays)
    assert abs(got - want).max() < 1e-13 * size


def test_a_butterfly_of_real_numbers_computes_less() -> None:
    def count(imaginary: bool) -> int:
        code = StraightLineCode(F64, "t")
        parts = [RealValue(Var(f"y{n}", F64) if imaginary else None) for n in range(8)]
        out = transform([ComplexValue(RealValue(Var(f"x{n}", F64)), parts[n]) for n in range(8)], code)
        assert out[0].imaginary.value is None or imaginary
        return len(code.lines)

    assert count(False) <= 0.6 * count(True)


@pytest.mark.parametrize("radices", [(4, 4), (16, 4), (2, 3, 5), (8, 8), (5, 5, 5), (3, 16, 2), (2,) * 7, (13, 11)])
def test_passes_are_a_transform(radices: tuple[int, ...]) -> None:
    size = prod(radices)
    made = make_passes(size, radices, F64, load, store, set())
    got, want = run(size, made.body, made.arrays)
    assert abs(got - want).max() < 1e-14 * size


def test_names_are_none_that_are_taken() -> None:
    taken = {"p0", "re0", "cosine0", "t0", "t_"}
    made = make_passes(16, (4, 4), F64, load, store, taken)
    names = {x.name for x in made.arrays} | {*made.lanes}
    assert not names & {"p0", "re0", "cosine0", "t0", "t_"}
    loop = made.body[0]
    lets = {x.var for x in loop.body.body if isinstance(x, Let)}  # type: ignore[union-attr]
    assert lets and not any(x in taken - names for x in lets)


def test_roots_are_as_exact_as_doubles_are() -> None:
    for size in (3, 8, 12, 97, 4096):
        for n in range(size):
            angle = np.longdouble(2) * np.longdouble("3.14159265358979323846264338") * n / size
            assert abs(complex(*root(n, size)) - complex(np.cos(angle), np.sin(angle))) < 2e-16
    assert [root(n, 4) for n in range(4)] == [(1, 0), (0, 1), (-1, 0), (0, -1)]


@pytest.mark.parametrize("size", [3, 7, 32, 60, 64, 77, 100, 256, 360, 1000, 1024, 1920, 2187, 3125, 4096])
@pytest.mark.parametrize("lanes", [2, 4, 16])
def test_radices_make_up_the_size(size: int, lanes: int) -> None:
    found = choose_radices(size, lanes, 32)
    assert found and len({*found}) == len(found)
    assert all(prod(x) == size for x in found)


def test_large_prime_factors_have_no_passes() -> None:
    assert choose_radices(4 * 37, 8, 16) == ()
    assert choose_radices(1, 8, 16) == ((),)


def test_operations_are_those_of_fast_transforms() -> None:
    # The textbook's count for four elements, and near 4 n log n for sixteen, where products and sums are fused.
    assert count_operations(4) == 16
    assert count_operations(16) <= 160
