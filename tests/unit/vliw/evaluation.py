"""Terms of an e-graph of vectors, evaluated for random elements: all terms of a class must agree in the lanes that are
asked for. What nobody asks for is NaN."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planish.ir.expr import Binary, Call, Const, Expr, Select, Unary, Var
from planish.vliw.saturation.egraph import EGraph, ENode
from planish.vliw.saturation.terms import (
    AnyTerm,
    ApplyTerm,
    BroadcastTerm,
    ConstantsTerm,
    ElementTerm,
    ExtractTerm,
    InsertTerm,
    LanesTerm,
    NumberTerm,
    PermuteTerm,
    ScalarTerm,
    SpreadTerm,
    SumTerm,
    TakeTerm,
    TotalTerm,
    WindowTerm,
)

Lanes = np.ndarray


def check_classes(graph: EGraph, arrays: Mapping[str, Lanes], lanes: int) -> int:
    """How many pairs of terms of a class agree; AssertionError where two do not."""
    values: dict[int, Lanes] = {}
    pending = {number: list(graph.nodes(number)) for number in graph.classes()}
    pairs = 0
    while True:
        progress = False
        for number, nodes in pending.items():
            for node in list(nodes):
                children = [graph.find(x) for x in node.children]
                if all(x in values for x in children):
                    nodes.remove(node)
                    made = _evaluate(node, [values[x] for x in children], arrays, lanes)
                    progress = True
                    if made is None:
                        continue
                    if number in values:
                        _agree(values[number], made, graph, number, node)
                        pairs += 1
                        made = np.where(np.isnan(values[number]), made, values[number])
                    values[number] = made
        if not progress:
            return pairs


def _agree(one: Lanes, other: Lanes, graph: EGraph, number: int, node: ENode) -> None:
    assert one.shape == other.shape, (graph.nodes(number), node)
    both = ~np.isnan(one) & ~np.isnan(other)
    np.testing.assert_allclose(one[both], other[both], rtol=1e-9, atol=1e-9, err_msg=str(node))


def _evaluate(node: ENode, operands: list[Lanes], arrays: Mapping[str, Lanes], lanes: int) -> Lanes | None:
    match node.op:
        case ElementTerm(array=array, place=place):
            return np.array(arrays[array][place])
        case NumberTerm(value=value):
            return np.array(float(value))
        case ScalarTerm(name=name):
            return np.array(arrays[name])
        case AnyTerm():
            return np.array(np.nan)
        case ApplyTerm(head=head):
            return np.asarray(_value(head.value, dict(zip(head.operands, operands, strict=True))))
        case SumTerm():
            return np.asarray(sum(operands))
        case LanesTerm():
            return np.array([*(float(x) for x in operands), *[np.nan] * (lanes - len(operands))])
        case TakeTerm(asked=asked):
            return np.where(np.isin(np.arange(lanes), asked), operands[0], np.nan)
        case WindowTerm(array=array, place=place):
            whole = np.concatenate([arrays[array], np.full(2 * lanes, np.nan)])
            return whole[place : place + lanes]
        case ConstantsTerm(values=values):
            return np.array(values, dtype=float)
        case BroadcastTerm():
            return np.full(lanes, operands[0])
        case SpreadTerm(array=array, place=place):
            return np.full(lanes, arrays[array][place])
        case PermuteTerm(lanes=taken, is_table=is_table):
            return np.concatenate(operands[: -1 if is_table else None])[list(taken)]
        case InsertTerm(lane=lane):
            made = operands[0].copy()
            made[lane] = operands[1]
            return made
        case ExtractTerm(lane=lane):
            return np.array(operands[0][lane])
        case TotalTerm():
            return np.array(operands[0].sum())
        case _:
            return None  # stores


def _value(x: Expr, given: Mapping[str, Lanes]) -> Lanes:
    match x:
        case Var(name=name):
            return given[name]
        case Const(value=value):
            return np.array(float(value))
        case Unary(op="neg", operand=a):
            return -_value(a, given)
        case Binary(op=op, left=a, right=b):
            one, two = _value(a, given), _value(b, given)
            with np.errstate(all="ignore"):
                return {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
                        "min": np.minimum, "max": np.maximum}[op](one, two)  # fmt: skip
        case Call(function="sqrt", arguments=(a,)):
            return np.sqrt(np.abs(_value(a, given)))
        case Select(condition=c, then=a, otherwise=b):
            return np.where(_value(c, given) != 0, _value(a, given), _value(b, given))
        case _:
            raise AssertionError(f"{x} is not evaluated here")
