"""Positions of statement instances in a nest, as relations that hold for all sizes.

A position alternates sequence numbers and loop values: `(1, i, 0)` is the first statement in the loop over i, which is
the second thing in the nest.

>>> import islpy as isl
>>> from planish.astgen.checking.verify import record
>>> from planish.ir.expr import index
>>> from planish.ir.nest import For
>>> nest = Block((For("i", index(0), index("n"), 1, Block((record("S", (index("i"),)),))),))
>>> print(list_positions(read_items(nest, isl.Set("[n] -> { : }"))))
[n] -> { S[i0] -> [0, i = i0, 0] : 0 <= i0 < n }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

import islpy as isl

from planish.ir.expr import Binary, Const, Expr, Unary, Var, index
from planish.ir.nest import Alloc, Assign, Barrier, Block, For, If, Launch, Let, Reduce, Stmt, While
from planish.ir.traverse import substitute
from planish.ir.types import INDEX
from planish.poly.isl.affine import NotAffineError, affine_function, compared, condition_set, constant_of, isl_name
from planish.poly.isl.coalesce import coalesce
from planish.poly.isl.expression import add, scale

SET, IN, OUT = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """One statement in the text: which instance it runs for which values of the loops around it; the sequence numbers
    of it and of those loops."""

    instances: isl.Map
    path: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PositionLoop:
    """A loop whose values are the dimension `depth` of what its items run for."""

    depth: int
    items: tuple[Item, ...]


Item = Copy | PositionLoop


def read_items(nest: Block, context: isl.Set) -> tuple[Item, ...]:
    """The statements and loops of a nest of tracing statements (see `verify.record`), restricted to the sizes that the
    parameter set `context` allows; it has every size as a parameter. Raises NotAffineError."""
    return _numbered(_read_block(nest, isl.Set.from_params(context), {}), ())


def _numbered(items: Sequence[Item], path: tuple[int, ...]) -> tuple[Item, ...]:
    out: list[Item] = []
    for number, item in enumerate(items):
        here = (*path, number)
        match item:
            case PositionLoop():
                out.append(PositionLoop(item.depth, _numbered(item.items, here)))
            case Copy():
                out.append(Copy(item.instances, here))
            case _:
                assert_never(item)
    return tuple(out)


def _read_block(block: Block, domain: isl.Set, values: Mapping[str, Expr]) -> list[Item]:
    """What runs at the points of `domain`, the values of the loops around; `values` are the names bound by lets."""
    out: list[Item] = []
    for stmt in block.body:
        if isinstance(stmt, Let):
            values = {**values, stmt.var: substitute(stmt.value, values)}
        else:
            out += _read(stmt, domain, values)
    return out


def _read(stmt: Stmt, domain: isl.Set, values: Mapping[str, Expr]) -> list[Item]:
    if domain.is_empty():
        return []
    match stmt:
        case Block():
            return _read_block(stmt, domain, values)
        case For():
            inside = _enter(stmt, domain, values)
            # The loop's own name hides a value of the same name.
            items = _read_block(stmt.body, inside, {k: v for k, v in values.items() if k != stmt.var})
            return [PositionLoop(domain.dim(SET), tuple(items))] if items else []
        case If():
            holds = condition_set(substitute(stmt.condition, values), domain.get_space()).intersect(domain)
            then = _read(stmt.then, holds, values)
            return then + (_read(stmt.otherwise, domain.subtract(holds), values) if stmt.otherwise.body else [])
        case Assign(array=name, index=at) | Reduce(array=name, index=at):
            return [Copy(_instances(name, tuple(substitute(x, values) for x in at), domain))]
        case Let() | Alloc():
            return []
        case Launch() | Barrier() | While():
            raise AssertionError("launches are made last; loops without a count hold nests of their own")
        case _:
            assert_never(stmt)


def _instances(name: str, at: tuple[Expr, ...], domain: isl.Set) -> isl.Map:
    space = domain.get_space()
    function = isl.MultiPwAff.zero(space.add_unnamed_tuple_ui(len(at)))
    for i, x in enumerate(at):
        function = function.set_pw_aff(i, affine_function(x, space))
    relation = isl.Map.from_multi_pw_aff(function).set_tuple_name(OUT, name)
    return coalesce(relation.intersect_domain(domain))


def _enter(loop: For, domain: isl.Set, values: Mapping[str, Expr]) -> isl.Set:
    """The points inside a loop: one dimension more."""
    depth = domain.dim(SET)
    inner = domain.insert_dims(SET, depth, 1).set_dim_name(SET, depth, isl_name(loop.var))
    space = inner.get_space()
    lower, upper = substitute(loop.lower, values), substitute(loop.upper, values)
    if loop.var in values:
        raise NotAffineError(Var(loop.var, INDEX), "a loop has the name of a value")
    variable = affine_function(Var(loop.var, INDEX), space)
    inner = inner.intersect(_beyond(variable, lower, space, "max"))
    inner = inner.intersect(_beyond(variable, add(upper, index(-1)), space, "min"))
    if loop.step > 1:
        rest = affine_function(_residue(lower, loop.step), space)
        step = isl.Val.int_from_si(domain.get_ctx(), loop.step)
        inner = inner.intersect(variable.sub(rest).mod_val(step).zero_set())
    return coalesce(inner)


def _beyond(variable: isl.PwAff, bound: Expr, space: isl.Space, op: str) -> isl.Set:
    """Where the variable is at least (`max`) or at most (`min`) the bound; extrema in it become several constraints
    instead of a function with pieces."""
    for joined, opposite in ((op, False), ("min" if op == "max" else "max", True)):
        parts = _parts(bound, joined)
        if len(parts) > 1:
            sets = [_beyond(variable, x, space, op) for x in parts]
            out = sets[0]
            for part in sets[1:]:
                out = out.union(part) if opposite else out.intersect(part)
            return out
    return compared("ge" if op == "max" else "le", variable, affine_function(bound, space))


def _parts(expr: Expr, op: str) -> list[Expr]:
    """Expressions whose minimum ("min") or maximum ("max") is `expr`, by what is monotone around them."""
    other = "min" if op == "max" else "max"
    match expr:
        case Binary(op="min" | "max" as own, left=a, right=b) if own == op:
            return _parts(a, op) + _parts(b, op)
        case Binary(op="add", left=a, right=b):
            return [Binary("add", x, y) for x in _parts(a, op) for y in _parts(b, op)]
        case Binary(op="sub", left=a, right=b):
            return [Binary("sub", x, y) for x in _parts(a, op) for y in _parts(b, other)]
        case Unary(op="neg", operand=a):
            return [Unary("neg", x) for x in _parts(a, other)]
        case Binary(op="floordiv", left=a, right=Const(value=c)) if int(c) > 0:
            return [Binary("floordiv", x, expr.right) for x in _parts(a, op)]
        case Binary(op="mul", left=a, right=b):
            factor, rest = constant_of(a), b
            if factor is None:
                factor, rest = constant_of(b), a
            if factor is None:
                return [expr]
            return [scale(factor, x) for x in _parts(rest, op if factor >= 0 else other)]
        case _:
            return [expr]


def _residue(expr: Expr, step: int) -> Expr:
    """An expression congruent to `expr` modulo `step`, without the parts that are multiples of it."""
    match expr:
        case Binary(op="add" | "sub" as op, left=a, right=b):
            return Binary(op, _residue(a, step), _residue(b, step))
        case Unary(op="neg", operand=a):
            return Unary("neg", _residue(a, step))
        case Binary(op="mul", left=a, right=b):
            factors = [c for c in (constant_of(a), constant_of(b)) if c is not None]
            return index(0) if any(c % step == 0 for c in factors) else expr
        case _:
            return expr


def depth_of(items: tuple[Item, ...]) -> int:
    """The greatest number of loops around a statement."""
    return max((1 + depth_of(x.items) for x in items if isinstance(x, PositionLoop)), default=0)


def walk_copies(items: tuple[Item, ...]) -> Iterator[Copy]:
    """Every statement, in textual order."""
    for item in items:
        if isinstance(item, PositionLoop):
            yield from walk_copies(item.items)
        else:
            yield item


def list_positions(items: tuple[Item, ...]) -> isl.UnionMap:
    """The position of each instance; those of statements outside the innermost loops end in zeros."""
    length = 2 * depth_of(items) + 1
    out = isl.UnionMap("{ }")
    for copy in walk_copies(items):
        out = out.union(isl.UnionMap.from_map(position_map(copy, length)))
    return coalesce(out)


def position_map(copy: Copy, length: int) -> isl.Map:
    """From instances to positions of `length` dimensions: sequence numbers, and the loops' values between them."""
    places = copy.instances.reverse()
    for i, number in enumerate(copy.path):
        places = places.insert_dims(OUT, 2 * i, 1).fix_val(OUT, 2 * i, isl.Val(number))
    have = places.dim(OUT)
    places = places.insert_dims(OUT, have, length - have)
    for i in range(have, length):
        places = places.fix_val(OUT, i, isl.Val(0))
    return places
