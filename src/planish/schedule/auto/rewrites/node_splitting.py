"""Node splitting: elements that a later iteration overwrites are read before the iteration's own stores.

Before: for i { a[i] = b[i]; d[i] = a[i] + a[i + 1] }
After:  for i { t = a[i + 1]; a[i] = b[i]; d[i] = a[i] + t }

The read of a[i + 1] precedes the next iteration's store, which stands above it: a cycle with the value of a[i] that
flows down. Read first, every dependence points down: a C compiler runs iterations statement by statement (Kennedy
and Allen, "Optimizing Compilers for Modern Architectures", section 5.5).

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
>>> loop = "for i in 0 .. n - 1 { a[i] = 0.0 d[i] = a[i] + a[i + 1] }"
>>> made = split_nodes(parse_kernel("kernel k(n; a: f64[n], d: f64[n]) { %s }" % loop))
>>> print("\\n".join(x.strip() for x in print_kernel(made).splitlines()[3:6]))
let a_next = a[i + 1]
a[i] = 0.0:f64
d[i] = a[i] + a_next
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from planish.core.names import take_name
from planish.ir.conditional_accesses import read_in_any_case
from planish.ir.expr import Expr, Load, Var
from planish.ir.index.polynomial import coefficient_of, constant, sub
from planish.ir.nest import Assign, Block, For, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import expressions, loads, map_block, map_expr, map_exprs, used_names, variables, walk

Index = tuple[Expr, ...]


def split_nodes(kernel: Kernel) -> Kernel:
    """The kernel with such reads of innermost loops first, each under a name of its own."""
    taken = {*used_names(kernel)}

    def visit(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For) or stmt.facts.simd or any(isinstance(x, For) for x in walk(stmt.body)):
            return stmt
        names: dict[Load, str] = {}
        firsts: list[Stmt] = []
        rest: list[Stmt] = []
        for place, x in enumerate(stmt.body.body):
            for load in _early_reads(stmt, place):
                if load not in names:
                    names[load] = take_name(f"{load.array}_next", taken)
                    firsts.append(Let(names[load], load, x.span if isinstance(x, Assign | Reduce) else None))
            own = {y: names[y] for y in _early_reads(stmt, place)}
            rest.append(_with_names(x, own) if own else x)
        body = (*firsts, *rest)
        return replace(stmt, body=Block(body)) if names and _points_down(body, stmt) else stmt

    return replace(kernel, body=map_block(visit, kernel.body))


def _early_reads(loop: For, place: int) -> Iterator[Load]:
    """The elements that a statement reads whatever data are, no store above it in an iteration changes, and one in a
    later iteration does."""
    stmt, above = loop.body.body[place], loop.body.body[:place]
    if not isinstance(stmt, Assign | Reduce):
        return
    bound = {x.var for y in above for x in walk(y) if isinstance(x, Let)}
    stores = [x for y in above for x in walk(y) if isinstance(x, Assign | Reduce)]
    for load in dict.fromkeys(read_in_any_case([stmt])):
        rivals = [x.index for x in stores if x.array == load.array]
        if not rivals or any(loads(x) or variables(x) & bound for x in load.index):
            continue
        ahead = [_iterations_ahead(load.index, x, loop) for x in rivals]
        if all(ahead) and any(x is not None and x > 0 for x in ahead):
            yield load


def _points_down(body: Sequence[Stmt], loop: For) -> bool:
    """Whether what a later iteration does to an element stands below what an earlier one did to it, for all stores."""
    seen = [
        (place, index, array, stores)
        for place, stmt in enumerate(body)
        for x in walk(stmt)
        for stores, array, index in _accesses(x)
    ]
    stored = {array for _, _, array, stores in seen if stores}
    for place, index, array, stores in seen:
        for other, there, name, also in seen:
            if array != name or array not in stored or not (stores or also):
                continue
            ahead = _iterations_ahead(index, there, loop)
            if ahead is None or (ahead > 0 and (place, stores) >= (other, also)):
                return False
    return True


def _accesses(stmt: Stmt) -> Iterator[tuple[bool, str, Index]]:
    """Whether it stores, the array and the subscripts of each access that stands in a statement itself."""
    for x in expressions(stmt):
        yield from ((False, y.array, y.index) for y in loads(x))
    if isinstance(stmt, Reduce):
        yield False, stmt.array, stmt.index
    if isinstance(stmt, Assign | Reduce):
        yield True, stmt.array, stmt.index


def _iterations_ahead(read: Index, stored: Index, loop: For) -> int | None:
    """How many iterations later a store is at the element that is read now: negative where it was before, 0 where it is
    in the same one or never, None where it is so in each or that is not known."""
    found: int | None = None
    for here, there in zip(read, stored, strict=True):
        apart, moving = constant(sub(here, there)), coefficient_of(there, loop.var)
        if apart is None or moving is None:
            return None
        pace = moving[0] * loop.step
        if pace == 0 and apart == 0:
            continue
        if pace == 0 or apart % pace or found not in (None, apart // pace):
            return 0
        found = apart // pace
    return found


def _with_names(stmt: Stmt, names: Mapping[Load, str]) -> Stmt:
    def visit(x: Expr) -> Expr:
        return Var(names[x], x.type) if isinstance(x, Load) and x in names else x

    return map_exprs(lambda x: map_expr(visit, x), stmt)
