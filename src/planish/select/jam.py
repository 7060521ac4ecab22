"""The program of many rows of a strip from that of a few: a copy for each group of rows, in which equal values are one.

What neighbouring rows share is computed once, as by unroll-and-jam, and the search only ever sees a few rows.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.select.program import RegisterProgram
>>> from planish.select.strip import read_strip
>>> def row(*places):
...     stores = " ".join(f"B[{y}, l] = u8(i32(A[{y}, l]) + i32(A[{y + 1}, l]) + 1:i32 >> 1:i32)" for y in places)
...     kernel = parse_kernel(f"kernel k(n; A: u8[n, n], B: u8[n, n]) {{ for l in 0 .. 16 {{ {stores} }} }}")
...     return read_strip(kernel.body.body[0], {x.name: x for x in kernel.arrays})
>>> program = RegisterProgram()
>>> loads = [program.make("load", 128, (name, 0)) for name in ("m1", "m2")]
>>> average = program.make("call", 128, ("vrhaddq_u8", ()), loads)
>>> made = jam(row(0, 1), [row(0), row(1)], [(average, "m0", 0)])
>>> [x for x, _, _ in made]
[call('vrhaddq_u8', ())(load('m1', 0)(), load('m2', 0)()), call('vrhaddq_u8', ())(load('m2', 0)(), load('m4', 0)())]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planish.isa.select.lane_values import NoCover
from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const, rebuild
from planish.select.c_text import Store
from planish.select.program import RegisterProgram, Value, in_order
from planish.select.proof import same
from planish.select.strip import Strip


def jam(whole: Strip, parts: Sequence[Strip], stores: Sequence[Store]) -> tuple[Store, ...]:
    """The stores of a strip from those of the first of its parts, which lie one after the other and are alike but for
    the rows that they touch; NoCover where they are not, or it is more than these."""
    first, outputs = parts[0], iter(whole.body.outputs)
    program = RegisterProgram()
    made: list[Store] = []
    for part in parts:
        if part.kernel != first.kernel:
            raise NoCover("groups of its rows are not alike")
        renaming = find_renaming(part, whole)
        for output in part.body.outputs:
            # A program is proven for the first part: what it is for, renamed alike, has to be what is wanted here.
            wanted = next(outputs, None)
            place = renaming.place(output.row, output.offset)
            if wanted is None or (wanted.row, wanted.offset) != place:
                raise NoCover("groups of its rows do not store what all of them do")
            if (output.guard is None) != (wanted.guard is None):
                raise NoCover("groups of its rows do not store under the same conditions")
            if output.guard is not None and wanted.guard is not None:
                if not same(renaming.term(output.guard), wanted.guard, 1):
                    raise NoCover("groups of its rows do not store under the same conditions")
            if not same(renaming.term(output.value), wanted.value, output.width):
                raise NoCover("groups of its rows do not compute what all of them do")
        made += renamed(stores, renaming, program)
    if next(outputs, None) is not None:
        raise NoCover("its rows are not those of its groups")
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Renaming:
    """What operands of a part are in the whole: the row and by how many bits it begins earlier there; scalars."""

    rows: Mapping[str, tuple[str, int]]
    scalars: Mapping[str, str]

    def place(self, row: str, offset: int) -> tuple[str, int]:
        """A place in a row of the whole; NoCover where that has no such row."""
        if row not in self.rows:
            raise NoCover("a group of its rows touches a row that it does not")
        name, moved = self.rows[row]
        return name, offset + moved

    def term(self, x: Node) -> Node:
        """A term over the operands of the whole."""

        def change(old: Node, args: tuple[Node, ...]) -> Node:
            if old.op == "bits":
                name, width, signed = old.attr
                if str(name) not in self.rows and str(name) not in self.scalars:
                    raise NoCover("a group of its rows reads what it does not")
                row, moved = self.rows.get(str(name), (self.scalars.get(str(name), ""), 0))
                return build.bits(row, build.add(args[0], const(moved)), int(width), bool(signed))
            return build.construct(old.op, args, old.attr)

        return rebuild(x, change)


def find_renaming(part: Strip, whole: Strip) -> Renaming:
    """What the operands of a part are in a strip that touches the same rows, and more."""
    rows: dict[str, tuple[str, int]] = {}
    there = {text: (name, least) for name, (text, least) in whole.rows.items()}
    widths = {x.name: x.type.bits for x in part.kernel.arrays}
    for name, (text, least) in part.rows.items():
        if text in there:
            row, begin = there[text]
            rows[name] = row, (least - begin) * widths[name]
    values = {text: name for name, text in whole.values.items()}
    return Renaming(rows, {name: values[text] for name, text in part.values.items() if text in values})


def renamed(stores: Sequence[Store], renaming: Renaming, program: RegisterProgram) -> list[Store]:
    """Stores with the operands of the whole."""
    new: dict[Value, Value] = {}
    for x in in_order([value for value, _, _ in stores]):
        new[x] = program.make(x.kind, x.bits, _detail(x, renaming), [new[y] for y in x.args])
    made = []
    for value, row, offset in stores:
        made.append((new[value], *renaming.place(row, offset)))
    return made


def _detail(x: Value, renaming: Renaming) -> tuple[object, ...]:
    match x.kind, x.detail:
        case "load", (str(row), int(offset)):
            return renaming.place(row, offset)
        case "masked load", (str(row), int(offset), int(width)):
            return *renaming.place(row, offset), width
        case (("splat" | "scalar"), (width, tuple(lanes))):
            return width, tuple(renaming.term(y) if isinstance(y, Node) else y for y in lanes)
        case _:
            return x.detail
