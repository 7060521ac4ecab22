"""The parameters of a class: widths, counts, lane strides, signs, formats.

>>> from planish.isa.semantics.text import parse_definition
>>> from planish.isa.classes.term import shaped
>>> text = "(x: 64, y: 64) -> dst: 64 { for i < 4 { dst.u16[i] = x.u16[i] & y.u16[i] } }"
>>> found = shaped(parse_definition(text))
>>> [f"{label}={n}" for label, n in zip(label_numbers(found.shape), found.numbers) if n][:4]
['width=16', 'outer=1', 'lanes=4', 'place_lane_step=16']
"""

from __future__ import annotations

from collections.abc import Iterator

from planish.isa.classes.term import ATTRIBUTES, DEPTH, Shape

_LOOPS = ("outer", "lanes")
_COUNTERS = ("outer", "lane", "term", "inner")
_NAMES = {
    "wrap": ("cut", "cut_signed"), "sat": ("saturated", "saturated_signed"), "clz": ("counted",),
    "toint": ("from_format", "integer_width", "integer_signed"), "fconvert": ("to_format", "from_format"),
    "frcp": ("format", "precision"), "frsqrt": ("format", "precision"),
}  # fmt: skip


def label_numbers(shape: Shape) -> list[str]:
    """A word for each number of a shape, in their order."""
    return [x for part in shape if isinstance(part, tuple) for x in _statement(part)]


def _statement(shape: Shape) -> Iterator[str]:
    _, _, depth, _, *rest = shape
    assert isinstance(depth, int)
    yield "width"
    yield from _LOOPS if depth == DEPTH else [f"count{at}" for at in range(depth)]
    parts = [x for x in rest if isinstance(x, tuple)]
    for at, part in enumerate(parts):
        yield from _value(part, ("place", "value", "when")[min(at, 2)])


def _value(shape: Shape, around: str) -> Iterator[str]:
    head, *rest = shape
    parts = [x for x in rest if isinstance(x, tuple)]
    match head:
        case "number":
            yield "constant"
        case "place":
            yield from _steps(rest, "place" if around == "place" else "counted")
        case "read" | "load":
            operand = f"operand{rest[1]}"
            yield from (f"{operand}_width", f"{operand}_signed")
            yield from _steps(rest, operand)
        case "read at" | "load at":
            yield from (f"operand{rest[0]}_width", f"operand{rest[0]}_signed")
            yield from _value(parts[0], "index")
        case "add":
            yield "addend"
            for part in parts:
                yield "factor"
                yield from _value(part[1] if isinstance(part[1], tuple) else part, around)
        case "sum":
            yield "terms"
            yield from _value(parts[0], around)
        case str():
            count = ATTRIBUTES.get(head, 0)
            yield from _NAMES.get(head, ("format",) * count)[:count]
            for part in parts:
                yield from _value(part, around)
        case _:
            raise AssertionError(head)


def _steps(rest: list[object], of: str) -> Iterator[str]:
    depth = rest[0]
    assert isinstance(depth, int)
    yield f"{of}_start"
    for at in range(depth):
        yield f"{of}_{_COUNTERS[min(at, 3)]}_step"
