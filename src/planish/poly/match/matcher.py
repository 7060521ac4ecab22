"""The matcher: whether a nest equals the definition of an instruction, kernel or operation, and with which operands.

The two are compared statement by statement; names do not matter, nor does the order of a sum's or a product's operands.
Where an array's element is used, both address it as a function of the iterators, and these functions must be equal but
for a constant: an operand with a stride is not taken for one without.

>>> from planish.ir.text.parser import parse_kernel
>>> axpy = parse_kernel("kernel axpy(x: f32; d: f32[4], s: f32[4]) { for l in 0 .. 4 { d[l] += x * s[l] } }")
>>> text = "kernel k(n; A: f32[n, n], B: f32[n]) { for j in 4 .. 8 { A[n - 1, j] += B[j + 1] * 2.0:f32 } }"
>>> kernel = parse_kernel(text)
>>> found = match_nest(axpy, kernel.body.body[0], {x.name: x for x in kernel.arrays})
>>> print({name: str(view) for name, view in sorted(found.arrays.items())})
{'d': 'A[n - 1, 4]', 's': 'B[5]'}
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from planish.ir.expr import Binary, BinaryOp, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, index, type_of
from planish.ir.index.polynomial import build, constant, exact_quotient, linear_in, normal, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import PLAIN_MEMORIES, Array, Assign, For, If, Kernel, Let, Reduce, Stmt
from planish.ir.passes.update_idioms import as_update
from planish.ir.text.printer import print_expr, print_stmt
from planish.ir.traverse import (
    children,
    expressions,
    flatten,
    loads,
    map_expr,
    may_fail,
    substitute,
    variables,
    walk,
    walk_expr,
)
from planish.ir.types import BOOL, INDEX
from planish.poly.match.definition import ITERATOR, SCALAR, SIZE, at_start, has_iterator, mark, plain, show
from planish.poly.match.matched_view import MatchedView, end_before, length_of, lie_in_rows, linear_place
from planish.poly.scop.separation import Known, nowhere, reads_apart

_COMMUTE: frozenset[BinaryOp] = frozenset({"add", "mul", "min", "max", "and", "or", "xor"})


class MismatchError(Exception):
    """A nest is not what a definition says; the text says what differs. `memory`: only where an operand is."""

    def __init__(self, reason: str, memory: bool = False) -> None:
        super().__init__(plain(reason))
        self.reason, self.memory = plain(reason), memory


@dataclass(frozen=True, slots=True)
class OperandMatch:
    """The operands: arrays, sizes and scalars of the definition, and conditions on which it all rests."""

    arrays: Mapping[str, MatchedView]
    sizes: Mapping[str, Expr]
    scalars: Mapping[str, Expr]
    conditions: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class _Access:
    """An element as the definition and as the nest address it."""

    own: tuple[Expr, ...]
    other: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class _State:
    """What is known so far: the nest's names as the definition has them, the operands, how often loops run that do not
    run a constant number of times."""

    values: Mapping[str, Expr] = field(default_factory=dict)
    sizes: Mapping[str, Expr] = field(default_factory=dict)
    scalars: Mapping[str, Expr] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    accesses: tuple[tuple[str, _Access], ...] = ()
    counts: tuple[Expr, ...] = ()


def match_nest(
    definition: Kernel, nest: Stmt, arrays: Mapping[str, Array], bits: Mapping[str, int] | None = None,
    known: Known = nowhere,
) -> OperandMatch:  # fmt: skip
    """How a nest is what a definition says; `arrays` are those in scope, `bits` the widths of kinds of registers,
    `known` says of conditions whether they hold where it stands. Raises MismatchError."""
    matcher = _Matcher(definition, nest, arrays, bits or {}, known)
    reason: MismatchError | None = None
    for state in matcher.statements(matcher.body, (nest,), _State()):
        try:
            return matcher.finish(state)
        except MismatchError as error:
            reason = reason or error
    raise reason or MismatchError(matcher.deepest)


class _Matcher:
    """The comparison of one definition with nests over some arrays."""

    def __init__(
        self, definition: Kernel, nest: Stmt, arrays: Mapping[str, Array], bits: Mapping[str, int], known: Known
    ) -> None:
        self.definition, self.nest, self.arrays, self.bits, self.holds = definition, nest, arrays, bits, known
        self.written = frozenset(x.array for x in walk(nest) if isinstance(x, Assign | Reduce))
        marked = mark(definition)
        self.own, self.body = marked.arrays, marked.body.body
        self.scalars = {x.name: x.type for x in definition.scalars}
        self.deepest = "it is another nest"

    def fail(self, reason: str) -> None:
        """What is told when nothing fits: the last thing that did not."""
        self.deepest = plain(reason)

    def statements(self, own: Sequence[Stmt], other: Sequence[Stmt], state: _State) -> Iterator[_State]:
        """The ways in which statements are those of the definition, in order."""
        own, other = flatten(own), flatten(other)
        if len(own) != len(other):
            self.fail(f"it has {len(other)} statements where the definition has {len(own)}")
            return
        if not own:
            yield state
            return
        for first in self.statement(own[0], other[0], state):
            yield from self.statements(own[1:], other[1:], first)

    def statement(self, own: Stmt, other: Stmt, state: _State) -> Iterator[_State]:
        """The ways in which a statement is one of the definition."""
        own, other = _as_update(own), _as_update(other)
        match own, other:
            case For(), For():
                inner = self.loop(own, other, state)
                if inner is not None:
                    yield from self.statements(own.body.body, other.body.body, inner)
            case If(), If():
                for taken in self.value(own.condition, other.condition, state):
                    for then in self.statements(own.then.body, other.then.body, taken):
                        yield from self.statements(own.otherwise.body, other.otherwise.body, then)
            case Let(), Let():
                for named in self.value(own.value, other.value, state):
                    here = Var(own.var, type_of(own.value))
                    yield replace(named, values={**named.values, other.var: here})
            case Assign(), Assign():
                for stored in self.value(own.value, other.value, state):
                    yield from self.access(own.array, own.index, other.array, other.index, stored)
            case Reduce(op=op), Reduce(op=theirs) if op == theirs:
                for stored in self.value(own.value, other.value, state):
                    yield from self.access(own.array, own.index, other.array, other.index, stored)
            case _:
                self.fail(f"it has {_kind(other)} where the definition has {_kind(own)}")

    def loop(self, own: For, other: For, state: _State) -> _State | None:
        """The state within two loops that run as often as each other."""
        if own.step != 1 or other.step != 1:
            self.fail(f"the loop over `{other.var}` has a step")
            return None
        if self.moves(other.lower, other.upper):
            self.fail(f"the bounds of the loop over `{other.var}` change while it runs")
            return None
        count = sub(own.upper, own.lower)
        lower = substitute(other.lower, state.values)
        theirs = simplify(sub(substitute(other.upper, state.values), lower))
        solved = self.solve(count, theirs, state)
        if solved is None:
            text = print_expr(theirs)
            self.fail(f"the loop over `{other.var}` runs {text} times, and the definition's {show(count)}")
            return None
        start = self.known(own.lower, solved)
        if any(x.startswith(SIZE) for x in variables(start)):
            self.fail(f"nothing says where the definition's loop over `{plain(own.var)}` begins")
            return None
        here = Binary("add", lower, sub(Var(own.var, INDEX), start))
        counts = solved.counts if isinstance(theirs, Const) else (*solved.counts, theirs)
        return replace(solved, values={**solved.values, other.var: normal(here)}, counts=counts)

    def moves(self, *exprs: Expr) -> bool:
        """Whether what some expressions read is written by the nest."""
        return any(load.array in self.written for x in exprs for load in loads(x))

    def solve(self, own: Expr, other: Expr, state: _State) -> _State | None:
        """The state in which two index expressions are equal, of which the first may be a size that is not known yet;
        None where they are not."""
        own = self.known(own, state)
        unknown = sorted(x for x in variables(own) if x.startswith(SIZE))
        if not unknown:
            return state if _equal(own, other) else None
        found = linear_in(own, unknown[0])
        if len(unknown) > 1 or found is None:
            return None
        value = exact_quotient(sub(other, found[1]), build(found[0]))
        if value is None or any(x.startswith(ITERATOR) for x in variables(value)):
            return None
        return replace(state, sizes={**state.sizes, unknown[0].removeprefix(SIZE): simplify(value)})

    def known(self, own: Expr, state: _State) -> Expr:
        """An index expression of the definition with the sizes that are known."""
        return normal(substitute(own, {SIZE + name: x for name, x in state.sizes.items()}))

    def value(self, own: Expr, other: Expr, state: _State) -> Iterator[_State]:
        """The ways in which an expression of the nest is one of the definition."""
        match own, other:
            case (Var(name=name), _) if name.startswith(SCALAR):
                yield from self.scalar(name.removeprefix(SCALAR), other, state)
            case (_, _) if type_of(own) != type_of(other):
                self.fail(f"`{print_expr(other)}` is of {type_of(other)}, not {type_of(own)}")
            case (_, _) if type_of(own) == INDEX and not loads(own) and not _has_scalars(own):
                there = substitute(other, state.values)
                solved = None if loads(other) else self.solve(own, there, state)
                if solved is None:
                    self.fail(f"`{print_expr(other)}` differs from the definition's `{show(own)}`")
                else:
                    yield solved
            case Compare(op=op, left=a, right=b), Compare(op=theirs, left=c, right=d) if (
                op == theirs and type_of(a) == type_of(c) == INDEX and not loads(own) and not loads(other)
            ):
                yield from self.value(sub(a, b), sub(c, d), state)
            case Var(), Var() if state.values.get(other.name) == own:
                yield state
            case Const(value=a), Const(value=b):
                # A positive zero is no negative one.
                if repr(a) == repr(b):
                    yield state
                else:
                    self.fail(f"`{print_expr(other)}` is not the definition's `{print_expr(own)}`")
            case Load(array=a, index=i), Load(array=b, index=j):
                yield from self.access(a, i, b, j, state)
            case Binary(op=op, left=a, right=b), Binary(op=theirs, left=c, right=d) if op == theirs:
                for first in self.value(a, c, state):
                    yield from self.value(b, d, first)
                if op in _COMMUTE and type_of(own) != BOOL:
                    for first in self.value(a, d, state):
                        yield from self.value(b, c, first)
            case _ if _head(own) == _head(other) and not isinstance(own, Binary | Load | Var | Const):
                yield from self.operands(children(own), children(other), state)
            case _:
                self.fail(f"`{print_expr(other)}` is not the definition's `{show(own)}`")

    def operands(self, own: Sequence[Expr], other: Sequence[Expr], state: _State) -> Iterator[_State]:
        """The ways in which operands are those of the definition, in order."""
        if not own:
            yield state
            return
        for first in self.value(own[0], other[0], state):
            yield from self.operands(own[1:], other[1:], first)

    def scalar(self, name: str, other: Expr, state: _State) -> Iterator[_State]:
        """A value that is the same in all lanes."""
        value = substitute(other, state.values)
        read = {x.array for x in loads(value)}
        if type_of(other) != self.scalars[name]:
            self.fail(f"`{print_expr(other)}` is of {type_of(other)}, not {self.scalars[name]}")
        elif any(x.startswith(ITERATOR) for x in variables(value)) or read & self.written:
            self.fail(f"`{print_expr(other)}` is not the same in every iteration")
        elif any(self.arrays[x].memory not in PLAIN_MEMORIES for x in read):
            self.fail(f"`{print_expr(other)}` is in a vector register")
        elif name in state.scalars and state.scalars[name] != value:
            self.fail(f"`{print_expr(other)}` and `{print_expr(state.scalars[name])}` are to be the same")
        else:
            yield replace(state, scalars={**state.scalars, name: value})

    def access(
        self, own: str, at: Sequence[Expr], other: str, there: Sequence[Expr], state: _State
    ) -> Iterator[_State]:
        """An element of an operand, where the nest has one of that type."""
        array = self.arrays[other]
        if self.own[own].type != array.type:
            self.fail(f"`{other}` holds {array.type}, not {self.own[own].type}")
        elif self.moves(*there):
            self.fail(f"where `{other}` is used changes in between")
        elif state.names.get(own, other) != other:
            self.fail(f"`{other}` and `{state.names[own]}` are to be the same operand")
        elif len(at) == len(there) == 1 and loads(at[0]) and loads(there[0]) and other not in self.written:
            # What is chosen by data is the same element of both where both begin at their first one.
            for chosen in self.value(at[0], there[0], state):
                first = (own, _Access((index(0),), (index(0),)))
                yield replace(chosen, names={**chosen.names, own: other}, accesses=(*chosen.accesses, first))
        else:
            theirs = tuple(normal(substitute(x, state.values)) for x in there)
            one = (own, _Access(tuple(at), theirs))
            yield replace(state, names={**state.names, own: other}, accesses=(*state.accesses, one))

    def finish(self, state: _State) -> OperandMatch:
        """The operands, once every element's address is compared; MismatchError where one differs."""
        views: dict[str, MatchedView] = {}
        for name, other in state.names.items():
            accesses = [x for own, x in state.accesses if own == name]
            views[name], state = self.view(self.own[name], self.arrays[other], accesses, state)
        views = {name: MatchedView(x.array, tuple(self.known(e, state) for e in x.index)) for name, x in views.items()}
        conditions = self.check_apart(state, views)
        unknown = [x for x in self.definition.sizes if x not in state.sizes]
        missing = [x for x in self.own if x not in views] + [x for x in self.scalars if x not in state.scalars]
        if unknown or missing:
            raise MismatchError(f"nothing says what `{(unknown + missing)[0]}` of the definition is")
        given = [*state.sizes.values(), *state.scalars.values(), *(e for x in views.values() for e in x.index)]
        if any(x[0] in (SIZE, ITERATOR, SCALAR) for e in given for x in variables(e)):
            raise MismatchError("what an operand is depends on the iteration")
        conditions += [simplify(substitute(x, state.sizes)) for x in self.definition.assumptions]
        # A name is an extent of the nest's own arrays, or a size, which no array has less of than nothing.
        rows = {substitute(e, state.sizes) for x in self.definition.arrays for e in x.shape[1:] if e is not None}
        conditions += [simplify(Compare("ge", e, index(0))) for e in rows if not isinstance(e, Var)]
        if any(loads(x) or may_fail(x) for x in given):
            # An operand is evaluated once, also where no iteration would.
            if self.is_guarded():
                raise MismatchError("an operand that reads memory, or divides, is not evaluated in every iteration")
            conditions += [Compare("ge", simplify(x), index(1)) for x in state.counts]
        return OperandMatch(views, state.sizes, state.scalars, tuple(conditions))

    def is_guarded(self) -> bool:
        """Whether the definition computes something only under a condition."""
        tested = any(isinstance(x, If) for stmt in self.body for x in walk(stmt))
        parts = (x for stmt in self.body for s in walk(stmt) for e in expressions(s) for x in walk_expr(e))
        return tested or any(isinstance(x, Select) for x in parts)

    def view(self, own: Array, other: Array, accesses: Sequence[_Access], state: _State) -> tuple[MatchedView, _State]:
        """The operand that an array of the nest is."""
        if own.memory in PLAIN_MEMORIES:
            if "nowhere" in {own.memory, other.memory} != {"nowhere"}:
                wanted = "nowhere" if own.memory == "nowhere" else "in memory"
                raise MismatchError(f"`{other.name}` is in {other.memory}, not {wanted}", memory=True)
            if other.memory not in PLAIN_MEMORIES:
                raise MismatchError(f"`{other.name}` is in {other.memory}, not in memory", memory=True)
            return self.address(own, other, accesses, other.shape, 0, state)
        if other.memory != own.memory:
            raise MismatchError(f"`{other.name}` is in {other.memory}, not in {own.memory}", memory=True)
        kept = register_rank(other, self.bits.get(own.memory, 0))
        view, state = self.address(own, other, accesses, other.shape[kept:], kept, state)
        if any(constant(x) != 0 for x in view.index[kept:]):
            raise MismatchError(f"`{view}` does not begin at the first lane of a register")
        return MatchedView(other.name, view.index[:kept]), state

    def address(
        self, own: Array, other: Array, accesses: Sequence[_Access], extents: Sequence[Expr | None], skip: int,
        state: _State,
    ) -> tuple[MatchedView, _State]:  # fmt: skip
        """Where an operand begins: `own` and `other` are addressed alike from there on. The first `skip` subscripts
        choose a register."""
        base: MatchedView | None = None
        for access in accesses:
            leading, rest = access.other[:skip], access.other[skip:]
            if any(has_iterator(x) for x in leading):
                raise MismatchError(f"`{other.name}` is not in one register for all lanes")
            theirs = linear_place(rest, extents)
            mine = linear_place(access.own, own.shape)
            state = self.same_address(own, other, mine, theirs, own.memory not in PLAIN_MEMORIES, state)
            first = [at_start(x) for x in rest]
            if first:
                first[-1] = sub(first[-1], at_start(self.known(mine, state)))
            found = MatchedView(other.name, (*leading, *map(simplify, first)))
            if base is not None and any(not _equal(a, b) for a, b in zip(base.index, found.index, strict=True)):
                raise MismatchError(f"`{base}` and `{found}` are to be the same operand")
            base = base or found
        assert base is not None
        return base, state

    def same_address(self, own: Array, other: Array, mine: Expr, theirs: Expr, exact: bool, state: _State) -> _State:
        """The state in which two addresses move alike with the iterators; `exact`: are equal (in a register)."""
        waiting = deque(sorted(x for x in {*variables(mine), *variables(theirs)} if x.startswith(ITERATOR)))
        put_off = 0
        while waiting:
            iterator = waiting.popleft()
            a, b = linear_in(mine, iterator), linear_in(theirs, iterator)
            if a is None or b is None:
                raise MismatchError(f"`{other.name}` is not addressed in even steps")
            solved = self.solve(build(a[0]), build(b[0]), state)
            if solved is None and put_off < len(waiting):
                # A product of sizes: another iterator may say what one of them is.
                waiting.append(iterator)
                put_off += 1
                continue
            if solved is None:
                step, own_step = print_expr(build(b[0])), show(build(a[0]))
                raise MismatchError(f"`{other.name}` moves by {step} an iteration, the definition's by {own_step}")
            state, put_off = solved, 0
        if exact:
            solved = self.solve(at_start(mine), at_start(theirs), state)
            if solved is None:
                lane, own_lane = print_expr(simplify(at_start(theirs))), show(at_start(mine))
                raise MismatchError(f"`{other.name}` is used from lane {lane} on, the definition's from {own_lane}")
            state = solved
        return state

    def check_apart(self, state: _State, views: Mapping[str, MatchedView]) -> list[Expr]:
        """What has to hold so that an instruction, which reads all before it writes, does the same as the nest where
        two operands are parts of one array."""
        out: list[Expr] = []
        written = {x.array for x in walk(self.definition.body) if isinstance(x, Assign | Reduce)}
        for a, b in combinations(views, 2):
            one, other = views[a], views[b]
            if one.array != other.array or not {a, b} & written:
                continue
            apart = any(constant(sub(x, y)) not in (0, None) for x, y in zip(one.index, other.index, strict=False))
            registers = self.own[a].memory not in PLAIN_MEMORIES
            shape, lengths = self.arrays[one.array].shape, (length_of(self.own[a]), length_of(self.own[b]))
            if apart if registers else end_before(one, other, lengths, shape):
                continue
            uses = [(own, x.own) for own, x in state.accesses if own in (a, b)]
            places = [self.known(linear_place(at, self.own[own].shape), state) for own, at in uses]
            if one == other and all(_equal(x, places[0]) for x in places) and _once(self.body, uses[0][1]):
                continue
            is_stored = one.array in self.written and not registers
            conditions = reads_apart(self.nest, self.arrays[one.array], self.holds) if is_stored else None
            if conditions is None and not registers and len(self.own[a].shape) == len(self.own[b].shape) == 1:
                conditions = lie_in_rows(one, other, lengths, shape)
            if conditions is None:
                raise MismatchError(f"`{one}` and `{other}` may overlap, of which one is written")
            out += conditions
        return out


def _as_update(stmt: Stmt) -> Stmt:
    """`a = a + b` as an update, but for choices of what is true."""
    return as_update(stmt) if isinstance(stmt, Assign) and type_of(stmt.value) != BOOL else stmt


def _equal(a: Expr, b: Expr) -> bool:
    difference = sub(map_expr(_in_order, a), map_expr(_in_order, b))
    return constant(difference) == 0 or simplify(difference) == index(0)


def _in_order(expr: Expr) -> Expr:
    """The least or greatest of two values, whichever is written first."""
    if isinstance(expr, Binary) and expr.op in ("min", "max"):
        left, right = sorted((normal(expr.left), normal(expr.right)), key=repr)
        return replace(expr, left=left, right=right)
    return expr


def register_rank(array: Array, bits: int) -> int:
    """How many subscripts choose a register; the others are lanes. MismatchError where no dimensions make one."""
    lanes, rank = 1, len(array.shape)
    while rank > 0 and lanes * array.type.bits < bits:
        rank -= 1
        extent = array.shape[rank]
        known = None if extent is None else constant(extent)
        if known is None:
            break
        lanes *= known
    if lanes * array.type.bits != bits:
        message = f"the last dimensions of `{array.name}` are not the {bits // array.type.bits} lanes of {array.memory}"
        raise MismatchError(message, memory=True)
    return rank


def _once(body: Sequence[Stmt], at: tuple[Expr, ...]) -> bool:
    """Whether each element at some subscripts is written by one iteration: all iterators stand in the subscripts."""
    named = {x for e in at for x in variables(e)}
    loops = {x.var for stmt in body for x in walk(stmt) if isinstance(x, For)}
    stores = sum(isinstance(x, Assign | Reduce) for stmt in body for x in walk(stmt))
    return loops <= named and stores == 1


def _head(expr: Expr) -> object:
    match expr:
        case Unary(op=op) | Compare(op=op):
            return type(expr), op
        case Call(function=function):
            return type(expr), function
        case Cast(type=kind):
            return type(expr), kind
        case _:
            return type(expr)


def _has_scalars(own: Expr) -> bool:
    """Whether an expression of a definition reads its scalars: in 64 bits they are values, no places."""
    return any(x.startswith(SCALAR) for x in variables(own))


def _kind(stmt: Stmt) -> str:
    match stmt:
        case For(var=var):
            return f"a loop over {var.removeprefix(ITERATOR)}"
        case Assign() | Reduce():
            return f"`{plain(print_stmt(stmt))}`"
        case If():
            return "a test"
        case _:
            return "another statement"
