"""The non-temporal strategy: output that is not read again and exceeds the near caches is stored past them.

Memory need not be read before it is written so, and what is in the caches stays there.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.schedule.auto.plan import plan, prepare
>>> from planish.target.load import load_target
>>> text = "kernel k(n; A: f64[n] distinct, B: f64[n] distinct) { for i in 0 .. n { B[i] = A[i] + 1.0 } }"
>>> prepared, target = prepare(parse_kernel(text)), load_target("x86-avx512")
>>> (made,) = stream_versions(prepared, target, plan(prepared, target, reassociate=True))
>>> print(print_stmt(made.kernel.body.body[0]), end="")
if 8 * n >= 1048576 {
  for i in 0 .. n simd past avx512_stream_f64 {
    B[i] = A[i] + 1.0:f64
  }
} else {
  for i in 0 .. n simd {
    B[i] = A[i] + 1.0:f64
  }
}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from planish.core.diagnostic import PlanishError, Remark
from planish.ir.accesses import reads
from planish.ir.expr import Compare, Const, Expr, Var, index
from planish.ir.index.polynomial import add, mul
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Let, Reduce, Stmt
from planish.ir.passes.invariants import move_bounds
from planish.ir.traverse import substitute, used_names, variables, walk
from planish.ir.types import BOOL, F32
from planish.isa.shipped import extension
from planish.library.kernels.vectors import Vectors, choose_vectors
from planish.library.loops.nontemporal.prefetch import PART, fetch_rows
from planish.library.loops.nontemporal.row_stores import StoredRow, find_row
from planish.library.loops.nontemporal.software_pipelining import overlap
from planish.library.loops.nontemporal.staging import keep_apart
from planish.poly.scop.extents import NoExtentError, byte_extent
from planish.poly.scop.extraction import Scop
from planish.schedule.auto.plan import Prepared, Version, plan
from planish.schedule.auto.policies import POLICIES
from planish.target.machine import Target

LINE = 64
"""The bytes of a line of the cache; elements of an iteration have to be a part of one."""
MOST = 2
"""So many versions are made of the first ones that there are."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where versions are to run, and with which sizes, as far as they are known."""

    target: Target
    vectors: Vectors
    sizes: Mapping[str, Expr]
    part: int = PART


def stream_versions(
    prepared: Prepared, target: Target, candidates: Sequence[Version], *, reassociate: bool = False,
    sizes: Mapping[str, int] | None = None, part: int = PART,
) -> tuple[Version, ...]:  # fmt: skip
    """The versions of some candidates, and of others in which values are kept apart until they are final; none where
    nothing of them is written so, is too little with the sizes that are known, or the target cannot. `part`: the bytes
    of a row that are fetched at a time."""
    vectors = _vectors(target)
    if vectors is None or not vectors.has("stream"):
        return ()
    place = _Place(target, vectors, {x: index(y) for x, y in (sizes or {}).items()}, part)
    out = _first(prepared.scop, candidates, place)
    apart = keep_apart(prepared)
    if apart is not None:
        firsts = {x.name: len(x.shape) for x in apart.scop.locals if x not in prepared.scop.locals}
        # Rows can only be kept where they are gone through one by one, as they were written.
        written = [x for x in POLICIES if x.name == "original"]
        made = plan(apart, target, reassociate=reassociate, policies=written)
        kept = [replace(x, name=f"{x.name}, staged") for x in made if _are_rows(x.kernel, firsts)]
        out += _first(apart.scop, kept, place)
    return out


def streamed_versions(
    prepared: Prepared, target: Target, candidates: Sequence[Version], sizes: Mapping[str, int] | None = None
) -> tuple[Version, ...]:
    """The versions of some candidates, which may have threads, that make non-temporal stores."""
    vectors = _vectors(target)
    if vectors is None or not vectors.has("stream"):
        return ()
    place = _Place(target, vectors, {x: index(y) for x, y in (sizes or {}).items()})
    made = (stream(prepared.scop, x, place) for x in candidates)
    return tuple(x for x in made if x is not None)


def _vectors(target: Target) -> Vectors | None:
    """The vectors of a target, if it has any."""
    try:
        return choose_vectors(target, F32)
    except PlanishError:
        return None


def _first(scop: Scop, candidates: Sequence[Version], place: _Place) -> tuple[Version, ...]:
    """The versions of the first candidates that have one, each once, and after them those of their rows overlapped."""
    out: list[Version] = []
    overlapped: list[Version] = []
    for candidate in candidates:
        made = stream(scop, candidate, place) if len(out) < MOST else None
        if made is not None and all(x.kernel.body != made.kernel.body for x in out):
            out.append(made)
            along = stream(scop, candidate, place, along=True)
            overlapped += [along] if along is not None else []
    return (*out, *overlapped)


def _are_rows(kernel: Kernel, firsts: Mapping[str, int]) -> bool:
    """Whether what is kept apart has fewer dimensions than where it was: else it is as much memory once more."""
    ranks = {x.array.name: len(x.array.shape) for x in kernel.body.body if isinstance(x, Alloc)}
    return all(ranks.get(name, 0) < rank for name, rank in firsts.items())


def stream(scop: Scop, candidate: Version, place: _Place, *, along: bool = False) -> Version | None:
    """A candidate with all loops marked that may make non-temporal stores, and rows fetched ahead; `along`: with rows
    that are stored while the next ones are made. None where there are none."""
    kernel, vectors = candidate.kernel, place.vectors
    marked = _mark(kernel.body, (), _written_only(kernel), vectors)
    overlapped = overlap(replace(kernel, body=marked)) if along else None
    if overlapped is not None:
        kernel, marked = overlapped.plain, overlapped.kernel.body
    elif along:
        return None
    rows = [find_row(x, alone=False) for x in walk(marked) if isinstance(x, For) and x.facts.stream]
    arrays = tuple(dict.fromkeys(x.array for x in rows if x is not None))
    sizes = [_bytes(scop, kernel.array(x)) for x in arrays]
    known = [x for x in sizes if x is not None]
    if not known or len(known) < len(sizes) or not _is_much(scop, arrays):
        return None
    room = place.target.cache(2).share
    large = simplify(Compare("ge", known[0], index(room)))
    if simplify(substitute(large, place.sizes)) == Const(False, BOOL):
        return None
    taken = {*used_names(kernel), *used_names(replace(kernel, body=marked))}
    marked = move_bounds(fetch_rows(marked, _fetched(kernel, vectors), taken, place.part), frozenset(taken))
    allocated = [x for x in kernel.body.body if isinstance(x, Alloc)]
    body, plain = (Block(tuple(x for x in y.body if not isinstance(x, Alloc))) for y in (marked, kernel.body))
    whole = simplify_block(Block((*allocated, If(large, body, plain))), assumptions=kernel.assumptions)
    pipelined = ", software-pipelined with the next row" if along else ""
    message = f"{', '.join(arrays)}: non-temporal stores from {room // 1024} KB on{pipelined}"
    remark = Remark("nontemporal", "done", message, scop.kernel.span)
    made = replace(kernel, body=whole)
    name = f"{candidate.name}, {'pipelined, ' if along else ''}nontemporal"
    return replace(candidate, name=name, kernel=made, remarks=(*candidate.remarks, remark))


def _is_much(scop: Scop, arrays: Collection[str]) -> bool:
    """Whether some arrays are written as often as anything is done: else computing takes longer than writing."""
    deepest = max(len(x.iterators) for x in scop.statements)
    return any(len(x.iterators) == deepest for x in scop.statements if x.write.array in arrays)


def _fetched(kernel: Kernel, vectors: Vectors) -> dict[str, str]:
    """The instructions that fetch lines of the arrays to which nothing is stored."""
    stored = {x.array for x in walk(kernel.body) if isinstance(x, Assign | Reduce)}
    known, out = extension(vectors.extension).instructions, {}
    for array in kernel.arrays:
        name = vectors.name("prefetch", array.type)
        if array.name not in stored and name in known and known[name].lanes == LINE // array.type.size:
            out[array.name] = name
    return out


def _bytes(scop: Scop, array: Array) -> Expr | None:
    """The bytes of an array that a kernel reaches."""
    try:
        first = byte_extent(scop, array)
    except NoExtentError:
        return None
    if first is None or None in array.shape[1:]:
        return None
    out = mul(add(first, index(1)), index(array.type.size))
    for extent in array.shape[1:]:
        assert extent is not None
        out = mul(out, extent)
    return out


def _mark(block: Block, around: tuple[For | Let, ...], arrays: Mapping[str, Array], vectors: Vectors) -> Block:
    """A block with its loops marked that write rows of some arrays; `around`: the loops around it, and the names that
    are bound there."""
    out: list[Stmt] = []
    for stmt in block.body:
        match stmt:
            case Let():
                around = (*around, stmt)
                out.append(stmt)
            case For() if stmt.facts.simd:
                out.append(_marked(stmt, around, arrays, vectors))
            case For():
                out.append(replace(stmt, body=_mark(stmt.body, (*around, stmt), arrays, vectors)))
            case If():
                left = tuple(x for x in around if x.var != _fixed(stmt.condition))
                then, otherwise = (_mark(*x, arrays, vectors) for x in ((stmt.then, left), (stmt.otherwise, around)))
                out.append(replace(stmt, then=then, otherwise=otherwise))
            case Block():
                out.append(_mark(stmt, around, arrays, vectors))
            case _:
                out.append(stmt)
    return Block(tuple(out))


def _fixed(condition: Expr) -> str | None:
    """The variable that has one value only where a condition holds."""
    match condition:
        case Compare(op="eq", left=Var(name=name), right=Const()):
            return name
        case _:
            return None


def _marked(loop: For, around: tuple[For | Let, ...], arrays: Mapping[str, Array], vectors: Vectors) -> For:
    """A loop in lanes, marked where what it writes is a row that each loop around moves."""
    row, facts = find_row(loop), loop.facts
    if row is None or row.array not in arrays or facts.reductions or facts.parallel or facts.instruction:
        return loop
    type, known = arrays[row.array].type, extension(vectors.extension).instructions
    name = vectors.name("stream", type)
    if name not in known or LINE % (row.count * type.size) or not _moves(row, loop, around):
        return loop
    return replace(loop, facts=replace(facts, stream=name))


def _written_only(kernel: Kernel) -> Mapping[str, Array]:
    """The arrays of a kernel of which it reads nothing but what is read once, and which it does not update."""
    loops = [x for x in walk(kernel.body) if isinstance(x, For)]
    read = {x.array for loop in loops for x in reads(loop)}
    read |= {x.array for x in walk(kernel.body) if isinstance(x, Reduce)}
    return {x.name: x for x in kernel.arrays if x.name not in read and x.shape}


def _moves(row: StoredRow, loop: For, around: tuple[For | Let, ...]) -> bool:
    """Whether each loop around moves the row: else elements would be written several times. A loop over tiles moves
    what the loop over a tile does, whose bounds may have names."""
    moved = {v for at in row.first for v in variables(at)}
    moved |= {v for x in (loop.lower, loop.upper) for v in variables(x)}
    for outer in reversed(around):
        if isinstance(outer, Let):
            moved |= {*variables(outer.value)} if outer.var in moved else set()
            continue
        if outer.var not in moved:
            return False
        moved |= {v for x in (outer.lower, outer.upper) for v in variables(x)}
    return True
