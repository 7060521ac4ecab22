"""Steps on a band, loops directly inside of each other: they are reordered or skewed.

The iterations of the loops are taken as a set, whatever its shape, and scanned in the new order by `astgen`; bounds
that depend on outer loops follow.

>>> from planish.schedule.example import show_step
>>> show_step("for i in 0 .. n { for j in i .. n { M[i, j] = 0.0:f32 } }", Reorder("i", ("j", "i")), head=SQUARE)
for j in 0 .. n {
  for i in 0 .. j + 1 {
    M[i, j] = 0.0:f32
  }
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from planish.astgen.checking.verify import record
from planish.astgen.dimensions.bounds import UnboundedError
from planish.astgen.generate import generate_map
from planish.astgen.options import CodegenSettings
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Expr, index
from planish.ir.nest import Alloc, Block, For, Let, Stmt
from planish.ir.traverse import substitute_block, used_names
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.extraction import Scop
from planish.schedule.context import region
from planish.schedule.nodes import Node, exchange
from planish.schedule.program import Change, Program, Target

SQUARE = "kernel f(n; M: f32[n, n])"
OUT, IN = isl.dim_type.out, isl.dim_type.in_

Row = tuple[tuple[int, ...], int]
"""A new loop's value: the factor of each old one, and a constant."""


@dataclass(frozen=True, slots=True)
class Reorder:
    """Put the loops of a band, the outermost of which is `loop`, in another order.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { for j in 0 .. m { M[i, j] = 0.0:f32 } }", Reorder("i", ("j", "i")))
    for j in 0 .. m {
      for i in 0 .. n {
        M[i, j] = 0.0:f32
      }
    }
    """

    loop: Target
    order: tuple[str, ...]

    def rewrite(self, program: Program) -> Change:
        """E0604 where the loops are not directly inside of each other."""
        names = _band(program, self.loop, len(self.order))
        if sorted(names) != sorted(self.order):
            message = f"the loops here are {', '.join(names)}, not {', '.join(self.order)}"
            raise PlanishError(Diagnostic("E0604", message, help="name all of them, in the new order"))
        rows = tuple((tuple(int(old == new) for old in names), 0) for new in self.order)
        return _change(program, self.loop, rows, self.order)


@dataclass(frozen=True, slots=True)
class Skew:
    """Add `factor` times a loop to the one directly inside of it.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { for j in 0 .. m { M[i, j] = 0.0:f32 } }", Skew("i", 1))
    for i in 0 .. n {
      for j in i .. i + m {
        M[i, j - i] = 0.0:f32
      }
    }
    """

    loop: Target
    factor: int

    def rewrite(self, program: Program) -> Change:
        """E0604 where there is no loop directly inside."""
        names = _band(program, self.loop, 2)
        return _change(program, self.loop, (((1, 0), 0), ((self.factor, 1), 0)), names)


def _band(program: Program, target: Target, depth: int) -> tuple[str, ...]:
    """The names of so many loops directly inside of each other; PlanishError E0604 where there are fewer."""
    loop = program.loop(target)
    names = tuple(x.var for x in _loops(loop, depth))
    if len(names) < depth:
        message = f"there are only {len(names)} loops directly inside of each other here, not {depth}"
        raise PlanishError(Diagnostic("E0604", message, help="cut them apart with Fission first"))
    return names


def _loops(loop: For, depth: int) -> list[For]:
    out = [loop]
    while len(out) < depth and len(out[-1].body.body) == 1 and isinstance(out[-1].body.body[0], For):
        out.append(out[-1].body.body[0])
    return out


def _change(program: Program, target: Target, rows: Sequence[Row], names: Sequence[str]) -> Change:
    path = program.path(target)
    scop = _iterations(program, path, len(rows))

    def rewrite(body: Block) -> Block:
        return exchange(body, path[-1].label, lambda loop: _scanned(program, scop, loop, rows, names))

    return Change(program.kernel, rewrite)


def _iterations(program: Program, path: Sequence[Node], depth: int) -> Scop:
    """The polyhedral view of a band of so many loops at the end of a path."""
    assert isinstance(path[-1], For)
    loops = _loops(path[-1], depth)
    bare: Stmt = record("S", tuple(index(x.var) for x in loops))
    for x in reversed(loops):
        bare = replace(x, body=Block((bare,)))
    try:
        return region(program.kernel, path, Block((bare,)))
    except NotAffineError as error:
        message = f"the bounds of the loops are not affine: {error.reason}"
        raise PlanishError(Diagnostic("E0604", message, help="such loops keep their order")) from error


def _scanned(program: Program, scop: Scop, loop: Stmt, rows: Sequence[Row], names: Sequence[str]) -> tuple[Stmt, ...]:
    """The band in its new order: `rows` say what the new loops' values are."""
    assert isinstance(loop, For)
    loops = _loops(loop, len(rows))
    old = [x.var for x in loops]

    def instantiate(name: str, at: tuple[Expr, ...]) -> Stmt:
        return substitute_block(loops[-1].body, dict(zip(old, at, strict=True)))

    taken = used_names(program.kernel) - set(old)
    schedule = _schedule(scop.statements[0].domain, rows)
    try:
        options = isl.UnionMap.empty(schedule.get_space())
        nest = generate_map(
            schedule, scop.context, options, instantiate, taken, CodegenSettings("atomic", "atomic"), hints=tuple(names)
        )
    except UnboundedError as error:
        raise PlanishError(Diagnostic("E0604", "a loop would have no bound", help="bound the loops")) from error
    # A loop that runs once is no loop any more: what is made in it stays in a block.
    return (nest,) if any(isinstance(x, Alloc | Let) for x in nest.body) else nest.body


def _schedule(domain: isl.Set, rows: Sequence[Row]) -> isl.UnionMap:
    """The map from the iterations to the values of the new loops."""
    local = isl.LocalSpace.from_space(domain.get_space())
    out = isl.Map.from_domain(domain)
    for factors, constant in rows:
        value = isl.Aff.zero_on_domain(local).add_constant_val(isl.Val(constant))
        for position, factor in enumerate(factors):
            value = value.set_coefficient_val(IN, position, isl.Val(factor))
        out = out.flat_range_product(isl.Map.from_aff(value).intersect_domain(domain))
    return isl.UnionMap.from_map(out)


