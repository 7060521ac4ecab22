"""Strides, dilations and paddings are those that the kernel's subscripts have, however these are written."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.raising.match.operation_index import load_operations
from planish.raising.nests import raise_kernel
from planish.raising.raised import Apply
from planish.raising.tdl.constants import constants_in, specialise, specialise_all

KNOWN = {x.name: x for x in load_operations(None)}
LOOPS = (
    "for b in 0 .. n { for o in 0 .. f { for y in 0 .. h { for x in 0 .. w { SUM for i in 0 .. c {"
    " for p in 0 .. 3 { for q in 0 .. 3 { ADD } } } STORE } } } }"
)
HEAD = "kernel k(n, f, c, h, w, v; X: f64[{image}], W: f64[f, c, 3, 3], O: f64[n, f, h, w]) {{ "


def nest(image: str, element: str, scalar: bool = False) -> str:
    value = f"X[{element}] * W[o, i, p, q]"
    sum, add, store = ("", f"O[b, o, y, x] += {value}", "")
    if scalar:
        sum, add, store = "alloc s: f64[] s[] = O[b, o, y, x]", f"s[] += {value}", "O[b, o, y, x] = s[]"
    body = LOOPS.replace("SUM", sum).replace("ADD", add).replace("STORE", store)
    return HEAD.format(image=image) + body + " }"


@pytest.mark.parametrize(
    ("image", "element", "scalar"),
    [
        ("n, c, 2 * h + 9, 3 * w + 9", "b, i, 2 * y + 3 * p, 3 * x + 2 * q", False),
        ("n, c, 2 * h + 9, 3 * w + 9", "b, i, 2 * y + 3 * p, 3 * x + 2 * q", True),
        ("n, c, 4 * h + 9, w + 2", "b, i, 4 * y + p, x + q", True),
    ],
)
def test_strides_differ_from_one_dimension_to_the_next(image: str, element: str, scalar: bool) -> None:
    kernel = parse_kernel(nest(image, element, scalar))
    found = raise_kernel(kernel, specialise_all(tuple(KNOWN.values()), kernel))
    # What begins and ends in the scalar belongs to a convolution without a name.
    wanted = "convolution" if scalar else "conv2d_nchw_valid"
    assert [x.operation.name if isinstance(x, Apply) else "" for x in found.steps] == [wanted]


def numbers(name: str, image: str, element: str) -> list[str]:
    """The subscripts of the image in the definitions that are tried."""
    kernel = parse_kernel(nest(image, element))
    made = list(specialise(KNOWN[name], kernel))
    assert not any(any(constants_in(x.definition)) for x in made)
    return sorted({str(x.definition.assumptions) + str(x.definition.body) for x in made})


def test_one_choice_is_tried_where_the_subscripts_say_all() -> None:
    assert len(numbers("conv2d_nchw_valid", "n, c, 2 * h + 9, 3 * w + 9", "b, i, 2 * y + 3 * p, 3 * x + 2 * q")) == 1
    assert len(numbers("conv2d_nchw_padded", "n, c, h, w", "b, i, y + p - 1, x + q - 1")) == 1
    linear = "((b * c + i) * v + 2 * y + p) * w + 3 * x + 2 * q"
    assert len(numbers("conv2d_nchw_valid", "n * c * v * w", linear)) == 1


def test_nothing_is_tried_where_no_window_is_alike() -> None:
    assert numbers("conv3d_ncdhw", "n, c, h + 2, w + 2", "b, i, y + p, x + q") == []
