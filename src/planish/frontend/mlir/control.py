"""Loops and conditions of `scf` and `affine`; what iterations hand on is in cells.

HANDLERS["scf.for"](op, cx, execute)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack

from xdsl.dialects import affine, scf
from xdsl.dialects.builtin import AffineSetAttr
from xdsl.ir import Block as Body
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from planish.core.span import Span
from planish.frontend.mlir.maps import NotAMap, read_extremum, read_set
from planish.frontend.mlir.memory import WRITES
from planish.frontend.mlir.operations import IfOp, NamedOp
from planish.frontend.mlir.scalars import map_of
from planish.frontend.mlir.state import MemrefView, MlirScalar, MlirTranslation, clean_name, is_plain
from planish.frontend.mlir.types import scalar_type
from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Load, Select, Var, type_of
from planish.ir.index.polynomial import constant
from planish.ir.nest import Assign, Block, For, If, Stmt, While
from planish.ir.traverse import loads
from planish.ir.types import BOOL, INDEX, Type

Execute = Callable[[Body, MlirTranslation], None]
Handler = Callable[[Operation, MlirTranslation, Execute], None]


def body_of(region: Region, op: Operation, cx: MlirTranslation) -> Body:
    """The only block of a region; PlanishError E0873."""
    if len(region.blocks) != 1:
        cx.fail(op, "E0873", f"`{op.name}` with {len(region.blocks)} blocks", "write loops and conditions with scf")
    return region.blocks[0]


def enter(op: Operation, cx: MlirTranslation) -> None:
    """Before an operation with regions: what it writes must not change values that are still needed."""
    cx.done.add(op)
    cx.before_writes(x.array for v in _written(op) if isinstance(x := cx.values.get(v), MemrefView))


def _written(op: Operation) -> Iterable[SSAValue]:
    """The memrefs that an operation, or one inside it, writes; for a view, the memref that it is taken from."""
    for inner in op.walk():
        named = inner.outputs if isinstance(inner, NamedOp) else getattr(inner, "outputs", getattr(inner, "init", ()))
        outputs = [named] if isinstance(named, SSAValue) else list(named)
        for value in (*outputs, *(inner.operands[n] for n in WRITES.get(inner.name, ()))):
            while value.owner is not None and isinstance(value.owner, Operation) and value.owner.name in _VIEWS:
                value = value.owner.operands[0]
            yield value


_VIEWS = (
    "memref.subview", "memref.cast", "memref.memory_space_cast", "memref.transpose", "memref.expand_shape",
    "memref.assume_alignment",
)  # fmt: skip


def run_affine_for(op: Operation, cx: MlirTranslation, execute: Execute) -> None:
    """`affine.for`."""
    assert isinstance(op, affine.ForOp)
    bounds = []
    for which, map, operands in (
        ("max", op.lowerBoundMap, op.lowerBoundOperands), ("min", op.upperBoundMap, op.upperBoundOperands)
    ):  # fmt: skip
        try:
            bounds.append(read_extremum(which, map_of(map, op, cx), [cx.index(x, op) for x in operands]))
        except NotAMap as fault:
            cx.fail(op, "E0862", f"`affine.for` is not well-formed: {fault}")
    _run_loop(op, bounds[0], bounds[1], op.step.value.data, list(op.inits), cx, execute)


def run_for(op: Operation, cx: MlirTranslation, execute: Execute) -> None:
    """`scf.for`."""
    assert isinstance(op, scf.ForOp)
    step = cx.index(op.step, op)
    known = constant(step)
    if known is None and not loads(step):
        advice = "give it a constant step, and multiply the loop variable"
        cx.fail(op, "E0868", "the step of the loop is not a constant", advice)
    bounds = cx.index(op.lb, op), cx.index(op.ub, op)
    if known is None:
        _run_steps(op, bounds, step, cx, execute)
    else:
        _run_loop(op, *bounds, known, list(op.iter_args), cx, execute)


def _run_steps(
    op: scf.ForOp, bounds: tuple[Expr, Expr], step: Expr, cx: MlirTranslation, execute: Execute
) -> None:  # fmt: skip
    """A loop whose step an enclosing loop computes, which is positive by what `scf.for` is: a cell counts."""
    body = body_of(op.body, op, cx)
    iterator, *carried = body.args
    cells = [_carry(op, n, value, carried[n], cx) for n, value in enumerate(op.iter_args)]
    counter = cx.cell(_iterator_name(iterator, cx), INDEX, op)
    place = Load(counter, (), INDEX)
    enter(op, cx)
    cx.out.append(Assign(counter, (), bounds[0], cx.span(op)))
    with cx.inside() as out:
        cx.values[iterator] = MlirScalar(place)
        _iterate(body, carried, cells, op, cx, execute)
        out.append(Assign(counter, (), Binary("add", place, step), cx.span(op)))
    cx.out.append(While(Compare("lt", place, bounds[1]), Block(tuple(out)), cx.span(op)))
    for result, cell in zip(op.results, cells, strict=True):
        _bind_cell(result, cell, op, cx)


def run_while(op: Operation, cx: MlirTranslation, execute: Execute) -> None:
    """`scf.while` whose first region computes a condition, and hands on what it was given."""
    assert isinstance(op, scf.WhileOp)
    before, after = body_of(op.before_region, op, cx), body_of(op.after_region, op, cx)
    last = before.last_op
    if not isinstance(last, scf.ConditionOp) or [*last.args] != [*before.args]:
        advice = "hand on what the region is given: `scf.condition(%go) %a, %b`"
        cx.fail(op, "E0864", "`scf.while` that hands on other values than it is given", advice)
    cells = [_carry(op, n, value, before.args[n], cx) for n, value in enumerate(op.arguments)]
    enter(op, cx)
    for argument, cell in zip(before.args, cells, strict=True):
        _bind_cell(argument, cell, op, cx)
    with cx.inside() as test:
        execute(before, cx)
        condition = cx.expr(last.condition, last)
    cx.done.add(last)
    if test:
        cx.fail(op, "E0864", "`scf.while` with statements in its condition", "compute what it needs once")
    with cx.inside() as out:
        _iterate(after, after.args, cells, op, cx, execute)
    cx.out.append(While(condition, Block(tuple(out)), cx.span(op)))
    for result, cell in zip(op.results, cells, strict=True):
        _bind_cell(result, cell, op, cx)


def _run_loop(
    op: Operation, lower: Expr, upper: Expr, step: int, inits: Sequence[SSAValue], cx: MlirTranslation, execute: Execute
) -> None:
    if step <= 0:
        cx.fail(op, "E0868", f"the step of the loop is {step}", "steps are positive")
    body = body_of(op.regions[0], op, cx)
    iterator, *carried = body.args
    cells = [_carry(op, n, value, carried[n], cx) for n, value in enumerate(inits)]
    enter(op, cx)
    with cx.iterator(_iterator_name(iterator, cx), lower, upper) as name, cx.inside() as out:
        _bind_iterator(iterator, name, op, cx)
        _iterate(body, carried, cells, op, cx, execute)
    cx.out.append(For(name, lower, upper, step, Block(tuple(out)), span=cx.span(op)))
    for result, cell in zip(op.results, cells, strict=True):
        _bind_cell(result, cell, op, cx)


def _iterate(
    body: Body, carried: Sequence[SSAValue], cells: Sequence[str], op: Operation, cx: MlirTranslation, execute: Execute
) -> None:  # fmt: skip
    """One iteration, whose arguments are in cells and which leaves there what the next one is given."""
    for argument, cell in zip(carried, cells, strict=True):
        _bind_cell(argument, cell, op, cx)
    if body.last_op is not None:
        cx.handed[body.last_op] = cells
    execute(body, cx)
    if body.last_op is not None and cells:
        _yield(body.last_op, cells, cx)


def _iterator_name(iterator: BlockArgument, cx: MlirTranslation) -> str:
    return clean_name(cx.module.name_of(iterator), "i")


def _bind_iterator(iterator: BlockArgument, name: str, op: Operation, cx: MlirTranslation) -> None:
    type = scalar_type(iterator.type)
    if type is None or not type.is_int:
        cx.fail(op, "E0868", f"a loop variable of type `{iterator.type}`", "use `index`")
    variable = Var(name, INDEX)
    cx.values[iterator] = MlirScalar(variable if type == INDEX else Cast(variable, type), variable)


def _bind_cell(value: SSAValue, cell: str, op: Operation, cx: MlirTranslation) -> None:
    cx.values[value] = MlirScalar(Load(cell, (), _number_type(value, op, cx)))
    cx.reading[value] = frozenset({cell})


def _number_type(value: SSAValue, op: Operation, cx: MlirTranslation) -> Type:
    type = scalar_type(value.type)
    if type is None:
        advice = "hand on numbers, and keep memrefs outside of the loop or condition"
        cx.fail(op, "E0865", f"`{op.name}` hands on a value of type `{value.type}`", advice)
    return type


def _carry(op: Operation, number: int, init: SSAValue, argument: BlockArgument, cx: MlirTranslation) -> str:
    """The cell of a value that iterations hand on, with its first value in it.

    The loop around may hand on the same value, without touching it elsewhere: then its cell serves both.
    """
    type = _number_type(argument, op, cx)
    value = cx.expr(init, op)
    outer = init.owner.parent_op() if isinstance(init, BlockArgument) else None
    if (
        isinstance(value, Load) and not value.index and outer is not None and outer is op.parent_op()
        and isinstance(outer, affine.ForOp | scf.ForOp) and sum(1 for _ in init.uses) == 1
        and sum(1 for _ in op.results[number].uses) == 1
    ):  # fmt: skip
        last = outer.regions[0].blocks[0].last_op
        place = outer.regions[0].blocks[0].args.index(init) - 1
        if last is not None and len(last.operands) > place and last.operands[place] is op.results[number]:
            return value.array
    cell = cx.cell(clean_name(cx.module.name_of(argument), "s"), type, op)
    cx.out.append(Assign(cell, (), value, cx.span(op)))
    return cell


def _yield(last: Operation, cells: Sequence[str], cx: MlirTranslation) -> None:
    """Put what an iteration, or a branch, gives into cells, all at once; an index is set, since updates wrap around."""
    values = [cx.expr(x, last) for x in last.operands]
    if len(values) != len(cells):
        cx.fail(last, "E0862", f"`{last.name}` gives {len(values)} values, and {len(cells)} are expected")
    cx.done.add(last)
    for n, cell in enumerate(cells):
        for later in range(n + 1, len(cells)):
            if any(x.array == cell for x in loads(values[later])):
                values[later] = cx.keep("t", values[later], last)
        if type_of(values[n]) == INDEX and values[n] != Load(cell, (), INDEX):
            cx.before_writes({cell})
            cx.out.append(Assign(cell, (), values[n], cx.span(last)))
        else:
            cx.store(cell, (), values[n], last)


def run_parallel(op: Operation, cx: MlirTranslation, execute: Execute) -> None:
    """`scf.parallel`: its iterations may run in any order, so in this one."""
    assert isinstance(op, scf.ParallelOp)
    if op.initVals:
        cx.fail(op, "E0864", "`scf.parallel` with a reduction", "write it as scf.for with iter_args")
    lowers, uppers = ([cx.index(x, op) for x in bounds] for bounds in (op.lowerBound, op.upperBound))
    steps = [constant(cx.index(x, op)) for x in op.step]
    body = body_of(op.body, op, cx)
    enter(op, cx)
    names: list[str] = []
    with ExitStack() as stack, cx.inside() as out:
        for argument, lower, upper, step in zip(body.args, lowers, uppers, steps, strict=True):
            if step is None or step <= 0:
                cx.fail(op, "E0868", "a step of the loop is not a positive constant", "give it a constant step")
            names.append(stack.enter_context(cx.iterator(_iterator_name(argument, cx), lower, upper)))
            _bind_iterator(argument, names[-1], op, cx)
        execute(body, cx)
    loops = [(n, a, b, step or 1) for n, a, b, step in zip(names, lowers, uppers, steps, strict=True)]
    cx.out.extend(around(loops, out, cx.span(op)))


def around(loops: Sequence[tuple[str, Expr, Expr, int]], body: Sequence[Stmt], span: Span) -> tuple[Stmt, ...]:
    """Loops (variable, lower and upper bound, step), the outermost first, around some statements."""
    nest = Block(tuple(body))
    for name, lower, upper, step in reversed(loops):
        nest = Block((For(name, lower, upper, step, nest, span=span),))
    return nest.body


def run_if(op: Operation, cx: MlirTranslation, execute: Execute) -> None:
    """`scf.if`."""
    _branch(op, cx.expr(op.operands[0], op), cx, execute)


def run_affine_if(op: Operation, cx: MlirTranslation, execute: Execute) -> None:
    """`affine.if`."""
    assert isinstance(op, IfOp) and isinstance(op.condition, AffineSetAttr)
    try:
        condition = read_set(op.condition.data, [cx.index(x, op) for x in op.operands])
    except NotAMap as fault:
        cx.fail(op, "E0862", f"`affine.if` is not well-formed: {fault}")
    _branch(op, condition, cx, execute)


def _branch(op: Operation, condition: Expr, cx: MlirTranslation, execute: Execute) -> None:
    if type_of(condition) != BOOL:
        cx.fail(op, "E0865", f"a condition of type {type_of(condition)}", "conditions are of type i1")
    if any(x.array in cx.arguments for x in loads(condition)) and _stores(op):
        condition = cx.keep("test", condition, op)
    enter(op, cx)
    branches: list[tuple[list[Stmt], list[Expr], Operation | None]] = []
    for region in op.regions:
        with cx.inside() as out:
            last = None
            if region.blocks:
                body = body_of(region, op, cx)
                execute(body, cx)
                last = body.last_op
            values = [cx.expr(x, last) for x in last.operands] if last is not None else []
        branches.append((out, values, last))
    if len(branches) == 1:
        branches.append(([], [], None))
    (then, first, _), (otherwise, second, _) = branches
    if len(first) != len(op.results) or (op.results and len(second) != len(op.results)):
        cx.fail(op, "E0862", f"`{op.name}` is not well-formed: its branches must give {len(op.results)} values")
    if not then and not otherwise:
        cx.done |= {x for _, _, x in branches if x is not None}
        for result, a, b in zip(op.results, first, second, strict=True):
            both = b == Const(False, BOOL)
            cx.define(result, Binary("and", condition, a) if both else Select(condition, a, b), op)
        return
    cells = [
        _handed_on(x, (a, b), op, cx) or cx.cell(clean_name(cx.module.name_of(x), "r"), _number_type(x, op, cx), op)
        for x, a, b in zip(op.results, first, second, strict=True)
    ]
    for out, _, last in branches:
        with cx.inside() as ending:
            if last is not None and cells:
                _yield(last, cells, cx)
        out.extend(ending)
    cx.out.extend(_joined(If(condition, Block(tuple(then)), Block(tuple(otherwise)), cx.span(op))))
    for result, cell in zip(op.results, cells, strict=True):
        _bind_cell(result, cell, op, cx)


def _handed_on(result: SSAValue, values: Sequence[Expr], op: Operation, cx: MlirTranslation) -> str | None:
    """The cell of what the loop around hands on, where a branch leaves it as it is and the other one sets it, and
    nothing else needs what it was before behind that; else None."""
    uses = [*result.uses]
    cells = cx.handed.get(uses[0].operation, ()) if len(uses) == 1 else ()
    cell: str | None = next((x for n, x in enumerate(cells) if n == uses[0].index), None)
    if cell is None or not any(isinstance(x, Load) and x.array == cell for x in values):
        return None
    read = [x for x, sources in cx.reading.items() if cell in sources]
    waiting = [use.operation for x in read for use in x.uses if use.operation not in cx.done]
    if not all(op.is_ancestor(x) for x in waiting):
        return None
    for x in read:
        del cx.reading[x]
    return cell


def _stores(op: Operation) -> bool:
    return any(True for _ in _written(op))


def _joined(stmt: If) -> tuple[Stmt, ...]:
    """A condition on data whose branches only store to one and the same place as a choice of what is stored."""
    match stmt.then.body, stmt.otherwise.body:
        case (Assign() as a,), (Assign() as b,) if not is_plain(stmt.condition) and (a.array, a.index) == (
            b.array, b.index
        ):  # fmt: skip
            return (Assign(a.array, a.index, Select(stmt.condition, a.value, b.value), stmt.span),)
        case _:
            return (stmt,)


HANDLERS: dict[str, Handler] = {
    "affine.for": run_affine_for, "scf.for": run_for, "scf.parallel": run_parallel, "scf.if": run_if,
    "affine.if": run_affine_if, "scf.while": run_while,
}  # fmt: skip
"""What is done for each operation with regions of statements."""
