"""The polyhedral view of a kernel: statements with domains and accesses, and the order they run in.

>>> from planish.ir.expr import Const, index
>>> from planish.ir.nest import Array, Assign, Block, For, Kernel
>>> from planish.ir.types import F32
>>> loop = For("i", index(0), index("n"), 1, Block((Assign("A", (index("i"),), Const(0.0, F32)),)))
>>> scop = extract_scop(Kernel("zero", ("n",), arrays=(Array("A", F32, (index("n"),)),), body=Block((loop,))))
>>> print(scop.statements[0].domain)
[n] -> { S0[i] : 0 <= i < n }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import islpy as isl

from planish.ir.expr import Expr, Var
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Let, Reduce, ReduceOp, Stmt
from planish.ir.traverse import loads, substitute
from planish.ir.types import INDEX
from planish.poly.affine import NotAffineError, affine_text, condition_text, isl_name


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One read or write of a statement: a map from its instances to elements of `array`."""

    array: str
    relation: isl.Map
    write: bool
    index: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """An assignment with its iterators (outermost first), its domain and its accesses.

    `loops` numbers the loops around it in textual order, so that statements can tell which they share.
    """

    name: str
    iterators: tuple[str, ...]
    loops: tuple[int, ...]
    stmt: Assign | Reduce
    domain: isl.Set
    accesses: tuple[Access, ...]

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

    @property
    def reads(self) -> isl.UnionMap:
        """Instances to the elements that they read."""
        return self._union(False)

    @property
    def writes(self) -> isl.UnionMap:
        """Instances to the elements that they write."""
        return self._union(True)

    def _union(self, write: bool) -> isl.UnionMap:
        out = isl.UnionMap.empty(self.context.get_space())
        for statement in self.statements:
            for access in statement.accesses:
                if access.write == write:
                    out = out.add_map(access.relation)
        return out

    def statement(self, name: str) -> Statement:
        """The statement called `name`; KeyError where there is none."""
        for statement in self.statements:
            if statement.name == name:
                return statement
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the walk stands: iterators and constraints around it, names bound, values of `Let`."""

    iterators: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    renames: tuple[tuple[str, Expr], ...] = ()
    loops: tuple[int, ...] = ()


@dataclass(slots=True)
class _Walk:
    """State of one extraction."""

    kernel: Kernel
    head: str
    context: isl.Set
    statements: list[Statement]
    locals: list[Array]
    loops: int = 0


def extract_scop(kernel: Kernel) -> Scop:
    """The polyhedral view of `kernel`; raises NotAffineError where a bound, condition or subscript is not affine."""
    head = f"[{', '.join(isl_name(n) for n in kernel.sizes)}] -> "
    conditions = " and ".join(condition_text(a) for a in kernel.assumptions)
    context = isl.Set(f"{head}{{ : {conditions} }}")
    walk = _Walk(kernel, head, context, [], [])
    schedule = _visit(kernel.body, _Place(), walk)
    if schedule is None:
        schedule = isl.Schedule.from_domain(isl.UnionSet.empty(context.get_space()))
    return Scop(kernel, tuple(walk.statements), context, schedule, tuple(walk.locals))


def _visit(stmt: Stmt, place: _Place, walk: _Walk) -> isl.Schedule | None:
    match stmt:
        case Block(body=body):
            return _visit_block(body, place, walk)
        case For():
            return _visit_for(stmt, place, walk)
        case If(condition=condition, then=then, otherwise=otherwise):
            text = condition_text(_renamed(condition, place))
            yes = _visit(then, _with_condition(place, text), walk)
            no = _visit(otherwise, _with_condition(place, f"(not {text})"), walk)
            return _in_order(yes, no)
        case Assign() | Reduce():
            return _visit_assignment(stmt, place, walk)
        case Alloc(array=array):
            walk.locals.append(array)
            return None
        case Let():
            raise NotAffineError(stmt.value, "a bound value has no place in a static control part")
        case _:
            assert_never(stmt)


def _visit_block(body: tuple[Stmt, ...], place: _Place, walk: _Walk) -> isl.Schedule | None:
    out: isl.Schedule | None = None
    for x in body:
        out = _in_order(out, _visit(x, place, walk))
    return out


def _visit_for(loop: For, place: _Place, walk: _Walk) -> isl.Schedule | None:
    name = loop.var
    while name in walk.kernel.sizes or name in place.iterators:
        name += "_"
    lower = affine_text(_renamed(loop.lower, place))
    upper = affine_text(_renamed(loop.upper, place))
    var = isl_name(name)
    conditions = [f"{lower} <= {var}", f"{var} < {upper}"]
    if loop.step != 1:
        conditions.append(f"({var} - ({lower})) mod {loop.step} = 0")
    renames = (*place.renames, (loop.var, Var(name, INDEX)))
    inner = _Place((*place.iterators, name), (*place.conditions, *conditions), renames, (*place.loops, walk.loops))
    walk.loops += 1
    first = len(walk.statements)
    schedule = _visit(loop.body, inner, walk)
    if schedule is None:
        return None
    depth = len(place.iterators)
    space = walk.context.get_space()
    iteration = isl.UnionPwMultiAff.empty(space)
    for statement in walk.statements[first:]:
        dims = ", ".join(isl_name(x) for x in statement.iterators)
        picked = isl_name(statement.iterators[depth])
        iteration = iteration.add_pw_multi_aff(
            isl.PwMultiAff(f"{walk.head}{{ {statement.name}[{dims}] -> [{picked}] }}")
        )
    return schedule.insert_partial_schedule(isl.MultiUnionPwAff.from_union_pw_multi_aff(iteration))


def _visit_assignment(stmt: Assign | Reduce, place: _Place, walk: _Walk) -> isl.Schedule:
    name = f"S{len(walk.statements)}"
    dims = ", ".join(isl_name(x) for x in place.iterators)
    conditions = " and ".join(place.conditions)
    domain = isl.Set(f"{walk.head}{{ {name}[{dims}] : {conditions} }}").intersect_params(walk.context)
    index = tuple(_renamed(x, place) for x in stmt.index)
    value = _renamed(stmt.value, place)
    if isinstance(stmt, Reduce):
        fresh: Assign | Reduce = Reduce(stmt.array, index, stmt.op, value, stmt.span)
    else:
        fresh = Assign(stmt.array, index, value, stmt.span)
    source = f"{name}[{dims}]"
    accesses = [_access(stmt.array, index, True, source, domain, walk)]
    reads = list(loads(value))
    if isinstance(stmt, Reduce):
        accesses.append(_access(stmt.array, index, False, source, domain, walk))
    for load in dict.fromkeys(reads):
        accesses.append(_access(load.array, load.index, False, source, domain, walk))
    walk.statements.append(Statement(name, place.iterators, place.loops, fresh, domain, tuple(accesses)))
    return isl.Schedule.from_domain(isl.UnionSet.from_set(domain))


def _access(
    array: str, index: tuple[Expr, ...], write: bool, source: str, domain: isl.Set, walk: _Walk
) -> Access:
    subscripts = ", ".join(affine_text(x) for x in index)
    relation = isl.Map(f"{walk.head}{{ {source} -> {isl_name(array)}[{subscripts}] }}")
    return Access(array, relation.intersect_domain(domain), write, index)


def _with_condition(place: _Place, text: str) -> _Place:
    return _Place(place.iterators, (*place.conditions, text), place.renames, place.loops)


def _renamed(expr: Expr, place: _Place) -> Expr:
    return substitute(expr, dict(place.renames))


def _in_order(first: isl.Schedule | None, second: isl.Schedule | None) -> isl.Schedule | None:
    if first is None or second is None:
        return first if second is None else second
    return first.sequence(second)

