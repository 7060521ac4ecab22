"""Convolutions by tiles, interpreted beside the loops: small whole numbers are halved exactly, so results are equal."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from planish.ir.expr import index
from planish.ir.nest import Alloc, For, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr
from planish.ir.traverse import flatten, walk
from planish.ir.types import Floats
from planish.library.conv.winograd.matrices import F23, Minimal
from planish.library.conv.winograd.steps import WAY, use_tiles
from planish.library.raise_operations import improve_nest
from planish.raising.expansion import expand
from planish.raising.raised import Apply, walk_steps
from planish.target.load import load_target

TARGET = load_target("x86-avx512")


def convolution(
    batch: str = "", group: str = "", window: int = 3, step: int = 1, start: str = "0.0:f64", type: str = "f64"
) -> Kernel:
    """Channels last, of some images and groups of features, or of one."""
    loops = {"b": ("b", "nb"), "g": ("g", "ng")}
    around = [loops[x] for x in (batch, group) if x]
    lead = "".join(f"{x}, " for x, _ in around)
    heads = "".join(f"{y}, " for _, y in around)
    at, shape = ("g, ", "ng, ") if group else ("", "")
    rows, columns = (f"{step} * {x} + {window - step}" for x in "hw")
    body = (
        f"O[{lead}y, x, f] = {start} for c in 0 .. nc {{ for r in 0 .. {window} {{ for s in 0 .. {window} {{"
        f" O[{lead}y, x, f] += X[{lead}{step} * y + r, {step} * x + s, c] * W[{at}r, s, c, f] }} }} }}"
    )
    for var, extent in (("f", "nf"), ("x", "w"), ("y", "h"), *reversed(around)):
        body = f"for {var} in 0 .. {extent} {{ {body} }}"
    return parse_kernel(
        f"kernel conv({heads}h, w, nc, nf; X: f64[{heads}{rows}, {columns}, nc] distinct,"
        f" W: f64[{shape}{window}, {window}, nc, nf] distinct, O: f64[{heads}h, w, nf] distinct)"
        f" {{ {body} }}".replace("f64", type)
    )


@cache
def by_tiles(kernel: Kernel, fp: Floats = "reassociate", threads: int = 1, **typical: int) -> Kernel | None:
    rule = partial(use_tiles, threads=threads)
    raised, remarks = improve_nest(kernel, (), TARGET, fp, typical or None, convolve=rule)
    assert (WAY in raised.ways) == any(x.id == WAY for x in remarks)
    return expand(raised) if WAY in raised.ways else None


def values_for(kernel: Kernel, sizes: dict[str, int], seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    groups = sizes.get("ng")
    images = [sizes[x] for x in ("nb", "ng") if x in sizes]
    h, w, nc, nf = (sizes[x] for x in ("h", "w", "nc", "nf"))
    lead = [] if groups is None else [groups]
    shapes = {"X": (*images, h + 2, w + 2, nc), "W": (*lead, 3, 3, nc, nf), "O": (*images, h, w, nf)}
    type = np.float32 if kernel.arrays[0].type.size == 4 else np.float64
    return {**sizes, **{x: rng.integers(-9, 9, shape).astype(type) for x, shape in shapes.items()}}


def assert_equal(kernel: Kernel, made: Kernel, sizes: dict[str, int]) -> None:
    one, two = (values_for(kernel, sizes, seed=sum(sizes.values())) for _ in range(2))
    run_kernel(kernel, one)
    run_kernel(made, two)
    assert np.array_equal(one["O"], two["O"])


@pytest.mark.each_value
@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("h,w", [(2, 2), (3, 2), (2, 5), (4, 6), (7, 3), (9, 9)])
def test_tiles_find_what_the_loops_find(h: int, w: int, type: str) -> None:
    kernel = convolution(type=type, start=f"0.0:{type}")
    made = by_tiles(kernel)
    assert made is not None
    for nc, nf in ((1, 1), (3, 2), (0, 2), (2, 0)):
        assert_equal(kernel, made, {"h": h, "w": w, "nc": nc, "nf": nf})


@pytest.mark.parametrize("threads", [2, 3])
def test_shares_have_room_for_a_tile_and_memory_of_their_own(threads: int) -> None:
    kernel = convolution()
    made = by_tiles(kernel, threads=threads)
    assert made is not None
    for h, w in ((2, 3), (3, 3), (4, 2), (5, 4), (9, 2), (13, 3)):
        assert_equal(kernel, made, {"h": h, "w": w, "nc": 2, "nf": 2})
    tiles = next(x.array for x in walk(made.body) if isinstance(x, Alloc) and x.array.name == "tiles")
    assert tiles.shape[0] == index(threads)


def test_images_and_groups_have_loops_around() -> None:
    sizes = {"h": 3, "w": 5, "nc": 2, "nf": 3}
    for batch, group in (("b", ""), ("", "g"), ("b", "g")):
        kernel = convolution(batch, group)
        made = by_tiles(kernel)
        assert made is not None
        assert_equal(kernel, made, {**({"nb": 2} if batch else {}), **({"ng": 2} if group else {}), **sizes})
    # The windows of all images are transformed once, those of each group apart.
    shared, apart = by_tiles(convolution("b")), by_tiles(convolution("", "g"))
    assert shared is not None and apart is not None
    assert [sum(isinstance(x, For) for x in flatten(made.body.body)) for made in (shared, apart)] == [2, 1]


@pytest.mark.parametrize("threads", [1, 2])
def test_what_has_other_neighbours_is_copied(threads: int) -> None:
    kernel = parse_kernel(
        "kernel conv(h, w, wide, nc, nf; X: f64[nc, h + 2, wide] distinct, W: f64[nf, nc, 3, 3] distinct,"
        " O: f64[nf, h, w] distinct) assume wide >= w + 2 { for f in 0 .. nf { for y in 0 .. h { for x in 0 .. w {"
        " O[f, y, x] = 0.0 for c in 0 .. nc { for r in 0 .. 3 { for s in 0 .. 3 {"
        " O[f, y, x] += X[c, y + r, x + s] * W[f, c, r, s] } } } } } } }"
    )
    made = by_tiles(kernel, threads=threads)
    assert made is not None
    assert {"image", "kernel", "results"} <= {x.array.name for x in walk(made.body) if isinstance(x, Alloc)}
    for h, w, nc, nf in ((2, 2, 1, 1), (3, 5, 4, 2), (6, 3, 2, 0), (3, 3, 0, 2), (17, 3, 1, 2)):
        rng = np.random.default_rng(h + w)
        shapes = {"X": (nc, h + 2, w + 3), "W": (nf, nc, 3, 3), "O": (nf, h, w)}
        given = {x: rng.integers(-9, 9, shape).astype(float) for x, shape in shapes.items()}
        sizes: dict[str, Any] = {"h": h, "w": w, "wide": w + 3, "nc": nc, "nf": nf}
        one, two = ({**sizes, **given, "O": given["O"].copy()} for _ in "12")
        run_kernel(kernel, one)
        run_kernel(made, two)
        assert np.array_equal(one["O"], two["O"])


def test_a_border_that_is_told_by_conditions_is_there() -> None:
    inside = "y + r >= 1 && y + r < h + 1 && x + s >= 1 && x + s < w + 1"
    kernel = parse_kernel(
        "kernel conv(h, w, nc, nf; X: f64[h, w, nc] distinct, W: f64[3, 3, nc, nf] distinct, O: f64[h, w, nf] distinct)"
        " { for y in 0 .. h { for x in 0 .. w { for f in 0 .. nf { O[y, x, f] = 0.0"
        " for c in 0 .. nc { for r in 0 .. 3 { for s in 0 .. 3 {"
        f" if {inside} {{ O[y, x, f] += X[y + r - 1, x + s - 1, c] * W[r, s, c, f] }} }} }} }} }} }} }} }}"
    )
    made = by_tiles(kernel)
    assert made is not None
    sizes = {"h": 5, "w": 4, "nc": 3, "nf": 2}
    one, two = (values_for(kernel, sizes, 1) for _ in "12")
    for values in (one, two):
        values["X"] = values["X"][:5, :4].copy()
    run_kernel(kernel, one)
    run_kernel(made, two)
    assert np.array_equal(one["O"], two["O"])


def test_rows_are_as_many_as_typical_sizes_have_use_for() -> None:
    kernel, sizes = convolution(), {"h": 9, "w": 8, "nc": 2, "nf": 2}
    made = by_tiles(kernel, h=9, w=8, nc=2, nf=2)
    other = by_tiles(kernel)
    assert made is not None and other is not None
    steps = [next(x.step for x in walk(y.body) if isinstance(x, For) and x.var == "first") for y in (made, other)]
    assert steps == [5, 4]
    assert_equal(kernel, made, sizes)


def test_other_convolutions_are_not_done_so() -> None:
    assert by_tiles(convolution(), fp="contract") is None
    assert by_tiles(convolution(), fp="strict") is None
    assert by_tiles(convolution(window=5)) is None
    assert by_tiles(convolution(step=2)) is None
    # Results that are added to others would be added twice where tiles lie over each other.
    assert by_tiles(convolution(start="O[y, x, f] + 1.0:f64")) is None


def test_tiles_without_room_are_asked_for() -> None:
    raised, _ = improve_nest(convolution(), (), TARGET, "reassociate", convolve=use_tiles)
    asked = {print_expr(y) for x in walk_steps(raised.steps) if isinstance(x, Apply) for y in x.conditions}
    assert {"h >= 2", "w >= 2"} <= asked


def test_matrices_are_those_of_a_convolution() -> None:
    assert F23.is_exact()
    window = (*F23.window[:1], (0.5, 0.5, -0.5), *F23.window[2:])
    assert not replace(F23, window=window).is_exact()
    plain = Minimal(1, 1, ((1.0,),), ((1.0,),), ((1.0,),))
    assert plain.is_exact() and plain.growth == plain.saving == 1.0


def test_rounding_stays_within_what_is_said_of_it() -> None:
    """|error| <= growth * channels * (channels + 12) * 2**-24 * max|X| * max|W|."""
    kernel = convolution(type="f32", start="0.0:f32")
    made = by_tiles(kernel)
    assert made is not None
    sizes = {"h": 6, "w": 5, "nc": 24, "nf": 2}
    values = values_for(kernel, sizes, 1)
    rng = np.random.default_rng(2)
    for x in ("X", "W"):
        values[x] = rng.standard_normal(values[x].shape).astype(np.float32)
    exact = convolution()
    wide = {x: y.astype(np.float64) if isinstance(y, np.ndarray) else y for x, y in values.items()}
    run_kernel(exact, wide)
    run_kernel(made, values)
    largest = np.abs(values["X"]).max() * np.abs(values["W"]).max()
    bound = F23.growth * 24 * (24 + 12) * 2.0**-24 * float(largest)
    error = float(np.abs(values["O"] - wide["O"]).max())
    assert 0.0 < error <= bound
