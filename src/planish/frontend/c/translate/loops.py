"""Counted loops: the value of every induction variable in iteration k, and the trip count.

A loop's body is read once with unknowns in the place of what it changes; a variable that ends as its unknown plus an
invariant amount holds `base + amount * k`. The condition then gives the number of iterations:

>>> Test("lt", index(-3)).op
'lt'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_integer, is_pointer, written
from planish.frontend.c.analysis.trip_counts import Quotient, is_of_sizes, trip_count
from planish.frontend.c.idioms.collapsed_loops import loops_of
from planish.frontend.c.idioms.dwindling_loops import find_dwindling, run_dwindling
from planish.frontend.c.idioms.early_continue import without_continue
from planish.frontend.c.idioms.modular_subscripts import as_extrema, may_choose
from planish.frontend.c.idioms.named_extrema import with_values
from planish.frontend.c.idioms.ring_buffers.wrap_around import Turn, WrapAround, names_in, value_before
from planish.frontend.c.idioms.unrolled_loops import run_each
from planish.frontend.c.translate.addresses import distance, is_address
from planish.frontend.c.translate.arithmetic import common
from planish.frontend.c.translate.divisions import with_named_quotients
from planish.frontend.c.translate.state import (
    Address,
    Again,
    CTranslation,
    Enclosing,
    KnownInteger,
    KnownNumber,
    LostValue,
    NotIndex,
    Refused,
    Value,
)
from planish.frontend.c.translate.subscripts import address_of, fitted, index_of
from planish.frontend.c.types.constants import fold, walk_tree
from planish.ir.expr import CompareOp, Expr, Var, index
from planish.ir.index.polynomial import (
    add,
    affine_over,
    build,
    coefficient_of,
    constant,
    extremum,
    mul,
    names,
    neg,
    place,
    polynomial,
    show,
    sub,
)
from planish.ir.nest import Block, For, Stmt
from planish.ir.traverse import conditions
from planish.ir.types import INDEX

Execute = Callable[[c_ast.Node, CTranslation], None]
_OPERATORS: dict[str, CompareOp] = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


@dataclass(frozen=True, slots=True)
class Test:
    """A loop goes on while `difference op 0`."""

    op: CompareOp
    difference: Expr


@dataclass(frozen=True, slots=True)
class Advance:
    """A variable that gains `amount` in every iteration, starting from `base`; `unknown` stood for it."""

    symbol: Symbol
    unknown: str
    base: Expr | None
    amount: Expr


@dataclass(frozen=True, slots=True)
class LoopParts:
    """A loop's condition, step and body; `late` says that the condition comes after the body. The body does nothing
    unless the `guards` hold."""

    cond: c_ast.Node
    next: c_ast.Node | None
    body: c_ast.Node
    late: bool
    guards: list[Expr]


@dataclass(frozen=True, slots=True)
class Walk:
    """What one reading of the body with unknowns told; `wraps`: of those of the others that the body reads, by the
    unknown that stood for them, and what they are."""

    advances: tuple[Advance, ...]
    others: tuple[Symbol, ...]
    wraps: Mapping[str, tuple[Symbol, WrapAround]]
    tests: tuple[Test, ...]


def run_loop(node: c_ast.For | c_ast.While | c_ast.DoWhile, cx: CTranslation, execute: Execute) -> None:
    """Translate a loop. Raises Refused where it is not a counted one."""
    if isinstance(node, (c_ast.While, c_ast.DoWhile)) and fold(node.cond, {}) == 0:
        # `do { … } while (0)` is how macros make one statement of several.
        if isinstance(node, c_ast.DoWhile):
            execute(node.stmt, cx)
        return
    if cx.guards and cx.searches is None:
        raise Refused("scop-condition", "a loop under a condition that depends on data", node)
    # Counters are what they are, whether the body does anything.
    before, guards, cx.guards = dict(cx.values), cx.guards, []
    if isinstance(node, c_ast.For):
        if node.init is not None:
            execute(node.init, cx)
        if node.cond is None:
            raise Refused("scop-loop", "a loop without a condition", node)
    # What rows are searched for is told by all that the loops say.
    plain = isinstance(node, c_ast.DoWhile) or guards or cx.searches is not None
    body = node.stmt if plain else with_values(node, node.stmt, cx, execute)
    body = cx.bound.keep(without_continue(body))
    if isinstance(node, c_ast.For):
        parts = LoopParts(node.cond, node.next, body, False, guards)
    else:
        parts = LoopParts(node.cond, None, body, isinstance(node, c_ast.DoWhile), guards)
    # By itself it is no nest that is worth anything.
    if cx.iterators and not guards and (found := find_dwindling(node, cx.bound)) is not None:
        run_dwindling(node, found, cx, execute)
        return
    if id(node) in cx.unrolled:
        run_each(parts.cond, lambda: tests_of(parts.cond, cx), lambda: _iterate(parts, cx, execute), cx)
    else:
        walk = _walk(parts, cx, execute)
        _write_loop(node, parts, walk, cx, execute)
    cx.guards = guards
    for symbol in written(node, cx.bound) & cx.values.keys() if guards else ():
        if cx.values[symbol] != before.get(symbol):
            cx.values[symbol] = LostValue("it is set under a condition")


def _run_body(parts: LoopParts, cx: CTranslation, execute: Execute) -> None:
    """Translate a loop's body, under the conditions of the loop."""
    cx.guards = parts.guards
    execute(parts.body, cx)
    cx.guards = []


def _iterate(parts: LoopParts, cx: CTranslation, execute: Execute) -> None:
    _run_body(parts, cx, execute)
    if parts.next is not None:
        execute(parts.next, cx)


def _changed(parts: LoopParts, cx: CTranslation) -> tuple[list[Symbol], list[Symbol]]:
    """Symbolic variables that the loop changes: those carried around, and those that inner loops set themselves."""
    bound = cx.bound
    everything = [x for x in (parts.cond, parts.body, parts.next) if x is not None]
    inner = {bound.symbol(x) for part in everything for x in walk_tree(part) if isinstance(x, c_ast.Decl)}
    found: set[Symbol] = set()
    for part in everything:
        found |= written(part, bound)
    candidates = [s for s in found if s not in inner and not cx.is_cell(s) and (is_integer(s) or is_pointer(s))]
    ordered = sorted(candidates, key=lambda s: s.key)
    openly = {x for part in everything for x in _written_openly(part, bound)}
    carried = [s for s in ordered if s in openly]
    return carried, [s for s in ordered if s not in carried]


def _written_openly(node: c_ast.Node, bound: BoundNames) -> set[Symbol]:
    """The symbols that are written outside of all loops that begin by setting them."""
    found = {x for _, child in node.children() for x in _written_openly(child, bound)}
    match node:
        case c_ast.For(init=init) if init is not None:
            return found - _set_by(init, bound)
        case c_ast.Assignment(lvalue=c_ast.ID() as target):
            pass
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--", expr=c_ast.ID() as target):
            pass
        case _:
            return found
    symbol = bound.symbol(target)
    return found if symbol is None else found | {symbol}


def _set_by(init: c_ast.Node, bound: BoundNames) -> set[Symbol]:
    """Symbols that a loop's first part sets to something not depending on them."""
    parts = init.exprs if isinstance(init, c_ast.ExprList) else [init]
    out: set[Symbol] = set()
    for part in parts:
        match part:
            case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target, rvalue=value):
                symbol = bound.symbol(target)
                if symbol is not None and all(bound.symbol(x) is not symbol for x in walk_tree(value)):
                    out.add(symbol)
            case _:
                pass
    return out


def _walk(parts: LoopParts, cx: CTranslation, execute: Execute) -> Walk:
    """Read condition, body and step once with unknowns for what they change."""
    carried, reset = _changed(parts, cx)
    for symbol in carried:
        if isinstance(value := cx.value(symbol), KnownInteger):
            cx.values[symbol] = KnownInteger(as_extrema(value.expr))
    entry: dict[Symbol, Value] = {s: cx.value(s) for s in carried}
    unknowns: dict[Symbol, str] = {}
    with cx.trial():
        for symbol in carried:
            cx.counter += 1
            unknowns[symbol] = f"{symbol.key}@{cx.counter}"
            cx.values[symbol] = _unknown(symbol, entry[symbol], unknowns[symbol])
        for symbol in reset:
            cx.values[symbol] = LostValue("it holds what the previous iteration left")
        tests = () if parts.late else tests_of(parts.cond, cx)
        # Where only the step changes anything that is carried, the body need not be read twice.
        whole = parts.late or not _written_openly(parts.body, cx.bound).isdisjoint(carried)
        if whole:
            _run_body(parts, cx, execute)
        tests = tests_of(parts.cond, cx) if parts.late else tests
        if parts.next is not None:
            execute(parts.next, cx)
        ends = {s: cx.values[s] for s in carried}
        read = names_in(cx.out)
    own = frozenset(unknowns.values())
    advances = []
    others = list(reset)
    wraps: dict[str, tuple[Symbol, WrapAround]] = {}
    for symbol in carried:
        amount = _amount(ends[symbol], entry[symbol], unknowns[symbol], own)
        if amount is None:
            others.append(symbol)
            match entry[symbol], ends[symbol]:
                case KnownInteger(expr=first), KnownInteger(expr=last) if is_integer(symbol) and not conditions(last):
                    wraps[unknowns[symbol]] = symbol, WrapAround(first, last)
                case _:
                    pass
        else:
            advances.append(Advance(symbol, unknowns[symbol], _last(entry[symbol]), amount))
    used = wraps if not whole or wraps.keys() & read else {}
    return Walk(tuple(advances), tuple(others), used, tests)


def _unknown(symbol: Symbol, entry: Value, name: str) -> Value:
    match entry:
        case Address(symbol=array, index=subscripts, target=target):
            return Address(array, (*subscripts[:-1], Var(name, INDEX)), target)
        case LostValue() if is_pointer(symbol):
            return entry
        case _:
            return KnownInteger(Var(name, INDEX))


def _last(value: Value) -> Expr | None:
    match value:
        case KnownInteger(expr=expr):
            return expr
        case Address(index=subscripts):
            return subscripts[-1]
        case LostValue() | KnownNumber():
            return None


def _amount(end: Value, entry: Value, unknown: str, own: frozenset[str]) -> Expr | None:
    """What a variable gained over one reading, if that is invariant."""
    if isinstance(end, Address) and isinstance(entry, Address):
        if end.symbol is not entry.symbol or end.index[:-1] != entry.index[:-1]:
            return None
    last = _last(end)
    if last is None:
        return None
    parts = coefficient_of(last, unknown)
    if parts is None or parts[0] != 1 or names(parts[1]) & own:
        return None
    return parts[1]


def tests_of(cond: c_ast.Node, cx: CTranslation) -> tuple[Test, ...]:
    """The comparisons that must all hold for a loop to go on; steps in them are carried out."""
    with cx.holding():
        return _tests_of(cond, cx)


def _tests_of(cond: c_ast.Node, cx: CTranslation) -> tuple[Test, ...]:
    try:
        match cond:
            case c_ast.BinaryOp(op="&&", left=left, right=right):
                return (*tests_of(left, cx), *tests_of(right, cx))
            case c_ast.BinaryOp(op="==" | "!=" | "<" | "<=" | ">" | ">=" as op, left=left, right=right):
                if is_address(left, cx) and is_address(right, cx):
                    first, last = address_of(left, cx), address_of(right, cx)
                    return (Test(_OPERATORS[op], distance(first, last, cond, cx, op not in (">", ">="))),)
                a, b = index_of(left, cx), index_of(right, cx)
                type = common(a.type, b.type)
                x, y = (fitted(x, type, side, cx) for x, side in ((a, left), (b, right)))
                return (Test(_OPERATORS[op], sub(as_extrema(x), as_extrema(y))),)
            case _:
                return (Test("ne", index_of(cond, cx).expr),)
    except NotIndex as reason:
        # A name that means nothing is what is wrong, wherever it stands.
        message, named = f"the condition of the loop holds {reason.message}", reason.cause == "scop-unknown"
        place = reason.node or cond if named else cond
        raise Refused("scop-unknown" if named else "scop-bound", message, place) from None


def _steps(op: CompareOp, start: Expr, change: Expr, stem: str, cx: CTranslation) -> Expr | None:
    """How often `start + change * k op 0` holds in a row, where `change` is made of sizes; None: not known."""
    match op:
        case "lt":
            return count_steps(neg(start), change, stem, cx)
        case "le":
            return count_steps(sub(index(1), start), change, stem, cx)
        case "gt":
            return count_steps(start, neg(change), stem, cx)
        case "ge":
            return count_steps(add(start, index(1)), neg(change), stem, cx)
        case "ne" | "eq":
            return None


def count_steps(distance: Expr, step: Expr, stem: str, cx: CTranslation) -> Expr | None:
    """How often a counter that advances by `step`, which is made of sizes, lies before an end that is `distance` away
    at first (not more than 0: never); None where that is not known.

    Where the distance is less in later iterations of outer loops, by less than a step, the largest one has to be a
    whole number of steps: then all take as many.
    """
    around = {it.name for it in cx.iterators}
    if not is_of_sizes(step, around) or not cx.never_negative(sub(step, index(1))):
        return None
    terms = polynomial(with_named_quotients(distance, cx))
    fixed = build({m: c for m, c in terms.items() if is_of_sizes(build({m: c}), around)})
    passed = sub(fixed, build(terms))
    moves = constant(passed) != 0
    if moves and not (cx.never_negative(passed) and cx.never_negative(sub(sub(step, index(1)), passed))):
        return None
    count = Var(cx.name_quotient(f"{stem}_steps", Quotient(fixed, step, whole=moves)), INDEX)
    return count if not moves or cx.assume(count) else None


def _trips(node: c_ast.Node, parts: LoopParts, walk: Walk, cx: CTranslation) -> Expr:
    """The number of iterations (negative: none)."""
    out: Expr | None = None
    for test in walk.tests:
        bases = {a.unknown: a.base for a in walk.advances}
        start = place(test.difference, {n: b for n, b in bases.items() if b is not None})
        change: Expr = index(0)
        for advance in walk.advances:
            found = coefficient_of(test.difference, advance.unknown)
            if found is None:
                raise Refused(
                    "scop-bound", "the condition of the loop is not affine in what the loop changes", parts.cond
                )
            change = add(change, mul(index(found[0]), advance.amount))
        if names(start) & {a.unknown for a in walk.advances} or _strange(start, walk, cx):
            raise Refused("scop-bound", "the condition of the loop holds a value that the loop changes", parts.cond)
        change = cx.settle(change)
        step = constant(change)
        if step == 0:
            raise Refused("scop-bound", "the condition of the loop does not change in a regular way", parts.cond)
        if step is None:
            count = _steps(test.op, start, change, walk.advances[0].symbol.key, cx)
        else:
            count = trip_count(test.op, start, step)
        if count is None and step is None:
            message = f"the step {show(change)} of the loop is not a constant, and how often it runs is not known"
            raise Refused("scop-bound", message, parts.cond)
        if count is None:
            raise Refused("scop-bound", "the number of iterations of the loop is not known", parts.cond)
        if test.op == "ne" and not cx.dry and not cx.assume(count):
            raise Refused("scop-bound", "the loop ends at one value only, and may miss it", parts.cond)
        out = count if out is None else extremum("min", out, count)
    if out is None:
        raise Refused("scop-bound", "the loop has no condition", node)
    return add(index(1), cx.settle(extremum("max", out, index(0)))) if parts.late else out


def _strange(expr: Expr, walk: Walk, cx: CTranslation) -> bool:
    """Whether an unknown of this loop that does not advance regularly is left."""
    keys = {s.key for s in walk.others}
    return any("@" in n and n.split("@")[0] in keys for n in names(expr))


def _write_loop(node: c_ast.Node, parts: LoopParts, walk: Walk, cx: CTranslation, execute: Execute) -> None:
    trips = _trips(node, parts, walk, cx)
    tested = [a for a in walk.advances if any(a.unknown in names(t.difference) for t in walk.tests)]
    main = next((a for a in tested if is_integer(a.symbol)), tested[0])
    lower: Expr = index(0)
    step, upper = 1, trips
    name = _iterator_name(main.symbol, cx)
    amount = constant(main.amount)
    base = main.base
    others_move = any(constant(a.amount) != 0 for a in walk.advances if a is not main)
    if base is not None and is_integer(main.symbol) and amount is not None and amount > 0:
        if amount == 1:
            around = [it.name for it in cx.iterators]
            if affine_over(base, around, False) or not affine_over(trips, around, False):
                lower, upper = base, add(base, trips)
        elif not others_move and not parts.late and len(walk.tests) == 1 and walk.tests[0].op in ("lt", "le"):
            found = coefficient_of(walk.tests[0].difference, main.unknown)
            if found is not None and found[0] == 1:
                lower, step = base, amount
                upper = add(neg(found[1]), index(1 if walk.tests[0].op == "le" else 0))
    loops, value = loops_of(Enclosing(name, lower, upper, id(node)), cx.folds.get(id(node), ()), cx)
    its = [it.name for it in cx.iterators]
    for bound in (bound for loop in loops for bound in (loop.lower, loop.upper)):
        if not cx.dry and not affine_over(bound, its, False):
            raise Refused("scop-bound", f"the bound {show(bound)} of the loop is not affine", parts.cond)
    entry = {a.symbol: cx.value(a.symbol) for a in walk.advances}
    cx.iterators += loops
    for advance in walk.advances:
        here: Expr | None
        if advance is main and step > 1:
            here = value
        else:
            here = None if advance.base is None else add(advance.base, mul(advance.amount, sub(value, lower)))
        cx.values[advance.symbol] = _at(entry[advance.symbol], here)
    for symbol in walk.others:
        cx.values[symbol] = LostValue("it holds what the previous iteration left")
    for symbol, choice in _wrapped(walk, Turn(value, lower, step, _bases(walk, main, step)), cx):
        cx.values[symbol] = KnownInteger(choice)
    with cx.inside() as body:
        if not parts.late:
            with cx.outside(len(loops)):
                tests_of(parts.cond, cx)
        _run_body(parts, cx, execute)
        if parts.late:
            tests_of(parts.cond, cx)
        if parts.next is not None:
            _step_quietly(parts.next, cx, execute)
    del cx.iterators[-len(loops) :]
    nest: list[Stmt] = body
    for loop in reversed(loops):
        nest = [For(loop.name, loop.lower, loop.upper, step, Block(tuple(nest)), span=cx.span_of(node))]
    cx.emit(nest[0])
    cx.advances = tuple((a.symbol, a.amount) for a in walk.advances if constant(a.amount) != 0)
    _leave(parts, walk, entry, trips, cx)


def _bases(walk: Walk, main: Advance, step: int) -> dict[str, tuple[Expr, Expr]]:
    """Of what advances, where it begins and what it gains while the counter gains one."""
    gains = ((x, index(1) if x is main and step > 1 else x.amount) for x in walk.advances)
    return {x.unknown: (x.base, gain) for x, gain in gains if x.base is not None}


def _wrapped(walk: Walk, turn: Turn, cx: CTranslation) -> Iterator[tuple[Symbol, Expr]]:
    """What variables hold that the iteration before has set, as choices."""
    known = {name: x for name, (_, x) in walk.wraps.items()}
    for unknown, (symbol, variable) in walk.wraps.items():
        choice = value_before(unknown, known, turn)
        if choice is not None and may_choose(choice, variable.entry, cx):
            cx.chosen = True
            yield symbol, choice


def _step_quietly(next: c_ast.Node, cx: CTranslation, execute: Execute) -> None:
    """The step has been accounted for; only what it does to memory is still to be written."""
    with cx.inside() as extra:
        execute(next, cx)
    cx.out.extend(extra)


def _iterator_name(symbol: Symbol, cx: CTranslation) -> str:
    taken = {it.name for it in cx.iterators}
    if is_integer(symbol) and symbol not in cx.used and symbol.key not in taken:
        return symbol.key
    return cx.fresh(f"{symbol.key}_it")


def _at(entry: Value, last: Expr | None) -> Value:
    if last is None:
        return LostValue("it has no value before the loop")
    match entry:
        case Address(symbol=symbol, index=subscripts, target=target):
            return Address(symbol, (*subscripts[:-1], last), target)
        case _:
            return KnownInteger(last)


def _leave(parts: LoopParts, walk: Walk, entry: dict[Symbol, Value], trips: Expr, cx: CTranslation) -> None:
    """What the variables hold after the loop."""
    times = trips if parts.late else extremum("max", trips, index(0))
    for advance in walk.advances:
        last = None if advance.base is None else add(advance.base, mul(advance.amount, times))
        cx.values[advance.symbol] = _at(entry[advance.symbol], last)
    for symbol in walk.others:
        cx.values[symbol] = LostValue("its value after the loop depends on the loop")
    if written(parts.cond, cx.bound) and not parts.late:
        # The condition is read once more than the body: `while (n--)` leaves -1.
        try:
            tests_of(parts.cond, cx)
        except (Refused, Again):
            for symbol in written(parts.cond, cx.bound):
                cx.values[symbol] = LostValue("its value after the loop is not known")
