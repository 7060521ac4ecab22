"""Pragmas before a loop: vectorised, or on threads.

>>> from planish.ir.text.parser import parse_kernel
>>> loop = parse_kernel("kernel k(x: f32[64]) { for i in 0 .. 64 simd { x[i] = 0.0:f32 } }").body.body[0]
>>> directives(loop, "", True, (), {}), directives(loop, "parallel for", False, (), {})
(('planish_lanes',), ('#pragma omp parallel for',))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from planish.emit.idioms.lane_sums import LaneSum
from planish.emit.idioms.update_statements import clause, is_conditional
from planish.ir.accesses import reads
from planish.ir.conditional_accesses import read_always
from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.index.polynomial import coefficient_of, constant, sub
from planish.ir.nest import Alloc, Array, Assign, For, If, Let, Reduce
from planish.ir.passes.vector_loops import has_own_array, length_of, runs_in_lanes
from planish.ir.traverse import children, expressions, loads, variables, walk, walk_expr
from planish.isa.instruction import Catalogue

_THREADS = 16
"""So many iterations may be one for each thread."""
_TABLE = 256
"""The elements of a table of which each thread has a copy."""
WRITTEN_OUT = 16
"""gcc writes out a loop of so many iterations before it looks for lanes."""


LOOKED_UP = """\
/* The loop below looks values up one by one, which takes less time than to gather them in lanes, as clang would. */
#if defined(__clang__)
#define planish_looked_up _Pragma("clang loop vectorize(disable)")
#else
#define planish_looked_up
#endif"""

ONE_BY_ONE = """\
/* An iteration of a loop of which gcc makes no lanes: it would put together in them what is looked up one by one. */
#if defined(__GNUC__) && !defined(__clang__)
#define planish_one_by_one __asm__("");
#else
#define planish_one_by_one
#endif"""


@dataclass(frozen=True, slots=True)
class LoopBounds:
    """Where a loop begins and ends, in C that is fit for a sum."""

    lower: str
    upper: str

    @property
    def distance(self) -> str:
        """From the one to the other."""
        if self.lower == "0":
            return self.upper
        return f"{self.upper} - {self.lower if self.lower.replace('_', '').isalnum() else f'({self.lower})'}"

    def head(self, var: str, step: int) -> str:
        """The `for` of a loop from the one to the other.

        >>> LoopBounds("0", "n").head("i", 2)
        'for (ptrdiff_t i = 0; i < n; i += 2)'
        """
        next = f"{var}++" if step == 1 else f"{var} += {step}"
        return f"for (ptrdiff_t {var} = {self.lower}; {var} < {self.upper}; {next})"


def directives(
    loop: For, threads: str, lanes: bool, sums: Sequence[LaneSum], names: Mapping[str, str]
) -> tuple[str, ...]:
    """The lines before a loop; `threads` are OpenMP's words for them, `names` the spelling of what is reduced.

    OpenMP's directives mean something where the compiler is told of OpenMP alone; lanes do not depend on that.
    """
    reductions = "".join(f" reduction({clause(x.op, x.type)}:{names.get(x.name, x.name)})" for x in sums)
    own = lanes and has_own_array(loop)
    if threads and lanes and not own:
        together = f"#pragma omp {threads} simd{reductions}"
        return ("#ifdef _OPENMP", together, "#else", "planish_lanes", "#endif")
    if threads or own:
        # What an iteration has for itself is one place for all of them, but to OpenMP.
        words = " ".join(x for x in (threads, "simd" if lanes else "") if x)
        return (f"#pragma omp {words}{reductions}",)
    if lanes:
        return (in_lanes(loop, length_of(loop)),)
    if loop.facts.unroll > 0:
        return (f"#pragma GCC unroll {loop.facts.unroll}",)
    return ("planish_looked_up",) if only_looks_up(loop) else ()


def only_looks_up(loop: For) -> bool:
    """Whether an innermost loop stores what it looks up in tables, and computes no more than that many values of it:
    as long as nothing else gains by lanes, elements are loaded one by one in less time than they are gathered.

    >>> from planish.ir.text.parser import parse_kernel
    >>> text = "kernel k(n; a: u8[n], t: f32[256], y: f32[n]) {{ for i in 0 .. n {{ y[i] = {} }} }}"
    >>> texts = ("t[a[i]]", "t[a[i]] + t[255 - a[i]]", "t[a[i]] * y[i]", "y[i]")
    >>> [only_looks_up(parse_kernel(text.format(x)).body.body[0]) for x in texts]
    [True, True, False, False]
    """
    if not all(isinstance(x, Let | Assign) and (isinstance(x, Let) or x.index) for x in loop.body.body):
        return False
    values = [x.value for x in loop.body.body if isinstance(x, Let | Assign)]
    named = {x.var for x in loop.body.body if isinstance(x, Let) and any(loads(x.value))}
    parts = [y for x in values for y in _outside_subscripts(x)]
    found = sum(isinstance(x, Load) and any(any(loads(y)) or variables(y) & named for y in x.index) for x in parts)
    return found > sum(isinstance(x, Binary | Unary | Compare | Select | Call) for x in parts)


def gains_in_gcc(loop: For) -> bool:
    """Whether gcc makes lanes of a loop that only looks values up in less time than one after the other: of four bytes
    each, as places that are bytes themselves say (measured on Zen 5).

    >>> from planish.ir.text.parser import parse_kernel
    >>> text = "kernel k(n; a: {}[n], t: {}[256], y: {}[n]) {{ for i in 0 .. n {{ y[i] = t[a[i]] }} }}"
    >>> kinds = ("u8", "f32"), ("u8", "i16"), ("u16", "f32"), ("u8", "f64")
    >>> [gains_in_gcc(parse_kernel(text.format(a, t, t)).body.body[0]) for a, t in kinds]
    [True, False, False, False]
    """
    stored = [type_of(x.value).size for x in loop.body.body if isinstance(x, Assign)]
    read = [x.type.size for x in reads(loop.body)]
    return all(x == 4 for x in stored) and all(x in (1, 4) for x in read) and 1 in read


def _outside_subscripts(x: Expr) -> Iterator[Expr]:
    yield x
    if not isinstance(x, Load):
        for y in children(x):
            yield from _outside_subscripts(y)


def in_lanes(loop: For, length: int | None) -> str:
    """The directive of a loop in lanes, of so many iterations where this is known.

    One that gcc would write out stays a loop where it reads under conditions: of masked loads side by side, in more
    than one register, gcc 12 gives all of them the first one's mask.

    >>> from planish.ir.text.parser import parse_kernel
    >>> text = "kernel k(n; m: u8[n], x: f32[n], y: f32[n]) {{ for i in 0 .. n simd {{ y[i] = {} }} }}"
    >>> texts = ("x[i]", "select(m[i] != 0:u8, x[i], 0.0:f32)")
    >>> [in_lanes(parse_kernel(text.format(x)).body.body[0], 16) for x in texts]
    ['planish_lanes', 'planish_strip']
    """
    written_out = length is not None and length <= WRITTEN_OUT
    return "planish_strip" if written_out and reads_under_conditions(loop) else "planish_lanes"


def reads_under_conditions(loop: For) -> bool:
    """Whether an iteration reads what others may not read."""
    statements = list(walk(loop.body))
    chosen = [y for x in statements if isinstance(x, If) for z in (x.then, x.otherwise) for y in walk(z)]
    if any(any(map(loads, expressions(x))) for x in chosen):
        return True
    return any({*loads(y)} - {*read_always(y)} for x in statements for y in expressions(x))


def on_threads(loop: For, catalogue: Catalogue) -> str:
    """OpenMP's words: where iterations call kernels, they are large, and may be unlike each other; so they are where a
    loop in them has another number of iterations in each. As few as there are threads go to the same ones each time,
    which have in their caches what they did before."""
    few = isinstance(loop.upper, Const) and int(loop.upper.value) <= _THREADS
    inside = [x for x in walk(loop.body) if isinstance(x, For)]
    called = [x.facts.instruction for x in inside if x.facts.instruction]
    large = any(catalogue.instruction(x).implementation is not None for x in called)
    grows = [coefficient_of(sub(x.upper, x.lower), loop.var) for x in inside]
    uneven = any(x is not None and x[0] for x in grows)
    return f"parallel for{' schedule(dynamic)' * ((large and not few) or uneven)}"


def own_tables(loop: For, arrays: Mapping[str, Array], names: Mapping[str, str]) -> str:
    """OpenMP's clause for small local arrays that a loop on threads only reads: each thread has a copy, of which
    compilers know that no store changes it."""
    read = {y.array for y in reads(loop.body)}
    kept = {x.array for x in walk(loop.body) if isinstance(x, Assign | Reduce)}
    kept |= {x.array.name for x in walk(loop.body) if isinstance(x, Alloc)}
    tables = sorted(x for x in read - kept if arrays[x].memory == "stack" and _is_small(arrays[x]))
    return f" firstprivate({', '.join(names[x] for x in tables)})" if tables else ""


def _is_small(array: Array) -> bool:
    extents = [None if x is None else constant(x) for x in array.shape]
    return None not in extents and prod(x for x in extents if x is not None) <= _TABLE


def has_partial_sums(loop: For, sums: Sequence[LaneSum], values: Mapping[str, Expr], strict: bool) -> bool:
    """Whether a loop in lanes gets a partial sum for each lane of several registers: a compiler may not reorder sums
    of floats by itself, makes lanes of none of those beside them, and adds up integers in one register, each addition
    behind the one before. `values`: what names stand for. `strict`: comparisons of floats may trap, of which gcc makes
    lanes in the sum of a loop, but not beside arrays."""
    parts = (y for s in walk(loop.body) for x in expressions(s) for y in walk_expr(x))
    if strict and any(isinstance(x, Compare) and type_of(x.left).is_float for x in parts):
        return False
    if not sums or not runs_in_lanes(loop, values) or _waits_for_stores(loop, sums):
        return False
    return not _only_chosen(loop, sums) and not _are_of_narrow_terms(loop, sums, values)


def _waits_for_stores(loop: For, sums: Sequence[LaneSum]) -> bool:
    """Whether integers are added up beside what an iteration stores: that takes as long as an addition does, so that
    more than one register gains nothing."""
    names = {x.name for x in sums}
    stored = any(isinstance(x, Assign | Reduce) and x.index and x.array not in names for x in walk(loop.body))
    return stored and all(x.type.is_int and x.op != "mul" for x in sums)


def _only_chosen(loop: For, sums: Sequence[LaneSum]) -> bool:
    """Whether an iteration counts or not, by values no narrower than the sums, or adds what it reads for that: the best
    lanes are those of compilers."""
    updates = [x for x in walk(loop.body) if isinstance(x, Reduce)]
    parts = reads(loop.body)
    narrowest, widest = min((x.type.size for x in parts), default=0), max(x.type.size for x in sums)
    return all(map(is_conditional, updates)) and (narrowest >= widest or reads_under_conditions(loop))


def _are_of_narrow_terms(loop: For, sums: Sequence[LaneSum], values: Mapping[str, Expr]) -> bool:
    """Whether products, or absolute differences, of elements that are at most half as wide are added up as integers:
    processors have instructions for these sums, which compilers know where each lane has not a place of its own."""
    updates = [x for x in walk(loop.body) if isinstance(x, Reduce)]
    named = {**values, **{x.var: x.value for x in walk(loop.body) if isinstance(x, Let)}}
    parts = reads(loop.body)
    widest, narrowest = max((x.type.size for x in parts), default=8), min(x.type.size for x in sums)
    if 2 * widest > narrowest or any(x.op != "add" or not x.type.is_int for x in sums):
        return False
    return bool(updates) and all(_is_narrow_term(x.value, named) for x in updates)


def _is_narrow_term(x: Expr, named: Mapping[str, Expr]) -> bool:
    match x:
        case Cast(operand=operand):
            return _is_narrow_term(operand, named)
        case Var(name=name) if name in named:
            return _is_narrow_term(named[name], named)
        case Binary(op="mul") | Call(function="abs"):
            return True
        case _:
            return False
