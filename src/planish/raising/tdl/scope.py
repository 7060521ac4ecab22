"""Name resolution in patterns: an index is a name that stands alone as a subscript, or alone below a bound.

>>> from planish.raising.tdl.parser import parse_definitions
>>> text = "def conv { pattern O(h) += alpha * X(s * h + r) * W(r) where h < m, r < 3 }"
>>> source = Source("t.tdl", text)
>>> pattern = parse_definitions(source)[0].pattern
>>> found = scope_of(pattern, (), source)
>>> {name: print_expr(size) for name, size in found.indices.items()}, found.constants
({'h': 'm', 'r': '3'}, ('m', 's'))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from planish.core.span import Source
from planish.ir.expr import Expr, index
from planish.ir.index.polynomial import add, same
from planish.ir.text.printer import print_expr
from planish.ir.types import BOOL, F64
from planish.raising.tdl.syntax import ComparisonChain, ElementRef, Infix, NumberLiteral, TdlName, TdlStatement, Term
from planish.raising.tdl.values import TdlScope, accesses, parts, subscript_of

_BELOW = {"<": "<", "<=": "<=", ">": "<", ">=": "<="}


def scope_of(pattern: Sequence[TdlStatement], guards: Sequence[ComparisonChain], source: Source) -> TdlScope:
    """The indices of a pattern with their sizes, its constants, and the type of elements.

    A bound that is a size or a number says how many values an index has; else an index below another one has as many
    as that; else it has a size of its own, `n` and its name. PlanishError E0814 for a name that stands for two things,
    E0815 for an index of two sizes.
    """
    indices = _indices(pattern)
    subscripts = [x for stmt in pattern for access in _accesses(stmt) for x in access.subscripts]
    bounds = [x for stmt in pattern for chain in (*stmt.chains, *guards) for x in _terms(chain)]
    named = [x.text for term in (*bounds, *subscripts) for x in parts(term) if isinstance(x, TdlName)]
    constants = tuple(dict.fromkeys(x for x in named if x not in indices))
    element = BOOL if any(_is_logical(stmt) for stmt in pattern) else F64
    plain = TdlScope(source, {x: index(x) for x in indices}, constants, element)
    declared = declared_sizes(pattern, plain)
    sizes = {x: _size(x, pattern, indices, declared, ()) for x in indices}
    own = [f"n{x}" for x in indices if same(sizes[x], index(f"n{x}"))]
    scope = TdlScope(source, sizes, tuple(dict.fromkeys((*own, *constants))), element)
    _check_kinds(pattern, scope)
    return scope


def _accesses(stmt: TdlStatement) -> tuple[ElementRef, ...]:
    return (stmt.target, *accesses(stmt.value))


def _terms(chain: ComparisonChain) -> tuple[Term, ...]:
    return (*chain.first, *(x for _, x in chain.rest))


def _indices(pattern: Sequence[TdlStatement]) -> tuple[str, ...]:
    """The indices, those of the first target first."""
    subscripts = [x for stmt in pattern for access in _accesses(stmt) for x in access.subscripts]
    used = {x.text for term in subscripts for x in parts(term) if isinstance(x, TdlName)}
    bounded = {low.text for stmt in pattern for low, _, _ in _below(stmt) if isinstance(low, TdlName)}
    alone = {x.text for x in subscripts if isinstance(x, TdlName)}
    order = (x.text for term in subscripts for x in parts(term) if isinstance(x, TdlName))
    return tuple(dict.fromkeys(x for x in order if x in alone or x in bounded & used))


def _below(stmt: TdlStatement) -> Iterator[tuple[Term, str, Term]]:
    """The pairs (a, < or <=, b) of the ranges of a statement with a below b."""
    for chain in stmt.chains:
        for first in chain.first:
            left = first
            for op, right in chain.rest:
                if op in ("<", "<="):
                    yield left, op, right
                elif op in _BELOW:
                    yield right, _BELOW[op], left
                left = right


def declared_sizes(pattern: Sequence[TdlStatement], plain: TdlScope) -> Mapping[str, Expr]:
    """The sizes that ranges give to indices: those with a bound that is a name or a number alone."""
    out: dict[str, Expr] = {}
    for stmt in pattern:
        for low, op, high in _below(stmt):
            if (
                not isinstance(low, TdlName)
                or low.text in plain.constants
                or not isinstance(high, TdlName | NumberLiteral)
            ):
                continue
            if isinstance(high, TdlName) and high.text not in plain.constants:
                continue
            bound = subscript_of(high, plain)
            size = bound if op == "<" else add(bound, index(1))
            known = out.setdefault(low.text, size)
            if not same(known, size):
                message = f"the index `{low}` has {print_expr(known)} values, and {print_expr(size)}"
                plain.fail("E0815", message, low.span, "a narrower range is a sum: `1 <= i < n - 1`, beside `i < n`")
    return out


def _size(
    name: str,
    pattern: Sequence[TdlStatement],
    indices: Sequence[str],
    declared: Mapping[str, Expr],
    seen: tuple[str, ...],
) -> Expr:
    """How many values an index has."""
    if name in declared:
        return declared[name]
    for stmt in pattern:
        for low, _, high in _below(stmt):
            if isinstance(low, TdlName) and low.text == name and isinstance(high, TdlName) and high.text in indices:
                if high.text not in (*seen, name):
                    return _size(high.text, pattern, indices, declared, (*seen, name))
    return index(f"n{name}")


def _is_logical(stmt: TdlStatement) -> bool:
    inner = (x for x in parts(stmt.value) if isinstance(x, Infix))
    return stmt.op in ("or=", "and=") or any(x.op in ("or", "and") for x in inner)


def _check_kinds(pattern: Sequence[TdlStatement], scope: TdlScope) -> None:
    """That a name is one thing: an array, an index, or a size."""
    taken = dict.fromkeys(scope.indices, "an index") | dict.fromkeys(scope.constants, "a size")
    if both := set(scope.indices) & set(scope.constants):
        name = min(both)
        span = next(x.span for s in pattern for a in _accesses(s) for t in a.subscripts for x in parts(t)
                    if isinstance(x, TdlName) and x.text == name)  # fmt: skip
        scope.fail("E0814", f"`{name}` is an index and the size of another one", span, "give sizes with `where i < m`")
    for stmt in pattern:
        for access in _accesses(stmt):
            if access.array in taken:
                scope.fail("E0814", f"`{access.array}` is an array and {taken[access.array]}", access.span)
        arrays = {x.array for other in pattern for x in _accesses(other)}
        for part in parts(stmt.value):
            if isinstance(part, TdlName) and part.text in arrays:
                scope.fail("E0814", f"`{part}` is an array and a scalar", part.span, f"write `{part}()` for its cell")
