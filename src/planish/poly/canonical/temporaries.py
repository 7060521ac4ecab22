"""Forward substitution of temporaries: scalars that live within one iteration become names for values.

Before: for i { a = A[i]; b = B[i]; t = min(a, b); C[i] = t * t }   (a, b, t: local scalars)
After:  for i { let a = A[i]; let b = B[i]; let t = min(a, b); C[i] = t * t }

>>> from planish.ir.nest import Kernel
>>> bind_temporaries(Kernel("empty")).body.body
()
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from planish.ir.expr import Binary, Expr, Load, Var, type_of
from planish.ir.nest import Alloc, Assign, Block, For, If, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import expressions, loads, map_expr, map_exprs, walk
from planish.poly.isl.affine import NotAffineError


def bind_temporaries(kernel: Kernel) -> Kernel:
    """The kernel with every local scalar that is written and read in one straight line turned into bindings.

    Raises NotAffineError for a kernel that has bindings already: nothing says that their sources stay as they are."""
    for stmt in walk(kernel.body):
        if isinstance(stmt, Let):
            raise NotAffineError(stmt.value, f"`{stmt.var}` names a value, and what it is made of may change")
    taken = {a.name for a in kernel.arrays} | set(kernel.sizes) | {s.name for s in kernel.scalars}
    taken |= {s.var for s in walk(kernel.body) if isinstance(s, For | Let)}
    found = [s.array.name for s in walk(kernel.body) if isinstance(s, Alloc)]
    once = {x for x in found if found.count(x) == 1} - taken
    names = _Names(taken | {*found}, frozenset(found), once)
    return replace(kernel, body=_bind_block(kernel.body, names))


@dataclass(slots=True)
class _Names:
    """Names in use, among them those of local arrays; `own` are those of scalars that may keep them as values."""

    taken: set[str]
    local: frozenset[str]
    own: set[str]
    last: dict[str, int] = field(default_factory=dict)

    def fresh(self, base: str) -> str:
        """A name for a value of the scalar `base`: its own for the first."""
        if base in self.own:
            self.own.remove(base)
            return base
        while True:
            self.last[base] = self.last.get(base, 0) + 1
            name = f"{base}_{self.last[base]}"
            if name not in self.taken:
                self.taken.add(name)
                return name


def _bind_block(block: Block, names: _Names) -> Block:
    inner: list[Stmt] = []
    for stmt in block.body:
        match stmt:
            case Block():
                inner.append(_bind_block(stmt, names))
            case For():
                inner.append(replace(stmt, body=_bind_block(stmt.body, names)))
            case If():
                then, otherwise = _bind_block(stmt.then, names), _bind_block(stmt.otherwise, names)
                inner.append(replace(stmt, then=then, otherwise=otherwise))
            case _:
                inner.append(stmt)
    scalars = {s.array.name for s in inner if isinstance(s, Alloc) and not s.array.shape}
    chosen = _bindable(inner, scalars, names.local)
    return Block(tuple(_rewritten(inner, chosen, names))) if chosen else Block(tuple(inner))


def _bindable(body: list[Stmt], scalars: set[str], local: frozenset[str]) -> set[str]:
    """The scalars of a block that only its own assignments use, written first, and whose values stay what they are:
    nothing that they were loaded from is stored before their last use."""
    candidates = set(scalars)
    for stmt in body:
        if isinstance(stmt, Block | For | If):
            candidates -= set(_names_in(stmt))
    changed = True
    while changed:
        kept = {name for name in candidates if _is_stable(name, body, candidates, local)}
        changed = kept != candidates
        candidates = kept
    return candidates


def _names_in(stmt: Stmt) -> Iterator[str]:
    for x in walk(stmt):
        if isinstance(x, Assign | Reduce):
            yield x.array
        for expr in expressions(x):
            yield from (load.array for load in loads(expr))


def _is_stable(name: str, body: list[Stmt], candidates: set[str], local: frozenset[str]) -> bool:
    written = False
    sources: set[str] = set()
    uses = [i for i, s in enumerate(body) if name in _names_in(s)]
    for i in uses:
        stmt = body[i]
        if not isinstance(stmt, Assign | Reduce):
            return False
        reads = {load.array for expr in expressions(stmt) for load in loads(expr)}
        if not written and (name in reads or isinstance(stmt, Reduce) or stmt.array != name):
            return False
        if stmt.array == name:
            written = True
            sources |= _sources(body, i, candidates)
    if not written or sources & (local - candidates):
        return False
    between = (x for stmt in body[uses[0] : uses[-1]] for x in walk(stmt))
    stores = {x.array for x in between if isinstance(x, Assign | Reduce)}
    return not (stores - candidates) & sources


def _sources(body: list[Stmt], position: int, candidates: set[str]) -> set[str]:
    """The arrays in memory that the value assigned at `position` was loaded from, through other candidates too."""
    found: set[str] = set()
    left = {load.array for expr in expressions(body[position]) for load in loads(expr)}
    seen: set[str] = set()
    while left:
        array = left.pop()
        if array not in candidates:
            found.add(array)
        elif array not in seen:
            seen.add(array)
            for stmt in body[:position]:
                if isinstance(stmt, Assign | Reduce) and stmt.array == array:
                    left |= {load.array for expr in expressions(stmt) for load in loads(expr)}
    return found


def _rewritten(body: list[Stmt], chosen: set[str], names: _Names) -> list[Stmt]:
    values: dict[str, Expr] = {}
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Alloc) and stmt.array.name in chosen:
            continue
        fresh = map_exprs(lambda x: _with_values(x, values), stmt)
        if isinstance(fresh, Assign | Reduce) and fresh.array in chosen:
            value = fresh.value
            if isinstance(fresh, Reduce):
                value = Binary(fresh.op, values[fresh.array], value)
            name = names.fresh(fresh.array)
            out.append(Let(name, value, fresh.span))
            values[fresh.array] = Var(name, type_of(value))
        else:
            out.append(fresh)
    return out


def _with_values(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    return map_expr(lambda x: values.get(x.array, x) if isinstance(x, Load) and not x.index else x, expr)
