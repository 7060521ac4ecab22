"""A builder as operations in order: transposes, reshapes, products, and whatever other tactics are named.

>>> from planish.raising.tdl.parser import parse_definitions
>>> from planish.raising.tdl.patterns import operation_of
>>> text = '''def TTGT {
...   pattern C(a,b,c) += A(a,c,d) * B(d,b)
...   builder D(f,b) = C(a,b,c) where f = a * c  E(f,d) = A(a,c,d) where f = a * c
...     D(f,b) += E(f,d) * B(d,b)  C(a,b,c) = D(f,b) where f = a * c
... }'''
>>> source = Source("t.tdl", text)
>>> definition = parse_definitions(source)[0]
>>> made = build(definition, operation_of(definition, source), definition.builders[0], {}, source)
>>> [step.operation.name for step in made.steps]
['transpose', 'reshape', 'reshape', 'matmul', 'reshape', 'transpose']
>>> [x.name for x in made.locals]
['C_2', 'D', 'E', 'D_2']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from planish.core.names import free_name
from planish.core.span import Source, Span
from planish.ir.expr import Expr, Var, index
from planish.ir.index.polynomial import constant, mul, place, sub
from planish.ir.nest import Array, Block
from planish.ir.text.printer import print_expr
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Raised, View
from planish.raising.tdl.data_movement import SOURCE, TARGET, Groups, flatten, move
from planish.raising.tdl.patterns import define, scope_in
from planish.raising.tdl.scope import declared_sizes
from planish.raising.tdl.syntax import ElementRef, IndexGroup, TacticDefinition, TdlName, TdlStatement, Use
from planish.raising.tdl.values import TdlScope, accesses, size_of, value_of


def build(
    definition: TacticDefinition, operation: Operation, steps: Sequence[TdlStatement | Use],
    others: Mapping[str, Operation], source: Source,
) -> Raised:  # fmt: skip
    """What the steps of a builder compute: the operation's parameters, and other operations; `others` are the tactics.

    PlanishError E0813 for an index that nothing tells, E0815 for shapes that disagree, E0823 for an operand that is
    only read, or read before it is written, E0824 for a group that is no part of the other side, E0825 for a use that
    fits no tactic.
    """
    kernel = operation.definition
    scope = scope_in(definition, kernel.sizes, source)
    constants = tuple(dict.fromkeys((*scope.constants, *kernel.sizes)))
    sizes = declared_sizes([x for x in steps if isinstance(x, TdlStatement)], replace(scope, constants=constants))
    scope = replace(scope, indices={**sizes, **scope.indices}, constants=constants)
    builder = _Builder(scope, operation, others, {x.name: x for x in kernel.arrays}, {x.name for x in kernel.arrays})
    for step in steps:
        if isinstance(step, Use):
            builder.use(step)
        else:
            builder.statement(step)
    local = tuple(builder.arrays.values())[len(kernel.arrays) :]
    return Raised(replace(kernel, body=Block(())), tuple(builder.steps), local)


@dataclass(slots=True)
class _Builder:
    """The operations so far, and the arrays, indices and groups that they go by."""

    scope: TdlScope
    operation: Operation
    others: Mapping[str, Operation]
    arrays: dict[str, Array]
    written: set[str]
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    steps: list[Apply] = field(default_factory=list)

    def statement(self, stmt: TdlStatement) -> None:
        """One statement: a transpose, a reshape, or something that is computed."""
        for group in stmt.groups:
            self.group(group)
        for access in (*accesses(stmt.value), *([stmt.target] if stmt.op != "=" else [])):
            self.check_written(access.array, access.span)
        self.check_writable(stmt.target.array, stmt.target.span)
        if not self.moves(stmt):
            for group in stmt.groups:
                advice = "groups are for statements that only move elements: `D(f, b) = C(a, b, c)`"
                self.scope.fail("E0824", f"the statement computes, and `{group.name}` is a group", group.span, advice)
            self.compute(stmt)
        self.written.add(stmt.target.array)

    def check_written(self, array: str, span: Span | None) -> None:
        """That an array holds something."""
        if array not in self.written:
            self.scope.fail("E0823", f"`{array}` is read before anything is stored in it", span)

    def check_writable(self, array: str, span: Span | None) -> None:
        """That an array is the pattern's to write, or a new one."""
        if array in self.operation.inputs:
            advice = "a builder stores into what the pattern stores into, and into new arrays"
            self.scope.fail("E0823", f"`{array}` is only read by the pattern", span, advice)

    def group(self, group: IndexGroup) -> None:
        """An index that stands for several: its size is the product of theirs."""
        members = tuple(x.text for x in group.members)
        known = self.groups.get(group.name, members if group.name not in self.scope.indices else ())
        if known != members:
            self.scope.fail("E0824", f"`{group.name}` stands for something else already", group.span)
        size: Expr = index(1)
        for member in group.members:
            if member.text not in self.scope.indices:
                self.scope.fail("E0813", f"nothing says what the index `{member}` runs over", member.span)
            size = mul(size, self.scope.indices[member.text])
        self.groups[group.name] = members
        self.scope = replace(self.scope, indices={**self.scope.indices, group.name: size})

    def moves(self, stmt: TdlStatement) -> bool:
        """Whether a statement only moves elements; then it is added as reshapes and a transpose."""
        value = stmt.value
        if stmt.op != "=" or stmt.chains or not isinstance(value, ElementRef):
            return False
        if not all(isinstance(x, TdlName) for x in (*value.subscripts, *stmt.target.subscripts)):
            return False
        left, right = ([str(x) for x in a.subscripts] for a in (stmt.target, value))
        here = {x.name: x for x in stmt.groups}
        collapsed = {x: self.groups[x] for x in here if x in left and x not in right}
        expanded = {x: self.groups[x] for x in here if x in right and x not in left}
        after, before = flatten(left, collapsed), flatten(right, expanded)
        for name, members in (collapsed | expanded).items():
            for member in members:
                if member not in (before if name in collapsed else after):
                    message = f"`{member}` of the group `{name}` is no index of the other side"
                    self.scope.fail("E0824", message, here[name].span)
        if sorted(after) != sorted(before) or len({*after}) != len(after):
            return False
        # Each step as (what it is called, the order before and after it, the groups that it takes apart or makes).
        plan: list[tuple[str, list[str], list[str], Groups]] = []
        if expanded:
            plan.append(("reshape", right, before, expanded))
        if before != after:
            plan.append(("transpose", before, after, {}))
        if collapsed:
            plan.append(("reshape", after, left, collapsed))
        if not plan:
            plan.append(("copy", right, left, {}))
        array = value.array
        for number, (kind, old, new, groups) in enumerate(plan, 1):
            name = stmt.target.array if number == len(plan) else self.fresh(value.array)
            operation = move(kind, new, old, groups, self.scope.element)
            flat = flatten(new, groups)
            self.add(operation, {TARGET: name, SOURCE: array}, {f"n{x}": self.size(x, stmt) for x in flat}, {}, stmt)
            array = name
        return True

    def size(self, name: str, stmt: TdlStatement) -> Expr:
        """How many values an index has."""
        return size_of(TdlName(name, stmt.span), self.scope)

    def fresh(self, name: str) -> str:
        """A name for a new array."""
        return free_name(name, self.arrays)

    def compute(self, stmt: TdlStatement) -> None:
        """A statement as an operation of its own, whose sizes are those of the indices."""
        for access in (stmt.target, *accesses(stmt.value)):
            for term in access.subscripts:
                if isinstance(term, TdlName) and term.text not in self.scope.indices:
                    self.size(term.text, replace(stmt, span=term.span))
        operation = define("", (stmt,), self.scope.source, self.scope.element)
        operation = replace(operation, name=_kind(stmt, operation))
        definition = operation.definition
        operation = replace(operation, definition=replace(definition, name=operation.name))
        sizes = {x: self.scope.indices.get(x.removeprefix("n"), index(x)) if x not in self.scope.constants else index(x)
                 for x in definition.sizes}  # fmt: skip
        unknown = {x.name for x in definition.scalars} - {x.name for x in self.operation.definition.scalars}
        values = {x.name: value_of(TdlName(x.name), self.scope) for x in definition.scalars}
        if unknown - {*self.scope.constants}:
            name = min(unknown)
            self.scope.fail("E0813", f"`{name}` is no scalar of the pattern", stmt.span)
        self.add(operation, {x.name: x.name for x in definition.arrays}, sizes, values, stmt)

    def use(self, use: Use) -> None:
        """Another tactic on operands: its sizes are those of the arrays."""
        if use.tactic not in self.others:
            self.scope.fail("E0825", f"there is no tactic `{use.tactic}` before this one", use.span)
        operation = self.others[use.tactic]
        definition = operation.definition
        arrays, scalars, sizes = ({x.name for x in definition.arrays}, {x.name for x in definition.scalars},
                                  {*definition.sizes})  # fmt: skip
        given = dict(use.operands)
        if missing := (arrays | scalars) - {*given}:
            self.scope.fail("E0825", f"`{use.tactic}` needs `{min(missing)}`", use.span, "write `NAME = OPERAND`")
        if extra := {*given} - arrays - scalars - sizes:
            self.scope.fail("E0825", f"`{use.tactic}` has no operand `{min(extra)}`", use.span)
        operands: dict[str, str] = {}
        for name in (x.name for x in definition.arrays):
            term = given[name]
            if not isinstance(term, TdlName) or (term.text not in self.arrays):
                self.scope.fail("E0825", f"`{term}` is no array that there is here", use.span)
            operands[name] = term.text
            self.check_written(term.text, use.span)
        for name in arrays - {*operation.inputs}:
            self.check_writable(operands[name], use.span)
        known = {x: size_of(given[x], self.scope) for x in sizes & {*given}}
        for array in definition.arrays:
            for own, actual in zip(array.shape, self.arrays[operands[array.name]].shape, strict=False):
                if isinstance(own, Var) and own.name not in known and actual is not None:
                    known[own.name] = actual
        if missing := sizes - {*known}:
            self.scope.fail("E0825", f"no operand tells the size `{min(missing)}` of `{use.tactic}`", use.span)
        values = {x: value_of(given[x], self.scope) for x in scalars}
        self.add(operation, operands, known, values, use)

    def add(
        self, operation: Operation, operands: Mapping[str, str], sizes: Mapping[str, Expr], scalars: Mapping[str, Expr],
        step: TdlStatement | Use,
    ) -> None:  # fmt: skip
        """One more operation; what it stores into comes to be if it is not there."""
        views: dict[str, View] = {}
        for own in operation.definition.arrays:
            shape = tuple(place(x, sizes) for x in own.shape if x is not None)
            name = operands[own.name]
            array = self.arrays.setdefault(name, Array(name, self.scope.element, shape))
            if len(array.shape) != len(shape):
                message = f"`{name}` has {len(array.shape)} dimensions, and here {len(shape)}"
                self.scope.fail("E0815", message, step.span)
            for d, (has, wanted) in enumerate(zip(array.shape, shape, strict=True)):
                more = None if has is None else constant(sub(has, wanted))
                if has is not None and (more is None or more < 0):
                    extents = f"{print_expr(has)} elements, and here {print_expr(wanted)}"
                    self.scope.fail("E0815", f"dimension {d + 1} of `{name}` has {extents}", step.span)
            steps = tuple(tuple(int(i == d) for d in range(len(shape))) for i in range(len(shape)))
            views[own.name] = View(name, (index(0),) * len(shape), steps, shape)
        self.steps.append(Apply(operation, views, dict(sizes), dict(scalars), span=step.span))


def _kind(stmt: TdlStatement, operation: Operation) -> str:
    """What a computed statement is called."""
    ranks = {len(x.subscripts) for x in accesses(stmt.value)}
    if operation.einsum and operation.einsum.count(",") == 1:
        left, _, out = operation.einsum.partition("->")
        summed = {*left} - {*out, ","}
        match sorted(map(len, left.split(","))), len(out), len(summed):
            case [2, 2], 2, 1:
                return "matmul"
            case [1, 2], 1, 1:
                return "matvec"
            case [1, 1], 0, 1:
                return "dot"
            case [1, 1], 2, 0:
                return "outer"
            case _:
                return "contraction"
    moving = any(not isinstance(x, TdlName) for a in accesses(stmt.value) for x in a.subscripts)
    if stmt.op == "=":
        return "fill" if not ranks else "gather" if moving else "elementwise"
    return "conv" if moving and len(accesses(stmt.value)) == 2 else "reduction"
