"""Geometric induction variables: loop counters that are multiplied, divided, or count powers of two.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> from planish.ir.text.printer import print_expr
>>> nest = "for (int j = 0; j < n2; j++) for (int i = j; i < n; i += n1) { a[i] -= a[i + n2]; a[i + n2] += a[i]; }"
>>> loop = "for (int k = 0; k < m; k++) { n1 = n2; n2 /= 2; %s }" % nest
>>> text = "void f(float *a, int n, int m) { int n1, n2 = n; %s }" % loop
>>> region, = read_c(Source("f.c", text)).functions[0].regions
>>> [(x.variable, print_expr(x.value)) for x in region.stages[0].updates]
[('n2', 'n2'), ('k', 'k + 3')]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from pycparser import c_ast

from planish.frontend.c.analysis.scope import LEAST_BITS, BoundNames, Symbol, bits_of, is_plain, step_of, written
from planish.frontend.c.translate.loops import Test
from planish.frontend.c.types.constants import walk_tree
from planish.ir.expr import MIRRORED
from planish.ir.index.polynomial import coefficient_of, names, polynomial

MOST = 16
"""The rows of elements that one iteration of a kernel of several stages is over, at most."""


@dataclass(frozen=True, slots=True)
class GeometricStep:
    """How a variable advances: it is multiplied with `base`, divided by it, or counts powers of two; `up`."""

    counter: Symbol
    base: int
    up: bool
    counts: bool


@dataclass(frozen=True, slots=True)
class Steps:
    """How a loop advances: the `counter` in its condition; the `root` of what its sizes are, where that is another
    variable, and the statement at the head of its body that advances this, if it is not done behind it; `others`, which
    are divided where the root is multiplied, and the other way round; `held`: what was set before the kernel to what
    one of these becomes."""

    counter: GeometricStep
    root: GeometricStep | None = None
    head: c_ast.Node | None = None
    others: tuple[Symbol, ...] = ()
    held: tuple[Symbol, ...] = ()

    @property
    def source(self) -> GeometricStep:
        """What sizes are multiples of."""
        return self.root or self.counter

    @property
    def turned(self) -> tuple[Symbol, ...]:
        """What is divided where the root is multiplied, and the other way round: the counter may be as well."""
        counter, root = self.counter, self.root
        if root is None or counter.counts or counter.base != root.base or counter.up == root.up:
            return self.others
        return (*self.others, counter.counter)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """All variables that advance."""
        return (self.counter.counter, *((self.root.counter,) if self.root else ()), *self.others)


@dataclass(frozen=True, slots=True)
class Ratios:
    """What is set before a loop's kernel: variables that are so many times what its sizes are multiples of, and those
    that are another variable, or a number, divided by so many times it."""

    scaled: dict[Symbol, Fraction]
    turned: dict[Symbol, tuple[Symbol | int, Fraction]]


def read_steps(loop: c_ast.For, before: Sequence[c_ast.Node], bound: BoundNames) -> Iterator[Steps]:
    """The ways to read how a loop advances what is in its condition, with the statements before its kernel and a list
    of steps behind it; none where it does anything else."""
    if loop.cond is None:
        return
    held = [_held_value(x, loop.stmt.block_items, before, bound) for x in loop.next.exprs]
    known = tuple(x[0] for x in held if x is not None)
    behind = [x if y is None else y[1] for x, y in zip(loop.next.exprs, held, strict=True)]
    yield from (replace(x, held=known) for x in _read_ways(loop, behind, before, bound))


def _held_value(
    node: c_ast.Node, body: Sequence[c_ast.Node], before: Sequence[c_ast.Node], bound: BoundNames
) -> tuple[Symbol, c_ast.Node] | None:  # fmt: skip
    """The variable that a statement behind the kernel copies, and the statement with what this was set to before the
    kernel, once; None for any other statement.

    Before: int step = 2 * h;  …  h = step;
    After:  int step = 2 * h;  …  h = 2 * h;
    """
    match node:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target, rvalue=c_ast.ID() as source):
            symbol = bound.symbol(source)
        case _:
            return None
    found: list[tuple[c_ast.Node, c_ast.Node]] = []
    for x in before:
        match x:
            case c_ast.Decl(init=value) if value is not None and bound.symbol(x) is symbol and "const" not in x.quals:
                found.append((x, value))
            case c_ast.Assignment(op="=", lvalue=c_ast.ID() as name, rvalue=value) if bound.symbol(name) is symbol:
                found.append((x, value))
            case _:
                pass
    if symbol is None or len(found) != 1:
        return None
    ((only, value),) = found
    changed = {bound.symbol(x) for x in _identifiers(value)} | {symbol}
    if any(changed & {*written(x, bound)} for x in body if x is not only):
        return None
    return symbol, c_ast.Assignment("=", target, value)


def _read_ways(
    loop: c_ast.For, behind: Sequence[c_ast.Node], before: Sequence[c_ast.Node], bound: BoundNames
) -> Iterator[Steps]:  # fmt: skip
    """The ways to read what the statements `behind` the kernel do."""
    steps = [_read_step(x, bound) for x in behind]
    asked = {bound.symbol(x) for x in _identifiers(loop.cond)}
    counters = [x for x in steps if x is not None and x.counter in asked]
    heads = [(x, y) for x in before if (y := _read_step(x, bound)) is not None and not y.counts]
    if None in steps:
        return
    if not counters:
        others = [x for x in steps if x is not None]
        for head, root in heads:
            # The condition sees it before it is advanced.
            if root.counter in asked and not root.up and _are_turned(root, others):
                yield Steps(root, root, head, tuple(x.counter for x in others))
    if len(counters) != 1:
        return
    (first,) = counters
    rest = [x for x in steps if x is not None and x is not first]
    if _are_turned(first, rest):
        yield Steps(first, others=tuple(x.counter for x in rest))
    for head, root in (*heads, *((None, x) for x in rest if not x.counts)):
        others = [x for x in rest if x is not root]
        if root.counter is not first.counter and _are_turned(root, others):
            yield Steps(first, root, head, tuple(x.counter for x in others))


def _identifiers(node: c_ast.Node) -> Iterator[c_ast.ID]:
    return (x for x in walk_tree(node) if isinstance(x, c_ast.ID))


def _are_turned(root: GeometricStep, others: Sequence[GeometricStep]) -> bool:
    """Whether variables are divided where another one is multiplied, and the other way round."""
    return not any(x.counts or x.base != root.base or x.up == root.up for x in others)


def _read_step(node: c_ast.Node | None, bound: BoundNames) -> GeometricStep | None:
    """How a statement advances a variable; None where it does something else."""
    match node:
        case _ if (found := step_of(node, bound)) is not None:
            counter, amount = found
            return GeometricStep(counter, 2, amount > 0, True) if abs(amount) == 1 else None
        case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target, rvalue=c_ast.BinaryOp(op=kind, left=a, right=b)):
            if kind in ("*", "+") and not _means(a, target, bound):
                a, b = b, a
            twice = kind == "+" and _means(b, target, bound)
            number = 2 if twice else bound.value(b)
            if not _means(a, target, bound) or number is None:
                return None
            kind, amount = "*" if twice else kind, number
        case c_ast.Assignment(op=kind, lvalue=c_ast.ID() as target, rvalue=b) if kind != "=":
            twice = kind == "+=" and _means(b, target, bound)
            number = 2 if twice else bound.value(b)
            if number is None:
                return None
            kind, amount = "*" if twice else kind[:-1], number
        case _:
            return None
    symbol = bound.symbol(target)
    if symbol is None:
        return None
    if kind in ("<<", ">>"):
        kind, amount = kind[0].replace("<", "*").replace(">", "/"), 1 << amount if 0 < amount < MOST else 0
    power = amount > 1 and amount & (amount - 1) == 0
    return GeometricStep(symbol, amount, kind == "*", False) if power and kind in ("*", "/") else None


def _means(node: c_ast.Node, target: c_ast.ID, bound: BoundNames) -> bool:
    return isinstance(node, c_ast.ID) and bound.symbol(node) is bound.symbol(target)


def find_ratios(
    before: Sequence[c_ast.Node], steps: Steps, bound: BoundNames, live: frozenset[Symbol], changed: set[Symbol]
) -> Ratios | None:
    """What the statements set variables to; None where that is something else, or one may be read behind the loop."""
    source = steps.source
    out = Ratios({} if source.counts else {source.counter: Fraction(1)}, {})
    if steps.head is not None:
        out.scaled[source.counter] = Fraction(1, source.base) if source.up else Fraction(source.base)
    for node in before:
        match node:
            case _ if node is steps.head:
                out.scaled[source.counter] = Fraction(1)
                continue
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
        if bound.value(value) is not None:
            # The kernel may count on from there, but is not told of it.
            continue
        ratio = _ratio(value, source, out.scaled, bound)
        turned = _turned_ratio(value, source, out.scaled, bound) if ratio is None else None
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
    node: c_ast.Node, step: GeometricStep, known: Mapping[Symbol, Fraction], bound: BoundNames
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
    number = bound.value(left)
    symbol = bound.symbol(left) if isinstance(left, c_ast.ID) else None
    if ratio is None:
        return None
    if number is not None:
        return (number, ratio) if number > 0 else None
    return None if symbol is None or not is_plain(symbol) else (symbol, ratio)


def _ratio(
    node: c_ast.Node, step: GeometricStep, known: Mapping[Symbol, Fraction], bound: BoundNames
) -> Fraction | None:
    """How many times the counter, or two to the power of it, an expression is."""
    if isinstance(node, c_ast.ID):
        symbol = bound.symbol(node)
        return None if symbol is None else known.get(symbol)
    if not isinstance(node, c_ast.BinaryOp):
        return None
    left, right = bound.value(node.left), bound.value(node.right)
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


def goes_one_way(test: Test, step: GeometricStep) -> bool:
    """Whether a condition that holds in some iteration held in all before it, once the counter is positive."""
    found = coefficient_of(test.difference, step.counter.key)
    if found is None or step.counter.key in names(found[1]):
        return False
    wanted = ("lt", "le") if step.up else ("gt", "ge")
    ends = not step.up and not step.counts and test.op == "ne" and not polynomial(found[1])
    return ends or (found[0] > 0 and test.op in wanted) or (found[0] < 0 and MIRRORED[test.op] in wanted)

