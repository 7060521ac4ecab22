"""The part of a nest whose order a step changes, as a kernel of its own: what stays where it was keeps its order.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
>>> from planish.schedule.legality import trace
>>> from planish.schedule.nodes import label_kernel
>>> text = "for i in 0 .. n { for j in 0 .. m { A[i, j] = 0.0:f32 } for k in 1 .. i { B[k] = A[i, k] } }"
>>> head = "kernel z(n, m; A: f32[n, m], B: f32[n]) assume m >= n"
>>> kernel, longer = (label_kernel(parse_kernel(f"{head} {{ {text.replace('.. i', x)} }}")) for x in (".. i", ".. n"))
>>> part = find_affected(kernel, trace(kernel.body), trace(longer.body))
>>> print(print_kernel(part.kernel).rstrip())
kernel z(n, m, i)
  assume m >= n
  assume i >= 0
  assume i < n
{
  for k in 1 .. i {
    B[k] = A[i, k]:f32
  }
}
>>> part.after.body[0].body.body[0].array
'S0'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from planish.ir.expr import Var
from planish.ir.nest import Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.traverse import expressions, map_block, substitute_block, variables, walk
from planish.ir.types import INDEX
from planish.schedule.context import alone, names_at
from planish.schedule.nodes import Node


@dataclass(frozen=True, slots=True)
class Affected:
    """The statements that a step moves, as a `kernel` whose sizes are the iterators around as well, and the trace
    `after` the step of what takes their place."""

    kernel: Kernel
    after: Block


@dataclass(frozen=True, slots=True)
class _Place:
    """Statements, the trace of them, and that of what takes their place, within some others."""

    own: tuple[Stmt, ...]
    before: tuple[Stmt, ...]
    after: tuple[Stmt, ...]
    around: tuple[Node, ...] = ()


def find_affected(kernel: Kernel, before: Block, after: Block) -> Affected | None:
    """The least part of a labelled kernel that holds all that differs between the trace of its nest and another one;
    None where that is the whole nest, or where what takes its place is no trace of it alone."""
    place = _narrowed(_Place(kernel.body.body, before.body, after.body))
    first = place.own[0] if place.own else None
    if place.own == kernel.body.body or first is None or isinstance(first, Block) or not first.label:
        return None
    path = (*place.around, first)
    moved = _renamed(place) if has_own_names(kernel, path) else None
    if moved is None:
        return None
    part = alone(kernel, path, Block(place.own))
    moved = substitute_block(moved, names_at(kernel, path))
    return Affected(without_the_rest(part, moved), moved)


def has_own_names(kernel: Kernel, path: Sequence[Node]) -> bool:
    """Whether the iterators around the end of a path can be sizes: no two of these have the same name."""
    names = (*kernel.sizes, *_iterators(path[:-1]))
    return len(set(names)) == len(names)


def _narrowed(place: _Place) -> _Place:
    """The place without what is the same before and after at both ends, and within the only statement that is left."""
    least = min(len(place.before), len(place.after))
    first = next((k for k in range(least) if place.before[k] != place.after[k]), least)
    last = next((k for k in range(least - first) if place.before[-1 - k] != place.after[-1 - k]), least - first)
    before, after = (x[first : len(x) - last] for x in (place.before, place.after))
    own = place.own[first : len(place.own) - last]
    inner = _inside(own, before, after, place.around)
    return _Place(own, before, after, place.around) if inner is None else _narrowed(inner)


def _inside(
    own: Sequence[Stmt], before: Sequence[Stmt], after: Sequence[Stmt], around: tuple[Node, ...]
) -> _Place | None:
    """What stands in a single statement, of which nothing but that differs."""
    match own, before, after:
        case [For() as node], [For() as old], [For() as new] if (
            replace(new, body=old.body, facts=old.facts) == old and _runs_its_own(new, len(_iterators(around)))
        ):
            return _Place(node.body.body, old.body.body, new.body.body, (*around, node))
        case [If() as node], [If() as old], [If() as new] if replace(new, then=old.then) == old:
            return _Place(node.then.body, old.then.body, new.then.body, (*around, node))
        case [If() as node], [If() as old], [If() as new] if replace(new, otherwise=old.otherwise) == old:
            return _Place(node.otherwise.body, old.otherwise.body, new.otherwise.body, (*around, node))
        case _:
            return None


def _runs_its_own(loop: For, depth: int) -> bool:
    """Whether each iteration of a traced loop within `depth` others runs instances of that iteration only."""
    own = Var(loop.var, INDEX)
    return all(x.index[depth : depth + 1] == (own,) for x in walk(loop) if isinstance(x, Assign | Reduce))


def _iterators(path: Sequence[Node]) -> tuple[str, ...]:
    return tuple(node.var for node in path if isinstance(node, For))


def _renamed(place: _Place) -> Block | None:
    """What takes the place of some statements, its records numbered from S0 and without the loops around; None where
    one is of another statement."""
    names = dict.fromkeys(x.array for stmt in place.before for x in walk(stmt) if isinstance(x, Assign | Reduce))
    numbers = {name: f"S{number}" for number, name in enumerate(names)}
    if any(x.array not in numbers for stmt in place.after for x in walk(stmt) if isinstance(x, Assign | Reduce)):
        return None
    depth = len(_iterators(place.around))
    return map_block(lambda x: _shortened(x, numbers, depth), Block(place.after))


def _shortened(stmt: Stmt, numbers: Mapping[str, str], depth: int) -> Stmt:
    if isinstance(stmt, Assign | Reduce):
        return replace(stmt, array=numbers[stmt.array], index=stmt.index[depth:])
    return stmt


def without_the_rest(kernel: Kernel, *others: Block) -> Kernel:
    """A kernel without its parameters but the sizes that it, other nests, or what is assumed of these speak of."""
    statements = (stmt for block in (kernel.body, *others) for stmt in walk(block))
    used = {name for stmt in statements for x in expressions(stmt) for name in variables(x)}
    waiting = [(variables(x), x) for x in kernel.assumptions]
    while touched := [names for names, _ in waiting if names & used and not names <= used]:
        used.update(*touched)
    known = tuple(x for names, x in waiting if names <= used)
    sizes = tuple(x for x in kernel.sizes if x in used)
    return replace(kernel, sizes=sizes, scalars=(), arrays=(), assumptions=known)
