"""Matrix products written in many ways, for property tests: one choice after the other, drawn by hypothesis.

>>> print(write_nest(Style(order="kij", reverse="j")))
kernel k(ni, nj, nk; alpha: f64, beta: f64; A: f64[ni, nk], B: f64[nk, nj], C: f64[ni, nj]) {
for k in 0 .. nk { for i in 0 .. ni { for j in 0 .. nj { C[i, nj - 1 - j] += A[i, k] * B[k, nj - 1 - j] } } }
}
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hypothesis import strategies as st

Start = Literal["kept", "cleared", "scaled"]


@dataclass(frozen=True, slots=True)
class Style:
    """How C (+)= A B is written: loops in `order`, one of them backwards, one in tiles, the factors in either order and
    each transposed or not; with a local sum, with the first k by itself, with `alpha` in one of three places."""

    order: str = "ijk"
    start: Start = "kept"
    reverse: str = ""
    tile: tuple[str, int] = ("", 0)
    transposed: frozenset[str] = field(default_factory=frozenset)
    swapped: bool = False
    summed: bool = False
    peeled: bool = False
    unrolled: bool = False
    alpha: Literal["", "product", "factor", "end"] = ""


def styles() -> st.SearchStrategy[Style]:
    """Any style."""
    return st.builds(
        Style,
        order=st.permutations("ijk").map("".join),
        start=st.sampled_from(["kept", "cleared", "scaled"]),
        reverse=st.sampled_from(["", "i", "j", "k"]),
        tile=st.tuples(st.sampled_from(["", "i", "j", "k"]), st.integers(2, 4)),
        transposed=st.sets(st.sampled_from("AB")).map(frozenset),
        swapped=st.booleans(), summed=st.booleans(), peeled=st.booleans(), unrolled=st.booleans(),
        alpha=st.sampled_from(["", "product", "factor", "end"]),
    )  # fmt: skip


def write_nest(style: Style) -> str:
    """The kernel as text."""
    shapes = [f"{x}: f64[{', '.join('n' + i for i in _letters(x, style))}]" for x in "ABC"]
    head = f"kernel k(ni, nj, nk; alpha: f64, beta: f64; {', '.join(shapes)}) {{\n"
    lines = [_start(style)] if style.start != "kept" else []
    lines.append(_summed(style) if style.summed else _plain(style))
    return head + "\n".join(lines) + "\n}"


def _letters(array: str, style: Style) -> str:
    letters = {"A": "ik", "B": "kj", "C": "ij"}[array]
    return letters[::-1] if array in style.transposed else letters


def _element(array: str, style: Style, k: str = "k") -> str:
    places = {x: f"n{x} - 1 - {x}" if x == style.reverse else x for x in "ij"}
    places["k"] = f"nk - 1 - ({k})" if style.reverse == "k" else k
    return f"{array}[{', '.join(places[x] for x in _letters(array, style))}]"


def _start(style: Style) -> str:
    how = "= 0.0" if style.start == "cleared" else "*= beta"
    return f"for i in 0 .. ni {{ for j in 0 .. nj {{ C[i, j] {how} }} }}"


def _product(style: Style, k: str = "k") -> str:
    a, b = _element("A", style, k), _element("B", style, k)
    if style.alpha == "factor":
        a = f"({a} * alpha)"
    product = f"{b} * {a}" if style.swapped else f"{a} * {b}"
    return f"alpha * ({product})" if style.alpha == "product" else product


def _loop(var: str, body: str, style: Style, first: int = 0) -> str:
    name, size = style.tile
    if name != var or first:
        return f"for {var} in {first} .. n{var} {{ {body} }}"
    inner = f"for {var} in {size} * t .. min(n{var}, {size} * t + {size}) {{ {body} }}"
    return f"for t in 0 .. (n{var} + {size - 1}) // {size} {{ {inner} }}"


def _steps(target: str, style: Style) -> str:
    """The loop over k, in one of the ways in which it is written."""
    scale = "alpha * " if style.alpha == "end" and not style.summed else ""
    if style.unrolled:
        two = f"{target} += {scale}{_product(style, '2 * h')} {target} += {scale}{_product(style, '2 * h + 1')}"
        rest = f"for k in max(nk // 2 * 2, 0) .. nk {{ {target} += {scale}{_product(style)} }}"
        return f"for h in 0 .. nk // 2 {{ {two} }} {rest}"
    if style.peeled:
        first = f"for k in 0 .. min(nk, 1) {{ {target} += {scale}{_product(style)} }}"
        return f"{first} {_loop('k', f'{target} += {scale}{_product(style)}', style, 1)}"
    return _loop("k", f"{target} += {scale}{_product(style)}", style)


def _plain(style: Style) -> str:
    if style.unrolled or style.peeled:
        order = [x for x in style.order if x != "k"]
        body = _steps(_element("C", style), style)
    else:
        order = list(style.order)
        scale = "alpha * " if style.alpha == "end" else ""
        body = f"{_element('C', style)} += {scale}{_product(style)}"
    for var in reversed(order):
        body = _loop(var, body, style)
    return body


def _summed(style: Style) -> str:
    scale = "alpha * " if style.alpha == "end" else ""
    body = f"alloc s: f64[] s[] = 0.0 {_steps('s[]', style)} {_element('C', style)} += {scale}s[]"
    for var in reversed([x for x in style.order if x != "k"]):
        body = _loop(var, body, style)
    return body
