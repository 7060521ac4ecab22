"""Bit-reversal (digit-reversal) permutation loops, as before or after the stages of an FFT; the reversed index is
counted up from its first digit on.

Before: for (i = 0, j = 0; i < n - 1; i++) {
            if (i < j) { t = x[i]; x[i] = x[j]; x[j] = t; }
            for (k = n / 2; k <= j; k /= 2) j -= k;
            j += k;
        }
After:  order[0] = 0;  for i in 1 .. n { order[i] = order[i / 2] / 2 + i % 2 * (n / 2) }
        for i in 0 .. n { if (i < order[i]) { exchange x[i] and x[order[i]] } }

While a digit in front is the largest there is, it becomes 0, and the next one is increased: this is how one is added to
a number that is read backwards. Each digit is less than `base` and `n` is a power of it, so that the first digit that
is not yet 0 is the largest if and only if the number is at least (base - 1) * k, where k is what the digit counts.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> swap = "if (i < j) { float t = x[i]; x[i] = x[j]; x[j] = t; }"
>>> loop = "for (i = 0, j = 0; i < n - 1; i++) { %s for (k = n / 2; k <= j; k /= 2) j -= k; j += k; }" % swap
>>> region, = read_c(Source("f.c", "void f(float *x, int n) { int i, j, k; %s }" % loop)).functions[0].regions
>>> region.reversal
BitReversal(base=2, widths={'x': 1}, sources={})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from pycparser import c_ast

from planish.frontend.c.analysis.liveness import Live
from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_plain, step_of, written
from planish.frontend.c.idioms.bit_reversal.element_moves import (
    ElementMoves,
    OtherLoopError,
    demand,
    element_type,
    shifted_one,
)
from planish.frontend.c.idioms.bit_reversal.reversed_bits import BitRun, UnknownBitsError, Value, all_signed
from planish.frontend.c.translation_unit import TILE, BitReversal
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import CScalar
from planish.ir.nest import Kernel
from planish.ir.text.operator_names import quoted
from planish.ir.text.parser import parse_kernel
from planish.ir.types import Type

LEAST_TILED, MOST_TILED = (TILE * TILE).bit_length() - 1, 28
"""The least and most bits of numbers whose elements are exchanged by squares where they are reversed bit by bit."""


@dataclass(frozen=True, slots=True)
class Reversed:
    """What a loop is: the kernel, the C expressions to pass to it, and how digits are reversed."""

    kernel: Kernel
    names: tuple[tuple[str, str], ...]
    reversal: BitReversal


def find_reversal(loop: c_ast.For, bound: BoundNames, live: Live) -> Reversed | None:
    """How a loop reverses digits; None where it does something else, or what it counts with may be read behind it.
    `live`: what may be read behind it."""
    try:
        return _Reader(loop, bound, ElementMoves(bound)).read(live)
    except OtherLoopError:
        return None


@dataclass(slots=True)
class _Reader:
    """A loop on its way."""

    loop: c_ast.For
    bound: BoundNames
    moves: ElementMoves

    def read(self, live: Live) -> Reversed:
        """What the loop is; raises OtherLoopError."""
        counter = self.counted()
        body = [x for x in self.moves.statements(self.loop.stmt) if not self.moves.is_empty(x)]
        if (found := self.bit_by_bit(counter, body, live)) is not None:
            return found
        starts = self.starts()
        demand(len(body) >= 3)
        first = isinstance(body[0], c_ast.If)
        exchange, steps = (body[0], body[1:]) if first else (body[-1], body[:-1])
        count, base, mirrored, weight = self.carry(steps)
        demand(self.limits(counter, count) and len({counter, mirrored, weight}) == 3)
        # Number 0 is 0 backwards; where one is added before elements are exchanged, that belongs to number 1.
        demand(starts.get(counter) == (0 if first else 1) and starts.get(mirrored, 0) == 0)
        demand(starts.keys() <= {counter, mirrored})
        widths = self.moves.exchanged(exchange, counter, mirrored)
        scalars = {x for x in written(self.loop, self.bound) if isinstance(x.ctype, CScalar)}
        numbers = [counter, mirrored, weight, *([count] if isinstance(count, Symbol) else [])]
        demand(all(map(is_plain, numbers)) and not scalars & live and not any(x.lasting for x in scalars))
        demand(count not in scalars)
        return self.made(count, base, widths, None if mirrored in starts else mirrored)

    def bit_by_bit(self, counter: Symbol, body: Sequence[c_ast.Node], live: Live) -> Reversed | None:
        """What the loop is where each number is made by itself, from the bits of the counter; None where it is not so.
        Elements are exchanged, or all are copied to other places."""
        last = len(body) - next((n for n, x in enumerate(reversed(body)) if not _is_copy(x)), len(body))
        steps, moves = (body[:last], body[last:]) if last < len(body) else (body[:-1], body[-1:])
        mirrored = self.second_number(moves, counter)
        if mirrored is None or not is_plain(mirrored) or mirrored is counter or not steps or self.loop.cond is None:
            return None
        scalars = {x for x in written(self.loop, self.bound) if isinstance(x.ctype, CScalar)}
        asked = self.reversed_sizes(steps, counter, mirrored, scalars, isinstance(moves[0], c_ast.If))
        numbers = {x for y in steps for x in written(y, self.bound)}
        if asked is None or counter in numbers or self.starts() != {counter: 0} or not is_plain(counter):
            return None
        demand(not scalars & live and not any(x.lasting for x in scalars))
        if isinstance(moves[0], c_ast.If):
            return self.of_tiles(*asked, 2, self.moves.exchanged(moves[0], counter, mirrored), {})
        return self.of_tiles(*asked, 2, *self.moves.copied(moves, counter, mirrored))

    def second_number(self, moves: Sequence[c_ast.Node], counter: Symbol) -> Symbol | None:
        """The variable besides the counter that elements are exchanged or copied by."""
        match moves:
            case [c_ast.If(cond=c_ast.BinaryOp(op="<" | ">", left=c_ast.ID() as a, right=c_ast.ID() as b)), *_]:
                pair = {self.moves.symbol(a), self.moves.symbol(b)}
            case [c_ast.Assignment(lvalue=c_ast.ArrayRef() as to, rvalue=c_ast.ArrayRef() as of), *_]:
                refs = [y for x in (to.subscript, of.subscript) for y in walk_tree(x) if isinstance(y, c_ast.ID)]
                pair = {self.moves.symbol(x) for x in refs}
            case _:
                return None
        return next(iter(pair - {counter})) if counter in pair and len(pair) == 2 else None

    def reversed_sizes(
        self, steps: Sequence[c_ast.Node], counter: Symbol, mirrored: Symbol, changed: set[Symbol], exchanges: bool
    ) -> tuple[list[str], str] | None:
        """What has to be asked, as C, and how many numbers there are, where statements reverse the bits of the counter:
        each variable that they are told is how many numbers or how many bits there are."""
        used = [self.bound.symbol(x) for y in (self.loop.cond, *steps) for x in walk_tree(y) if isinstance(x, c_ast.ID)]
        free = [x for x in dict.fromkeys(used) if x is not None and x is not counter and x not in changed]
        if len(free) > 2 or not all(map(is_plain, free)):
            return None
        # The loop's condition is asked before the first number is made.
        asked_of = {self.bound.symbol(x) for x in walk_tree(self.loop.cond) if isinstance(x, c_ast.ID)}
        if asked_of & (changed - {counter}):
            return None
        signed = all_signed(self.loop, self.bound)

        def holds(ways: Sequence[bool], bits: int) -> bool:
            known: dict[Symbol, Value] = {x: 1 << bits if whole else bits for x, whole in zip(free, ways, strict=True)}
            run = BitRun(self.bound, {**known, counter: tuple(range(bits))}, signed)
            try:
                for x in steps:
                    run.run(x)
                return run.values.get(mirrored) == tuple(reversed(range(bits))) and self.ends(run, bits, exchanges)
            except UnknownBitsError:
                return False

        ways = product((True, False), repeat=len(free))
        found = next((x for x in ways if all(holds(x, bits) for bits in range(LEAST_TILED, MOST_TILED + 1))), None)
        if found is None:
            return None
        amounts = [x.name for x, whole in zip(free, found, strict=True) if whole]
        digits = [x.name for x, whole in zip(free, found, strict=True) if not whole]
        asked = [f"{x} >= {LEAST_TILED} && {x} <= {MOST_TILED}" for x in digits]
        asked += [f"{x} == {digits[0]}" for x in digits[1:]]
        count = f"(long long){amounts[0]}" if amounts else f"(1LL << {digits[0]})" if digits else ""
        if amounts and digits:
            asked += [f"{x} == (1LL << {digits[0]})" for x in amounts]
        elif amounts:
            asked += [f"{count} >= {TILE * TILE} && {count} <= {1 << MOST_TILED}", f"({count} & ({count} - 1)) == 0"]
            asked += [f"{x} == {amounts[0]}" for x in amounts[1:]]
        return (asked, count) if count else None

    def ends(self, run: BitRun, bits: int, exchanges: bool) -> bool:
        """Whether the loop goes to the last number; exchanges may leave it out, which is the same backwards."""
        match self.loop.cond:
            case c_ast.BinaryOp(op="<" | "<=" | "!=" as op, left=left, right=end) if isinstance(left, c_ast.ID):
                counted = self.bound.symbol(left) is self.counted()
                count = run.value(end)
                last = count if op == "<=" else count - 1 if isinstance(count, int) else -1
                return counted and (last == (1 << bits) - 1 or (exchanges and last == (1 << bits) - 2))
            case _:
                return False

    def made(self, count: Symbol | int, base: int, widths: dict[Symbol, int], entry: Symbol | None) -> Reversed:
        """The kernel, over tiles of elements."""
        spelled = f"(long long){count.name}" if isinstance(count, Symbol) else str(count)
        asked = [f"{spelled} >= {TILE * TILE}", f"({spelled} & ({spelled} - 1)) == 0"]
        if base > 2:
            powers = sum(1 << x for x in range(0, 63, base.bit_length() - 1))
            asked.append(f"({spelled} & {powers}) != 0")
        if entry is not None:
            asked.append(f"{entry.name} == 0")
        return self.of_tiles(asked, spelled, base, widths, {})

    def of_tiles(
        self, asked: Sequence[str], spelled: str, base: int, widths: Mapping[Symbol, int],
        sources: Mapping[Symbol, Symbol],
    ) -> Reversed:  # fmt: skip
        """The kernel, where C is asked for something before it is run, of so many numbers."""
        name = self.bound.function.decl.name
        passed = f"({' && '.join(asked)} ? {spelled} / {TILE * TILE} : -1)"
        used = dict.fromkeys((*widths, *sources.values()))
        reversal = BitReversal(base, {x.key: y for x, y in widths.items()}, {x.key: y.key for x, y in sources.items()})
        kernel = parse_kernel(_text(name, reversal, {x.key: element_type(x) for x in used}))
        return Reversed(kernel, (("tiles", passed), *((x.key, x.name) for x in used)), reversal)

    def starts(self) -> dict[Symbol, int]:
        """What the first part of the loop sets variables to."""
        out: dict[Symbol, int] = {}
        match self.loop.init:
            case c_ast.DeclList(decls=nodes) | c_ast.ExprList(exprs=nodes):
                pass
            case node:
                nodes = [node] if node is not None else []
        for node in nodes:
            symbol, value = self.moves.setting(node)
            number = self.bound.value(value)
            demand(number is not None)
            assert number is not None
            out[symbol] = number
        return out

    def counted(self) -> Symbol:
        """The loop's counter, which is increased by one."""
        match step_of(self.loop.next, self.bound):
            case (symbol, 1):
                return symbol
            case _:
                raise OtherLoopError

    def limits(self, counter: Symbol, count: Symbol | int) -> bool:
        """Whether the loop goes to the last number or the one before it; the last one is the same backwards."""
        match self.loop.cond:
            case c_ast.BinaryOp(op="<" | "<=" as op, left=left, right=end) if self.moves.is_variable(left, counter):
                pass
            case _:
                return False
        last = -1 if op == "<" else 0
        if isinstance(count, int):
            number = self.moves.number(end)
            return number is not None and number + last - count in (-1, -2)
        if isinstance(end, c_ast.BinaryOp) and end.op == "-" and (less := self.moves.number(end.right)) is not None:
            end, last = end.left, last - less
        return self.moves.is_variable(end, count) and last in (-1, -2)

    def carry(self, steps: Sequence[c_ast.Node]) -> tuple[Symbol | int, int, Symbol, Symbol]:
        """How many numbers there are, the base of their digits, the variable that one is added to, backwards, and the
        one that tells what a digit counts."""
        match steps:
            case [c_ast.For(init=c_ast.DeclList(decls=[first]), cond=cond, next=shift, stmt=stmt), add]:
                inner = [*self.moves.statements(stmt), shift]
            case [c_ast.For(init=first, cond=cond, next=shift, stmt=stmt), add] if first is not None:
                inner = [*self.moves.statements(stmt), shift]
            case [first, c_ast.For(init=None, cond=cond, next=shift, stmt=stmt), add]:
                inner = [*self.moves.statements(stmt), shift]
            case [first, c_ast.While(cond=cond, stmt=stmt), add]:
                inner = self.moves.statements(stmt)
            case _:
                raise OtherLoopError
        weight, value = self.moves.setting(first)
        count, base = self.quotient(value)
        mirrored = self.added(add, weight, base)
        demand(len(inner) == 2 and self.takes(inner[0], mirrored, weight, base))
        demand(self.divides(inner[1], weight, base) and self.asks(cond, mirrored, weight, base))
        return count, base, mirrored, weight

    def quotient(self, node: c_ast.Node) -> tuple[Symbol | int, int]:
        """What is divided, and by which base."""
        whole = self.moves.number(node)
        if whole is not None:
            return 2 * whole, 2
        match node:
            case c_ast.BinaryOp(op=">>", left=left, right=right):
                base = shifted_one(self.moves.number(right)) or 0
            case c_ast.BinaryOp(op="/", left=left, right=right):
                base = self.moves.number(right) or 0
            case _:
                raise OtherLoopError
        count = self.moves.amount(left)
        demand(count is not None and base > 1 and any(base**x == TILE for x in range(TILE)))
        assert count is not None
        return count, base

    def divides(self, node: c_ast.Node, weight: Symbol, base: int) -> bool:
        """Whether a statement goes on to the next digit."""
        match node:
            case c_ast.Assignment(op=">>=", lvalue=target, rvalue=value):
                by = shifted_one(self.moves.number(value)) or 0
            case c_ast.Assignment(op="/=", lvalue=target, rvalue=value):
                by = self.moves.number(value) or 0
            case c_ast.Assignment(op="=", lvalue=target, rvalue=c_ast.BinaryOp(op=">>", left=left, right=value)):
                demand(self.moves.is_variable(left, weight))
                by = shifted_one(self.moves.number(value)) or 0
            case c_ast.Assignment(op="=", lvalue=target, rvalue=c_ast.BinaryOp(op="/", left=left, right=value)):
                demand(self.moves.is_variable(left, weight))
                by = self.moves.number(value) or 0
            case _:
                return False
        return self.moves.is_variable(target, weight) and by == base

    def takes(self, node: c_ast.Node, mirrored: Symbol, weight: Symbol, base: int) -> bool:
        """Whether a statement makes the last digit there is a 0."""
        match node:
            case c_ast.Assignment(op="-=", lvalue=target, rvalue=value):
                good = self.is_last(value, weight, base)
            case c_ast.Assignment(op="^=", lvalue=target, rvalue=value):
                good = base == 2 and self.moves.is_variable(value, weight)
            case c_ast.Assignment(op="&=", lvalue=target, rvalue=c_ast.UnaryOp(op="~", expr=value)):
                good = base == 2 and self.moves.is_variable(value, weight)
            case c_ast.Assignment(op="=", lvalue=target, rvalue=c_ast.BinaryOp(op="-", left=left, right=value)):
                good = self.moves.is_variable(left, mirrored) and self.is_last(value, weight, base)
            case _:
                return False
        return good and self.moves.is_variable(target, mirrored)

    def is_last(self, node: c_ast.Node, weight: Symbol, base: int) -> bool:
        """Whether an expression is what the last digit there is counts."""
        if base == 2 and self.moves.is_variable(node, weight):
            return True
        match node:
            case c_ast.BinaryOp(op="*", left=a, right=b):
                ways, number = ((a, b), (b, a)), self.moves.number
                return any(number(x) == base - 1 and self.moves.is_variable(y, weight) for x, y in ways)
            case _:
                return False

    def added(self, node: c_ast.Node, weight: Symbol, base: int) -> Symbol:
        """The variable that a statement adds one of a digit to, which is not the last one there is."""
        match node:
            case c_ast.Assignment(op="+=", lvalue=c_ast.ID() as target, rvalue=value):
                pass
            case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target, rvalue=c_ast.BinaryOp(op="+", left=a, right=b)):
                own = self.moves.symbol(target)
                value = b if self.moves.is_variable(a, own) else a
                demand(self.moves.is_variable(a, own) or self.moves.is_variable(b, own))
            case c_ast.Assignment(op="|=" | "^=", lvalue=c_ast.ID() as target, rvalue=value):
                demand(base == 2)
            case _:
                raise OtherLoopError
        demand(self.moves.is_variable(value, weight))
        return self.moves.symbol(target)

    def asks(self, node: c_ast.Node, mirrored: Symbol, weight: Symbol, base: int) -> bool:
        """Whether a condition holds if and only if the digit is the last one there is; where there are no more digits
        it may hold or not."""
        match node:
            case c_ast.BinaryOp(op="&&", left=a, right=b):
                ways = ((a, b), (b, a))
                return any(self.is_positive(x, weight) and self.asks(y, mirrored, weight, base) for x, y in ways)
            case c_ast.BinaryOp(op="<=", left=less, right=more) | c_ast.BinaryOp(op=">=", left=more, right=less):
                return self.is_last(less, weight, base) and self.moves.is_variable(more, mirrored)
            case c_ast.BinaryOp(op="&", left=a, right=b):
                ways, is_variable = ((a, b), (b, a)), self.moves.is_variable
                return base == 2 and any(is_variable(x, weight) and is_variable(y, mirrored) for x, y in ways)
            case _:
                return False

    def is_positive(self, node: c_ast.Node, weight: Symbol) -> bool:
        """Whether a condition only asks for a digit."""
        match node:
            case c_ast.BinaryOp(op=">=", left=left, right=right):
                return self.moves.is_variable(left, weight) and self.moves.number(right) == 1
            case c_ast.BinaryOp(op=">" | "!=", left=left, right=right):
                return self.moves.is_variable(left, weight) and self.moves.number(right) == 0
            case _:
                return self.moves.is_variable(node, weight)


def _is_copy(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ArrayRef)


def _text(name: str, reversal: BitReversal, types: Mapping[str, Type]) -> str:
    """The kernel: each number backwards, and the exchanges or copies."""
    base, widths = reversal.base, reversal.widths
    count = f"{TILE * TILE} * tiles"
    moves = ""
    for place, (array, side) in enumerate((x, y) for x in widths for y in range(widths[x])):
        low, high = (f"[{spell_place(x, widths[array], side)}]" for x in ("number", "mirrored"))
        own, source = quoted(array), reversal.sources.get(array)
        if source is None:
            moves += f"alloc held{place}: {types[array]}[] held{place}[] = {own}{low} {own}{low} = {own}{high} "
            moves += f"{own}{high} = held{place}[] "
        else:
            moves += f"{own}{high} = {quoted(source)}{low} "
    arrays = ", ".join(f"{quoted(x)}: {types[x]}[?]" for x in types)
    chosen = moves if reversal.sources else f"if number < mirrored {{ {moves}}} "
    return (
        f"kernel {quoted(name)}(tiles; {arrays}) assume tiles >= 1 {{ alloc order: i64[{count}] order[0] = 0 "
        f"for number in 1 .. {count} {{ order[number] = order[number // {base}] // {base}"
        f" + number % {base} * ({TILE * TILE // base} * tiles) }} "
        f"for number in 0 .. {count} {{ let mirrored = order[number] {chosen}}} }}"
    )


def spell_place(number: str, width: int, side: int) -> str:
    """The subscript of one of several elements side by side."""
    return f"{f'{width} * ' if width > 1 else ''}{number}{f' + {side}' if side else ''}"
