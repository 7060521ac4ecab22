"""Semantic matching: each value that a nest computes is compared with definitions; what matches none stays a loop.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel dot(n; x: f64[n], y: f64[n], s: f64[]) { for i in 0 .. n { s[] += x[i] * y[i] } }"
>>> dot = Operation("dot", parse_kernel(text))
>>> text = "for i in 0 .. n { t[] = b[i] for j in 0 .. i { t[] += A[i, j] * b[i - j - 1] } b[i] = b[i] / t[] }"
>>> kernel = parse_kernel("kernel k(n; A: f64[n, n], b: f64[n], t: f64[]) { " + text + " }")
>>> (repeat,) = recognise(kernel, [dot]).steps
>>> for step in repeat.steps:
...     print({x: str(view) for x, view in step.operands.items()} if isinstance(step, Apply) else dict(step.reasons))
{'S0': 'it is one element'}
{'x': 'A[i, 0 + x0 | x0 < i]', 'y': 'b[i - 1 - x0 | x0 < i]', 's': 't[]'}
{'S2': 'it is one element'}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from planish.core.span import Span
from planish.ir.expr import Compare, Expr, Var, index, type_of
from planish.ir.index.polynomial import normal
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Reduce
from planish.ir.traverse import arrays_in, loads, map_block, map_exprs, substitute, variables, walk
from planish.ir.types import F64, INDEX, Type
from planish.poly.canonical.privatise_arrays import widen
from planish.poly.match.coefficients import hoist
from planish.poly.match.composition import Composition, arrange, order_groups, reads
from planish.poly.match.normal_form import NormalForm, form_of, is_own, scaling_apart
from planish.poly.match.operands import MatchedOperand, OperandMismatchError
from planish.poly.match.recurrence_equations import Equations, agree_systems, kinds_of, system_of
from planish.poly.match.sum_of_products import NoFormError
from planish.poly.match.unify import Pattern, Unifier, agree
from planish.poly.scop.extraction import Scop, extract_scop
from planish.poly.scop.statement_order import Distribution, distribute
from planish.raising.match.contraction import CONVOLUTION, contraction_of, is_layer
from planish.raising.match.operation_index import pattern_for, prepare
from planish.raising.match.pruning import only
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Choice, Loops, Raised, Repeat, Step, View, walk_steps

_LONGEST = 32
"""How many statements may make one value."""

_ONE_ELEMENT = "it is one element"

Group = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """An operation for statements that follow each other; `scaling` is one that has to be done before."""

    operation: Operation
    match: Unifier
    statements: tuple[int, ...]
    scaling: _Found | None = None


@dataclass(frozen=True, slots=True)
class _Task:
    """What is looked for, in a kernel or in one iteration of its outer loops.

    `kernel`: the local arrays are among its arrays; `private`: those that nothing reads afterwards; `numbers`: those
    of its statements in the whole kernel; `sizes`: those that are no loop's.
    """

    kernel: Kernel
    private: frozenset[str]
    numbers: tuple[int, ...]
    operations: tuple[tuple[Operation, Pattern | Equations], ...]
    reassociate: bool
    sizes: frozenset[str]


@dataclass(slots=True)
class _Search:
    """One task's statements, what they are compared with, and what was found; `windows`: convolutions without a name
    are looked for as well."""

    task: _Task
    scop: Scop
    flow: Distribution
    forms: dict[int, NormalForm | str]
    reasons: dict[int, tuple[int, str]] = field(default_factory=dict)
    known: dict[Group, _Found] = field(default_factory=dict)
    windows: bool = False

    def name(self, number: int) -> str:
        """A statement's name in the whole kernel."""
        return f"S{self.task.numbers[number]}"


def recognise(kernel: Kernel, operations: Sequence[Operation], *, reassociate: bool = True) -> Raised:
    """The kernel as operations, the first one in `operations` that fits, products of two arrays without a name, and
    loops for the rest. Without `reassociate`, sums of floats keep their order.

    Raises NotAffineError where the kernel is not a static control part."""
    return recognise_prepared(prepare(kernel, reassociate), operations, reassociate)


def recognise_prepared(kernel: Kernel, operations: Sequence[Operation], reassociate: bool, first: int = 0) -> Raised:
    """As `recognise`, for a kernel that is prepared; `first` is the number of its first statement."""
    known = [(x, found) for x in operations if not isinstance(found := pattern_for(x), str)]
    raised = _recognise(kernel, known, reassociate, first)
    if count_left(raised.steps) and (wider := widen(kernel)) is not kernel:
        other = _recognise(wider, known, reassociate, first)
        raised = other if count_left(other.steps) < count_left(raised.steps) else raised
    return raised


def _recognise(
    kernel: Kernel, known: Sequence[tuple[Operation, Pattern | Equations]], reassociate: bool, first: int
) -> Raised:
    locals = tuple(x.array for x in walk(kernel.body) if isinstance(x, Alloc))
    total = sum(isinstance(x, Assign | Reduce) for x in walk(kernel.body))
    flat = replace(kernel, arrays=(*kernel.arrays, *locals), body=only(kernel.body, range(total)))
    names, fixed = frozenset(x.name for x in locals), frozenset(kernel.sizes)
    steps = _raise(_Task(flat, names, tuple(range(first, first + total)), tuple(known), reassociate, fixed))
    return Raised(kernel, steps, tuple(x for x in locals if x.name in used_arrays(steps)))


def count_left(steps: Sequence[Step]) -> int:
    """How many statements stay in loops, by themselves or as operations in them."""
    return sum(_statements(x) for x in steps if isinstance(x, Repeat | Loops))


def _statements(step: Step) -> int:
    match step:
        case Repeat(steps=steps):
            return sum(map(_statements, steps))
        case Loops(reasons=reasons):
            return len(reasons)
        case Apply(statements=statements):
            return len(statements)
        case Choice(cases=cases):
            return sum(map(_statements, cases[0].steps))
        case _:
            assert_never(step)


def _raise(task: _Task) -> tuple[Step, ...]:
    scop = extract_scop(task.kernel)
    flow = distribute(scop, task.reassociate)
    order = arrange(scop, flow, task.private)
    search = _Search(task, scop, flow, {x[0]: _form(scop, x[0]) for x in order if len(x) == 1})
    parts = _cover(order, search)
    left = {x for part in parts if part not in search.known for x in part}
    forms = {n: x for n, x in search.forms.items() if isinstance(x, NormalForm)}
    # One that has a name is kept, unless a layer's sums begin or end in loops beside it.
    if any(_is_convolution(x) if n in left else left and is_layer(x) for n, x in forms.items()):
        others = replace(search, windows=True, known={})
        wider = _cover(order, others)
        if sum(len(x) for x in wider if x not in others.known) < len(left):
            return _assemble(others, wider)
    return _assemble(search, parts)


def _is_convolution(form: NormalForm) -> bool:
    """Whether a form could be a convolution."""
    operation = contraction_of(form)
    return operation is not None and operation.name == CONVOLUTION


def _form(scop: Scop, number: int) -> NormalForm | str:
    try:
        return form_of(scop.statements[number], scop.context)
    except NoFormError as error:
        return str(error)


def _cover(order: Sequence[Group], search: _Search) -> list[Group]:
    """The groups cut into runs: from the first on, the longest that is an operation, or one group that stays."""
    parts: list[Group] = []
    begin = 0
    while begin < len(order):
        end = begin + 1
        for run, form, length in reversed(list(_runs(order, begin, search))):
            found = _match(run, form, search)
            if found is not None:
                search.known[run] = found
                end = begin + length
                break
        parts.append(_joined(order[begin:end]))
        begin = end
    return parts


def _runs(order: Sequence[Group], begin: int, search: _Search) -> Iterator[tuple[Group, NormalForm | None, int]]:
    """Groups from one on that may be an operation, as the form that they have together (None: as equations)."""
    chain: Composition | None = Composition(search.task.private)
    most = max((len(x.kinds) for _, x in search.task.operations if isinstance(x, Equations)), default=0)
    for length in range(1, min(_LONGEST, len(order) - begin) + 1):
        run = _joined(order[begin : begin + length])
        form = search.forms.get(run[-1]) if len(order[begin + length - 1]) == 1 else None
        chain = _grown(chain, form)
        value = _value(chain, run, search)
        if value is not None or len(run) <= most:
            yield run, value, length
        elif chain is None:
            return


def _grown(chain: Composition | None, form: NormalForm | str | None) -> Composition | None:
    """A chain with one more form, None where there is none."""
    if chain is None or not isinstance(form, NormalForm):
        return None
    try:
        chain.add(form)
    except NoFormError:
        return None
    return chain


def _value(chain: Composition | None, run: Group, search: _Search) -> NormalForm | None:
    """What a chain makes, if it is one value that nothing else needs a part of."""
    try:
        return chain.value(_private(run, search)) if chain is not None else None
    except NoFormError:
        return None


def _joined(groups: Sequence[Group]) -> Group:
    return tuple(x for group in groups for x in group)


def _match(run: Group, form: NormalForm | None, search: _Search) -> _Found | None:
    """The operation that some statements are, one after the other."""
    if not any(search.scop.statements[x].iterators for x in run):
        _note(run, 6, _ONE_ELEMENT, search)
        return None
    found = _match_form(run, form, search) if form is not None else None
    return found or _match_system(run, search)


def _match_form(run: Group, form: NormalForm, search: _Search) -> _Found | None:
    """The operation that some statements are as one value."""
    if form.type.is_float and not search.task.reassociate and not form.is_exact:
        _note(run, 9, "its operations must be done in the order in which they are written (--fp)", search)
        return None
    hoisted = hoist(form, {x.name: x.type for x in search.scop.kernel.arrays})
    values = (form, hoisted) if hoisted is not None else (form,)
    for value in values:
        if (found := _match_value(run, value, search)) is not None:
            return found
    own = _scaling(run, form.target, search)
    for value in values if own else ():
        apart = scaling_apart(value)
        if apart is not None and (scaling := _match_value(run, apart[0], search)) is not None:
            found = _match_value(run, apart[1], search)
            return None if found is None else replace(found, scaling=replace(scaling, statements=own))
    windows = (_first_of(_made(value, True), run, value, search) for value in values if search.windows)
    return next((x for x in windows if x is not None), None)


def _scaling(run: Group, target: str, search: _Search) -> Group:
    """The statements that multiply the old values of an array, and add to them; none where one does nothing else, which
    may be an operation by itself."""
    forms = {n: x for n in sorted(run) if isinstance(x := search.forms.get(n), NormalForm) and x.target == target}
    scaling = tuple(n for n, x in forms.items() if any(is_own(y, z, x) for z in x.terms for y in z.heads))
    return () if any(len(forms[n].terms) == 1 for n in scaling) else scaling


def _match_value(run: Group, value: NormalForm, search: _Search) -> _Found | None:
    """The first operation that has a form, or a contraction without a name."""
    return _first_of((*search.task.operations, *_made(value, False)), run, value, search)


def _first_of(
    known: Iterable[tuple[Operation, Pattern | Equations]], run: Group, value: NormalForm, search: _Search
) -> _Found | None:
    """The first of some operations that has a form; one that sees no window in an operand is preferred."""
    window: _Found | None = None
    for operation, pattern in known:
        if not isinstance(pattern, Pattern):
            continue
        try:
            match = agree(pattern, value)
            _check_types(operation, match, value.type, search.scop)
        except OperandMismatchError as error:
            _note(run, error.level, f"not {operation.name}: {error.reason}", search)
            continue
        found = _Found(operation, match, tuple(sorted(run)))
        if not any(x.is_window for x in match.operands.values()):
            return found
        window = window or found
    return window


def _match_system(run: Group, search: _Search) -> _Found | None:
    """The operation whose definition has statements as these, which wait for each other in the same way."""
    numbers, system = tuple(sorted(run)), None
    statements = [search.scop.statements[x] for x in numbers]
    kind = type_of(statements[0].stmt.value)
    if kind.is_float and not search.task.reassociate:
        return None  # equal systems may still group the operands of a sum in another way
    kinds = tuple(kinds_of(statements))
    for operation, pattern in search.task.operations:
        if isinstance(pattern, Pattern) or pattern.kinds != kinds:
            continue
        try:
            if system is None:
                system = system_of(search.scop, numbers, search.flow.order, search.task.reassociate)
            match = agree_systems(pattern, system, _private(run, search))
            if any(variables(x) - search.task.sizes for x in match.conditions):
                raise OperandMismatchError("its sizes may be some that the definition does not allow", 3)
            _check_types(operation, match, kind, search.scop)
        except (OperandMismatchError, NoFormError) as error:
            level = error.level if isinstance(error, OperandMismatchError) else 0
            _note(run, level, f"not {operation.name}: {error}", search)
            continue
        return _Found(operation, match, numbers)
    return None


def _made(form: NormalForm, windowed: bool) -> Iterator[tuple[Operation, Pattern]]:
    """A product of two arrays without a name, if a form is one: a convolution (`windowed`), or a contraction."""
    operation = contraction_of(form)
    if operation is None or (operation.name == CONVOLUTION) != windowed:
        return
    if isinstance(pattern := pattern_for(operation), Pattern):
        yield operation, pattern


def _private(run: Group, search: _Search) -> set[str]:
    """The local arrays that no other statement reads."""
    others = [x for n, x in enumerate(search.scop.statements) if n not in run]
    return set(search.task.private).difference(*(reads(x) for x in others))


def _note(run: Group, level: int, reason: str, search: _Search) -> None:
    """Remember why statements are no operation, if that is the nearest they came to one; what is told of several
    together counts where much of it was the same."""
    for number in run if len(run) == 1 or level > 2 else ():
        if number not in search.reasons or search.reasons[number][0] < level:
            search.reasons[number] = (level, reason)


def _check_types(operation: Operation, match: Unifier, kind: Type, scop: Scop) -> None:
    """Raise MismatchError where the elements are not all of the one type that the definition's f64 stands for."""
    types = {x.name: x.type for x in scop.kernel.arrays}
    for array in operation.definition.arrays:
        wanted = kind if array.type == F64 else array.type
        found = types[match.operands[array.name].array]
        if found != wanted:
            raise OperandMismatchError(
                f"`{match.operands[array.name].array}` holds {found} where {wanted} is wanted", 2
            )


def _assemble(search: _Search, parts: Sequence[Group]) -> tuple[Step, ...]:
    """The steps in an order that may be run, loops that may stand together in one step."""
    inner = {x: _inside(x, search) for x in parts if search.known.get(x) is None}
    loops = {x for x in inner if inner[x] is None}
    ordered = order_groups(parts, search.flow, lambda last, group: (last in loops) == (group in loops))
    steps: list[Step] = []
    rest: list[int] = []
    for group in ordered:
        if group in loops:
            rest += group
            continue
        if rest:
            steps.append(_loops(sorted(rest), search))
            rest = []
        found, repeated = search.known.get(group), inner.get(group)
        steps += _applied(found, search) if found is not None else [repeated] if repeated is not None else []
    if rest:
        steps.append(_loops(sorted(rest), search))
    return tuple(steps)


def _inside(group: Group, search: _Search) -> Repeat | None:
    """Statements that wait for each other, as operations in each iteration of their outermost loop; None where there
    is none in it."""
    task = search.task
    if len(group) == 1 and isinstance(search.forms[group[0]], NormalForm):
        return None
    body = only(task.kernel.body, group)
    match body.body:
        case (For() as loop,):
            pass
        case _:
            return None
    var = loop.var
    while var in task.kernel.sizes:
        var += "_"
    around = Var(var, INDEX)
    inside = substitute_loops(loop.body, loop.var, around)
    bounds = (Compare("le", loop.lower, around), Compare("lt", around, loop.upper))
    kernel = replace(
        task.kernel, sizes=(*task.kernel.sizes, var), body=inside, assumptions=(*task.kernel.assumptions, *bounds)
    )
    private = frozenset(x for x in task.private if _is_own(x, group, loop.var, search))
    steps = _raise(replace(task, kernel=kernel, private=private, numbers=tuple(task.numbers[x] for x in group)))
    reasons = {name: reason for x in walk_steps(steps) if isinstance(x, Loops) for name, reason in x.reasons.items()}
    for number in group:
        name = search.name(number)
        if name in reasons:
            _note((number,), 1, _outer_reason(_cycle(number, search), reasons[name]), search)
    if not any(isinstance(x, Apply) for x in walk_steps(steps)):
        return None
    return Repeat(var, loop.lower, loop.upper, loop.step, steps)


def _outer_reason(reason: str, inner: str) -> str:
    """Why a statement stays in a loop, and in one iteration, if that says more."""
    if inner == _ONE_ELEMENT:
        return reason
    return inner if inner.startswith(reason) else f"{reason}; in one iteration: {inner}"


def substitute_loops(block: Block, name: str, value: Expr) -> Block:
    """The block with a value in the place of an iterator that no loop in it hides."""
    if value == Var(name, INDEX):
        return block
    return map_block(lambda stmt: map_exprs(lambda x: substitute(x, {name: value}), stmt), block)


def _is_own(array: str, group: Group, var: str, search: _Search) -> bool:
    """Whether each iteration of a loop uses cells of a local array that are its own."""
    statements = search.scop.statements
    if any(x.array == array for n, s in enumerate(statements) if n not in group for x in s.accesses):
        return False
    found = [x.index for n in group for x in statements[n].accesses if x.array == array]
    ranks = range(min(map(len, found), default=0))
    return any(all(index[d] == Var(var, INDEX) for index in found) for d in ranks)


def used_arrays(steps: tuple[Step, ...]) -> frozenset[str]:
    """The arrays that some steps use."""
    used: set[str] = set()
    for step in walk_steps(steps):
        if isinstance(step, Apply):
            used |= {x.array for x in step.operands.values()}
            used |= {x.array for value in step.scalars.values() for x in loads(value)}
        else:
            used |= {*arrays_in(step.body)}
    return frozenset(used)


def _applied(found: _Found, search: _Search) -> list[Step]:
    first = [] if found.scaling is None else _applied(found.scaling, search)
    return [*first, _apply(found, search)]


def _apply(found: _Found, search: _Search) -> Apply:
    match, definition = found.match, found.operation.definition
    operands = {x.name: _view(x, match.operands[x.name], match.sizes) for x in definition.arrays}
    span = _around([search.scop.statements[n].stmt.span for n in found.statements])
    names = tuple(map(search.name, found.statements))
    return Apply(found.operation, operands, match.sizes, match.scalars, match.conditions, names, span)


def _view(array: Array, operand: MatchedOperand, sizes: Mapping[str, Expr]) -> View:
    shape = tuple(index(0) if x is None else normal(substitute(x, sizes)) for x in array.shape)
    return View(operand.array, operand.start, operand.steps, shape)


def _around(spans: Sequence[Span | None]) -> Span | None:
    """The place from the first to the last of some statements in one file."""
    known = [x for x in spans if x is not None]
    if not known:
        return None
    first = min(known, key=lambda x: (x.line, x.column))
    last = max(known, key=lambda x: (x.end_line, x.end_column))
    return replace(first, end_line=last.end_line, end_column=last.end_column)


def _loops(numbers: Sequence[int], search: _Search) -> Loops:
    """The nest with only some of its statements, and why these have no name."""
    body = only(search.task.kernel.body, numbers)
    return Loops(body, {search.name(x): _reason(x, search) for x in numbers})


def _reason(number: int, search: _Search) -> str:
    if number in search.reasons:
        return search.reasons[number][1]
    form = search.forms.get(number)
    if form is None:
        return _cycle(number, search)
    return form if isinstance(form, str) else "no operation updates an array in this way"


def _cycle(number: int, search: _Search) -> str:
    """Why a statement cannot be run to its end by itself."""
    group = next(x for x in search.flow.components if number in x)
    form = search.forms.get(number)
    if isinstance(form, str):
        return form
    others = ", ".join(search.name(x) for x in group if x != number)
    return f"it stays in one loop with {others}: they wait for each other"
