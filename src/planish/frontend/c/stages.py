"""Several iterations of a loop whose counter is doubled, or halved, as one kernel: the stages of a fast transform.

Such a loop is no counted one, and its body is a kernel of its own, over sizes that are twice as large in the next
iteration. Where all of some iterations will run, and each has half as many steps as the one before, or twice as many,
their nests one after the other are a kernel as well, over the least of these sizes and the least number of steps:

>>> from planish.ir.parser import parse_kernel
>>> from planish.ir.printer import print_kernel
>>> text = "kernel k(h, s; a: f32[?]) { for i in 0 .. s { for j in 0 .. h { a[2 * h * i + j] = 0.0:f32 } } }"
>>> stages = Growth("h", {"h": 1}, "s", 2, True)
>>> print(print_kernel(unfold_stages(parse_kernel(text), stages, 2)), end="")
kernel k(h, s; a: f32[?])
{
  for i in 0 .. 2 * s {
    for j in 0 .. h {
      a[2 * h * i + j] = 0.0:f32
    }
  }
  for i in 0 .. s {
    for j in 0 .. 2 * h {
      a[4 * h * i + j] = 0.0:f32
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from pycparser import c_ast

from planish.frontend.c.declarations import CScalar
from planish.frontend.c.kernels import Finished
from planish.frontend.c.loops import Test, tests_of
from planish.frontend.c.quotients import Quotient
from planish.frontend.c.scope import LEAST_BITS, Bound, Symbol, bits_of, fold, is_plain, walk_tree, written
from planish.frontend.c.state import Again, Refused, Translation
from planish.frontend.c.unit import Region, Update
from planish.ir.expr import Compare, Const, Expr, Var, index, type_of
from planish.ir.nest import Block, Kernel
from planish.ir.polynomial import add, coefficient_of, constant, mul, names, normal, place, polynomial, sub
from planish.ir.traverse import map_block, map_exprs, substitute
from planish.ir.types import INDEX

MOST = 16
"""The rows of elements that one iteration of a kernel of several stages is over, at most."""


@dataclass(frozen=True, slots=True)
class Growth:
    """What becomes of a kernel's sizes from one iteration of the loop around it to the next: `scaled` sizes, each so
    many times the least one (`unit`), are `base` times as large, or the `base`-th part where the loop does not go
    `up`; the loop that runs `steps` times, a size as well, does so the other way round, and so do `turned`
    sizes."""

    unit: str
    scaled: Mapping[str, int]
    steps: str
    base: int
    up: bool
    turned: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Ratios:
    """What is set before a loop's kernel: variables that are so many times the counter, or two to the power of it, and
    those that are another variable, or a number, divided by so many times it."""

    scaled: dict[Symbol, Fraction]
    turned: dict[Symbol, tuple[Symbol | int, Fraction]]


@dataclass(frozen=True, slots=True)
class _Step:
    """How a loop's counter advances: it is multiplied with `base`, divided by it, or counts powers of two; `up`.
    `others`: variables that are divided where it is multiplied, and the other way round."""

    counter: Symbol
    base: int
    up: bool
    counts: bool
    others: tuple[Symbol, ...] = ()


def unfold_stages(kernel: Kernel, growth: Growth, stages: int) -> Kernel:
    """The kernel of so many iterations in a row, over the least unit and the least number of steps in any of them."""
    body = []
    for stage in range(stages):
        larger = growth.base ** (stage if growth.up else stages - 1 - stage)
        more = growth.base ** (stages - 1) // larger
        values = {x: mul(index(larger * y), index(growth.unit)) for x, y in growth.scaled.items()}
        values |= {x: mul(index(more), index(x)) for x in (growth.steps, *growth.turned)}
        body.append((kernel.assumptions, kernel.body, values))
    asked = [_placed(x, values) for assumptions, _, values in body for x in assumptions]
    nests = [x for _, block, values in body for x in _place_block(block, values).body]
    sizes = (growth.unit, growth.steps, *(x for x in kernel.sizes if x not in growth.scaled and x != growth.steps))
    asked = [*dict.fromkeys(x for x in asked if not _is_granted(x, growth.unit))]
    return replace(kernel, sizes=sizes, assumptions=tuple(asked), body=Block(tuple(nests)))


def _is_granted(assumption: Expr, unit: str) -> bool:
    """Whether a condition holds for all units from one on."""
    match assumption:
        case Compare(op="ge", left=left, right=Const(value=0)):
            found = coefficient_of(left, unit)
            least = None if found is None else constant(found[1])
            return found is not None and least is not None and found[0] >= max(0, -least)
        case _:
            return False


def _place_block(block: Block, values: Mapping[str, Expr]) -> Block:
    return map_block(lambda stmt: map_exprs(lambda x: _placed(x, values), stmt), block)


def _placed(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """An expression with sizes in the place of others; an index expression in normal form."""
    match expr:
        case Compare(op=op, left=left, right=right):
            return Compare(op, _placed(left, values), _placed(right, values))
        case _:
            out = substitute(expr, values)
            return normal(out) if type_of(expr) == INDEX else out


def find_stages(
    loop: c_ast.For, region: Region, finished: Finished, before: Sequence[c_ast.Node], cx: Translation,
    live: frozenset[Symbol],
) -> tuple[Region, ...]:  # fmt: skip
    """The kernels of several iterations of a loop whose body is a region, with the statements `before` it, and whose
    steps are a list; the most stages first, none where it is not such a loop. `cx`: a translation of what is read
    outside of the loop; `live`: what may be read behind the loop."""
    bound = cx.bound
    step = _read_steps(loop, bound)
    if step is None or region.updates or region.registers or written(loop.cond, bound):
        return ()
    declared = {s for x in walk_tree(loop.stmt) if (s := _declared(x, bound)) is not None}
    changed = written(loop, bound) | declared
    ratios = _find_ratios(before, step, bound, live, changed)
    if ratios is None:
        return ()
    growth = _find_growth(region, finished, step, ratios, changed)
    counters = (step.counter, *step.others)
    if growth is None or not all(map(is_plain, counters)) or {*counters} & written(loop.stmt, bound):
        return ()
    try:
        tests = tests_of(loop.cond, cx)
    except (Refused, Again):
        return ()
    granted = [x for x in cx.assumptions if isinstance(x, Compare)]
    if len(granted) < len(cx.assumptions) or any(coefficient_of(x.left, step.counter.key) is None for x in granted):
        return ()
    asked = frozenset[str]().union(*(names(x) for x in (*(y.difference for y in tests), *(y.left for y in granted))))
    others = [x for x in cx.used if x.key in asked and x is not step.counter]
    divided = [x for x, _ in ratios.turned.values() if isinstance(x, Symbol)]
    hidden = {x.name for x in declared} & {x.name for x in (*counters, *others, *divided)}
    if hidden or len(others) + 1 != len(asked) or any(x in changed or x.lasting for x in others):
        return ()
    if not all(_goes_one_way(x, step) for x in tests):
        return ()
    most = next(n for n in range(MOST) if growth.base ** (n + 1) > MOST)
    wraps = any(_wraps(x) for x in (step.counter, *step.others, *ratios.scaled, *ratios.turned))
    asks = tests, granted
    return tuple(
        _make_region(region, finished, step, growth, asks, others, wraps, ratios, n) for n in range(most, 0, -1)
    )  # fmt: skip


def _wraps(symbol: Symbol) -> bool:
    """Whether a variable starts again at 0 where it would be too large, as far as that may be seen."""
    type = symbol.ctype.type if isinstance(symbol.ctype, CScalar) else INDEX
    return type.kind == "uint" and type.bits <= LEAST_BITS


def _declared(node: c_ast.Node, bound: Bound) -> Symbol | None:
    return bound.symbol(node) if isinstance(node, c_ast.Decl) else None


def _read_steps(loop: c_ast.For, bound: Bound) -> _Step | None:
    """How the third part of a loop advances its counter, which is in its condition, and others; None: otherwise."""
    if loop.cond is None:
        return None
    steps = [_read_step(x, bound) for x in loop.next.exprs]
    asked = {bound.symbol(x) for x in walk_tree(loop.cond) if isinstance(x, c_ast.ID)}
    counters = [x for x in steps if x is not None and x.counter in asked]
    if len(counters) != 1 or None in steps:
        return None
    (first,) = counters
    others = [x for x in steps if x is not None and x is not first]
    if any(x.counts or x.base != first.base or x.up == first.up for x in others):
        return None
    return replace(first, others=tuple(x.counter for x in others))


def _read_step(node: c_ast.Node | None, bound: Bound) -> _Step | None:
    """How the third part of a loop advances its counter; None: otherwise."""
    match node:
        case c_ast.UnaryOp(op="++" | "p++" | "--" | "p--" as op, expr=c_ast.ID() as target):
            kind, amount = op[-1], 1
        case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target, rvalue=c_ast.BinaryOp(op=kind, left=a, right=b)):
            if kind in ("*", "+") and not _means(a, target, bound):
                a, b = b, a
            twice = kind == "+" and _means(b, target, bound)
            number = 2 if twice else fold(b, bound.file.constants)
            if not _means(a, target, bound) or number is None:
                return None
            kind, amount = "*" if twice else kind, number
        case c_ast.Assignment(op=kind, lvalue=c_ast.ID() as target, rvalue=b) if kind != "=":
            twice = kind == "+=" and _means(b, target, bound)
            number = 2 if twice else fold(b, bound.file.constants)
            if number is None:
                return None
            kind, amount = "*" if twice else kind[:-1], number
        case _:
            return None
    symbol = bound.symbol(target)
    if symbol is None:
        return None
    if kind in ("+", "-"):
        return _Step(symbol, 2, kind == "+", True) if amount == 1 else None
    if kind in ("<<", ">>"):
        kind, amount = kind[0].replace("<", "*").replace(">", "/"), 1 << amount if 0 < amount < MOST else 0
    power = amount > 1 and amount & (amount - 1) == 0
    return _Step(symbol, amount, kind == "*", False) if power and kind in ("*", "/") else None


def _means(node: c_ast.Node, target: c_ast.ID, bound: Bound) -> bool:
    return isinstance(node, c_ast.ID) and bound.symbol(node) is bound.symbol(target)


def _find_ratios(
    before: Sequence[c_ast.Node], step: _Step, bound: Bound, live: frozenset[Symbol], changed: set[Symbol]
) -> _Ratios | None:
    """What the statements set variables to; None where that is something else, or one may be read behind the loop."""
    out = _Ratios({} if step.counts else {step.counter: Fraction(1)}, {})
    for node in before:
        match node:
            case c_ast.Decl(init=None) | c_ast.EmptyStatement():
                continue
            case c_ast.Decl(init=value):
                symbol = bound.symbol(node)
            case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target, rvalue=value):
                symbol = bound.symbol(target)
            case _:
                return None
        if symbol is None or symbol in live or symbol in out.scaled or symbol in out.turned or not is_plain(symbol):
            return None
        ratio = _ratio(value, step, out.scaled, bound)
        turned = _turned_ratio(value, step, out.scaled, bound) if ratio is None else None
        if ratio is not None:
            out.scaled[symbol] = ratio
        elif turned is not None and _holds(symbol, turned[0]) and turned[0] not in changed:
            out.turned[symbol] = turned
        else:
            return None
    return out


def _holds(symbol: Symbol, other: Symbol | int) -> bool:
    """Whether a variable has room for what another one may be, or for a number."""
    if isinstance(other, Symbol):
        return bits_of(other) <= bits_of(symbol)
    return other < 1 << (min(bits_of(symbol), LEAST_BITS) - 1)


def _turned_ratio(
    node: c_ast.Node, step: _Step, known: Mapping[Symbol, Fraction], bound: Bound
) -> tuple[Symbol | int, Fraction] | None:
    """The variable that an expression is, or the number, divided by so many times the counter, or two to the power of
    it."""
    match node:
        case c_ast.BinaryOp(op="/", left=left, right=right):
            ratio = _ratio(right, step, known, bound)
        case c_ast.BinaryOp(op=">>", left=left, right=c_ast.ID() as right):
            ratio = Fraction(1) if step.counts and bound.symbol(right) is step.counter else None
        case _:
            return None
    number = fold(left, bound.file.constants)
    symbol = bound.symbol(left) if isinstance(left, c_ast.ID) else None
    if ratio is None or (number is None and (symbol is None or not is_plain(symbol))):
        return None
    if number is not None:
        return (number, ratio) if number > 0 else None
    assert symbol is not None
    return symbol, ratio


def _ratio(node: c_ast.Node, step: _Step, known: Mapping[Symbol, Fraction], bound: Bound) -> Fraction | None:
    """How many times the counter, or two to the power of it, an expression is."""
    if isinstance(node, c_ast.ID):
        symbol = bound.symbol(node)
        return None if symbol is None else known.get(symbol)
    if not isinstance(node, c_ast.BinaryOp):
        return None
    constants = bound.file.constants
    left, right = fold(node.left, constants), fold(node.right, constants)
    if step.counts and node.op == "<<" and left is not None and isinstance(node.right, c_ast.ID):
        return Fraction(left) if left > 0 and bound.symbol(node.right) is step.counter else None
    if node.op == "*" and left is not None:
        left, right, inner = None, left, _ratio(node.right, step, known, bound)
    else:
        inner = _ratio(node.left, step, known, bound)
    if inner is None or right is None or not 0 < right <= LEAST_BITS:
        return None
    match node.op:
        case "*":
            return inner * right
        case "<<":
            return inner * (1 << right)
        case "/":
            return inner / right
        case ">>":
            return inner / (1 << right)
        case _:
            return None


def _find_growth(
    region: Region, finished: Finished, step: _Step, ratios: _Ratios, changed: set[Symbol]
) -> Growth | None:
    """How the sizes of a region change; None where one changes in another way, or anything else does that it uses."""
    kernel, quotients = region.kernel, finished.quotients
    counted = [x for x in kernel.sizes if x in quotients]
    own = {x.key: y for x, y in ratios.scaled.items() if x.key in kernel.sizes or x is step.counter}
    turned = {x.key: y for x, (_, y) in ratios.turned.items() if x.key in kernel.sizes}
    others = {x.key for x in step.others}
    left = {x.key for x in changed}
    passed = {x for x, _ in region.names} - own.keys() - turned.keys() - others - quotients.keys()
    if len(counted) != 1 or passed & left or not own.keys() & {*kernel.sizes}:
        return None
    unit = min(own, key=lambda x: own[x])
    multiples = {x: y / own[unit] for x, y in own.items()}
    if any(x.denominator != 1 for x in (*multiples.values(), *(y / own[unit] for y in turned.values()))):
        return None
    (steps,) = counted
    if any(names(y) & {*own, *turned, *others, steps} for x in kernel.arrays for y in x.shape if y is not None):
        return None
    quotient = quotients[steps]
    terms = polynomial(quotient.divisor)
    single = len(terms) == 1 and len(monomial := next(iter(terms))) == 1 and isinstance(monomial[0], Var)
    if not single or names(quotient.divisor) - own.keys() or names(_dividend(quotient)) & left:
        return None
    scaled = {x: int(y) for x, y in multiples.items()}
    return Growth(unit, scaled, steps, step.base, step.up, frozenset({*turned, *others & {*kernel.sizes}}))


def _dividend(quotient: Quotient) -> Expr:
    """What has to be a multiple of the divisor so that the quotient of both is what was asked for."""
    # Of (n - len + 1) / len, rounded up, that is n.
    whole = sub(add(quotient.dividend, quotient.divisor), index(1))
    shorter = len(polynomial(whole)) < len(polynomial(quotient.dividend))
    return whole if shorter and not quotient.whole else quotient.dividend


def _goes_one_way(test: Test, step: _Step) -> bool:
    """Whether a condition that holds in some iteration held in all before it, once the counter is positive."""
    found = coefficient_of(test.difference, step.counter.key)
    if found is None or step.counter.key in names(found[1]):
        return False
    wanted = ("lt", "le") if step.up else ("gt", "ge")
    ends = not step.up and not step.counts and test.op == "ne" and not polynomial(found[1])
    return ends or (found[0] > 0 and test.op in wanted) or (found[0] < 0 and _turned(test.op) in wanted)


def _turned(op: str) -> str:
    return {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(op, op)


def _make_region(
    region: Region, finished: Finished, step: _Step, growth: Growth,
    asks: tuple[Sequence[Test], Sequence[Compare]], others: Sequence[Symbol], wraps: bool, ratios: _Ratios,
    stages: int,
) -> Region:  # fmt: skip
    """The region of so many iterations: what C passes to it, and what it asks."""
    most, counter = growth.base ** (stages - 1), step.counter
    kernel, passed = unfold_stages(region.kernel, growth, stages), dict(region.names)
    passed |= {x.key: x.name for x in (counter, *others)}
    variables = {**finished.variables, counter.key: counter.name}
    quotient = finished.quotients[growth.steps]
    largest = quotient.divisor if not growth.up else mul(index(most), quotient.divisor)
    passed[growth.steps] = Quotient(_dividend(quotient), largest, whole=True).spell(variables)
    unit, last = index(growth.unit), index(counter.key)
    # What is rounded down in one iteration is not so many times what it is in another.
    for symbol, (divided, ratio) in ratios.turned.items():
        if symbol.key in growth.turned:
            units = ratio / next(y for x, y in ratios.scaled.items() if x.key == growth.unit)
            divisor = mul(index(int(units) * (most if growth.up else 1)), unit)
            if isinstance(divided, Symbol):
                spelled = Quotient(Var(divided.key, INDEX), divisor, whole=True)
                passed[symbol.key] = spelled.spell({**variables, divided.key: divided.name})
            else:
                passed[symbol.key] = Quotient(index(divided), divisor, whole=True).spell(variables)
    updates = []
    for symbol in step.others:
        at = Var(symbol.key, INDEX)
        if growth.up and stages > 1:
            passed[symbol.key] = Quotient(at, index(most), whole=True).spell({symbol.key: symbol.name})
        else:
            passed[symbol.key] = symbol.name
        updates.append(Update(symbol.name, "set", at if growth.up else mul(index(most), at)))
    asked = [Compare("ge", unit, index(1))]
    turned = sorted({*growth.turned, *(x.key for x in step.others)})
    asked += [Compare("ge", index(x), index(0)) for x in (growth.steps, *turned)]
    if step.counts:
        last = add(last, index(stages - 1 if step.up else 1 - stages))
    else:
        last = mul(index(growth.scaled[counter.key] * (most if growth.up else 1)), unit)
        if counter.key != growth.unit:
            first = mul(index(growth.scaled[counter.key] * (1 if growth.up else most)), unit)
            asked.append(Compare("eq", index(counter.key), first))
    if not growth.up and stages > 1:
        passed[growth.unit] = Quotient(Var(growth.unit, INDEX), index(most), whole=True).spell(variables)
    tests, granted = asks
    asked += [Compare(x.op, place(x.difference, {counter.key: last}), index(0)) for x in tests]
    # What is linear in the counter, and holds at both ends, does between them.
    asked += [replace(x, left=place(x.left, {counter.key: y})) for x in granted for y in (index(counter.key), last)]
    if wraps:
        ends = (mul(index(max(growth.scaled.values()) * most), unit), *(x.value for x in updates))
        asked += [Compare("lt", x, index(1 << LEAST_BITS)) for x in ends]
    used = {x for y in asked for x in names(y.left) | names(y.right)} | {*kernel.sizes}
    sizes = tuple(dict.fromkeys((*kernel.sizes, *(x for x in passed if x in used))))
    kernel = replace(kernel, sizes=sizes, assumptions=tuple(dict.fromkeys((*kernel.assumptions, *asked))))
    order = (*sizes, *(x.name for x in kernel.scalars), *(x.name for x in kernel.arrays))
    updates.append(Update(counter.name, "set", last))
    return replace(
        region, kernel=kernel, names=tuple((x, passed[x]) for x in order), updates=tuple(updates), scratch=(),
        computed=(), stages=(), powers=tuple(x.name for x in others) if step.counts else (),
    )  # fmt: skip


__all__ = ["MOST", "Growth", "find_stages", "unfold_stages"]
