"""What a strip costs at most in the lanes that C's arithmetic has: 32 bits each, one instruction an operator.

A program that costs more is no gain over what a C compiler makes of the loop.

>>> from planish.select.body import read_body
>>> body = read_body("(p: 512, q: 512) -> out: 512 { for i < 64 { out.u8[i] = p.u8[i] + q.u8[i] + 1 >> 1 } }")
>>> plain_cost(body, 512)
16.0
"""

from __future__ import annotations

from planish.isa.semantics.node import Node, scaled, terms_of, walk
from planish.select.body import LaneBody
from planish.select.demand import computed

_WIDTH = 32
_CYCLES = 0.5
_WIDE_PRODUCT = 5
_QUOTIENT = 6
"""Instructions of a quotient by a constant: products of even and of odd lanes, whose high halves are put together."""


def plain_cost(body: LaneBody, bits: int) -> float:
    """Cycles of throughput of a strip in registers of so many bits: two instructions start in each. Elements are loaded
    and widened, and narrowed when they are stored; those that lie apart are brought together, or apart, by one more for
    each register that they lie in."""
    registers = -(-body.lanes * _WIDTH // bits)
    places = [(x, body.address(x)) for x in body.leaves]
    loads = sum(2 + _apart(y.step, int(x.attr[1])) for x, y in places if y is not None)
    stores = sum(1 + _apart(x.step, x.width) for x in body.outputs)
    nodes = [x for x in computed(*body.roots) if not body.is_leaf(x)]
    quotients = [x for x in nodes if _is_quotient(x)]
    inside = {y for x in quotients for y in walk([x.args[0]]) if _is_wide(y)}
    operators = sum(_instructions(x, body) for x in nodes if x not in inside and x not in quotients)
    operators += _QUOTIENT * len(quotients)
    return (loads + operators + stores) * registers * _CYCLES


def _apart(step: int, width: int) -> int:
    return 0 if step == width else abs(step) // width


def _instructions(x: Node, body: LaneBody) -> int:
    """In lanes twice as wide it takes two for one, five times as many for a product (measured with gcc 12 on an Intel
    processor with AVX-512), and moves for what is narrower."""
    if x.op in ("wrap", "bits", "const"):
        return 0
    count = max(1, len(x.args) - 1)
    if not any(map(_is_wide, (x, *x.args))):
        return count
    narrow = sum(not _is_wide(y) and not body.is_invariant(y) for y in (x, *x.args))
    return 2 * (count * (_WIDE_PRODUCT if x.op == "mul" else 1) + narrow)


def _is_quotient(x: Node) -> bool:
    """Whether it is a number of 32 bits over a constant, as the high half of a product."""
    if x.op != "shr" or x.args[1].op != "const" or _is_wide(x) or not _is_wide(x.args[0]):
        return False
    products = [scaled(y) for y in terms_of(x.args[0]) if y.op != "const"]
    return x.args[1].low >= _WIDTH and all(factor != 1 and not _is_wide(y) for y, factor in products)


def _is_wide(x: Node) -> bool:
    return bool(max(-x.low - 1, x.high) >> _WIDTH)
