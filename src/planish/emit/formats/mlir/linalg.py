"""The named operations of MLIR's linalg dialect: which of them a product or a window over an array is.

>>> named_product("ac,cb->ab"), named_product("ca,cb->ab"), named_product("abc,abc->a")
('matmul', 'matmul_transpose_a', None)
>>> named_convolution("a,e,c+f,d+g", "befg", 4)
'conv_2d_nchw_fchw'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

_PRODUCTS: Mapping[str, str] = {
    "ac,cb->ab": "matmul", "ca,cb->ab": "matmul_transpose_a", "ac,bc->ab": "matmul_transpose_b",
    "ab,b->a": "matvec", "b,ba->a": "vecmat", "a,a->": "dot",
    "abd,adc->abc": "batch_matmul", "adb,adc->abc": "batch_matmul_transpose_a",
    "abd,acd->abc": "batch_matmul_transpose_b", "abc,ac->ab": "batch_matvec", "ac,acb->ab": "batch_vecmat",
}  # fmt: skip
"""By what they multiply: the dimensions of the result are a, b, .., then come those that are summed over."""

_CONVOLUTIONS: Mapping[tuple[str, str, int], str] = {
    ("a+b", "b", 1): "conv_1d", ("a+c,b+d", "cd", 2): "conv_2d", ("a+d,b+e,c+f", "def", 3): "conv_3d",
    ("a,d,c+e", "bde", 3): "conv_1d_ncw_fcw", ("a,b+d,e", "dec", 3): "conv_1d_nwc_wcf",
    ("a,e,c+f,d+g", "befg", 4): "conv_2d_nchw_fchw", ("a,b+e,c+f,g", "efgd", 4): "conv_2d_nhwc_hwcf",
    ("a,b+e,c+f,g", "defg", 4): "conv_2d_nhwc_fhwc", ("a,f,c+g,d+h,e+i", "bfghi", 5): "conv_3d_ncdhw_fcdhw",
    ("a,b+f,c+g,d+h,i", "fghie", 5): "conv_3d_ndhwc_dhwcf", ("a,b+d,c", "dc", 3): "depthwise_conv_1d_nwc_wc",
    ("a,b+e,c+f,d", "efd", 4): "depthwise_conv_2d_nhwc_hwc", ("a,b,c+e,d+f", "bef", 4): "depthwise_conv_2d_nchw_chw",
}  # fmt: skip
"""By the dimensions of the input, of the kernel, and how many the result has."""

_POOLS: Mapping[str, str] = {
    "a,b,c+d": "pooling_ncw", "a,b+d,c": "pooling_nwc", "a,b,c+e,d+f": "pooling_nchw", "a,b+e,c+f,d": "pooling_nhwc",
}  # fmt: skip

_FOLDS: Mapping[str, tuple[str, ...]] = {"add": ("sum", ""), "max": ("max", ""), "min": ("min", "nwc nhwc")}

Dimension = tuple[tuple[str, int], ...]
"""The loops that step through one dimension of an array, each with its step."""


def name_loops(first: Iterable[str], *others: Iterable[str]) -> dict[str, str]:
    """A letter for each loop, in the order in which they are met."""
    out: dict[str, str] = {}
    for loops in (first, *others):
        for loop in loops:
            out.setdefault(loop, chr(ord("a") + len(out)))
    return out


def spell(dimensions: Sequence[Dimension], names: Mapping[str, str]) -> str:
    """The dimensions of an array that windows slide along."""
    return ",".join("+".join(sorted(names[loop] for loop, _ in x)) for x in dimensions)


def named_product(spec: str) -> str | None:
    """The operation that multiplies and sums so."""
    return _PRODUCTS.get(spec)


def named_convolution(taken: str, kernel: str, rank: int) -> str | None:
    """The convolution of an input and a kernel with those dimensions."""
    return _CONVOLUTIONS.get((taken, kernel, rank))


def named_pool(taken: str, op: str) -> str | None:
    """The pooling over windows of an input with those dimensions."""
    name, (word, only) = _POOLS.get(taken), _FOLDS.get(op, ("", ""))
    if name is None or not word or (only and name.removeprefix("pooling_") not in only.split()):
        return None
    return f"{name}_{word}"
