"""FFT stages (radix stages): several iterations of a loop whose counter doubles or halves, as one kernel.

Such a loop is no counted one, and its body is a kernel of its own, over sizes that are twice as large in the next
iteration. Where all of some iterations will run, and each has half as many steps as the one before, or twice as many,
their nests one after the other are a kernel as well, over the least of these sizes and the least number of steps:

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
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

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from pycparser import c_ast

from planish.frontend.c.analysis.scope import LEAST_BITS, BoundNames, Symbol, is_plain, written
from planish.frontend.c.analysis.trip_counts import ComputedSize, Quotient
from planish.frontend.c.translate.geometric_iv import MOST, Ratios, Steps, find_ratios, goes_one_way, read_steps
from planish.frontend.c.translate.kernels import FinishedKernel
from planish.frontend.c.translate.loops import Test, tests_of
from planish.frontend.c.translate.state import Again, CTranslation, Refused
from planish.frontend.c.translation_unit import Region, Update
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import CScalar
from planish.ir.accesses import map_values
from planish.ir.expr import Binary, Compare, Const, Expr, Var, index, type_of
from planish.ir.index.polynomial import add, coefficient_of, constant, mul, names, normal, place, polynomial, sub
from planish.ir.nest import Block, Kernel
from planish.ir.traverse import map_block, map_exprs, substitute, used_names
from planish.ir.types import INDEX


@dataclass(frozen=True, slots=True)
class SizePart:
    """A size that is the part of a `whole` one `by` a number."""

    whole: str
    by: int

    def spell(self, variables: Mapping[str, str], times: int = 1) -> str:
        """The part of so many, in C; -1 where that is no whole number."""
        return Quotient(Var(self.whole, INDEX), index(self.by * times), whole=True).spell(variables)


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
    ratio: Fraction = Fraction(1)
    """How many times what advances the unit is."""
    parts: Mapping[str, SizePart] = field(default_factory=dict)
    """The scaled sizes that are parts of others: C has no names for them."""


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
    loop: c_ast.For, region: Region, finished: FinishedKernel, before: Sequence[c_ast.Node], cx: CTranslation,
    live: frozenset[Symbol],
) -> tuple[Region, ...]:  # fmt: skip
    """The kernels of several iterations of a loop whose body is a region, with the statements `before` it, and whose
    steps are a list; the most stages first, none where it is not such a loop. `cx`: a translation of what is read
    outside of the loop; `live`: what may be read behind the loop."""
    bound = cx.bound
    if region.updates or region.registers or (loop.cond is not None and written(loop.cond, bound)):
        return ()
    declared = {s for x in walk_tree(loop.stmt) if (s := _declared(x, bound)) is not None}
    changed = written(loop, bound) | declared
    ways = (_find_way(loop, region, finished, before, x, bound, live, changed) for x in read_steps(loop, before, bound))
    way = next((x for x in ways if x is not None), None)
    if way is None:
        return ()
    region, steps, ratios, growth = way
    counter = steps.counter.counter
    try:
        tests = tests_of(loop.cond, cx)
    except (Refused, Again):
        return ()
    granted = [x for x in cx.assumptions if isinstance(x, Compare)]
    if len(granted) < len(cx.assumptions) or any(coefficient_of(x.left, counter.key) is None for x in granted):
        return ()
    asked = frozenset[str]().union(*(names(x) for x in (*(y.difference for y in tests), *(y.left for y in granted))))
    others = [x for x in cx.used if x.key in asked and x is not counter]
    divided = [x for x, _ in ratios.turned.values() if isinstance(x, Symbol)]
    hidden = {x.name for x in declared} & {x.name for x in (*steps.symbols, *others, *divided)}
    if hidden or len(others) + 1 != len(asked) or any(x in changed or x.lasting for x in others):
        return ()
    if not all(goes_one_way(x, steps.counter) for x in tests):
        return ()
    most = next(n for n in range(MOST) if growth.base ** (n + 1) > MOST)
    wraps = any(_wraps(x) for x in (*steps.symbols, *ratios.scaled, *ratios.turned))
    asks = tests, granted
    return tuple(
        _make_region(region, finished, steps, growth, asks, others, wraps, ratios, n) for n in range(most, 0, -1)
    )  # fmt: skip


def _with_named_parts(region: Region, scaled: Collection[str]) -> tuple[Region, dict[str, SizePart]]:
    """The region with parts of scaled sizes, as the span `len / 2` of butterflies, as sizes of their own."""
    kernel, parts = region.kernel, dict[str, SizePart]()

    def named(expr: Expr) -> Expr:
        match expr:
            case Binary(op="floordiv", left=Var(name=size), right=Const(value=by)) if size in scaled and by > 1:
                name = next(x for x in (f"{size}_by_{by}{'_' * n}" for n in range(MOST)) if x not in used)
                parts[name] = SizePart(size, int(by))
                return Var(name, INDEX)
            case _:
                return expr

    used = used_names(kernel)
    body = map_values(named, kernel.body)
    return replace(region, kernel=replace(kernel, body=body, sizes=(*kernel.sizes, *parts))), parts


def _find_way(
    loop: c_ast.For, region: Region, finished: FinishedKernel, before: Sequence[c_ast.Node], steps: Steps,
    bound: BoundNames, live: frozenset[Symbol], changed: set[Symbol],
) -> tuple[Region, Steps, Ratios, Growth] | None:  # fmt: skip
    """How sizes follow from what advances, read in one way, and the region over these; None where they do not."""
    body = c_ast.Compound([x for x in loop.stmt.block_items if x is not steps.head])
    if not all(map(is_plain, steps.symbols)) or {*steps.symbols} & written(body, bound):
        return None
    ratios = find_ratios(before, steps, bound, live, changed)
    if ratios is None:
        return None
    region, parts = _with_named_parts(region, {x.key for x in ratios.scaled} & {*region.kernel.sizes})
    growth = _find_growth(region, finished, steps, ratios, parts, changed)
    if growth is None:
        return None
    whole = all(x in ratios.scaled and _units(x, ratios, growth).denominator == 1 for x in steps.held)
    return (region, steps, ratios, growth) if whole else None


def _wraps(symbol: Symbol) -> bool:
    """Whether a variable starts again at 0 where it would be too large, as far as that may be seen."""
    type = symbol.ctype.type if isinstance(symbol.ctype, CScalar) else INDEX
    return type.kind == "uint" and type.bits <= LEAST_BITS


def _declared(node: c_ast.Node, bound: BoundNames) -> Symbol | None:
    return bound.symbol(node) if isinstance(node, c_ast.Decl) else None


def _find_growth(
    region: Region, finished: FinishedKernel, step: Steps, ratios: Ratios, parts: Mapping[str, SizePart],
    changed: set[Symbol],
) -> Growth | None:  # fmt: skip
    """How the sizes of a region change; None where one changes in another way, or anything else does that it uses."""
    kernel, quotients, source = region.kernel, finished.quotients, step.source
    own = {x.key: y for x, y in ratios.scaled.items() if x.key in kernel.sizes or x is source.counter}
    own |= {x: own[y.whole] / y.by for x, y in parts.items()}
    counted = [x for x in kernel.sizes if x in quotients]
    turned = {x.key: y for x, (_, y) in ratios.turned.items() if x.key in kernel.sizes}
    others = {x.key for x in step.turned}
    left = {x.key for x in changed}
    passed = {x for x, _ in region.names} - own.keys() - turned.keys() - others - quotients.keys()
    if not counted or passed & left or not own.keys() & {*kernel.sizes}:
        return None
    unit = min(own, key=lambda x: own[x])
    multiples = {x: y / own[unit] for x, y in own.items()}
    if any(x.denominator != 1 for x in (*multiples.values(), *(y / own[unit] for y in turned.values()))):
        return None
    if any(names(y) & {*own, *turned, *others, *counted} for x in kernel.arrays for y in x.shape if y is not None):
        return None
    if not all(_is_turned(quotients[x], own, left | quotients.keys()) for x in counted):
        return None
    scaled = {x: int(y) for x, y in multiples.items()}
    steps, *weights = counted
    turned_sizes = frozenset({*turned, *weights, *others & {*kernel.sizes}})
    return Growth(unit, scaled, steps, source.base, source.up, turned_sizes, own[unit], parts)


def _is_turned(quotient: ComputedSize, own: Collection[str], left: Collection[str]) -> bool:
    """Whether a quotient shrinks as the scaled sizes grow: what is divided stays (is not `left`
    to another value, nor a quotient itself), and one of these divides it."""
    if not isinstance(quotient, Quotient):
        return False
    terms = polynomial(quotient.divisor)
    single = len(terms) == 1 and len(monomial := next(iter(terms))) == 1 and isinstance(monomial[0], Var)
    return single and names(quotient.divisor) <= {*own} and not names(_dividend(quotient)) & {*left}


def _units(symbol: Symbol, ratios: Ratios, growth: Growth) -> Fraction:
    """How many units a variable is that is set before the kernel."""
    return ratios.scaled[symbol] / growth.ratio


def _dividend(quotient: Quotient) -> Expr:
    """What has to be a multiple of the divisor so that the quotient of both is what was asked for."""
    # Of (n - len + 1) / len, rounded up, that is n.
    whole = sub(add(quotient.dividend, quotient.divisor), index(1))
    shorter = len(polynomial(whole)) < len(polynomial(quotient.dividend))
    return whole if shorter and not quotient.whole else quotient.dividend


def _make_region(
    region: Region, finished: FinishedKernel, steps: Steps, growth: Growth,
    asks: tuple[Sequence[Test], Sequence[Compare]], others: Sequence[Symbol], wraps: bool, ratios: Ratios,
    stages: int,
) -> Region:  # fmt: skip
    """The region of so many iterations: what C passes to it, and what it asks."""
    most, kernel, passed = growth.base ** (stages - 1), unfold_stages(region.kernel, growth, stages), dict(region.names)
    counter, source = steps.counter, steps.source.counter
    passed |= {x.key: x.name for x in (counter.counter, source, *others)}
    variables = {**finished.variables, **{x.key: x.name for x in (counter.counter, source)}}
    for name in (growth.steps, *growth.turned):
        if isinstance(quotient := finished.quotients.get(name), Quotient):
            largest = quotient.divisor if not growth.up else mul(index(most), quotient.divisor)
            passed[name] = Quotient(_dividend(quotient), largest, whole=True).spell(variables)
    passed |= {x: y.spell(variables) for x, y in growth.parts.items()}
    unit = index(growth.unit)
    # What is rounded down in one iteration is not so many times what it is in another.
    for symbol, (divided, ratio) in ratios.turned.items():
        if symbol.key in growth.turned:
            units = ratio / growth.ratio
            divisor = mul(index(int(units) * (most if growth.up else 1)), unit)
            if isinstance(divided, Symbol):
                spelled = Quotient(Var(divided.key, INDEX), divisor, whole=True)
                passed[symbol.key] = spelled.spell({**variables, divided.key: divided.name})
            else:
                passed[symbol.key] = Quotient(index(divided), divisor, whole=True).spell(variables)
    updates = []
    for symbol in steps.others:
        at = Var(symbol.key, INDEX)
        if growth.up and stages > 1:
            passed[symbol.key] = Quotient(at, index(most), whole=True).spell({symbol.key: symbol.name})
        else:
            passed[symbol.key] = symbol.name
        updates.append(Update(symbol.name, "set", at if growth.up else mul(index(most), at)))
    for symbol in steps.held:
        times = _units(symbol, ratios, growth) * (most if growth.up else 1)
        updates.append(Update(symbol.name, "set", mul(index(int(times)), unit)))
    asked = [Compare("ge", unit, index(1))]
    turned = sorted({*growth.turned, *(x.key for x in steps.others)})
    asked += [Compare("ge", index(x), index(0)) for x in (growth.steps, *turned)]
    first = last = after = index(counter.counter.key)
    if not steps.source.counts:
        ends = [mul(index(growth.scaled[source.key] * x), unit) for x in ((1, most) if growth.up else (most, 1))]
        if source.key != growth.unit:
            asked.append(Compare("eq", index(source.key), ends[0]))
        if steps.root is None or counter is steps.root:
            # One that is advanced at the head of the body is seen as it was before that.
            seen = index(counter.base if counter is steps.root else 1)
            first, last, after = mul(seen, ends[0]), mul(seen, ends[1]), ends[1]
        else:
            updates.append(Update(source.name, "set", ends[1]))
        if steps.root is not None:
            # What was halved before it was halved once more may have been odd.
            factor = index(1 if growth.up else most)
            doubled = [(x, mul(factor, mul(index(y), unit))) for x, y in growth.scaled.items() if x != growth.unit]
            asked += [Compare("eq", index(x), y) for x, y in doubled if x != source.key]
    if counter.counts:
        last = after = add(first, index(stages - 1 if counter.up else 1 - stages))
    elif steps.root is not None and counter is not steps.root:
        advanced = index(counter.base ** (stages - 1))
        if counter.up:
            last = after = mul(advanced, first)
        else:
            passed[counter.counter.key] = Quotient(first, advanced, whole=True).spell(variables)
            first = mul(advanced, last)
        asked.append(Compare("ge", last, index(1)))
    if not growth.up and stages > 1:
        passed[growth.unit] = growth.parts.get(growth.unit, SizePart(growth.unit, 1)).spell(variables, most)
    tests, granted = asks
    asked += [Compare(x.op, place(x.difference, {counter.counter.key: last}), index(0)) for x in tests]
    # What is linear in the counter, and holds at both ends, does between them.
    asked += [replace(x, left=place(x.left, {counter.counter.key: y})) for x in granted for y in (first, last)]
    if wraps:
        ends = [mul(index(max(growth.scaled.values()) * most), unit), *(x.value for x in updates)]
        asked += [Compare("lt", x, index(1 << LEAST_BITS)) for x in ends]
    used = {x for y in asked for x in names(y.left) | names(y.right)} | {*kernel.sizes}
    sizes = tuple(dict.fromkeys((*kernel.sizes, *(x for x in passed if x in used))))
    kernel = replace(kernel, sizes=sizes, assumptions=tuple(dict.fromkeys((*kernel.assumptions, *asked))))
    order = (*sizes, *(x.name for x in kernel.scalars), *(x.name for x in kernel.arrays))
    updates.append(Update(counter.counter.name, "set", after))
    return replace(
        region, kernel=kernel, names=tuple((x, passed[x]) for x in order), updates=tuple(updates), scratch=(),
        computed=(), stages=(), powers=tuple(x.name for x in others) if counter.counts else (),
    )  # fmt: skip


__all__ = ["MOST", "Growth", "find_stages", "unfold_stages"]
