"""The named operations of linalg: the loops of each, its subscripts, and what it does with the elements.

A shape `m n k: m k, k n -> m n` names the loops, the subscripts of each input, and those of the output; `h*s0+y*d0`
holds the first stride and dilation.

>>> shape = parse_shape(SHAPES["conv_1d_nwc_wcf"].text)
>>> shape.loops, shape.operands[0][1]
(('n', 'w', 'f', 'y', 'c'), (('w', 's0'), ('y', 'd0')))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Meaning = Literal["product", "sum", "max", "min", "max_unsigned", "min_unsigned"]
Term = tuple[str, str]
"""A loop and what it is multiplied by: "" for one, `s0` and `d0` for the first stride and dilation."""


@dataclass(frozen=True, slots=True)
class Named:
    """The text of an operation's shape, and how an element is made: the products of both inputs are added up, or the
    first input's elements are reduced (the second is a window of which only the extents count)."""

    text: str
    body: Meaning = "product"


@dataclass(frozen=True, slots=True)
class NamedOpShape:
    """Loops, outermost first, and the subscripts of the inputs and of the output: sums of terms."""

    loops: tuple[str, ...]
    operands: tuple[tuple[tuple[Term, ...], ...], ...]


def parse_shape(text: str) -> NamedOpShape:
    """The shape that a text describes."""
    loops, _, rest = text.partition(":")
    inputs, _, output = rest.partition("->")
    operands = tuple(
        tuple(tuple(_term(x) for x in subscript.split("+")) for subscript in operand.split())
        for operand in (*inputs.split(","), output)
    )
    return NamedOpShape(tuple(loops.split()), operands)


def _term(text: str) -> Term:
    loop, _, factor = text.partition("*")
    return loop, factor


_PRODUCTS = {
    "matmul": "m n k: m k, k n -> m n",
    "matmul_transpose_a": "m n k: k m, k n -> m n",
    "matmul_transpose_b": "m n k: m k, n k -> m n",
    "batch_matmul": "b m n k: b m k, b k n -> b m n",
    "batch_matmul_transpose_a": "b m n k: b k m, b k n -> b m n",
    "batch_matmul_transpose_b": "b m n k: b m k, b n k -> b m n",
    "batch_reduce_matmul": "b m n k: b m k, b k n -> m n",
    "matvec": "m n: m n, n -> m",
    "vecmat": "n m: m, m n -> n",
    "batch_matvec": "b m k: b m k, b k -> b m",
    "batch_vecmat": "b n k: b k, b k n -> b n",
    "dot": "m: m, m ->",
    "conv_1d": "w x: w+x, x -> w",
    "conv_2d": "h w y x: h+y w+x, y x -> h w",
    "conv_3d": "d h w z y x: d+z h+y w+x, z y x -> d h w",
    "conv_1d_nwc_wcf": "n w f y c: n w*s0+y*d0 c, y c f -> n w f",
    "conv_1d_ncw_fcw": "n f w c y: n c w*s0+y*d0, f c y -> n f w",
    "conv_2d_nhwc_hwcf": "n h w f y x c: n h*s0+y*d0 w*s1+x*d1 c, y x c f -> n h w f",
    "conv_2d_nhwc_fhwc": "n h w f y x c: n h*s0+y*d0 w*s1+x*d1 c, f y x c -> n h w f",
    "conv_2d_nchw_fchw": "n f h w c y x: n c h*s0+y*d0 w*s1+x*d1, f c y x -> n f h w",
    "conv_2d_ngchw_fgchw": "n g f h w c y x: n g c h*s0+y*d0 w*s1+x*d1, f g c y x -> n g f h w",
    "conv_2d_ngchw_gfchw": "n g f h w c y x: n g c h*s0+y*d0 w*s1+x*d1, g f c y x -> n g f h w",
    "conv_3d_ndhwc_dhwcf": (
        "n d h w f z y x c: n d*s0+z*d0 h*s1+y*d1 w*s2+x*d2 c, z y x c f -> n d h w f"
    ),
    "conv_3d_ncdhw_fcdhw": (
        "n d h w f z y x c: n c d*s0+z*d0 h*s1+y*d1 w*s2+x*d2, f c z y x -> n f d h w"
    ),
    "depthwise_conv_1d_nwc_wc": "n w c y: n w*s0+y*d0 c, y c -> n w c",
    "depthwise_conv_1d_ncw_cw": "n w c y: n c w*s0+y*d0, c y -> n c w",
    "depthwise_conv_1d_nwc_wcm": "n w c m y: n w*s0+y*d0 c, y c m -> n w c m",
    "depthwise_conv_2d_nhwc_hwc": "n h w c y x: n h*s0+y*d0 w*s1+x*d1 c, y x c -> n h w c",
    "depthwise_conv_2d_nchw_chw": "n h w c y x: n c h*s0+y*d0 w*s1+x*d1, c y x -> n c h w",
    "depthwise_conv_2d_nhwc_hwcm": "n h w c m y x: n h*s0+y*d0 w*s1+x*d1 c, y x c m -> n h w c m",
    "depthwise_conv_3d_ndhwc_dhwc": (
        "n d h w c z y x: n d*s0+z*d0 h*s1+y*d1 w*s2+x*d2 c, z y x c -> n d h w c"
    ),
}  # fmt: skip

_POOLS = {
    "nhwc": "n h w c y x: n h*s0+y*d0 w*s1+x*d1 c, y x -> n h w c",
    "nchw": "n c h w y x: n c h*s0+y*d0 w*s1+x*d1, y x -> n c h w",
    "nwc": "n w c y: n w*s0+y*d0 c, y -> n w c",
    "ncw": "n c w y: n c w*s0+y*d0, y -> n c w",
    "ndhwc": "n d h w c z y x: n d*s0+z*d0 h*s1+y*d1 w*s2+x*d2 c, z y x -> n d h w c",
}
_BODIES: dict[str, tuple[Meaning, ...]] = {
    "nhwc": ("sum", "max", "min", "max_unsigned", "min_unsigned"), "nchw": ("sum", "max"),
    "nwc": ("sum", "max", "min", "max_unsigned", "min_unsigned"), "ncw": ("sum", "max"),
    "ndhwc": ("sum", "max", "min"),
}  # fmt: skip

SHAPES: dict[str, Named] = {
    **{name: Named(text) for name, text in _PRODUCTS.items()},
    **{f"pooling_{layout}_{body}": Named(_POOLS[layout], body) for layout, own in _BODIES.items() for body in own},
}
"""Operations that reduce, by their names behind `linalg.`."""

ELEMENTWISE = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "div_unsigned": "divui", "max": "maximum",
    "min": "minimum", "powf": "powf", "exp": "exp", "log": "log", "abs": "abs", "ceil": "ceil", "floor": "floor",
    "negf": "negf", "sqrt": "sqrt", "rsqrt": "rsqrt", "square": "square", "reciprocal": "reciprocal", "tanh": "tanh",
    "round": "round", "select": "select", "copy": "copy",
}  # fmt: skip
"""Operations that treat each element by itself, and what they do with it (see `structured`)."""

NAMES = (*SHAPES, *ELEMENTWISE, "fill")
"""All of them."""
