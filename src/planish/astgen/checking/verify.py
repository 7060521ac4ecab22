"""Does a nest run exactly the scheduled instances, in order: both are listed for given sizes and compared.

>>> import islpy as isl
>>> from planish.ir.expr import Const, index
>>> from planish.ir.nest import Assign
>>> from planish.ir.types import BOOL
>>> body = Block((Assign("S", (index("i"),), Const(True, BOOL)),))
>>> trace_nest(Block((For("i", index(0), index("n"), 2, body),)), {"n": 3})
[('S', (0,)), ('S', (2,))]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from typing import assert_never

import islpy as isl

from planish.astgen.generate import generate
from planish.ir.expr import Binary, Compare, Const, Expr, Select, Unary, Var
from planish.ir.nest import Alloc, Assign, Barrier, Block, For, If, Launch, Let, Reduce, Stmt, While
from planish.ir.types import BOOL
from planish.poly.isl.affine import isl_name
from planish.poly.isl.schedule_tree import SEQUENCES, Kind, kind_of, relation_below
from planish.poly.isl.to_list import list_maps

Instance = tuple[str, tuple[int, ...]]


def trace_nest(nest: Block, sizes: Mapping[str, int]) -> list[Instance]:
    """The instances that a nest of tracing statements (see `record`) runs, in order."""
    out: list[Instance] = []
    _run(nest, dict(sizes), out)
    return out


def record(name: str, at: tuple[Expr, ...]) -> Stmt:
    """A statement that stands for the instance `name[at]` in a trace."""
    return Assign(name, at, Const(True, BOOL))


def list_instances(schedule: isl.Schedule, sizes: Mapping[str, int]) -> list[tuple[tuple[int, ...], Instance]]:
    """All instances of a schedule with their times, sorted by time, for fixed sizes (a bounded domain).

    A time holds the values of the bands' members and the positions in sequences on the way to a leaf; the children of
    a set are taken in the order in which they stand. The sizes must be ones that context nodes allow.
    """
    fixed = isl.Set.universe(schedule.get_domain().get_space())
    for name, value in sizes.items():
        position = fixed.find_dim_by_name(isl.dim_type.param, isl_name(name))
        if position >= 0:
            fixed = fixed.fix_val(isl.dim_type.param, position, isl.Val(value))
    domain = schedule.get_domain().intersect_params(fixed)
    origin = isl.UnionSet.from_set(isl.Set.from_params(fixed))
    found: list[tuple[tuple[int, ...], Instance]] = []
    _list_subtree(schedule.get_root(), isl.UnionMap.from_domain_and_range(origin, domain), (), found)
    return sorted(found)


Layout = tuple[int | None, ...]
"""What a time is made of: None for the value of a band's member, a number for the position in a sequence."""


def _list_subtree(
    node: isl.ScheduleNode,
    executed: isl.UnionMap,
    layout: Layout,
    found: list[tuple[tuple[int, ...], Instance]],
) -> None:
    """Append what runs below `node`; `executed` maps points of the bands' dimensions to instances."""
    kind = kind_of(node)
    if kind == Kind.leaf:
        for relation in list_maps(executed):
            _list_leaf(relation, layout, found)
        return
    if kind in SEQUENCES:
        for i in range(node.n_children()):
            _list_subtree(node.get_child(i), executed, (*layout, i), found)
        return
    if kind == Kind.band:
        layout = (*layout, *(None for _ in range(node.band_n_member())))
    _list_subtree(node.get_child(0), relation_below(node, executed), layout, found)


def _list_leaf(relation: isl.Map, layout: Layout, found: list[tuple[tuple[int, ...], Instance]]) -> None:
    name, dims = relation.get_tuple_name(isl.dim_type.out), relation.dim(isl.dim_type.in_)

    def visit(point: isl.Point) -> None:
        count = point.get_space().dim(isl.dim_type.set)
        values = [int(point.get_coordinate_val(isl.dim_type.set, i).to_python()) for i in range(count)]
        at = iter(values[:dims])
        time = tuple(next(at) if x is None else x for x in layout)
        found.append((time, (name, tuple(values[dims:]))))

    relation.wrap().foreach_point(visit)


def check_nest(schedule: isl.Schedule, sizes: Mapping[str, int]) -> str | None:
    """What differs between the generated nest and the schedule for the given sizes; None where nothing does."""
    taken = frozenset(sizes)
    ran = trace_nest(generate(schedule, record, taken), sizes)
    return compare_traces(ran, list_instances(schedule, sizes))


def compare_traces(ran: list[Instance], wanted: list[tuple[tuple[int, ...], Instance]]) -> str | None:
    """What differs between a trace and the timed instances (sorted); the order of equal times is free."""
    if Counter(ran) != Counter(instance for _, instance in wanted):
        extra = Counter(ran) - Counter(x for _, x in wanted)
        missing = Counter(x for _, x in wanted) - Counter(ran)
        counts = f"{len(ran)} instances ran, {len(wanted)} are scheduled"
        return f"{counts}; extra {list(extra)[:3]}, missing {list(missing)[:3]}"
    start = 0
    for time, group in groupby(wanted, key=lambda x: x[0]):
        together = [instance for _, instance in group]
        here = ran[start : start + len(together)]
        if Counter(here) != Counter(together):
            return f"at {time}: {together[:3]} should run, {here[:3]} did"
        start += len(together)
    return None


def _run(stmt: Stmt, values: dict[str, int], out: list[Instance]) -> None:
    match stmt:
        case Block(body=body):
            for x in body:
                _run(x, values, out)
        case For():
            for value in range(evaluate(stmt.lower, values), evaluate(stmt.upper, values), stmt.step):
                values[stmt.var] = value
                _run(stmt.body, values, out)
            values.pop(stmt.var, None)
        case If():
            _run(stmt.then if evaluate(stmt.condition, values) else stmt.otherwise, values, out)
        case Assign(array=name, index=index) | Reduce(array=name, index=index):
            out.append((name, tuple(evaluate(x, values) for x in index)))
        case Let(var=var, value=value):
            values[var] = evaluate(value, values)
        case Alloc():
            return
        case Launch() | Barrier() | While():
            raise AssertionError("launches are made last; loops without a count hold nests of their own")
        case _:
            assert_never(stmt)


def evaluate(expr: Expr, values: Mapping[str, int]) -> int:
    """The value of an index expression or condition; KeyError for an unknown name."""
    match expr:
        case Const(value=value):
            return int(value)
        case Var(name=name):
            return values[name]
        case Unary(op="neg", operand=x):
            return -evaluate(x, values)
        case Unary(op="not", operand=x):
            return int(not evaluate(x, values))
        case Select(condition=c, then=a, otherwise=b):
            return evaluate(a if evaluate(c, values) else b, values)
        case Binary(op="and", left=a, right=b):
            return int(bool(evaluate(a, values)) and bool(evaluate(b, values)))
        case Binary(op="or", left=a, right=b):
            return int(bool(evaluate(a, values)) or bool(evaluate(b, values)))
        case Binary(op=op, left=a, right=b) | Compare(op=op, left=a, right=b):
            return _apply(op, evaluate(a, values), evaluate(b, values))
        case _:
            raise ValueError(f"not an index expression: {expr}")


def _apply(op: str, a: int, b: int) -> int:
    match op:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "mul":
            return a * b
        case "floordiv":
            return a // b
        case "mod":
            return a % b
        case "quo":
            return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        case "rem":
            return a - b * _apply("quo", a, b)
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case "eq" | "ne" | "lt" | "le" | "gt" | "ge":
            return int({"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[op])
        case _:
            raise ValueError(f"no index operation {op}")
