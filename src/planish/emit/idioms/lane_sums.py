"""Vector reductions: a partial sum in each lane, written out, so that no compiler has to reassociate.

>>> from planish.ir.types import F32
>>> added, most = (Partial(LaneSum(op, "s", F32), "s", "s_lanes", 64) for op in ("add", "max"))
>>> added.added, most.first
('s = s + planish_add_64_f32(s_lanes);', 's')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planish.emit.c.expression import c_type, emit_expr
from planish.ir.expr import Binary, Var
from planish.ir.nest import ReduceOp
from planish.ir.types import ALL_TYPES, BOOL, I32, I64, Type

LANES = """\
/* The iterations of the loop below may run in lanes: none needs what another one stores. */
#if defined(__clang__)
#define planish_lanes _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define planish_lanes _Pragma("GCC ivdep")
#else
#define planish_lanes
#endif"""

STRIP = """\
/* The same, for as many iterations as a register or two have lanes: gcc would unroll them first, and then find none. */
#if defined(__GNUC__) && !defined(__clang__)
#define planish_strip _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#else
#define planish_strip planish_lanes
#endif"""

_OPERATIONS: tuple[ReduceOp, ...] = ("add", "mul", "min", "max", "and", "or", "xor")
_FIRST: dict[ReduceOp, str] = {"add": "0", "mul": "1", "xor": "0"}
"""What changes nothing where it is added; what is there already changes no other one."""

_COUNTS = (8, 16, 32, 64)
_MANY = 4
"""With so many sums there are enough of them to keep the processor busy, and not enough registers for more lanes."""


@dataclass(frozen=True, slots=True)
class LaneSum:
    """What a loop reduces: the operation, the kernel's name of the place, and its type."""

    op: ReduceOp
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Partial:
    """The partial sums of one sum, `count` of them in the array `lanes`; `cell` is C's name of the place."""

    sum: LaneSum
    cell: str
    lanes: str
    count: int

    @property
    def first(self) -> str:
        """What each lane begins with: where the same value may be added twice, with what there was."""
        return _FIRST.get(self.sum.op, self.cell)

    @property
    def added(self) -> str:
        """The statement that adds the lanes, which change, to the place."""
        op, type = self.sum.op, self.sum.type
        total = f"{_name(op, type, self.count)}({self.lanes})"
        return f"{self.cell} = {_joined(op, type, self.cell, total) if op in _FIRST else total};"


def count_lanes(sums: Sequence[LaneSum]) -> int:
    """How many partial sums each sum has: four registers of 64 bytes, or eight of 32, of a lone one; one of many."""
    size = max(x.type.size for x in sums)
    return 64 // size if len(sums) >= _MANY else 64 if len(sums) == 1 and size == 4 else 32


def directive_of(sums: Sequence[LaneSum]) -> str:
    """What stands before the loop over the lanes."""
    return "planish_strip" if len(sums) >= _MANY else "planish_lanes"


def has_lanes(op: ReduceOp, type: Type) -> bool:
    """Whether there are partial sums of this kind."""
    if type.is_int:
        return True
    return op in ("and", "or", "xor") if type == BOOL else type.kind == "float" and op in ("add", "mul", "min", "max")


def clear(sums: Sequence[Partial], counter: str) -> list[str]:
    """Statements that declare the lanes, and let them begin."""
    names = [f"{c_type(x.sum.type)} {x.lanes}[{x.count}];" for x in sums]
    loop = f"for (int {counter} = 0; {counter} < {sums[0].count}; {counter}++) {{"
    return [*names, loop, *(f"  {x.lanes}[{counter}] = {x.first};" for x in sums), "}"]


def _name(op: ReduceOp, type: Type, count: int) -> str:
    return f"planish_{op}_{count}_{type}"


def _joined(op: ReduceOp, type: Type, a: str, b: str) -> str:
    """Two partial sums as one; signed ones wrap around, as the loop's own do."""
    if type in (I32, I64) and op in ("add", "mul"):
        return f"planish_wrap_{op}_{type}({a}, {b})"
    return emit_expr(Binary(op, Var(a, type), Var(b, type)))


def _write_sum(op: ReduceOp, type: Type, count: int) -> str:
    """Halves are added to each other, as registers are."""
    halves = [count >> i for i in range(1, count.bit_length())]
    joined = {half: _joined(op, type, f"lanes[l + {half}]", "lanes[l]") for half in halves}
    loops = [f"  for (int l = 0; l < {half}; l++) {{ lanes[l] = {joined[half]}; }}" for half in halves]
    spelt = c_type(type)
    head = f"planish_inside {spelt} {_name(op, type, count)}({spelt} *lanes)"
    return "\n".join([head, "{", *loops, "  return lanes[0];", "}"])


def _write_sums() -> dict[str, str]:
    kinds = [(op, type) for op in _OPERATIONS for type in ALL_TYPES if has_lanes(op, type)]
    keys = ((op, type, count) for op, type in kinds for count in _COUNTS)
    return {_name(*x): _write_sum(*x) for x in keys}


SUMS = _write_sums()
"""The text of each function by its name."""
