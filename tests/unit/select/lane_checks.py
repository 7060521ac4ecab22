"""Lane functions run over what their access maps read, beside the definitions that they were made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planish.isa.collection import load_collection
from planish.isa.semantics import build
from planish.isa.semantics.definition import Definition, LaneLoop, Operand, Put
from planish.isa.semantics.evaluate import evaluate
from planish.isa.semantics.floats import FORMATS, is_nan
from planish.isa.semantics.node import FLOAT_BITS, FLOAT_OPERATORS, Node, const, node, rebuild, var, walk
from planish.select.factored.lane_functions import LaneInstruction, Piece

Bytes = NDArray[np.uint8]
_CORNERS = np.array([0, 1, 0x7F, 0x80, 0xFF], np.uint8)


def differing_lanes(instruction: LaneInstruction, rows: int = 6, seed: int = 1) -> list[int]:
    """The lanes of which a piece says something else than the definition, and bits that it does not define or that no
    piece has."""
    definition = load_collection(instruction.isa).entry(instruction.entry).definition
    given = random_operands(instruction, rows, seed)
    outcome = evaluate(definition, given)
    wanted = np.unpackbits(outcome.result, axis=1, bitorder="little")
    defined = np.unpackbits(outcome.defined, axis=1, bitorder="little").astype(bool)
    wrong: list[int] = []
    said = np.zeros(defined.shape[1], bool)
    for piece in instruction.pieces:
        found = evaluate_piece(instruction, piece, given)
        for lane, bits in zip(piece.lanes, np.moveaxis(found, 1, 0), strict=True):
            place = slice(lane, lane + piece.width)
            said[place] = True
            if not defined[:, place].all() or _differ(piece, bits, wanted[:, place]):
                wrong.append(lane)
    if instruction.result_type == "HVX_VectorPred":  # of a byte of them, the first bit is enough
        said = np.repeat(said[::8], 8)
    return wrong + np.flatnonzero(defined.any(axis=0) & ~said).tolist()


def _differ(piece: Piece, found: Bytes, wanted: Bytes) -> bool:
    differ = (found != wanted).any(axis=1)
    forms = {str(x.attr[0]) for x in walk([piece.function]) if x.op in FLOAT_OPERATORS}
    for form in forms:  # which of two NaNs is kept does not matter
        if FLOAT_BITS[form] == piece.width and differ.any():
            differ &= ~(_are_nans(form, found) & _are_nans(form, wanted))
    return bool(differ.any())


def _are_nans(form: str, rows: Bytes) -> NDArray[np.bool_]:
    packed = [int.from_bytes(np.packbits(x, bitorder="little").tobytes(), "little") for x in rows]
    return np.array([is_nan(FORMATS[form], x) for x in packed])


def random_operands(instruction: LaneInstruction, rows: int, seed: int) -> dict[str, Bytes]:
    """Values for the operands, those of corners more often; immediates and amounts as the instruction allows."""
    source = np.random.default_rng(seed)
    given = {}
    for x in instruction.operands:
        size = (x.bits + 7) // 8
        if x.name in instruction.fixed:
            number = instruction.fixed[x.name] % (1 << 8 * size)
        elif x.low is not None and x.high is not None:
            number = None
            values = [int(source.integers(x.low, x.high + 1)) for _ in range(rows)]
        elif x.name in instruction.values:
            number = None
            values = [int(v) for v in source.choice(instruction.values[x.name], rows)]
        elif x.kind == "HVX_VectorPred":
            given[x.name] = source.choice(np.array([0, 255], np.uint8), (rows, size))
            continue
        else:
            plain = source.integers(0, 256, (rows, size), np.uint8)
            corners = source.choice(_CORNERS, (rows, size))
            given[x.name] = np.where(source.integers(0, 2, (rows, 1)) == 1, corners, plain).astype(np.uint8)
            continue
        numbers = [number] * rows if number is not None else values
        text = b"".join((v % (1 << 8 * size)).to_bytes(size, "little") for v in numbers)
        given[x.name] = np.frombuffer(text, np.uint8).reshape(rows, size)
    return given


def evaluate_piece(instruction: LaneInstruction, piece: Piece, given: dict[str, Bytes]) -> Bytes:
    """The bits of the lanes of a piece: rows, lanes, bits."""
    count = len(piece.lanes)
    rows = next((len(x) for x in given.values()), 1)
    widths = {int(str(x.attr[0])): int(x.attr[1]) for x in walk([piece.function])
              if x.op == "bits" and str(x.attr[0]).isdigit()}  # fmt: skip
    lane = var("i", count)
    operands, tables = [], {}
    for slot, width in widths.items():
        stride = (width + 7) // 8 * 8
        table = np.zeros((rows, count, stride), np.uint8)
        for at, (position, offset) in enumerate(piece.slots[slot]):
            source = np.unpackbits(given[instruction.operands[position].name], axis=1, bitorder="little")
            table[:, at, :width] = source[:, offset : offset + width]
        operands.append(Operand(str(slot), stride * count))
        tables[str(slot)] = np.packbits(table.reshape(rows, -1), axis=1, bitorder="little")

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        if old.op == "bits" and str(old.attr[0]).isdigit():
            stride = (widths[int(str(old.attr[0]))] + 7) // 8 * 8
            return node("bits", (build.multiply(lane, const(stride)),), old.attr)
        return old if args == old.args else node(old.op, args, old.attr)

    stride = (piece.width + 7) // 8 * 8
    put = Put("out", build.multiply(lane, const(stride)), piece.width, rebuild(piece.function, change))
    named = [Operand(x.name, x.bits) for x in instruction.operands if not x.name.isdigit()]
    made = Definition((*operands, *named), Operand("out", stride * count), (LaneLoop("i", count, (put,)),))
    found = np.unpackbits(evaluate(made, {**given, **tables}).result, axis=1, bitorder="little")
    return found.reshape(rows if given else 1, count, stride)[..., : piece.width]
