"""Floating-point equality modulo rounding: a form that ignores how often definitions round, in what order they add
products, and whether denormals are flushed.

>>> from planish.isa.semantics.text import parse_definition
>>> head = "(a: 32, b: 32, c: 32) -> r: 32 { r.u32[0] = "
>>> one = parse_definition(head + "fadd.f32(fmul.f32(a.u32[0], b.u32[0], 4), c.u32[0], 4) }")
>>> other = parse_definition(head + "fma.f32(b.u32[0], a.u32[0], c.u32[0], 4) }")
>>> loosen(one.puts[0].value) is loosen(other.puts[0].value)
True
"""

from __future__ import annotations

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, by_number, node, rebuild

_LEAST = {"f32": 0x800000, "f64": 0x10000000000000}
_SIGN = {"f32": 0x80000000, "f64": 0x8000000000000000}


def loosen(x: Node) -> Node:
    """The value in that form."""
    return rebuild(x, _loosened)


def _loosened(x: Node, args: tuple[Node, ...]) -> Node:
    if x.op == "select" and _is_flush(args):
        return args[2]
    if x.op in ("fadd", "fmul", "fma"):
        return _sum_of(x, args)
    return node(x.op, args, x.attr) if args != x.args else x


def _is_flush(args: tuple[Node, ...]) -> bool:
    """Whether a number becomes zero of its sign where it is less than the least normal one."""
    condition, zero, number = args
    if condition.op != "lt" or zero.op != "and" or number not in zero.args:
        return False
    (sign,) = [y for y in zero.args if y is not number] or [number]
    tested, least = condition.args
    if tested.op == "select" and tested.args[1].constant == 0:  # it has been taken for zero before
        tested = tested.args[2]
    forms = [x for x in _LEAST if _LEAST[x] == least.constant and _SIGN[x] == sign.constant]
    return any(tested is build.wrap(number, _SIGN[x].bit_length() - 1) for x in forms)


def _sum_of(x: Node, args: tuple[Node, ...]) -> Node:
    """A sum of products as one chain of them, in the order of their addresses."""
    addends: list[Node] = []
    products: list[tuple[Node, Node]] = []
    _take(node(x.op, args, x.attr), addends, products)
    mode = args[-1]
    products.sort(key=_ids)
    addends.sort(key=by_number)
    if addends:
        total = addends[0]
    else:
        total = node("fmul", (*products.pop(0), mode), x.attr)
    for y in addends[1:]:
        total = node("fadd", (total, y, mode), x.attr)
    for one, other in products:
        total = node("fma", (one, other, total, mode), x.attr)
    return total


def _ids(x: tuple[Node, ...]) -> tuple[int, int]:
    return id(x[0]), id(x[1])


def _take(x: Node, addends: list[Node], products: list[tuple[Node, Node]]) -> None:
    match x.op:
        case "fadd":
            parts: tuple[Node, ...] = x.args[:2]
        case "fma":
            parts = x.args[2:3]
        case _:
            parts = ()
    if x.op in ("fmul", "fma"):
        one, other = sorted(x.args[:2], key=by_number)
        products.append((one, other))
    for y in parts:
        if y.op in ("fadd", "fma", "fmul") and y.attr == x.attr and y.args[-1] is x.args[-1]:
            _take(y, addends, products)
        else:
            addends.append(y)
