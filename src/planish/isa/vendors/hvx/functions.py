"""The macros of the semantics, as functions of whole numbers without a width.

>>> from planish.isa.semantics.node import const
>>> call("fVSATUB", [const(300)]), call("fGETBYTE", [const(1), const(0xFF00)])
(const(255), const(-1))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const, node
from planish.isa.vendors.symbolic_state import Unreadable

_MULTIPLIED = {"S": True, "U": False}


def call(name: str, given: Sequence[Node]) -> Node:
    """What a macro gives; Unreadable where it is not known."""
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](*given)
    if name.startswith("fMPY"):
        return _product(name.removeprefix("fMPY"), *given)
    if name.startswith("fVSAT") and name in _SATURATED:
        (x,) = given
        return build.saturate(x, *_SATURATED[name])
    if name[1:3] in ("SE", "ZE") and "_" in name:
        (x,) = given
        return build.wrap(x, int(name[3:].split("_")[0]), name[1] == "S")
    raise Unreadable(f"the macro `{name}` is not known")


_SATURATED = {
    "fVSATW": (32, True), "fVSATH": (16, True), "fVSATB": (8, True), "fVSATUH": (16, False), "fVSATUB": (8, False),
    "fVSAT": (32, True),
}  # fmt: skip


def _product(what: str, a: Node, b: Node) -> Node:
    # "8US", "16SS", "3216SS": the widths of both factors, and their signs.
    digits, signs = what[:-2], what[-2:]
    first, second = ("32", "16") if digits == "3216" else (digits, digits)
    if not first.isdigit() or not set(signs) <= set(_MULTIPLIED):
        raise Unreadable(f"the macro `fMPY{what}` is not known")
    one = build.wrap(a, int(first), _MULTIPLIED[signs[0]])
    return build.multiply(one, build.wrap(b, int(second), _MULTIPLIED[signs[1]]))


def _part(width: int, signed: bool) -> Callable[[Node, Node], Node]:
    return lambda n, x: build.wrap(build.shift_right(x, build.multiply(n, const(width))), width, signed)


def _saturated(op: Callable[[Node, Node], Node], signed: bool) -> Callable[[Node, Node, Node], Node]:
    return lambda width, a, b: build.saturate(op(a, b), width.low, signed)


def _halved(op: Callable[[Node, Node], Node], more: int) -> Callable[[Node, Node, Node], Node]:
    return lambda _, a, b: build.shift_right(build.add(op(a, b), const(more)), const(1))


def _rounded(x: Node, by: Node) -> Node:
    return build.add(x, build.shift_right(build.shift_left(const(1), by), const(1)))


def _both_ways(left: bool, signed: bool) -> Callable[[Node, Node, Node], Node]:
    # By a number that may be negative; the last argument are the bytes of what is shifted.
    def shift(x: Node, by: Node, size: Node) -> Node:
        source = build.wrap(x, 8 * size.low, signed)
        ahead = build.maximum(by, const(0))
        back = build.maximum(build.negate(by), const(0))
        up, down = (ahead, back) if left else (back, ahead)
        to_left = build.less(by, const(0)) if not left else build.less(const(0), by)
        return build.select(to_left, build.shift_left(source, up), build.shift_right(source, down))

    return shift


def _leading_ones(width: int) -> Callable[[Node], Node]:
    return lambda x: node("clz", (build.wrap(build.invert(x), width),), (width,))


def _carry(a: Node, b: Node, c: Node) -> Node:
    total = build.add(build.wrap(a, 32), build.wrap(b, 32), c)
    return build.wrap(build.shift_right(total, const(32)), 1)


_FUNCTIONS: dict[str, Callable[..., Node]] = {
    "fGETBYTE": _part(8, True), "fGETUBYTE": _part(8, False), "fGETHALF": _part(16, True),
    "fGETUHALF": _part(16, False), "fABS": build.absolute, "fMAX": build.maximum, "fMIN": build.minimum,
    "fVBYTES": lambda: const(128), "fVECSIZE": lambda: const(128), "fVECLOGSIZE": lambda: const(7),
    "fVELEM": lambda width: const(1024 // width.low),
    "fVUADDSAT": _saturated(build.add, False), "fVSADDSAT": _saturated(build.add, True),
    "fVUSUBSAT": _saturated(build.subtract, False), "fVSSUBSAT": _saturated(build.subtract, True),
    "fVAVGU": _halved(build.add, 0), "fVAVGURND": _halved(build.add, 1), "fVAVGS": _halved(build.add, 0),
    "fVAVGSRND": _halved(build.add, 1), "fVNAVGU": _halved(build.subtract, 0), "fVNAVGS": _halved(build.subtract, 0),
    "fVNOROUND": lambda x, _: x, "fVROUND": _rounded, "fCARRY_FROM_ADD32": _carry,
    "fLSBOLD": lambda x: build.wrap(x, 1), "fLSBOLDNOT": lambda x: build.negation(build.wrap(x, 1)),
    "fROUND": lambda x: build.add(x, const(0x8000)),
    "fBIDIR_ASHIFTL": _both_ways(True, True), "fBIDIR_LSHIFTL": _both_ways(True, False),
    "fBIDIR_ASHIFTR": _both_ways(False, True), "fBIDIR_LSHIFTR": _both_ways(False, False),
    "fCL1_4": _leading_ones(32), "fCL1_2": _leading_ones(16),
    "fCOUNTONES_2": lambda x: node("popcount", (build.wrap(x, 16),)),
    "fSXTN": lambda n, _, x: build.wrap(x, n.low, True), "fZXTN": lambda n, _, x: build.wrap(x, n.low),
    "fCONSTLL": lambda x: x, "fCAST8s": lambda x: build.wrap(x, 64, True),
    "fVSATDW": lambda a, b: build.saturate(
        build.add(build.shift_left(a, const(32)), build.wrap(b, 32)), 32, True),
}  # fmt: skip
