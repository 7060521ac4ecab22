"""Instruction decoding: the registers as C gives them, the sizes, and what the instruction's name says.

>>> found = decode("SQRDMULH Vd.8H,Vn.8H,Vm.8H", {"n": "a", "m": "b"}, {"a": "int16x8_t", "b": "int16x8_t"})
>>> [found.known[x].node.low for x in ("esize", "datasize", "elements", "rounding")]
[16, 128, 8, 1]
>>> found.registers["m"].background.node
bits('b', 128, False, const(0))
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const
from planish.isa.vendors.arm.execute import Held
from planish.isa.vendors.arm.shapes import NeonShape, c_bits, read_operands
from planish.isa.vendors.symbolic_state import Register, SymbolicValue, Unreadable

_POSITIONS = "dnma"
_ROUNDS = re.compile(r"(?:S|U|SQ|UQ)?R(?:SH|SR|ADDHN|SUBHN|DMUL)")
_ACCUMULATES = re.compile(r"[SU]R?SRA|[SU]ABAL?2?")
_SUBTRACTS = re.compile(r".*(?:SUB|MLS).*")
_MODES = {"N": 0, "M": 1, "P": 2, "Z": 3, "A": 8, "I": 4, "X": 4}
_CRC = {"B": 8, "H": 16, "W": 32, "X": 64}


@dataclass(frozen=True, slots=True)
class Decoded:
    """The registers that the operation reads, and its variables. `registers_count`: how many the instruction names."""

    mnemonic: str
    registers: Mapping[str, Register]
    known: Mapping[str, Held]
    registers_count: int


def decode(
    instruction: str, placed: Mapping[str, str], types: Mapping[str, str],
    between: Mapping[str, Register] = MappingProxyType({}),
) -> Decoded:
    """The decoding of an instruction. `placed` says which parameter of C is in which register, `types` what type each
    parameter has; `between` are registers that an instruction before it left. Unreadable for a form that is not
    known."""
    mnemonic = instruction.split()[0]
    shapes = read_operands(instruction)
    known = _named(mnemonic)
    known |= _sizes(mnemonic, shapes)
    known.setdefault("rounding", SymbolicValue(const(4)))
    esize = _whole(known["esize"])
    registers: dict[str, Register] = {}
    if "d" in placed:
        registers["d"] = _plain(placed["d"], types)
    for position, shape in zip(_POSITIONS[1:], shapes[1:], strict=False):
        kept = between.get(shape.register)
        registers[position] = _operand(shape, placed, types, esize, mnemonic) if kept is None else kept
    known["fbits"] = SymbolicValue(const(0))
    for shape in shapes:
        if shape.value:
            value = _immediate(shape.value, types)
            known |= {"shift": SymbolicValue(value), "fbits": SymbolicValue(value)}
            known["position"] = SymbolicValue(build.multiply(value, const(8)))
    lane = next((x.lane for x in (shapes if mnemonic == "INS" else shapes[1:]) if x.lane), "")
    if lane:
        known["index"] = SymbolicValue(_immediate(lane, types))
    return Decoded(mnemonic, registers, known, sum(1 for x in shapes if x.register))


def _whole(held: Held) -> int:
    assert isinstance(held, SymbolicValue)
    return held.node.low


def _operand(
    shape: NeonShape, placed: Mapping[str, str], types: Mapping[str, str], esize: int, mnemonic: str
) -> Register:
    if shape.value:
        return _repeated(build.wrap(_immediate(shape.value, types), esize), esize)
    if shape.register not in placed:
        raise Unreadable(f"nothing is said to be in register `{shape.register}`")
    plain = _plain(placed[shape.register], types)
    if not shape.lane or mnemonic in ("UMOV", "SMOV"):
        return plain
    name = placed[shape.register]
    if c_bits(types[name]) <= shape.size:
        return _repeated(build.bits(name, const(0), shape.size), shape.size)
    place = build.multiply(_immediate(shape.lane, types), const(shape.size))
    return _repeated(build.bits(name, place, shape.size), shape.size)


def _plain(name: str, types: Mapping[str, str]) -> Register:
    width = c_bits(types[name])
    return Register(background=SymbolicValue(build.bits(name, const(0), width), width))


def _repeated(element: Node, width: int) -> Register:
    # One element in all places.
    return Register({at: (width, SymbolicValue(element, width)) for at in range(0, 128, width)})


def _immediate(text: str, types: Mapping[str, str]) -> Node:
    """A number, a parameter, or one that is shifted to the left."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise Unreadable(f"an immediate of the form `{text}`") from error
    match tree:
        case ast.Constant(value=int(value)):
            return const(value)
        case ast.Name(id=name) if name in types:
            return build.bits(name, const(0), 8)
        case ast.BinOp(left=ast.Name(id=name), op=ast.LShift(), right=ast.Constant(value=int(by))) if name in types:
            return build.shift_left(build.bits(name, const(0), 8), const(by))
        case _:
            raise Unreadable(f"an immediate of the form `{text}`")


def _sizes(mnemonic: str, shapes: tuple[NeonShape, ...]) -> dict[str, Held]:
    """The width of an element, how many there are, and the half of a register that is meant."""
    sizes = [x.size for x in shapes if x.size]
    if not sizes:
        size = _CRC.get(mnemonic[-1], 32) if mnemonic.startswith("CRC32") else 64
        return _numbers(esize=size, datasize=size, elements=1, size=size)
    esize = min(sizes)
    counts = [x.count for x in shapes if x.size == esize and x.count]
    upper = mnemonic.endswith("2") and mnemonic not in ("ZIP2", "UZP2", "TRN2", "REV32")
    elements = (64 // esize if upper else counts[0]) if counts else 1
    if mnemonic in ("UMOV", "SMOV"):
        return _numbers(esize=esize, datasize=64, idxdsize=128, elements=1)
    if mnemonic.startswith("REV"):
        container = int(mnemonic[3:])
        inner = container // esize
        return _numbers(esize=esize, datasize=esize * elements, elements=elements, containers=elements // inner,
                        elements_per_container=inner)  # fmt: skip
    if mnemonic in ("ZIP1", "ZIP2", "UZP1", "UZP2", "TRN1", "TRN2"):
        part = int(mnemonic[-1]) - 1
    else:
        part = int(upper)
    return _numbers(esize=esize, datasize=esize * elements, elements=elements, part=part, pairs=elements // 2,
                    idxdsize=128)  # fmt: skip


def _numbers(**given: int) -> dict[str, Held]:
    return {name: SymbolicValue(const(x)) for name, x in given.items()}


def _named(mnemonic: str) -> dict[str, Held]:
    """What the name of an instruction says."""
    flags = {
        "unsigned": mnemonic[0] == "U" or bool(re.fullmatch(r"FCVT\wU|CMH[SI]", mnemonic)),
        "sub_op": bool(_SUBTRACTS.fullmatch(mnemonic)),
        "round": bool(_ROUNDS.match(mnemonic)), "rounding": bool(_ROUNDS.match(mnemonic)),
        "saturating": mnemonic.startswith(("SQ", "UQ")), "accumulate": bool(_ACCUMULATES.fullmatch(mnemonic)),
        "acc": mnemonic in ("SADALP", "UADALP"), "minimum": "MIN" in mnemonic, "min": "MIN" in mnemonic,
        "pair": mnemonic[0] == "F" and mnemonic[-1] == "P", "abs": mnemonic in ("FABD", "FACGE", "FACGT"),
        "neg": mnemonic.endswith("NEG"), "poly": mnemonic == "PMUL", "cmp_eq": mnemonic == "CMHS",
        "and_test": mnemonic == "CMTST", "mulx_op": mnemonic == "FMULX", "src_unsigned": False, "dst_unsigned": True,
        "exact": False, "is_tbl": mnemonic == "TBL",
    }  # fmt: skip
    known: dict[str, Held] = {name: SymbolicValue(const(int(x))) for name, x in flags.items()}
    if found := re.fullmatch(r"(?:FCVT|FRINT)([NMPZAIX])[SU]?", mnemonic):
        known["rounding"] = SymbolicValue(const(_MODES[found[1]]))
    if found := re.fullmatch(r"F?(?:CM|AC)(EQ|GE|GT|LE|LT)", mnemonic):
        known |= {"comparison": f"CompareOp_{found[1]}", "cmp": f"CompareOp_{found[1]}"}
    known["countop"] = SymbolicValue(const(0))
    known["CountOp_CLS"] = SymbolicValue(const(0 if mnemonic == "CLS" else 1))
    return known
