"""A loop whose iterations are each run by all threads of a block together: loops in it over threads, sums by all.

>>> MapTeam("i", "s", 64).threads
64
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.names import take_name
from planish.core.span import Span
from planish.ir.expr import Binary, Call, Compare, Const, Expr, Load, index, type_of
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, LoopFacts, Reduce, ReduceOp, Stmt
from planish.ir.traverse import (
    arrays_in,
    blocks_of,
    loads,
    map_block,
    stored_arrays,
    substitute_block,
    used_names,
    variables,
    walk,
)
from planish.ir.types import Type
from planish.schedule.accesses import Indices, arrays_of, use_element
from planish.schedule.legality import check_parallel
from planish.schedule.names import check_fresh
from planish.schedule.nodes import exchange
from planish.schedule.program import Change, Cursor, Program, Target
from planish.schedule.steps.devices import MOST_THREADS
from planish.schedule.strides import accesses_of, coalescing

LANES = 32
"""So many partial sums are left to be added by each thread for itself."""
NEUTRAL: Mapping[str, float] = {"add": -0.0, "mul": 1, "xor": 0}
"""Where partial sums begin; those of other operations begin with what is there, which may count more than once."""

EXTREMA: Mapping[str, ReduceOp] = {"fmax": "max", "fmin": "min"}
"""Functions that update an extremum."""


@dataclass(frozen=True, slots=True)
class MapTeam:
    """Run each iteration of a loop by so many threads of a block together, of `rows` iterations in one block. Loops in
    it are spread over the threads, as far as their iterations are independent but for what they add to one element:
    that is added up by each thread, and then over all threads, in an order that is the same in every run. Each thread
    has the scalars of the iteration for itself, and its part of each buffer of registers that loops go along, as
    `promote_row` makes them.

    >>> from planish.schedule.example import show_step
    >>> text = "for i in 0 .. n { alloc s: i64[] s[] = 0 for j in 0 .. m { s[] += M[i, j] } A[i] = s[] }"
    >>> show_step(text, MapTeam("i", "t", 2), head="kernel f(n, m; M: i64[n, m], A: i64[n])")
    for i in 0 .. n on block_x {
      alloc s: i64[2] register
      for t in 0 .. 2 on thread_x {
        s[t] = 0
      }
      alloc t_s: i64[2] shared
      for t in 0 .. 2 on thread_x {
        alloc t_s_own: i64[] register
        t_s_own[] = 0
        for j in t .. m step 2 {
          t_s_own[] += M[i, j]
        }
        t_s[t] = t_s_own[]
      }
      for t in 0 .. 2 on thread_x {
        for t_k in 0 .. 2 {
          s[t] += t_s[t_k]
        }
      }
      for t in 0 .. 1 on thread_x {
        A[i] = s[t]
      }
    }
    """

    loop: Target
    name: str
    threads: int = 256
    rows: int = 1

    def rewrite(self, program: Program) -> Change:
        """E0604 where the numbers are no powers of two, or too large, the loop is mapped, or has in it what can neither
        be spread nor be made by each thread; E0613 where iterations depend on each other; E0606 where sums of floats
        may not be made in another order."""
        loop = program.loop(self.loop)
        bad = any(n < 1 or n & (n - 1) for n in (self.threads, self.rows))
        if bad or self.threads * self.rows > MOST_THREADS:
            message = f"{self.rows} iterations with {self.threads} threads each: powers of two, {MOST_THREADS} in all"
            raise PlanishError(Diagnostic("E0604", message, help="choose 256 threads"))
        path = program.path(loop.label)
        bound = any(isinstance(x, For) and x.facts.axis for x in (*path, *walk(loop.body)))
        if bound or loop.step != 1:
            raise _unfit(f"`{loop.var}` has steps, or is mapped already, or loops in it or around it are")
        check_parallel(program.kernel, path)
        check_fresh(program.kernel, self.name)
        known, extrema = with_extrema(program, loop)
        taken = set(used_names(program.kernel)) | {self.name}
        team = _Team(known, known.loop(Cursor(known, loop.label)), self.threads, self.rows, self.name, taken, extrema)
        body = simplify_block(Block(tuple(without_extrema(x, team.extrema) for x in team.block(team.loop.body))))
        facts = LoopFacts(axis="block_x")
        if self.rows == 1:
            made = replace(loop, body=body, facts=facts)
        else:
            length = Binary("sub", loop.upper, loop.lower)
            count = simplify(Binary("floordiv", Binary("add", length, index(self.rows - 1)), index(self.rows)))
            made = replace(loop, var=team.block_name, lower=index(0), upper=count, body=body, facts=facts)
        return Change(replace(program.kernel, body=exchange(program.kernel.body, loop.label, lambda x: (made,))))


def spread_loop(loop: For) -> tuple[For, ...]:
    """The loops from one down to that which is spread over threads: of those directly inside of each other the one
    along which most accesses go from element to element."""
    chain = [loop]
    while len(chain[-1].body.body) == 1 and isinstance(inner := chain[-1].body.body[0], For):
        chain.append(inner)
    best = max(range(len(chain)), key=lambda n: (coalescing(chain[-1].body, chain[n].var), n))
    return tuple(chain[: best + 1])


def with_extrema(program: Program, loop: For) -> tuple[Program, set[str]]:
    """The program in which updates `s = fmax(s, x)` in a loop are those of extrema, as the model knows them, and the
    arrays that are so updated: NaN counts in another way, so that they become calls again.

    >>> from planish.ir.text.parser import parse_kernel
    >>> text = "kernel f(n; A: f32[n], B: f32[1]) { for i in 0 .. n { B[0] = fmax(A[i], B[0]) } }"
    >>> program = Program.of(parse_kernel(text))
    >>> with_extrema(program, program.loop("i"))[1]
    {'B'}
    """
    found: set[str] = set()
    own = {x.array for x in walk(loop) if isinstance(x, Reduce)}

    def visit(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Assign) or not isinstance(call := stmt.value, Call) or stmt.array in own:
            return stmt
        here = [x for x in call.arguments if isinstance(x, Load) and (x.array, x.index) == (stmt.array, stmt.index)]
        if call.function not in EXTREMA or len(here) != 1:
            return stmt
        (value,) = [x for x in call.arguments if x is not here[0]]
        found.add(stmt.array)
        return Reduce(stmt.array, stmt.index, EXTREMA[call.function], value, stmt.span, stmt.label)

    body = exchange(program.kernel.body, loop.label, lambda x: map_block(visit, Block((loop,))).body)
    return replace(program, kernel=replace(program.kernel, body=body)), found


def without_extrema(stmt: Stmt, arrays: Set[str]) -> Stmt:
    """A statement in which the extrema of some arrays are calls."""

    def visit(x: Stmt) -> Stmt:
        if not isinstance(x, Reduce) or x.array not in arrays or x.op not in EXTREMA.values():
            return x
        value = Call(f"f{x.op}", (Load(x.array, x.index, type_of(x.value)), x.value))
        return Assign(x.array, x.index, value, x.span, x.label)

    (made,) = map_block(visit, Block((stmt,))).body
    return made


@dataclass(slots=True)
class _Team:
    """The walk over what a team of threads runs of one iteration."""

    program: Program
    loop: For
    threads: int
    rows: int
    name: str
    taken: set[str]
    extrema: set[str]
    cells: dict[str, Type] = field(default_factory=dict)
    strips: dict[str, int] = field(default_factory=dict)
    row_name: str = ""
    block_name: str = ""

    def __post_init__(self) -> None:
        if self.rows > 1:
            self.row_name = take_name(f"{self.name}_row", self.taken)
            self.block_name = take_name(f"{self.loop.var}_b", self.taken)

    def block(self, block: Block) -> list[Stmt]:
        """Statements in order."""
        return [y for stmt in block.body for y in self.statement(stmt)]

    def statement(self, stmt: Stmt) -> list[Stmt]:
        """A statement as the team runs it."""
        match stmt:
            case Alloc(array=array) if not array.shape and array.memory != "table":
                self.cells[array.name] = array.type
                return [replace(stmt, array=replace(array, shape=self.extents, memory="register"))]
            case Alloc(array=Array(memory="register")):
                return [self.strip(stmt)]
            case Alloc() if self.rows == 1:
                return [stmt]
            case For():
                return self.spread(stmt)
            case If() if any(isinstance(x, For | Alloc) for x in walk(stmt)):
                if any(loads(stmt.condition)) or (self.rows > 1 and self.loop.var in variables(stmt.condition)):
                    raise _unfit("which loops run differs between threads", stmt.span)
                parts = [Block(tuple(self.block(x))) for x in blocks_of(stmt)]
                return [replace(stmt, then=parts[0], otherwise=parts[1], label=0)]
            case Assign() | Reduce() | If():
                if self.strips.keys() & set(arrays_in(stmt)):
                    raise _unfit("elements of a buffer that threads share out are used outside of loops", stmt.span)
                own = stored_arrays(stmt) & self.cells.keys()
                if own and own != stored_arrays(stmt):
                    raise _unfit("a condition chooses both of scalars and of elements", stmt.span)
                return [self.phase(self.threads if own else 1, stmt)]
            case _:
                raise _unfit("a name or an array is made in the iteration", getattr(stmt, "span", None))

    def strip(self, stmt: Alloc) -> Stmt:
        """A buffer along which loops go, of which each thread has every so many-th element."""
        extents = [int(x.value) if isinstance(x, Const) else 0 for x in stmt.array.shape]
        if len(extents) != 1 or extents[0] < 1 or extents[0] % self.threads:
            raise _unfit(f"the elements of `{stmt.array.name}` are not divided by {self.threads} threads", stmt.span)
        self.strips[stmt.array.name] = count = extents[0] // self.threads
        return replace(stmt, array=replace(stmt.array, shape=(*self.extents, index(count))))

    @property
    def extents(self) -> tuple[Expr, ...]:
        """The threads, those of an iteration last."""
        return (index(self.rows), index(self.threads)) if self.rows > 1 else (index(self.threads),)

    @property
    def ids(self) -> Indices:
        """The numbers of a thread."""
        return (index(self.row_name), index(self.name)) if self.rows > 1 else (index(self.name),)

    def phase(self, count: int, *body: Stmt) -> Stmt:
        """What so many threads of each iteration run, up to where others see it."""
        inner = Block(body)
        for cell in self.cells:
            inner = use_element(inner, cell, cell, self.ids)
        if self.rows == 1:
            return For(self.name, index(0), index(count), 1, inner, LoopFacts(axis="thread_x"))
        at = Binary("add", Binary("mul", index(self.rows), index(self.block_name)), index(self.row_name))
        row = simplify(Binary("add", self.loop.lower, at))
        inner = substitute_block(inner, {self.loop.var: row})
        inside = If(Compare("lt", row, self.loop.upper), inner)
        threads = For(self.name, index(0), index(count), 1, Block((inside,)), LoopFacts(axis="thread_x"))
        return For(self.row_name, index(0), index(self.rows), 1, Block((threads,)), LoopFacts(axis="thread_y"))

    def spread(self, loop: For) -> list[Stmt]:
        """A loop whose iterations are those of all threads together."""
        chain = spread_loop(loop)
        inner = chain[-1]
        sums = self.sums(loop)
        for each in chain:
            if each.step != 1 or any(loads(x) for x in (each.lower, each.upper)):
                raise _unfit(f"`{each.var}` has steps, or bounds in memory", each.span)
            check_parallel(self.program.kernel, self.program.path(each.label), sums.keys())
        if any(x in self.cells for x in stored_arrays(loop) - sums.keys()):
            raise _unfit(f"`{loop.var}` leaves values in scalars", loop.span)
        part = self.own_part(inner)
        for each in reversed(chain[:-1]):
            part = replace(each, body=Block((part,)), label=0, facts=LoopFacts())
        if not sums:
            return [self.phase(self.threads, part)]
        made: list[Stmt] = []
        before: list[Stmt] = []
        behind: list[Stmt] = []
        ends: list[Stmt] = []
        for array, update in sums.items():
            kind = arrays_of(self.program.kernel)[array].type
            if kind.is_float and not self.program.reassociate:
                message = f"the sums in `{array}` would be made in another order, which is not allowed"
                raise PlanishError(Diagnostic("E0606", message, help="allow it, or leave the loop as it is"))
            shared = take_name(f"{self.name}_{array}", self.taken)
            own = take_name(f"{shared}_own", self.taken)
            if array in self.extrema:
                self.extrema |= {shared, own}
            begin: Expr = Load(array, update.index, kind)
            if update.op in NEUTRAL:
                begin = Const(float(NEUTRAL[update.op]) if kind.is_float else int(NEUTRAL[update.op]), kind)
            made.append(Alloc(Array(shared, kind, self.extents, memory="shared")))
            before += [Alloc(Array(own, kind, (), memory="register")), Assign(own, (), begin)]
            (changed,) = use_element(Block((part,)), array, own).body
            assert isinstance(changed, For)
            part = changed
            behind.append(Assign(shared, self.ids, Load(own, (), kind)))
            ends += self.combine(shared, kind, update)
        out: list[Stmt] = [self.phase(self.threads, *before, part, *behind), *ends]
        if any(array not in self.cells for array in sums):
            out = self.guarded(chain, out)
        return [*made, *out]

    def own_part(self, loop: For) -> For:
        """What one thread runs of a loop. Where it goes along buffers that are shared out, that are the iterations on
        the thread's own elements, so many that their places are constants when they are unrolled."""
        kept = self.strips.keys() & set(arrays_in(loop))
        if not kept:
            lower = simplify(Binary("add", loop.lower, index(self.name)))
            return replace(loop, lower=lower, step=self.threads, label=0, facts=LoopFacts())
        found = [at for stmt in walk(loop) for name, at in accesses_of(stmt) if name in kept]
        shifts = {simplify(Binary("sub", at[0], index(loop.var))) for at in found}
        (shift,) = shifts if len(shifts) == 1 else (index(loop.var),)
        inside = {x.var for x in walk(loop) if isinstance(x, For)}
        if variables(shift) & inside or loads(shift) or len({self.strips[x] for x in kept}) > 1:
            raise _unfit(f"`{loop.var}` does not go along buffers from one element to the next", loop.span)
        k = take_name(f"{self.name}_e", self.taken)
        place = Binary("add", Binary("mul", index(self.threads), index(k)), index(self.name))
        body = loop.body
        for name in kept:
            body = use_element(body, name, name, (*self.ids, index(k)))
        value = simplify(Binary("sub", place, shift))
        test: Expr = Compare("lt", value, loop.upper)
        if simplify(Binary("add", loop.lower, shift)) != index(0):
            test = Binary("and", Compare("ge", value, loop.lower), test)
        guarded = If(test, substitute_block(body, {loop.var: value}))
        count = self.strips[next(iter(kept))]
        return For(k, index(0), index(count), 1, Block((guarded,)), LoopFacts(unroll=count))

    def sums(self, loop: For) -> dict[str, Reduce]:
        """The elements that a loop adds to, and does not use otherwise, each with one of its updates."""
        inside = {x.var for x in walk(loop) if isinstance(x, For)}
        own = {x.array.name for x in walk(loop) if isinstance(x, Alloc)}
        stores = [x for x in walk(loop) if isinstance(x, Assign | Reduce) and x.array not in own]
        out: dict[str, Reduce] = {}
        for array in dict.fromkeys(x.array for x in stores):
            updates = [x for x in stores if x.array == array]
            first = updates[0]
            varies = any(variables(x) & inside or loads(x) for x in first.index)
            only = list(arrays_in(loop)).count(array) == len(updates)
            if isinstance(first, Reduce) and only and not varies and all(_is_like(x, first) for x in updates):
                out[array] = first
        return out

    def combine(self, shared: str, kind: Type, update: Reduce) -> list[Stmt]:
        """Adds the sums of all threads to an element: some threads those of others, until few are left."""
        out: list[Stmt] = []
        k = take_name(f"{self.name}_k", self.taken)
        left, outer = min(LANES, self.threads), self.ids[:-1]
        if self.threads > left:
            other = Binary("add", index(self.name), Binary("mul", index(left), index(k)))
            more = Reduce(shared, self.ids, update.op, Load(shared, (*outer, other), kind))
            out.append(self.phase(left, For(k, index(1), index(self.threads // left), 1, Block((more,)))))
        each = Load(shared, (*outer, index(k)), kind)
        if update.array in self.cells:
            whole = For(k, index(0), index(left), 1, Block((replace(update, value=each, label=0),)))
            return [*out, self.phase(self.threads, whole)]
        total = take_name(f"{shared}_all", self.taken)
        if update.array in self.extrema:
            self.extrema.add(total)
        first = Assign(total, (), Load(shared, (*outer, index(0)), kind))
        whole = For(k, index(1), index(left), 1, Block((Reduce(total, (), update.op, each),)))
        last = replace(update, value=Load(total, (), kind), label=0)
        return [*out, self.phase(1, Alloc(Array(total, kind, (), memory="register")), first, whole, last)]

    def guarded(self, chain: Sequence[For], body: list[Stmt]) -> list[Stmt]:
        """What updates an element, where the loops have an iteration."""
        around = {x.var for x in chain} | ({self.loop.var} if self.rows > 1 else set())
        tests = [simplify(Compare("gt", x.upper, x.lower)) for x in chain]
        if any(variables(x) & around for x in tests):
            raise _unfit("whether elements are added to differs between threads", chain[0].span)
        out = body
        for test in tests:
            if not isinstance(test, Const):
                out = [If(test, Block(tuple(out)))]
        return out


def _is_like(stmt: Assign | Reduce, other: Reduce) -> bool:
    """Whether a statement updates the same element by the same operation."""
    return isinstance(stmt, Reduce) and stmt.op == other.op and stmt.index == other.index


def _unfit(message: str, span: Span | None = None) -> PlanishError:
    return PlanishError(Diagnostic("E0604", message, span, help="let each thread have an iteration of its own"))
