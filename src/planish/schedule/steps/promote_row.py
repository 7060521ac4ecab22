"""A step that keeps a row of an array in a buffer during an iteration whose loops go along the row several times.

>>> from planish.schedule.example import show_step
>>> loops = "for j in 0 .. m { s[i] += M[i, j] } for j in 0 .. m { N[i, j] = M[i, j] * s[i] }"
>>> head = "kernel f(n, m; M: f32[n, m], N: f32[n, m], s: f32[n]) assume m <= 64"
>>> show_step(f"for i in 0 .. n {{ {loops} }}", PromoteRow("i", "M", "row", 64), head=head)
for i in 0 .. n {
  alloc row: f32[64] register
  for row_e in 0 .. m {
    row[row_e] = M[i, row_e]
  }
  for j in 0 .. m {
    s[i] += row[j]
  }
  for j in 0 .. m {
    N[i, j] = row[j] * s[i]
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.conditional_accesses import read_always
from planish.ir.expr import Binary, Compare, Expr, Load, index
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Reduce, Stmt
from planish.ir.traverse import bindings, blocks_of, expressions, loads, map_block, map_expr, map_exprs, variables
from planish.schedule.accesses import Indices, find_array
from planish.schedule.context import always
from planish.schedule.names import check_fresh
from planish.schedule.nodes import Node, exchange
from planish.schedule.program import Change, Program, Target
from planish.schedule.strides import stride


@dataclass(frozen=True, slots=True)
class PromoteRow:
    """Use a buffer of so many elements in place of the row of an array that loops in an iteration go along: it is
    copied in before all of them, where anything of it is needed, and copied out behind them, where it is written.
    Other accesses, of what is read before anything is written, stay as they are.

    `map_team` gives each thread its part of such a buffer in registers.

    >>> from planish.schedule.example import show_step
    >>> loops = "for j in 0 .. m { M[i, j] = 1.0:f32 } for j in 0 .. m { M[i, j] += M[i, j] }"
    >>> head = "kernel f(n, m; M: f32[n, m]) assume m <= 8"
    >>> show_step(f"for i in 0 .. n {{ {loops} }}", PromoteRow("i", "M", "row", 8), head=head)
    for i in 0 .. n {
      alloc row: f32[8] register
      for j in 0 .. m {
        row[j] = 1.0:f32
      }
      for j in 0 .. m {
        row[j] += row[j]
      }
      for row_e in 0 .. m {
        M[i, row_e] = row[row_e]
      }
    }
    """

    loop: Target
    array: str
    name: str
    extent: int

    def rewrite(self, program: Program) -> Change:
        """E0606 where no loop goes along one row of the array in any case, the row may have more elements than the
        buffer, or is written and used in other ways as well."""
        loop, kernel = program.loop(self.loop), program.kernel
        array = find_array(kernel, self.array)
        check_fresh(kernel, self.name, f"{self.name}_e")
        if array is None or not array.shape or self.extent < 1 or self.array in bindings(loop.body):
            raise _no_row(self.array, "it is no array, or made in the loop")
        row = find_row(program, loop, self.array)
        if row is None:
            raise _no_row(self.array, "no loop in there goes along it in any case, or it is used in other ways")
        count = simplify(Binary("sub", row.upper, row.lower))
        inside = (*program.path(loop.label), loop)
        if not always(kernel, inside, Compare("le", count, index(self.extent))):
            raise _no_row(self.array, f"it may have more than {self.extent} elements")
        body = simplify_block(self._redirected(loop.body, row)).body
        place = index(f"{self.name}_e")
        there = (*row.outer, simplify(Binary("add", row.lower, place)))

        def copy(inner: Stmt) -> For:
            return For(f"{self.name}_e", index(0), count, 1, Block((inner,)))

        before = [copy(Assign(self.name, (place,), Load(self.array, there, array.type)))] if row.needed else []
        behind = [copy(Assign(self.array, there, Load(self.name, (place,), array.type)))] if row.written else []
        buffer = Alloc(Array(self.name, array.type, (index(self.extent),), memory="register"))
        made = replace(loop, body=Block((buffer, *before, *body, *behind)))
        return Change(replace(kernel, body=exchange(kernel.body, loop.label, lambda x: (made,))))

    def _redirected(self, body: Block, row: StagedRow) -> Block:
        """The nest in which accesses of the row are those of the buffer."""

        def moved(at: Indices) -> tuple[str, Indices] | None:
            if at not in row.accesses:
                return None
            return self.name, (simplify(Binary("sub", at[-1], row.lower)),)

        def load(x: Expr) -> Expr:
            if isinstance(x, Load) and x.array == self.array and (found := moved(x.index)) is not None:
                return replace(x, array=found[0], index=found[1])
            return x

        def visit(stmt: Stmt) -> Stmt:
            stmt = map_exprs(lambda x: map_expr(load, x), stmt)
            if isinstance(stmt, Assign | Reduce) and stmt.array == self.array and (found := moved(stmt.index)):
                return replace(stmt, array=found[0], index=found[1])
            return stmt

        return map_block(visit, body)


@dataclass(frozen=True, slots=True)
class StagedRow:
    """A row of an array that loops in an iteration go along: its first subscripts, the bounds of the last one; the
    subscripts of its accesses; whether these need what is in it before, and write it; so many loops (`walks`)."""

    outer: Indices
    lower: Expr
    upper: Expr
    accesses: frozenset[Indices]
    needed: bool
    written: bool
    walks: int


@dataclass(frozen=True, slots=True, eq=False)
class _Use:
    """An access of an array, and the loop that goes along its row from `lower` to `upper`, in any case (`sure`); None
    where there is no such loop."""

    at: Indices
    loop: For | None
    lower: Expr
    upper: Expr
    sure: bool
    stores: bool = False


def find_row(program: Program, loop: For, array: str) -> StagedRow | None:
    """The row of an array that loops in a loop's iteration go along; None where there is none, or its elements are
    written and used in other ways as well.

    >>> from planish.ir.text.parser import parse_kernel
    >>> loops = "for j in 0 .. m { A[i, j] += 1.0:f32 } for j in 1 .. m { A[i, j] = 2.0:f32 }"
    >>> program = Program.of(parse_kernel(f"kernel f(n, m; A: f32[n, m]) {{ for i in 0 .. n {{ {loops} }} }}"))
    >>> row = find_row(program, program.loop("i"), "A")
    >>> row.walks, row.needed, row.written
    (2, True, True)
    """
    own = set(bindings(loop.body))
    parts = [list(_uses(Block((x,)), array, (), False, own)) for x in loop.body.body]
    uses = [x for part in parts for x in part]
    along = [x for x in uses if x.loop is not None]
    stored = any(x.stores for x in uses)
    # What is read before anything is stored finds in the array what is there without a buffer.
    before = next((uses[: sum(map(len, parts[:n]))] for n, x in enumerate(parts) if any(y.stores for y in x)), uses)
    inside = (*program.path(loop.label), loop)
    best: StagedRow | None = None
    for hull in (x for x in along if x.sure):
        group = [x for x in along if x.at[:-1] == hull.at[:-1] and _holds(program, inside, hull, x)]
        accesses = frozenset(x.at for x in group)
        whole = [x for x in group if x.sure and (x.lower, x.upper) == (hull.lower, hull.upper)]
        if any(x.at in accesses and x not in group for x in uses):
            continue
        if stored and not (all(x in group or x in before for x in uses) and any(x.stores for x in whole)):
            continue
        filled = whole[0] is group[0] and group[0].stores
        walks = len({id(x.loop) for x in group})
        if best is None or walks > best.walks:
            best = StagedRow(hull.at[:-1], hull.lower, hull.upper, accesses, not filled, stored, walks)
    return best


def _holds(program: Program, path: Sequence[Node], hull: _Use, other: _Use) -> bool:
    """Whether a part of a row is in another one."""
    if (hull.lower, hull.upper) == (other.lower, other.upper):
        return True
    inside = Compare("le", hull.lower, other.lower), Compare("le", other.upper, hull.upper)
    return always(program.kernel, path, *inside)


def _uses(block: Block, array: str, around: tuple[For, ...], unsure: bool, own: Set[str]) -> Iterator[_Use]:
    """The accesses of an array in a nest, in the order in which they are made."""
    for stmt in block.body:
        certain = [x for y in expressions(stmt) for x in read_always(y)]
        for load in [x for y in expressions(stmt) for x in loads(y) if x.array == array]:
            yield _use(load.index, around, unsure or load not in certain, own)
        if isinstance(stmt, Reduce) and stmt.array == array:
            yield _use(stmt.index, around, unsure, own)
        if isinstance(stmt, Assign | Reduce) and stmt.array == array:
            yield replace(_use(stmt.index, around, unsure, own), stores=True)
        more = (*around, stmt) if isinstance(stmt, For) else around
        for part in blocks_of(stmt):
            yield from _uses(part, array, more, unsure or isinstance(stmt, If), own)


def _use(at: Indices, around: tuple[For, ...], unsure: bool, own: Set[str]) -> _Use:
    """An access in loops: along a row, where the last subscript goes on with one of them, and nothing else changes."""
    moving = [x for x in around if any(x.var in variables(y) for y in at)]
    if len(moving) == 1 and moving[0].step == 1 and stride(at, moving[0].var) == 1:
        shift = simplify(Binary("sub", at[-1], index(moving[0].var)))
        lower, upper = (simplify(Binary("add", x, shift)) for x in (moving[0].lower, moving[0].upper))
        if not any(variables(x) & own or loads(x) for x in (*at[:-1], lower, upper, shift)):
            return _Use(at, moving[0], lower, upper, not unsure and len(around) == 1)
    return _Use(at, None, index(0), index(0), False)


def _no_row(array: str, reason: str) -> PlanishError:
    message = f"no row of `{array}` is kept: {reason}"
    return PlanishError(Diagnostic("E0606", message, help="name an array with a row that loops go along"))
