"""Vector reductions: a partial sum in each lane, written out, so that no compiler has to reassociate.

>>> from planish.ir.types import F32
>>> added, most = (Partial(LaneSum(op, "s", F32), "s", "s_lanes", "s_many", "s_lane", 64, 16) for op in ("add", "max"))
>>> added.folded, added.added, most.first
('planish_fold_add_64_16_f32(s_many, s_lanes);', 's = s + planish_add_16_f32(s_lanes);', 's')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planish.emit.c.expression import c_type, emit_expr
from planish.ir.expr import Binary, Var
from planish.ir.nest import ReduceOp
from planish.ir.types import ALL_TYPES, BOOL, I32, I64, Type

SUM = """\
/* What stands in these braces may be added in another order: older compilers cannot be told. */
#if defined(__clang__) && __clang_major__ > 12
#define planish_sum _Pragma("clang fp reassociate(on)")
#else
#define planish_sum
#endif"""

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

FEWEST = 4
"""What waits for its loads may have to wait for the cache, and needs no fewer registers."""

_OPERATIONS: tuple[ReduceOp, ...] = ("add", "mul", "min", "max", "and", "or", "xor")
_FIRST: dict[ReduceOp, str] = {"add": "0", "mul": "1", "xor": "0"}
"""What changes nothing where it is added; what is there already changes no other one."""

_COUNTS = (4, 8, 16, 32, 64, 128)
_MANY = 4
"""With so many sums there are enough of them to keep the processor busy, and not enough registers for more lanes."""


@dataclass(frozen=True, slots=True)
class Accumulators:
    """How many registers of partial sums keep the adders busy (latency times ports), the bytes of a register, and the
    loads that the machine starts beside each addition."""

    registers: int = 4
    bytes: int = 64
    loads: int = 1

    def busy(self, loads: int) -> int:
        """The registers of a sum whose terms have so many loads, which its additions wait for where these are many: a
        row that is read in few steps is one that the processor foresees.

        >>> [Accumulators(8).busy(x) for x in (0, 1, 2, 3, 9)]
        [8, 8, 4, 4, 4]
        """
        slower = max(-(-loads // self.loads), 1)
        wanted = max(-(-self.registers // slower), min(self.registers, FEWEST))
        return 1 << (wanted - 1).bit_length()


ACCUMULATORS = Accumulators()
"""Where nothing is known of the machine."""


@dataclass(frozen=True, slots=True)
class LaneSum:
    """What a loop reduces: the operation, the kernel's name of the place, and its type."""

    op: ReduceOp
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Partial:
    """The partial sums of one sum: `few` of them in the array `lanes`, those of one register; `count` in `many`, whose
    sums they become where there are enough values. What is left in the end goes by way of a variable `lane`; `cell` is
    C's name of the place."""

    sum: LaneSum
    cell: str
    lanes: str
    many: str
    lane: str
    count: int
    few: int

    @property
    def folded(self) -> str:
        """The statement that adds many lanes, which change, up in the few ones."""
        return f"{fold_name(self.sum.op, self.sum.type, self.count, self.few)}({self.many}, {self.lanes});"

    @property
    def first(self) -> str:
        """What each lane begins with: where the same value may be added twice, with what there was."""
        return _FIRST.get(self.sum.op, self.cell)

    @property
    def added(self) -> str:
        """The statement that adds the few lanes, which change, to the place."""
        op, type = self.sum.op, self.sum.type
        total = f"{total_name(op, type, self.few)}({self.lanes})"
        return f"{self.cell} = {_joined(op, type, self.cell, total) if op in _FIRST else total};"


def count_lanes(
    sums: Sequence[LaneSum], by: Accumulators = ACCUMULATORS, loads: int = 1, narrowest: int = 8
) -> tuple[int, int]:  # fmt: skip
    """How many partial sums each sum has, and how many of them are a register, where a term has so many loads, the
    `narrowest` of so many bytes.

    A lone sum has all accumulators, and as many lanes as a register has of what is loaded: gcc 12 makes lanes of no
    fewer where a condition asks of bytes. Two or three sums have half of the accumulators each, many one register each.

    >>> from planish.ir.types import F32, F64
    >>> sums = [LaneSum("add", x, F32) for x in "abcd"]
    >>> [count_lanes(sums[:n], Accumulators(8, 64)) for n in (1, 2, 4)]
    [(128, 16), (64, 16), (16, 16)]
    >>> [count_lanes([LaneSum("add", "s", F64)], Accumulators(8, 64), 2, size) for size in (8, 1)]
    [(32, 8), (64, 8)]
    """
    few = max(by.bytes // max(x.type.size for x in sums), _COUNTS[0])
    if len(sums) == 1:
        return min(max(few * by.busy(loads), by.bytes // narrowest), _COUNTS[-1]), few
    registers = 1 if len(sums) >= _MANY else max(by.registers // 2, 1)
    return min(few * registers, _COUNTS[-1]), few


def has_lanes(op: ReduceOp, type: Type) -> bool:
    """Whether there are partial sums of this kind."""
    if type.is_int:
        return True
    return op in ("and", "or", "xor") if type == BOOL else type.kind == "float" and op in ("add", "mul", "min", "max")


def clear(sums: Sequence[Partial], counter: str, many: bool) -> list[str]:
    """Statements that declare the lanes, few or many, and let them begin."""
    own = [(x, x.many if many else x.lanes, x.count if many else x.few) for x in sums]
    names = [f"{c_type(x.sum.type)} {name}[{count}];" for x, name, count in own]
    loop = f"for (int {counter} = 0; {counter} < {own[0][2]}; {counter}++) {{"
    return [*names, loop, *(f"  {name}[{counter}] = {x.first};" for x, name, _ in own), "}"]


def total_name(op: ReduceOp, type: Type, count: int) -> str:
    """The function that joins all lanes to one."""
    return f"planish_{op}_{count}_{type}"


def fold_name(op: ReduceOp, type: Type, count: int, few: int) -> str:
    """The function that joins many lanes to few ones."""
    return f"planish_fold_{op}_{count}_{few}_{type}"


def begins_with(op: ReduceOp) -> str:
    """What changes nothing where it is joined, as C."""
    return _FIRST[op]


def has_macro(x: LaneSum) -> bool:
    """Whether the macro for loops makes this sum: what a lane begins with is a number."""
    return x.op in _FIRST and bool(joiner(x.op, x.type))


def _joined(op: ReduceOp, type: Type, a: str, b: str) -> str:
    """Two partial sums as one; signed ones wrap around, as the loop's own do."""
    if type in (I32, I64) and op in ("add", "mul"):
        return f"planish_wrap_{op}_{type}({a}, {b})"
    return emit_expr(Binary(op, Var(a, type), Var(b, type)))


_JOINERS = {"a + b": "planish_plus", "a * b": "planish_times", "a & b": "planish_and", "a | b": "planish_or"}
HALVING = {
    "planish_plus": "#define planish_plus(a, b) ((a) + (b))",
    "planish_times": "#define planish_times(a, b) ((a) * (b))",
    "planish_and": "#define planish_and(a, b) ((a) & (b))",
    "planish_or": "#define planish_or(a, b) ((a) | (b))",
    "planish_halve": """\
/* Half of the lanes are joined with the other half, as registers are. */
#define planish_halve(half, to, from, join) \\
  for (int l = 0; l < half; l++) { to[l] = join(from[l + half], from[l]); }""",
    "planish_halve_4": """\
#define planish_halve_4(join) planish_halve(2, lanes, lanes, join) planish_halve(1, lanes, lanes, join)""",
    **{
        f"planish_halve_{x}": f"#define planish_halve_{x}(join) \\\n"
        f"  planish_strip planish_halve({x // 2}, lanes, lanes, join) planish_halve_{x // 2}(join)"
        for x in _COUNTS[1:]
    },
    **{
        f"planish_fold_{2 * x}_{x}": f"#define planish_fold_{2 * x}_{x}(join) \\\n"
        f"  planish_strip planish_halve({x}, few, lanes, join)"
        for x in _COUNTS[:-1]
    },
    **{
        f"planish_fold_{count}_{few}": f"#define planish_fold_{count}_{few}(join) \\\n"
        f"  planish_halve({count // 2}, lanes, lanes, join) planish_fold_{count // 2}_{few}(join)"
        for count in _COUNTS for few in _COUNTS if count > 2 * few
    },
}
"""Macros of which the functions are made that join lanes."""


def joiner(op: ReduceOp, type: Type) -> str:
    """What joins two lanes, as a function or macro of C; "" where it is none."""
    text = _joined(op, type, "a", "b")
    return _JOINERS.get(text, text.removesuffix("(a, b)") if text.endswith("(a, b)") and text[0] != "(" else "")


def _write_half(op: ReduceOp, type: Type, half: int, few: int, to: str = "lanes") -> list[str]:
    """Half of the lanes are added to the other half, as registers are."""
    strip = "planish_strip " if 2 < half <= few else ""
    joined = _joined(op, type, f"lanes[l + {half}]", "lanes[l]")
    return [f"  {strip}for (int l = 0; l < {half}; l++) {{ {to}[l] = {joined}; }}"]


def _write_sum(op: ReduceOp, type: Type, count: int) -> str:
    spelt = c_type(type)
    head = f"planish_spare planish_inside {spelt} {total_name(op, type, count)}({spelt} *lanes)"
    if join := joiner(op, type):
        return f"{head} {{ planish_halve_{count}({join}) return lanes[0]; }}"
    halves = [x for i in range(1, count.bit_length()) for x in _write_half(op, type, count >> i, count)]
    return "\n".join([head, "{", *halves, "  return lanes[0];", "}"])


def _write_fold(name: str, op: ReduceOp, type: Type, count: int, few: int) -> str:
    spelt = c_type(type)
    head = f"planish_spare planish_inside void {name}({spelt} *lanes, {spelt} *few)"
    if join := joiner(op, type):
        return f"{head}\n{{ planish_fold_{count}_{few}({join}) }}"
    halves = [count >> i for i in range(1, count.bit_length()) if count >> i > few]
    lines = [y for x in halves for y in _write_half(op, type, x, few)]
    return "\n".join([head, "{", *lines, *_write_half(op, type, few, few, "few"), "}"])


def _write_sums() -> dict[str, str]:
    out: dict[str, str] = {}
    for op, type in ((op, type) for op in _OPERATIONS for type in ALL_TYPES if has_lanes(op, type)):
        for count in _COUNTS:
            out[total_name(op, type, count)] = _write_sum(op, type, count)
            for few in (x for x in _COUNTS if x < count):
                name = fold_name(op, type, count, few)
                out[name] = _write_fold(name, op, type, count, few)
    return out


SUMS = _write_sums()
"""The text of each function by its name."""
