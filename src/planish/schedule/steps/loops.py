"""Steps on one loop: split, peel, unroll, shift, reverse, fusion with the next loop, loop fission over its statements.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.program import Program
>>> program = Program.of(parse_kernel("kernel z(n; A: f32[n]) { for i in 0 .. n { A[i] = 0.0:f32 } }"))
>>> print(program.apply(Peel("i", 2)).show())
kernel z(n; A: f32[n])
{
  for i in 0 .. min(2, n) {
    A[i] = 0.0:f32
  }
  for i in min(2, n) .. n {
    A[i] = 0.0:f32
  }
}
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Literal

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Binary, Compare, Expr, index
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Block, For, If, Kernel, Let, Stmt
from planish.ir.traverse import loads, map_block, map_exprs, substitute_block
from planish.poly.isl.affine import constant_of
from planish.schedule.context import always
from planish.schedule.names import check_fresh
from planish.schedule.nodes import Siblings, edit, exchange, path_to
from planish.schedule.program import Change, Program, Target, holds

Tail = Literal["perfect", "cut", "guard", "short"]
MOST_COPIES = 1024


@dataclass(frozen=True, slots=True)
class Split:
    """Cut a loop into one over blocks of `factor` iterations and one within a block.

    What is left where the factor does not divide the number of iterations: `perfect`: it does, or the step is refused;
    `cut`: a loop of its own follows; `guard`: a test inside; `short`: the last block is shorter.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { A[i] = 0.0:f32 }", Split("i", 4, ("io", "ii")))
    for io in 0 .. max(n, 0) // 4 {
      for ii in 0 .. 4 {
        A[4 * io + ii] = 0.0:f32
      }
    }
    for ii in 0 .. max(n, 0) % 4 {
      A[4 * (max(n, 0) // 4) + ii] = 0.0:f32
    }
    """

    loop: Target
    factor: int
    names: tuple[str, str]
    tail: Tail = "cut"

    def rewrite(self, program: Program) -> Change:
        """E0604 where the factor is not positive, the loop has a step, or the factor does not divide (`perfect`)."""
        loop = _unit_loop(program, self.loop)
        if self.factor < 1:
            raise PlanishError(Diagnostic("E0604", f"a loop is not split by {self.factor}", help="use 1 or more"))
        check_fresh(program.kernel, *self.names, free=loop.var)
        path = program.path(loop.label)
        count: Expr = simplify(Binary("sub", loop.upper, loop.lower))
        left = Compare("eq", Binary("mod", count, index(self.factor)), index(0))
        divides = always(program.kernel, path, left)
        if self.tail == "perfect" and not divides:
            message = f"{self.factor} does not always divide the number of iterations of `{loop.var}`"
            advice = 'assume that it does, or choose tail="cut", "guard" or "short"'
            raise PlanishError(Diagnostic("E0604", message, help=advice))
        tail: Tail = "perfect" if divides else self.tail
        if tail == "cut" and not always(program.kernel, path, Compare("ge", count, index(0))):
            count = Binary("max", count, index(0))
        return Change(program.kernel, lambda body: exchange(body, loop.label, lambda x: self._split(x, count, tail)))

    def _split(self, loop: Stmt, count: Expr, tail: Tail) -> tuple[Stmt, ...]:
        assert isinstance(loop, For)
        factor, (outer, inner) = index(self.factor), self.names
        blocks = Binary("floordiv", count, factor)
        inside = Binary("add", Binary("mul", factor, index(outer)), index(inner))
        more = Binary("floordiv", Binary("add", count, index(self.factor - 1)), factor)
        body = _at(loop, inside)
        length: Expr = factor
        match tail:
            case "guard":
                body = Block((If(simplify(Compare("lt", inside, count)), body),))
            case "short":
                length = Binary("min", factor, Binary("sub", count, Binary("mul", factor, index(outer))))
            case _:
                pass
        within = For(inner, index(0), simplify(length), 1, body)
        end = simplify(more if tail in ("guard", "short") else blocks)
        whole = replace(loop, var=outer, lower=index(0), upper=end, body=Block((within,)))
        if tail != "cut":
            return (whole,)
        rest = Binary("add", Binary("mul", blocks, factor), index(inner))
        return (whole, For(inner, index(0), simplify(Binary("mod", count, factor)), 1, _at(loop, rest)))


@dataclass(frozen=True, slots=True)
class BeginEarly:
    """Begin a loop so many iterations earlier, which do nothing: blocks of iterations then begin where rows of memory
    are aligned.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 1 .. n { A[i] = 0.0:f32 }", BeginEarly("i", 1))
    for i in 0 .. n {
      if i >= 1 {
        A[i] = 0.0:f32
      }
    }
    """

    loop: Target
    iterations: int

    def rewrite(self, program: Program) -> Change:
        """E0604 where the loop has a step, or the number is negative."""
        loop = _unit_loop(program, self.loop)
        if self.iterations < 0:
            raise PlanishError(Diagnostic("E0604", "a loop does not begin later", help="use 0 or more"))
        lower = simplify(Binary("sub", loop.lower, index(self.iterations)))
        test = Compare("ge", index(loop.var), loop.lower)

        def earlier(x: Stmt) -> tuple[Stmt, ...]:
            assert isinstance(x, For)
            return (replace(x, lower=lower, body=Block((If(test, x.body),))),)

        return Change(program.kernel, lambda body: exchange(body, loop.label, earlier))


@dataclass(frozen=True, slots=True)
class Peel:
    """Give the first iterations of a loop a loop of their own, or the last ones where `count` is negative.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. 9 { A[i] = 0.0:f32 }", Peel("i", -1))
    for i in 0 .. 8 {
      A[i] = 0.0:f32
    }
    for i in 8 .. 9 {
      A[i] = 0.0:f32
    }
    """

    loop: Target
    count: int

    def rewrite(self, program: Program) -> Change:
        """E0604 where the loop has a step."""
        loop = _unit_loop(program, self.loop)
        end = loop.lower if self.count >= 0 else loop.upper
        at: Expr = Binary("add", end, index(self.count))
        path = program.path(loop.label)
        fits: Expr = Compare("le", at, loop.upper) if self.count >= 0 else Compare("ge", at, loop.lower)
        within: Expr = Binary("min", at, loop.upper) if self.count >= 0 else Binary("max", at, loop.lower)
        cut = simplify(at if always(program.kernel, path, fits) else within)

        def peel(stmt: Stmt) -> tuple[Stmt, ...]:
            assert isinstance(stmt, For)
            return replace(stmt, upper=cut), replace(stmt, lower=cut)

        return Change(program.kernel, lambda body: exchange(body, loop.label, peel))


@dataclass(frozen=True, slots=True)
class Unroll:
    """Write out the iterations of a loop whose number is a constant; with `copies`, of any loop, so many at a time,
    which is left to the C compiler; with one, it writes out none.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 2 .. 4 { A[i] = 0.0:f32 }", Unroll("i"))
    A[2] = 0.0:f32
    A[3] = 0.0:f32
    >>> show_step("for i in 0 .. n { A[i] = 0.0:f32 }", Unroll("i", 4))
    for i in 0 .. n unroll 4 {
      A[i] = 0.0:f32
    }
    """

    loop: Target
    copies: int = 0

    def rewrite(self, program: Program) -> Change:
        """E0604 where the number of iterations is no constant, or large, or there are too many copies."""
        loop = program.loop(self.loop)
        if self.copies:
            return self._marked(program, loop)
        count = constant_of(simplify(Binary("sub", loop.upper, loop.lower)))
        if count is None or count > MOST_COPIES * loop.step or loads(loop.lower):
            message = f"the number of iterations of `{loop.var}` is not a constant of at most {MOST_COPIES}"
            raise PlanishError(Diagnostic("E0604", message, help="split the loop by a constant first"))
        steps = range(0, count, loop.step)

        def unroll(stmt: Stmt) -> tuple[Stmt, ...]:
            assert isinstance(stmt, For)
            copies = [_at(stmt, index(k)) for k in steps]
            return tuple(x for copy in copies for x in _spliced(copy))

        # The iterations are written out in their order, which needs no proof, and micro-kernels have hundreds of them.
        return Change(replace(program.kernel, body=exchange(program.kernel.body, loop.label, unroll)))

    def _marked(self, program: Program, loop: For) -> Change:
        """The loop with the number of copies wanted."""
        if not 1 <= self.copies <= MOST_COPIES:
            message = f"a loop cannot be unrolled {self.copies} times"
            raise PlanishError(Diagnostic("E0604", message, help=f"ask for 1 to {MOST_COPIES} copies"))
        marked = replace(loop, facts=replace(loop.facts, unroll=self.copies))
        return Change(replace(program.kernel, body=exchange(program.kernel.body, loop.label, lambda _: (marked,))))


@dataclass(frozen=True, slots=True)
class Fuse:
    """Make one loop of a loop and the one after it, which has the same bounds.

    >>> from planish.schedule.example import show_step
    >>> text = "for i in 0 .. n { A[i] = 0.0:f32 } for j in 0 .. n { B[j] = A[j] }"
    >>> show_step(text, Fuse("i"))
    for i in 0 .. n {
      A[i] = 0.0:f32
      B[i] = A[i]
    }
    """

    loop: Target

    def rewrite(self, program: Program) -> Change:
        """E0604 where no loop with the same bounds follows."""
        loop = program.loop(self.loop)
        after = program.cursor(self.loop)
        mate = after.next().node
        if not isinstance(mate, For) or not _are_alike(program.kernel, loop, mate):
            message = f"after the loop over `{loop.var}` there is none with the same bounds"
            raise PlanishError(Diagnostic("E0604", message, help="shift, split or peel one of them first"))

        def fuse(siblings: Siblings, place: int) -> Siblings:
            first, second = siblings[place], siblings[place + 1]
            assert isinstance(first, For) and isinstance(second, For)
            inner = (*first.body.body, *substitute_block(second.body, {second.var: index(first.var)}).body)
            return (*siblings[:place], replace(first, body=Block(inner)), *siblings[place + 2 :])

        return Change(program.kernel, lambda body: edit(body, loop.label, fuse))


@dataclass(frozen=True, slots=True)
class Coalesce:
    """Make one loop of several directly inside of each other whose numbers of iterations are constants (loop
    coalescing): their values are quotients and remainders of its own.

    >>> from planish.schedule.example import show_step
    >>> text = "for i in 0 .. 4 { for j in 0 .. 8 { M[i, j] = 0.0:f32 } }"
    >>> show_step(text, Coalesce("i", 2, "t"), head="kernel f(M: f32[4, 8])")
    for t in 0 .. 32 {
      M[t // 8, t % 8] = 0.0:f32
    }
    """

    loop: Target
    loops: int
    name: str

    def rewrite(self, program: Program) -> Change:
        """E0604 where there are fewer loops, or one does not go from 0 to a constant."""
        band: list[For] = [program.loop(self.loop)]
        while len(band) < self.loops and len(band[-1].body.body) == 1 and isinstance(band[-1].body.body[0], For):
            band.append(band[-1].body.body[0])
        counts = [constant_of(x.upper) for x in band if x.lower == index(0) and x.step == 1]
        if self.loops < 2 or len(counts) != self.loops or any(x is None for x in counts):
            message = f"there are no {self.loops} loops from 0 to constants directly inside of each other"
            raise PlanishError(Diagnostic("E0604", message, help="split and reorder loops first"))
        check_fresh(program.kernel, self.name, free=band[0].var)
        # A loop to less than 0 has no iteration.
        extents = [max(0, x) for x in counts if x is not None]
        if 0 in extents:
            return Change(replace(program.kernel, body=exchange(program.kernel.body, band[0].label, lambda _: ())))
        values: dict[str, Expr] = {}
        for place, loop in enumerate(band):
            number: Expr = Binary("floordiv", index(self.name), index(prod(extents[place + 1 :])))
            values[loop.var] = simplify(number if place == 0 else Binary("mod", number, index(extents[place])))
        inner = substitute_block(band[-1].body, values)
        whole = replace(band[0], var=self.name, upper=index(prod(extents)), body=inner)
        # The instances keep their order, which needs no proof.
        body = exchange(program.kernel.body, band[0].label, lambda _: (whole,))
        return Change(replace(program.kernel, body=simplify_block(body)))


@dataclass(frozen=True, slots=True)
class Fission:
    """Cut the loops around a statement in two behind it: what comes before in one, what comes after in another;
    `loops` of them, from the innermost on.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { A[i] = 0.0:f32 B[i] = A[i] }", Fission("A[_] = _"))
    for i in 0 .. n {
      A[i] = 0.0:f32
    }
    for i in 0 .. n {
      B[i] = A[i]
    }
    """

    after: Target
    loops: int = 1

    def rewrite(self, program: Program) -> Change:
        """E0604 where there are fewer loops around, with nothing but loops between, or a name is bound before."""
        path = program.path(self.after)
        around = path[-1 - self.loops : -1]
        if self.loops < 1 or len(around) < self.loops or not all(isinstance(x, For) for x in around):
            message = f"the statement is not directly in {self.loops} loops"
            raise PlanishError(Diagnostic("E0604", message, help="ask for fewer loops"))

        def cut(body: Block) -> Block:
            behind = path[-1].label
            for loop in reversed(around):
                body = exchange(body, loop.label, partial(_cut_behind, label=behind))
                behind = loop.label
            return body

        return Change(program.kernel, cut)


@dataclass(frozen=True, slots=True)
class Shift:
    """Let a loop's variable be larger by `distance`.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { A[i] = 0.0:f32 }", Shift("i", 1))
    for i in 1 .. n + 1 {
      A[i - 1] = 0.0:f32
    }
    """

    loop: Target
    distance: int

    def rewrite(self, program: Program) -> Change:
        """The loop with other bounds."""
        loop = program.loop(self.loop)

        def shift(stmt: Stmt) -> tuple[Stmt, ...]:
            assert isinstance(stmt, For)
            lower, upper = (simplify(Binary("add", x, index(self.distance))) for x in (stmt.lower, stmt.upper))
            back = Binary("sub", index(stmt.var), index(self.distance))
            return (replace(stmt, lower=lower, upper=upper, body=_with(stmt, back)),)

        return Change(program.kernel, lambda body: exchange(body, loop.label, shift))


@dataclass(frozen=True, slots=True)
class Reverse:
    """Run the iterations of a loop from the last to the first.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { A[i] = 0.0:f32 }", Reverse("i"))
    for i in 0 .. n {
      A[n - i - 1] = 0.0:f32
    }
    """

    loop: Target

    def rewrite(self, program: Program) -> Change:
        """E0604 where the loop has a step."""
        loop = _unit_loop(program, self.loop)

        def reverse(stmt: Stmt) -> tuple[Stmt, ...]:
            assert isinstance(stmt, For)
            last = Binary("sub", Binary("add", stmt.lower, stmt.upper), index(1))
            return (replace(stmt, body=_with(stmt, Binary("sub", last, index(stmt.var)))),)

        return Change(program.kernel, lambda body: exchange(body, loop.label, reverse))


def _cut_behind(loop: Stmt, label: int) -> tuple[Stmt, ...]:
    assert isinstance(loop, For)
    place = next(i for i, x in enumerate(loop.body.body) if path_to(Block((x,)), label))
    before, after = loop.body.body[: place + 1], loop.body.body[place + 1 :]
    bound = next((x for x in before if isinstance(x, Alloc | Let)), None)
    if bound is not None and after:
        name = bound.array.name if isinstance(bound, Alloc) else bound.var
        message = f"`{name}`, which is made in the loop, would not reach what comes after"
        raise PlanishError(Diagnostic("E0604", message, help="lift it out of the loop first"))
    parts = [part for part in (before, after) if part]
    return tuple(replace(loop, body=Block(part)) for part in parts)


def _are_alike(kernel: Kernel, first: For, second: For) -> bool:
    """Whether two loops, one after the other, have the same bounds."""
    pairs = (first.lower, second.lower), (first.upper, second.upper)
    equal = (Compare("eq", a, b) for a, b in pairs if simplify(a) != simplify(b))
    return first.step == second.step and holds(kernel, first, *equal)


def _unit_loop(program: Program, target: Target) -> For:
    loop = program.loop(target)
    if loop.step != 1:
        message = f"the loop over `{loop.var}` has a step of {loop.step}"
        raise PlanishError(Diagnostic("E0604", message, help="only loops with step 1 are cut"))
    return loop


def _at(loop: For, offset: Expr) -> Block:
    """The body of a loop at the value that lies `offset` behind its first one."""
    return _with(loop, Binary("add", loop.lower, offset))


def _with(loop: For, value: Expr) -> Block:
    """The body of a loop with another value for its variable."""
    body = substitute_block(loop.body, {loop.var: simplify(value)})
    return map_block(lambda stmt: map_exprs(simplify, stmt), body)


def _spliced(block: Block) -> tuple[Stmt, ...]:
    """The statements of a block; itself where names are bound in it."""
    return (block,) if any(isinstance(x, Alloc | Let) for x in block.body) else block.body

