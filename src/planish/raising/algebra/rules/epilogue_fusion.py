"""Epilogue fusion: elementwise steps after an operation become part of it, without a round trip through memory.

Before: T = A * B; D = max(T + bias, 0)         (T: a local array, not read again)
After:  D = gemm_bias(A, B, bias)

The definition of the joined operation is the two definitions one after the other, over one output. `split` gives the
main part and the epilogue back, for who generates code of both.

>>> from planish.ir.text.parser import parse_kernel
>>> first = parse_kernel("kernel a(n; x: f64[n], y: f64[n]) { for i in 0 .. n { y[i] = 2.0 * x[i] } }")
>>> second = parse_kernel("kernel b(n; z: f64[n]) { for i in 0 .. n { z[i] = z[i] + 1.0 } }")
>>> joined = join(Operation("a", first), Operation("b", second), "z").operation
>>> joined.name, joined.output, joined.inputs, [len(x.body) for x in split(joined)]
('a_b', 'y', ('x',), [1, 1])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from planish.core.diagnostic import Remark
from planish.core.names import take_name
from planish.ir.expr import Expr, Load, Var
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import expressions, loads, map_block, map_expr, map_exprs, substitute, walk
from planish.ir.types import INDEX
from planish.raising.algebra.effects import Effect, Facts, may_overlap, reads
from planish.raising.algebra.product import same_view
from planish.raising.algebra.product_reader import places
from planish.raising.algebra.product_writer import origin_of
from planish.raising.algebra.rule_context import RuleResult, Setting, done, refused, replaced
from planish.raising.algebra.rules.dce import describe
from planish.raising.algebra.rules.identity_elements import span
from planish.raising.operation import Operation
from planish.raising.raised import Apply, View

_LITTLE = 0.05
"""The part of the elements that an operation reads and writes which is not worth to be saved."""


@dataclass(frozen=True, slots=True)
class Joined:
    """An operation made of two, and the names that the second one's operands, sizes and scalars have in it."""

    operation: Operation
    names: Mapping[str, str]


def fuse_epilogues(facts: Facts, setting: Setting) -> RuleResult:
    """Join the first elementwise step with the operation that computes what it reads."""
    remarks: list[Remark] = []
    for place, step in enumerate(facts.raised.steps):
        if not isinstance(step, Apply) or not is_elementwise(step.operation):
            continue
        for name in dict.fromkeys((*step.operation.inputs, step.operation.output)):
            found = _joined(facts, place, step, name)
            if isinstance(found, str):
                remarks.append(refused("algebra-epilogue", f"{describe(step)} stays apart: {found}", span(step)))
                continue
            if found is None:
                continue
            main, apply = found
            first = facts.raised.steps[main]
            before = describe(first)
            if not isinstance(first, Apply) or not _is_worth(setting, first):
                message = f"{describe(step)} stays apart: what {before} stores is little beside what it reads"
                remarks.append(refused("algebra-epilogue", message, span(step)))
                continue
            fresh = replaced(facts.raised, place, (apply,), [main])
            message = f"{describe(step)} is fused into the epilogue of {before}"
            change = done(fresh, "algebra-epilogue", message, span(step))
            return RuleResult(change.raised, (*remarks, *change.remarks))
    return RuleResult(None, tuple(remarks))


def is_elementwise(operation: Operation) -> bool:
    """Whether each element of the output is stored once, from elements in the same place or of fewer dimensions."""
    found = places(operation.definition)
    if found is None or len(found) != 1:
        return False
    place = found[0]
    index = place.stmt.index
    names = [x.var for x in place.loops]
    if not all(isinstance(x, Var) and x.name in names for x in index) or len(set(index)) < len(names):
        return False
    value = loads(place.stmt.value)
    if any(x.array == place.stmt.array and x.index != index for x in value):
        return False
    return all(isinstance(y, Var) for x in value for y in x.index)


def _reduces(operation: Operation) -> bool:
    """Whether an operation does more than a step for each element, so that an epilogue hides behind it."""
    found = places(operation.definition)
    return found is None or any(len(x.loops) > len(x.stmt.index) for x in found)


def _is_worth(setting: Setting, first: Apply) -> bool:
    """Whether storing and reading the result again is a part of an operation's traffic that counts."""
    output = first.operands[first.operation.output]
    saved = sum(2 * _elements(output, x) for x in setting.model.points)
    moved = sum(_elements(view, x) for view in first.operands.values() for x in setting.model.points)
    return saved > _LITTLE * moved


def _elements(view: View, sizes: Mapping[str, int]) -> int:
    return prod(max(0, evaluate(x, sizes)) for x in view.shape)


def _joined(facts: Facts, place: int, step: Apply, name: str) -> tuple[int, Apply] | str | None:
    """The step before that computes an operand, joined with an elementwise step; why they stay apart, None for other
    operands."""
    view = step.operands[name]
    main = facts.definition_of(view, place)
    if main is None:
        return None
    first = facts.raised.steps[main]
    if not isinstance(first, Apply) or not _reduces(first.operation):
        return None
    output = step.operation.output
    own = first.operands[first.operation.output]
    used = {x.index for x in _loads(step.operation, name)}
    target = _single(step.operation).index
    if not used:
        return None
    if not same_view(own, view):
        return f"it reads other elements of {view.array} than {describe(first)} stores"
    if used - {target}:
        return f"an element of {view.array} is used for more than one of its results"
    types = {facts.arrays[x.array].type for x in (*first.operands.values(), *step.operands.values())}
    if len(types) > 1:
        return "the elements have different types"
    others = [Effect(x.array, x) for y, x in step.operands.items() if y not in (name, output)]
    if any(x.view is not None and may_overlap(facts, own, x.view) for x in others):
        return f"it reads {view.array} in two ways"
    between = range(main + 1, place)
    if facts.touched(between, list(reads(first))) is not None:
        return f"operands of {describe(first)} change before it"
    if facts.touched(between, [Effect(own.array, own)], also_reads=True) is not None:
        return f"{own.array} is used before it"
    joined = join(first.operation, step.operation, name)
    if joined is None:
        return "a name in its definition is bound twice"
    stored = own
    if name != output:
        stored = step.operands[output]
        reason = _stored_elsewhere(facts, place, main, first, step, own, stored)
        if reason:
            return reason
    if any(x.view is not None and may_overlap(facts, stored, x.view) for x in others):
        return f"{stored.array} is read besides"
    operands = dict(first.operands) | {first.operation.output: stored}
    operands |= {joined.names[x]: y for x, y in step.operands.items() if x not in (name, output)}
    sizes = dict(first.sizes) | {joined.names[x]: y for x, y in step.sizes.items()}
    scalars = dict(first.scalars) | {joined.names[x]: y for x, y in step.scalars.items()}
    loaded = [x.array for y in (*first.scalars.values(), *step.scalars.values()) for x in loads(y)]
    if any(facts.base(x) == facts.base(stored.array) for x in loaded):
        return f"a scalar is an element of {stored.array}"
    return main, Apply(joined.operation, operands, sizes, scalars, span=origin_of(first, step).span)


def _stored_elsewhere(
    facts: Facts, place: int, main: int, first: Apply, step: Apply, own: View, stored: View
) -> str:
    """Why the first operation cannot compute its result in the place of the second one's, "" where it can."""
    product = facts.products[main]
    if product is None or not product.overwrites:
        return f"{describe(first)} may need what {own.array} held before"
    if any(x.index != () and x.array == step.operation.output for x in _loads(step.operation, step.operation.output)):
        return f"it needs what {stored.array} held before"
    if isinstance(_single(step.operation), Reduce):
        return f"it needs what {stored.array} held before"
    if not facts.is_local(own.array):
        return f"{own.array} is seen after the kernel"
    if facts.users(own.array, main) != [place] or not facts.is_dead(own.array, place + 1):
        return f"{own.array} is read more than once"
    if any(may_overlap(facts, x.view, stored) for x in product.factors):
        return f"{describe(first)} reads {stored.array}"
    return ""


def _single(operation: Operation) -> Assign | Reduce:
    return next(x for x in walk(operation.definition.body) if isinstance(x, Assign | Reduce))


def _loads(operation: Operation, array: str) -> list[Load]:
    """What a definition loads of an array; an update loads what it updates."""
    found = [x for s in walk(operation.definition.body) for e in expressions(s) for x in loads(e) if x.array == array]
    stmt = _single(operation)
    if isinstance(stmt, Reduce) and stmt.array == array:
        found.append(Load(array, stmt.index, next((x.type for x in found), INDEX)))
    return found


def join(first: Operation, second: Operation, name: str) -> Joined | None:
    """One operation after another, on the first one's output in the place of the second one's operand `name`."""
    main, epilogue = first.definition, second.definition
    given = _names(epilogue)
    if len(set(given)) < len(given):
        return None
    taken = set(_names(main))
    # The shared operand has the same extents in both.
    names = {
        y.name: x.name
        for x, y in zip(main.array(first.output).shape, epilogue.array(name).shape, strict=True)
        if isinstance(x, Var) and isinstance(y, Var)
    }
    for x in (x for x in given if x not in names):
        names[x] = first.output if x in (name, second.output) else take_name(x, taken)
        taken.add(names[x])
    arrays = [replace(x, name=names[x.name], shape=_renamed_shape(x, names)) for x in epilogue.arrays]
    kernel = Kernel(
        f"{first.name}_{second.name}",
        tuple(dict.fromkeys((*main.sizes, *(names[x] for x in epilogue.sizes)))),
        (*main.scalars, *(replace(x, name=names[x.name]) for x in epilogue.scalars)),
        (*main.arrays, *(x for x in arrays if x.name != first.output)),
        Block((Block(main.body.body), renamed(epilogue.body, names))),
        main.assumptions,
    )
    return Joined(Operation(kernel.name, kernel, first.einsum), names)


def split(operation: Operation) -> tuple[Block, Block] | None:
    """The nests of an operation that was joined: the main one and the epilogue; None for any other."""
    match operation.definition.body.body:
        case (Block() as main, Block() as epilogue):
            return main, epilogue
        case _:
            return None


def _names(kernel: Kernel) -> list[str]:
    """The names of a definition."""
    out = [*kernel.sizes, *(x.name for x in kernel.scalars), *(x.name for x in kernel.arrays)]
    out += dict.fromkeys(x.var for x in walk(kernel.body) if isinstance(x, For | Let))
    return out + [x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)]


def _renamed_shape(array: Array, names: Mapping[str, str]) -> tuple[Expr | None, ...]:
    values: dict[str, Expr] = {x: Var(y, INDEX) for x, y in names.items()}
    return tuple(substitute(x, values) if x is not None else None for x in array.shape)


def renamed(block: Block, names: Mapping[str, str]) -> Block:
    """A nest with other names for its variables and arrays."""

    def change(expr: Expr) -> Expr:
        match expr:
            case Var(name=name) | Load(array=name):
                fresh = names.get(name, name)
                return replace(expr, name=fresh) if isinstance(expr, Var) else replace(expr, array=fresh)
            case _:
                return expr

    def statement(stmt: Stmt) -> Stmt:
        stmt = map_exprs(lambda x: map_expr(change, x), stmt)
        match stmt:
            case For(var=var):
                return replace(stmt, var=names.get(var, var))
            case Assign(array=array) | Reduce(array=array):
                return replace(stmt, array=names.get(array, array))
            case _:
                return stmt

    return map_block(statement, block)
