"""How a machine moves values between lanes and scalars, read off what its operations do with numbered lanes.

>>> from planish.ir.types import F32
>>> from planish.vliw.description import load_machine
>>> made = lane_moves(load_machine("ftmatrix"), F32)
>>> made.lanes, made.permute1, made.permute2, made.insert, made.extract, made.total
(32, 'VSHUF', 'VSHUF2', 'VPUT', 'VGET', 'VREDADD')
>>> [x.operation for x in made.fixed if x.lanes[:4] == (0, 32, 1, 33)]
['VUNPKL']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from planish.ir.expr import Compare, Const, Expr, Load, Select
from planish.ir.nest import Array, Assign, Kernel, Reduce
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.traverse import children, walk
from planish.ir.types import Type
from planish.vliw.machine import MachineOperation, VliwMachine, written_arrays
from planish.vliw.streams.lower import patterns_of


@dataclass(frozen=True, slots=True)
class FixedMove:
    """An operation, with a number in its text or without one, whose lane l is lane `lanes[l]` of its `sources`, vectors
    one after the other."""

    operation: str
    immediate: int | None
    sources: tuple[str, ...]
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LaneMoves:
    """The moves between lanes for elements of a type; "" where there is no such operation. `permute1`, `permute2`:
    lanes of one or two vectors by a vector of their numbers, of type `table`; `insert`, `extract`: one lane by its
    number; `total`: the sum of all lanes."""

    type: Type
    lanes: int
    fixed: tuple[FixedMove, ...] = ()
    permute1: str = ""
    permute2: str = ""
    table: Type | None = None
    insert: str = ""
    extract: str = ""
    total: str = ""


@lru_cache(maxsize=64)
def fixed_by_lane(fixed: tuple[FixedMove, ...]) -> dict[tuple[int, int], tuple[FixedMove, ...]]:
    """The moves by a lane and what they have in it."""
    found: dict[tuple[int, int], list[FixedMove]] = {}
    for x in fixed:
        for lane, source in enumerate(x.lanes):
            found.setdefault((lane, source), []).append(x)
    return {key: tuple(x) for key, x in found.items()}


@lru_cache(maxsize=64)
def _moves(operations: tuple[MachineOperation, ...], memories: frozenset[str], kind: Type, lanes: int) -> LaneMoves:
    fixed: list[FixedMove] = []
    found: dict[str, str] = {}
    table: Type | None = None
    for x in operations:
        arrays = x.definition.arrays
        if x.branch or x.transfer or any(a.memory in memories for a in arrays) or x.definition.scalars:
            continue
        if len(written_arrays(x.definition)) != 1 or not _only_moves(x.definition):
            continue
        shapes = [_lane_count(a) for a in arrays]
        whole = [a for a, n in zip(arrays, shapes, strict=True) if n == lanes and a.type == kind]
        single = [a for a, n in zip(arrays, shapes, strict=True) if n == 0 and a.type == kind]
        rest = [a for a in arrays if a not in whole and a not in single]
        result = written_arrays(x.definition)[0]
        sources = [a for a in whole if a != result]
        if result in whole and len(rest) == 1 and rest[0].type.is_int and not single and not x.definition.sizes:
            name = f"permute{len(sources)}"
            if _is_permutation(x.definition, result, sources, rest[0], lanes):
                found.setdefault(name, x.name)
                table = table or rest[0].type
        elif result in whole and not rest and not single and sources and len(x.definition.sizes) <= 1:
            fixed += _fixed(x, result, sources, lanes)
        elif not rest and len(single) == 1 and len(x.definition.sizes) == 1 and len(sources) == 1:
            if result in whole and _is_insert(x.definition, result, sources[0], single[0], lanes):
                found.setdefault("insert", x.name)
            elif result in single and _is_extract(x.definition, result, sources[0], lanes):
                found.setdefault("extract", x.name)
    return LaneMoves(kind, lanes, tuple(fixed), found.get("permute1", ""), found.get("permute2", ""), table,
                     found.get("insert", ""), found.get("extract", ""))  # fmt: skip


def lane_moves(machine: VliwMachine, kind: Type) -> LaneMoves:
    """The moves of a machine for elements of a type; of no lanes where it has no vectors of them."""
    patterns = patterns_of(machine)
    memories = frozenset(x.name for x in machine.memories)
    loads = [x.lanes for x in patterns.patterns if x.lanes and x.result.type == kind and isinstance(x.value, Load)]
    lanes = max(loads, default=0)
    if not lanes:
        return LaneMoves(kind, 0)
    made = _moves(machine.operations, memories, kind, lanes)
    total = next((x.operation.name for x in patterns.sums
                  if (x.op, x.lanes, x.result.type) == ("add", lanes, kind)), "")  # fmt: skip
    return replace(made, total=total)


def _lane_count(array: Array) -> int | None:
    if not array.shape:
        return 0
    size = array.shape[0]
    return int(size.value) if len(array.shape) == 1 and isinstance(size, Const) else None


def _only_moves(kernel: Kernel) -> bool:
    """Whether a definition does nothing to elements but move them."""
    stmts = list(walk(kernel.body))
    values = [x.value for x in stmts if isinstance(x, Assign)]
    return bool(values) and not any(isinstance(x, Reduce) for x in stmts) and all(_is_moved(x) for x in values)


def _is_moved(x: Expr) -> bool:
    match x:
        case Load():
            return True
        case Select(condition=Compare(left=a, right=b), then=then, otherwise=otherwise):
            return not _loads(a) and not _loads(b) and _is_moved(then) and _is_moved(otherwise)
        case _:
            return False


def _loads(x: Expr) -> bool:
    return isinstance(x, Load) or any(_loads(y) for y in children(x))


def _run(kernel: Kernel, result: Array, given: Mapping[str, Any], lanes: int) -> np.ndarray[Any, Any] | None:
    values = {**given, result.name: np.full((lanes,) if lanes else (), -1, result.type.numpy)}
    try:
        run_kernel(kernel, values)
    except (IndexError, ArithmeticError, ValueError, TypeError):
        return None
    return np.asarray(values[result.name])


def _numbered(sources: list[Array], lanes: int) -> dict[str, Any]:
    return {x.name: np.arange(n * lanes, (n + 1) * lanes).astype(x.type.numpy) for n, x in enumerate(sources)}


def _is_permutation(kernel: Kernel, result: Array, sources: list[Array], table: Array, lanes: int) -> bool:
    """Whether a vector of numbers says which lanes of the sources come out: told by such vectors."""
    if _lane_count(table) != lanes or len(sources) not in (1, 2):
        return False
    draw = np.random.default_rng(lanes)
    most = len(sources) * lanes
    tables = [np.arange(lanes), np.arange(most)[::-1][:lanes], *(draw.integers(0, most, lanes) for _ in range(3))]
    for x in tables:
        made = _run(kernel, result, {**_numbered(sources, lanes), table.name: x.astype(table.type.numpy)}, lanes)
        if made is None or not np.array_equal(made, x):
            return False
    return True


def _fixed(x: MachineOperation, result: Array, sources: list[Array], lanes: int) -> Iterator[FixedMove]:
    """What an operation moves, for each number in its text."""
    sizes = x.definition.sizes
    for number in range(lanes) if sizes else (None,):
        given = {**_numbered(sources, lanes), **({sizes[0]: number} if sizes else {})}
        made = _run(x.definition, result, given, lanes)
        if made is not None and (made >= 0).all():
            yield FixedMove(x.name, number, tuple(y.name for y in sources), tuple(int(y) for y in made))


def _is_insert(kernel: Kernel, result: Array, source: Array, scalar: Array, lanes: int) -> bool:
    for k in range(lanes):
        given = {**_numbered([source], lanes), scalar.name: np.full((), 999, scalar.type.numpy), kernel.sizes[0]: k}
        made = _run(kernel, result, given, lanes)
        if made is None or not np.array_equal(made, [999 if n == k else n for n in range(lanes)]):
            return False
    return True


def _is_extract(kernel: Kernel, result: Array, source: Array, lanes: int) -> bool:
    for k in range(lanes):
        made = _run(kernel, result, {**_numbered([source], lanes), kernel.sizes[0]: k}, 0)
        if made is None or int(made) != k:
            return False
    return True
