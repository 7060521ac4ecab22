"""Extracts the static control part (SCoP) of a kernel: statements with iteration domains and access relations, and the
order they run in.

>>> from planish.ir.expr import Const, index
>>> from planish.ir.nest import Array, Assign, Block, For, Kernel
>>> from planish.ir.types import F32
>>> loop = For("i", index(0), index("n"), 1, Block((Assign("A", (index("i"),), Const(0.0, F32)),)))
>>> scop = extract_scop(Kernel("zero", ("n",), arrays=(Array("A", F32, (index("n"),)),), body=Block((loop,))))
>>> print(scop.statements[0].domain)
[n] -> { S0[i] : 0 <= i < n }
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from typing import assert_never

import islpy as isl

from planish.ir.expr import Binary, Expr, Var, index, type_of
from planish.ir.nest import (
    Alloc,
    Array,
    Assign,
    Barrier,
    Block,
    For,
    If,
    Kernel,
    Launch,
    Let,
    Reduce,
    ReduceOp,
    Stmt,
    While,
)
from planish.ir.traverse import expressions, loads, stored_arrays, substitute, variables
from planish.ir.traverse import walk as walk_stmt
from planish.ir.types import INDEX
from planish.poly.isl.affine import CONTEXT, NotAffineError, affine_function, condition_set, isl_name
from planish.poly.isl.coalesce import coalesce
from planish.poly.scop.subscript_range import range_relation

SET = isl.dim_type.set


def read_schedule(text: str) -> isl.Schedule:
    """The schedule tree that a text stands for."""
    return isl.Schedule.read_from_str(CONTEXT, text)


def _reduce(tree: isl.Schedule) -> tuple[Callable[[str], isl.Schedule], tuple[str]]:
    return read_schedule, (str(tree),)


# Schedule trees travel between processes as text, as isl's other objects do by themselves.
copyreg.pickle(isl.Schedule, _reduce)


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One read or write of a statement: a map from its instances to elements of `array`.

    `inexact`: the dimensions whose subscript is not affine. There the relation holds all elements that may be meant;
    only arrays that nothing is stored to are read so, which no instance waits for.
    """

    array: str
    relation: isl.Map
    write: bool
    index: tuple[Expr, ...]
    inexact: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """An assignment with its iterators (outermost first), its domain and its accesses.

    `loops` numbers the loops around it in textual order, so that statements can tell which they share. `lets` are the
    values that it needs by name, in order; their loads count as its own.
    """

    name: str
    iterators: tuple[str, ...]
    loops: tuple[int, ...]
    stmt: Assign | Reduce
    domain: isl.Set
    accesses: tuple[Access, ...]
    lets: tuple[Let, ...] = ()

    @property
    def reduction(self) -> ReduceOp | None:
        """The operation of a statement that updates its target in place."""
        return self.stmt.op if isinstance(self.stmt, Reduce) else None

    @property
    def write(self) -> Access:
        """The access that stores the result."""
        return self.accesses[0]


@dataclass(frozen=True, slots=True, eq=False)
class Scop:
    """A kernel whose every statement instance is known: the kernel, its statements, context and original order."""

    kernel: Kernel
    statements: tuple[Statement, ...]
    context: isl.Set
    schedule: isl.Schedule
    locals: tuple[Array, ...]

    @property
    def domain(self) -> isl.UnionSet:
        """All statement instances."""
        return self.schedule.get_domain()

    def uses(self, arrays: Set[str] | None = None) -> tuple[isl.UnionMap, isl.UnionMap]:
        """Instances to the elements that they read, and to those that they write; of some arrays only, where these are
        given."""
        reads = writes = isl.UnionMap.empty(self.context.get_space())
        for access in (x for statement in self.statements for x in statement.accesses):
            if arrays is not None and access.array not in arrays:
                continue
            if access.write:
                writes = writes.add_map(access.relation)
            else:
                reads = reads.add_map(access.relation)
        return reads, writes

    def statement(self, name: str) -> Statement:
        """The statement called `name`; KeyError where there is none."""
        for statement in self.statements:
            if statement.name == name:
                return statement
        raise KeyError(name)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Where the walk stands: the iterators around it, their values there, renamed variables, numbers of the loops."""

    domain: isl.Set
    iterators: tuple[str, ...] = ()
    renames: tuple[tuple[str, Expr], ...] = ()
    loops: tuple[int, ...] = ()
    lets: tuple[Let, ...] = ()


@dataclass(slots=True)
class _Walk:
    """State of one extraction; `stored`: the arrays that something is stored to, whose elements have to be known."""

    kernel: Kernel
    statements: list[Statement]
    locals: list[Array]
    stored: Set[str]
    loops: int = 0


def extract_scop(kernel: Kernel, exact: bool = True) -> Scop:
    """The polyhedral view of `kernel`; raises NotAffineError where a bound or condition is not affine, or a subscript
    of an array that something is stored to, unless it is to tell no more than how far accesses go (not `exact`)."""
    space = isl.Space.create_from_names(CONTEXT, params=[isl_name(n) for n in kernel.sizes], set=[])
    known = affine_only(kernel.assumptions, space)
    context = known.params()
    walk = _Walk(kernel, [], [], stored_arrays(kernel.body) if exact else frozenset())
    schedule = _visit(kernel.body, _Place(known), walk)
    if schedule is None:
        schedule = isl.Schedule.from_domain(isl.UnionSet.empty(context.get_space()))
    return Scop(kernel, tuple(walk.statements), context, schedule, tuple(walk.locals))


def require_affine(kernel: Kernel) -> None:
    """Raise NotAffineError where isl cannot hold an assumption of a kernel."""
    space = isl.Space.create_from_names(CONTEXT, params=[isl_name(n) for n in kernel.sizes], set=[])
    for assumption in kernel.assumptions:
        condition_set(assumption, space)


def affine_only(assumptions: tuple[Expr, ...], space: isl.Space) -> isl.Set:
    """The assumptions that isl can hold; the others are still checked at run time, only nothing follows from them."""
    out = isl.Set.universe(space)
    for assumption in assumptions:
        try:
            out = out.intersect(condition_set(assumption, space))
        except NotAffineError:
            continue
    return out


def _visit(stmt: Stmt, place: _Place, walk: _Walk) -> isl.Schedule | None:
    match stmt:
        case Block(body=body):
            return _visit_block(body, place, walk)
        case For():
            return _visit_for(stmt, place, walk)
        case If(condition=condition, then=then, otherwise=otherwise):
            holds = condition_set(_renamed(condition, place), place.domain.get_space())
            yes = _visit(then, replace(place, domain=place.domain.intersect(holds)), walk)
            no = _visit(otherwise, replace(place, domain=place.domain.subtract(holds)), walk)
            return _in_order(yes, no)
        case Assign() | Reduce():
            return _visit_assignment(stmt, place, walk)
        case Alloc(array=array):
            walk.locals.append(array)
            return None
        case Let():
            return None
        case While():
            raise NotAffineError(stmt.condition, "a loop runs as long as it holds")
        case Launch() | Barrier():
            raise AssertionError("launches are made of nests that nothing is done to any more")
        case _:
            assert_never(stmt)


def _visit_block(body: tuple[Stmt, ...], place: _Place, walk: _Walk) -> isl.Schedule | None:
    out: isl.Schedule | None = None
    for i, x in enumerate(body):
        if isinstance(x, Let) and type_of(x.value) == INDEX and not loads(x.value):
            # A name for an index stands for its value, in bounds as well.
            place = replace(place, renames=(*place.renames, (x.var, _renamed(x.value, place))))
        elif isinstance(x, Let):
            _require_stable(x, body[i + 1 :])
            place = replace(place, lets=(*place.lets, replace(x, value=_renamed(x.value, place))))
        out = _in_order(out, _visit(x, place, walk))
    return out


def _require_stable(let: Let, rest: tuple[Stmt, ...]) -> None:
    """Raise NotAffineError where what a value was loaded from may change before its last use: statements load it
    anew, each at its own time."""
    sources = {load.array for load in loads(let.value)}
    names, last = {let.var}, -1
    for i, stmt in enumerate(rest):
        if any(names & variables(e) for s in walk_stmt(stmt) for e in expressions(s)):
            last = i
            names |= {stmt.var} if isinstance(stmt, Let) else set()
    # A simple statement loads before it stores; in a compound one, a store may come before a use.
    between = rest[: last + 1] if last >= 0 and not isinstance(rest[last], Assign | Reduce) else rest[: max(last, 0)]
    for stored in (s for x in between for s in walk_stmt(x) if isinstance(s, Assign | Reduce)):
        if stored.array in sources:
            raise NotAffineError(let.value, f"`{stored.array}`, which it is loaded from, changes before its last use")


def _visit_for(loop: For, place: _Place, walk: _Walk) -> isl.Schedule | None:
    name = loop.var
    while name in walk.kernel.sizes or name in place.iterators:
        name += "_"
    depth = len(place.iterators)
    wider = place.domain.add_dims(SET, 1).set_dim_name(SET, depth, isl_name(name))
    space = wider.get_space()
    var = affine_function(Var(name, INDEX), space)
    lower, upper = _renamed(loop.lower, place), _renamed(loop.upper, place)
    domain = wider.intersect(_from(lower, var, space)).intersect(_below(var, upper, space))
    if loop.step != 1:
        by = isl.Val.int_from_si(space.get_ctx(), loop.step)
        offset = var.sub(affine_function(lower, space)).mod_val(by)
        domain = domain.intersect(offset.eq_set(affine_function(index(0), space)))
    renames = (*place.renames, (loop.var, Var(name, INDEX)))
    inner = _Place(domain, (*place.iterators, name), renames, (*place.loops, walk.loops), place.lets)
    walk.loops += 1
    first = len(walk.statements)
    schedule = _visit(loop.body, inner, walk)
    if schedule is None:
        return None
    iteration = isl.UnionPwMultiAff.empty(place.domain.get_space().params())
    for statement in walk.statements[first:]:
        local = isl.LocalSpace.from_space(statement.domain.get_space())
        picked = isl.MultiAff.from_aff(isl.Aff.var_on_domain(local, SET, depth))
        iteration = iteration.add_pw_multi_aff(isl.PwMultiAff.from_multi_aff(picked))
    return schedule.insert_partial_schedule(isl.MultiUnionPwAff.from_union_pw_multi_aff(iteration))


def _from(lower: Expr, var: isl.PwAff, space: isl.Space) -> isl.Set:
    """The points at which a variable is at least a bound; a greatest one is several bounds, which keeps sets convex."""
    if isinstance(lower, Binary) and lower.op == "max":
        return _from(lower.left, var, space).intersect(_from(lower.right, var, space))
    return affine_function(lower, space).le_set(var)


def _below(var: isl.PwAff, upper: Expr, space: isl.Space) -> isl.Set:
    """The points at which a variable is less than a bound; a least one is several bounds."""
    if isinstance(upper, Binary) and upper.op == "min":
        return _below(var, upper.left, space).intersect(_below(var, upper.right, space))
    return var.lt_set(affine_function(upper, space))


def _visit_assignment(stmt: Assign | Reduce, place: _Place, walk: _Walk) -> isl.Schedule:
    name = f"S{len(walk.statements)}"
    subscripts = tuple(_renamed(x, place) for x in stmt.index)
    value = _renamed(stmt.value, place)
    if isinstance(stmt, Reduce):
        fresh: Assign | Reduce = Reduce(stmt.array, subscripts, stmt.op, value, stmt.span)
    else:
        fresh = Assign(stmt.array, subscripts, value, stmt.span)
    domain = coalesce(place.domain)
    accesses = [access_of(stmt.array, subscripts, True, name, domain, walk.stored)]
    if isinstance(stmt, Reduce):
        accesses.append(replace(accesses[0], write=False))
    lets = _needed(place.lets, (*subscripts, value))
    read = (y for x in (*subscripts, value, *(let.value for let in lets)) for y in loads(x))
    for load in dict.fromkeys(read):
        accesses.append(access_of(load.array, load.index, False, name, domain, walk.stored))
    domain = domain.set_tuple_name(name)
    walk.statements.append(Statement(name, place.iterators, place.loops, fresh, domain, tuple(accesses), lets))
    return isl.Schedule.from_domain(isl.UnionSet.from_set(domain))


def _needed(lets: tuple[Let, ...], exprs: tuple[Expr, ...]) -> tuple[Let, ...]:
    """The bindings that expressions need, directly or through other bindings, in order."""
    wanted = {name for x in exprs for name in variables(x)}
    out: list[Let] = []
    for let in reversed(lets):
        if let.var in wanted:
            out.append(let)
            wanted |= variables(let.value)
    return tuple(reversed(out))


def access_of(
    array: str, subscripts: tuple[Expr, ...], write: bool, name: str, domain: isl.Set, stored: Set[str]
) -> Access:
    """An access of a statement with some domain; `stored`: as of the extraction. Raises NotAffineError
    where the elements of one of these are not known exactly."""
    relation, inexact = isl.Map.from_domain(domain), set[int]()
    for dimension, x in enumerate(subscripts):
        try:
            part = isl.Map.from_pw_aff(affine_function(x, domain.get_space()))
        except NotAffineError:
            if array in stored:
                raise
            part = range_relation(x, domain)
            inexact.add(dimension)
        relation = relation.flat_range_product(part)
    named = relation.set_tuple_name(isl.dim_type.in_, name).set_tuple_name(isl.dim_type.out, isl_name(array))
    return Access(array, named, write, subscripts, frozenset(inexact))


def _renamed(expr: Expr, place: _Place) -> Expr:
    return substitute(expr, dict(place.renames))


def _in_order(first: isl.Schedule | None, second: isl.Schedule | None) -> isl.Schedule | None:
    if first is None or second is None:
        return first if second is None else second
    return first.sequence(second)

