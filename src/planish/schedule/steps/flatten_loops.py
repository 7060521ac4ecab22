"""A step that makes one loop of several with any numbers of iterations; arrays get views along it (implicit im2col).

>>> from planish.schedule.example import show_step
>>> text = "for i in 0 .. n { for j in 0 .. m { for u in 0 .. 3 { C[i, j] += A[i + u, j] } } }"
>>> show_step(text, FlattenLoops("i", 2, "p"), head="kernel f(n, m; A: f32[n + 2, m], C: f32[n, m])")
for p in 0 .. p_count {
  for u in 0 .. 3 {
    C_p[p] += A_p[u, p]
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.names import take_name
from planish.ir.expr import Binary, Const, Expr, Load, Select, Var, index, type_of
from planish.ir.index.simplify import simplify
from planish.ir.nest import Array, Assign, Block, Derived, For, Kernel, Reduce, Stmt
from planish.ir.traverse import (
    children,
    expressions,
    loads,
    map_block,
    map_exprs,
    substitute,
    used_names,
    variables,
    walk,
    with_children,
)
from planish.schedule.accesses import find_array
from planish.schedule.legality import check_parallel
from planish.schedule.names import check_fresh
from planish.schedule.nodes import exchange
from planish.schedule.program import Change, Program, Target


@dataclass(frozen=True, slots=True)
class FlattenLoops:
    """Make one loop of several directly inside of each other, in the same order of iterations; their numbers of
    iterations are no constants, so that their variables are quotients and remainders by sizes. What is accessed by
    these gets the form of an array that the new variable is a subscript of (a view), which has no elements of its own:
    the kernel says what they stand for, and launches have that in their place.

    >>> from planish.ir.text.parser import parse_kernel
    >>> loops = "for i in 0 .. n { for j in 0 .. m { B[i, j] = A[j, i] } }"
    >>> program = Program.of(parse_kernel(f"kernel f(n, m; A: f32[m, n], B: f32[n, m]) {{ {loops} }}"))
    >>> print(program.apply(FlattenLoops("i", 2, "p")).show())
    kernel f(n, m, p_count; A: f32[m, n], B: f32[n, m], B_p: f32[p_count], A_p: f32[p_count])
      where p_count = max(n, 0) * max(m, 0)
      where B_p[p] = B[quo(p, m), rem(p, m)]
      where A_p[p] = A[rem(p, m), quo(p, m)]
    {
      for p in 0 .. p_count {
        B_p[p] = A_p[p]
      }
    }
    """

    loop: Target
    loops: int
    name: str

    def rewrite(self, program: Program) -> Change:
        """E0604 where there are fewer loops, their bounds are not over sizes alone, or their variables are used for
        something else than subscripts and conditions of zeros; E0606 where an array that is written is used in several
        ways; E0613 where iterations that write one depend on each other."""
        kernel, path = program.kernel, program.path(self.loop)
        band = [program.loop(self.loop)]
        while len(band) < self.loops and len(band[-1].body.body) == 1 and isinstance(band[-1].body.body[0], For):
            band.append(band[-1].body.body[0])
        bounds = {name for x in band for e in (x.lower, x.upper) for name in variables(e)}
        if self.loops < 1 or len(band) < self.loops or bounds - set(kernel.sizes) or any(x.step != 1 for x in band):
            message = f"there are no {self.loops} loops without steps over sizes directly inside of each other"
            raise PlanishError(Diagnostic("E0604", message, help="reorder loops first"))
        check_fresh(kernel, self.name, free=band[0].var)
        around = [x for x in path[:-1] if isinstance(x, For)]
        views = _Views(kernel, self.name, band, [*around, *(x for x in walk(path[-1]) if isinstance(x, For))])
        body = _opened(map_block(views.statement, band[-1].body))
        self._check_written(program, views, around)
        extents = [simplify(Binary("sub", x.upper, x.lower)) for x in band]
        total = simplify(_product([x if isinstance(x, Const) else Binary("max", x, index(0)) for x in extents]))
        derived, sizes = [*kernel.derived], kernel.sizes
        if not isinstance(total, Const):
            derived.append(Derived(views.count, (), total))
            sizes, total = (*sizes, views.count), index(views.count)
        flat = For(self.name, index(0), total, 1, body, span=band[0].span)
        whole = exchange(kernel.body, band[0].label, lambda _: (flat,))
        arrays = [replace(x, shape=tuple(total if y is None else y for y in x.shape)) for x in views.arrays]
        made = (*derived, *views.derived)
        return Change(replace(kernel, sizes=sizes, arrays=(*kernel.arrays, *arrays), derived=made, body=whole))

    def _check_written(self, program: Program, views: _Views, around: Sequence[For]) -> None:
        """That what is written is used by one view only, each of whose elements is one of the array."""
        written = {x.array for x in walk(program.kernel.body) if isinstance(x, Assign | Reduce)}
        for name in dict.fromkeys(x.array for x in views.found if isinstance(x, Load) and x.array in written):
            forms = [x for x in views.found if isinstance(x, Load) and x.array == name]
            if len(forms) > 1 or set(_uses(program.kernel.body, name)) != {forms[0].index}:
                message = f"`{name}` is written, and used by other subscripts as well"
                raise PlanishError(Diagnostic("E0606", message, help="keep sums in a scalar, and store them once"))
            used = {y for x in forms[0].index for y in variables(x)}
            for loop in (*views.band, *(x for x in around if x.var in used)):
                check_parallel(program.kernel, program.path(loop.label))


@dataclass(slots=True)
class _Views:
    """The views of arrays that are accessed by the variables of some loops, as they are found."""

    kernel: Kernel
    name: str
    band: Sequence[For]
    known: Sequence[For]
    found: dict[Expr, str] = field(default_factory=dict)
    arrays: list[Array] = field(default_factory=list)
    derived: list[Derived] = field(default_factory=list)
    uses: dict[Expr, tuple[str, tuple[Expr, ...]]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    count: str = ""

    def __post_init__(self) -> None:
        self.taken = {*used_names(self.kernel), self.name}
        self.count = take_name(f"{self.name}_count", self.taken)

    @property
    def own(self) -> set[str]:
        """The variables of the loops."""
        return {x.var for x in self.band}

    def statement(self, stmt: Stmt) -> Stmt:
        """A statement whose accesses are those of views."""
        if isinstance(stmt, Assign | Reduce) and self.is_used(stmt.index):
            array, at = self.view(Load(stmt.array, stmt.index, type_of(stmt.value)))
            stmt = replace(stmt, array=array, index=at)
        return map_exprs(self.expression, stmt)

    def expression(self, expr: Expr) -> Expr:
        """An expression whose loads, and choices between one and a constant, are loads of views."""
        match expr:
            case Select(condition=condition, then=Load(index=at), otherwise=Const()) if self.is_used((condition, *at)):
                array, at = self.view(expr)
            case Load(index=at) if self.is_used(at):
                array, at = self.view(expr)
            case Var(name=name) if name in self.own:
                message = f"`{name}` is used for something else than subscripts"
                raise PlanishError(Diagnostic("E0604", message, help="only places in arrays can be computed anew"))
            case _:
                return with_children(expr, tuple(self.expression(x) for x in children(expr)))
        return Load(array, at, type_of(expr))

    def is_used(self, exprs: Sequence[Expr]) -> bool:
        """Whether the variables are used in some expressions."""
        return any(variables(x) & self.own for x in exprs)

    def view(self, value: Expr) -> tuple[str, tuple[Expr, ...]]:
        """The view that stands for a load or a choice, and the subscripts with which it does."""
        if value in self.uses:
            return self.uses[value]
        load = value.then if isinstance(value, Select) else value
        assert isinstance(load, Load)
        base = find_array(self.kernel, load.array)
        inner = [y for x in (*load.index, *_conditions(value)) for y in loads(x)]
        loops = self.loops_of(value, load)
        if base is None or inner or loops is None:
            message = f"it is not known which part of `{load.array}` is used"
            raise PlanishError(Diagnostic("E0604", message, help="only loops over sizes around accesses are known"))
        name = take_name(f"{load.array}_{self.name}", self.taken)
        digits: dict[str, Expr] = dict(self.digits())
        shape: list[Expr | None] = []
        at: list[Expr] = []
        for var, loop in loops:
            if loop is None:
                shape.append(None)
                at.append(index(var))
                continue
            shape.append(simplify(Binary("sub", loop.upper, loop.lower)))
            at.append(simplify(Binary("sub", index(var), loop.lower)))
            digits[var] = simplify(Binary("add", index(var), loop.lower))
        self.found[load] = name
        self.arrays.append(Array(name, load.type, tuple(shape), distinct=base.distinct))
        self.derived.append(Derived(name, tuple(x for x, _ in loops), substitute(value, digits)))
        self.uses[value] = name, tuple(at)
        return self.uses[value]

    def loops_of(self, value: Expr, load: Load) -> list[tuple[str, For | None]] | None:
        """The variables that a view has subscripts for, the last one that of neighbours in memory; None for the new one
        in place of its loop. None where bounds are not over sizes."""
        used = {y for x in (*load.index, *_conditions(value)) for y in variables(x)} - set(self.kernel.sizes)
        loops = {x.var: x for x in self.known}
        alike = all((x.lower, x.upper) == (loops[x.var].lower, loops[x.var].upper) for x in self.known)
        if not used <= loops.keys() or not alike:
            return None
        others = [loops[x] for x in used - self.own]
        if any(variables(x) - set(self.kernel.sizes) for y in others for x in (y.lower, y.upper)):
            return None

        def last(names: set[str]) -> int:
            return max((d for d, x in enumerate(load.index) if variables(x) & names), default=-1)

        depth = {x.var: d for d, x in enumerate(self.known)}
        placed = [((last({x.var}), -depth[x.var]), x.var, x) for x in others]
        first = min(depth[x] for x in self.own)
        flat: tuple[tuple[int, int], str, For | None] = ((last(self.own), -first), self.name, None)
        return [(var, loop) for _, var, loop in sorted((*placed, flat), key=lambda x: x[0])]

    def digits(self) -> Iterator[tuple[str, Expr]]:
        """What the variables are, given the new one: the last loop is the fastest."""
        rest: Expr = index(self.name)
        for place, loop in reversed(list(enumerate(self.band))):
            extent = simplify(Binary("sub", loop.upper, loop.lower))
            digit = rest if place == 0 else Binary("rem", rest, extent)
            yield loop.var, digit if loop.lower == index(0) else Binary("add", loop.lower, digit)
            rest = Binary("quo", rest, extent)


def _opened(body: Block) -> Block:
    """The body of a loop without blocks that are all of a loop's body."""

    def visit(stmt: Stmt) -> Stmt:
        return replace(stmt, body=_opened(stmt.body)) if isinstance(stmt, For) else stmt

    match body.body:
        case (Block() as only,):
            return _opened(only)
        case _:
            return map_block(visit, body)


def _conditions(value: Expr) -> tuple[Expr, ...]:
    return (value.condition,) if isinstance(value, Select) else ()


def _uses(block: Block, array: str) -> Iterator[tuple[Expr, ...]]:
    """The subscripts of all accesses to an array."""
    for stmt in walk(block):
        if isinstance(stmt, Assign | Reduce) and stmt.array == array:
            yield stmt.index
        for x in expressions(stmt):
            yield from (load.index for load in loads(x) if load.array == array)


def _product(factors: Sequence[Expr]) -> Expr:
    out = factors[0]
    for x in factors[1:]:
        out = Binary("mul", out, x)
    return out
