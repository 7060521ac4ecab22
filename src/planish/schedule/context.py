"""The context of a place in a nest: value ranges of the loops around it, and conditions that hold there.

>>> from planish.ir.text.parser import parse_expr, parse_kernel
>>> from planish.schedule.nodes import label_kernel, path_to
>>> text = "kernel z(n; A: f32[n]) assume n >= 8 { for i in 0 .. n { if i > 2 { A[i] = 0.0:f32 } } }"
>>> kernel = label_kernel(parse_kernel(text))
>>> path = path_to(kernel.body, 3)
>>> region(kernel, path[:2], Block(())).context
Set("[n, i] -> {  : n >= 8 and 0 <= i < n }")
>>> [always(kernel, path, parse_expr(x)) for x in ("i <= n - 1", "i > 1", "i * n < n * n", "i * n <= n * n")]
[True, True, False, True]
>>> [always(kernel, path, parse_expr(x)) for x in ("i * n >= 8", "i * n >= i", "(i - 3) * n >= 1")]
[True, True, False]
>>> rows = parse_kernel("kernel z(n, m, i) assume i < n * m assume i >= 0 { }")
>>> asked = "n * m - i >= 0", "min(n * m - i, 2) >= 1", "n * m >= min(9, n * m - i)", "n * m - i >= 2"
>>> [follows(rows.sizes, rows.assumptions, parse_expr(x)) for x in asked]
[True, True, True, False]
>>> from planish.ir.text.printer import print_expr
>>> rows = parse_kernel("kernel z(n, m, i) assume i >= 0 && i < n { }")
>>> [print_expr(throughout(rows, ["i"], parse_expr(x))) for x in ("i < m", "n * m >= m")]
['m >= n', 'n <= 0 || n * m >= m']
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from itertools import pairwise
from operator import and_

import islpy as isl

from planish.ir.expr import Binary, Compare, Const, Expr, Unary, Var, index, type_of
from planish.ir.index.polynomial import build, constant, exact_quotient, normal, polynomial, sub
from planish.ir.nest import Block, For, If, Kernel, Let
from planish.ir.traverse import blocks_of, loads, substitute, substitute_block, variables
from planish.ir.types import BOOL, INDEX
from planish.poly.isl.affine import NotAffineError, condition_set, isl_name
from planish.poly.isl.expression import disjunction, set_condition
from planish.poly.scop.extraction import Scop, extract_scop
from planish.schedule.nodes import Node

TRUE = Const(True, BOOL)


def region(kernel: Kernel, path: Sequence[Node], body: Block) -> Scop:
    """The polyhedral view of a nest in place of the statement at the end of a path: the iterators of the loops around
    are sizes of it, and what bounds and conditions say of them is assumed. Raises NotAffineError."""
    return extract_scop(alone(kernel, path, body))


def alone(kernel: Kernel, path: Sequence[Node], body: Block) -> Kernel:
    """A nest in place of the statement at the end of a path as a kernel of its own: the iterators of the loops around
    are sizes of it, and what bounds and conditions say of them is assumed, as far as the model takes it."""
    return replace(_place(kernel, path), body=substitute_block(body, names_at(kernel, path)))


def _place(kernel: Kernel, path: Sequence[Node]) -> Kernel:
    """A kernel for what stands at the end of a path: with the iterators around as sizes, and what is known of them."""
    loops = [node for node in path[:-1] if isinstance(node, For)]
    known = [bound for loop in loops for bound in _bounds(loop)]
    known += [_taken(node, inner) for node, inner in pairwise(path) if isinstance(node, If)]
    values = names_at(kernel, path)
    sizes = (*kernel.sizes, *(loop.var for loop in loops))
    known = [substitute(x, values) for x in known if not loads(x)]
    assumptions = (*kernel.assumptions, *(x for x in known if _is_affine(x, sizes)))
    return replace(kernel, sizes=sizes, assumptions=assumptions, body=Block(()))


def names_at(kernel: Kernel, path: Sequence[Node]) -> Mapping[str, Expr]:
    """The names for indices that are bound at the end of a path, and what they stand for."""
    names: Mapping[str, Expr] = {}
    blocks: tuple[Block, ...] = (kernel.body,)
    for node in path:
        found = (_names_before(node, block, names) for block in blocks)
        names, blocks = next((x for x in found if x is not None), names), blocks_of(node)
    return names


def _names_before(node: Node, block: Block, outer: Mapping[str, Expr]) -> Mapping[str, Expr] | None:
    """The names for indices that are bound where a statement of a block begins; None where it is no statement of it."""
    names = outer
    for stmt in block.body:
        if isinstance(stmt, Block):
            inside = _names_before(node, stmt, names)
            if inside is not None:
                return inside
        elif stmt.label == node.label:
            return names
        elif isinstance(stmt, Let) and type_of(stmt.value) == INDEX and not loads(stmt.value):
            names = {**names, stmt.var: substitute(stmt.value, names)}
    return None


@lru_cache(maxsize=4096)
def _is_affine(condition: Expr, sizes: tuple[str, ...]) -> bool:
    """Whether the model takes a condition; what a test says of data, or of products of sizes, is not made use of."""
    space = _context(sizes, ()).get_space()
    try:
        condition_set(condition, space)
    except NotAffineError:
        return False
    return True


def _bounds(loop: For) -> tuple[Expr, Expr]:
    return Compare("ge", index(loop.var), loop.lower), Compare("lt", index(loop.var), loop.upper)


def _taken(test: If, inner: Node) -> Expr:
    """What holds in the branch of a test in which a statement is."""
    return test.condition if _names_before(inner, test.then, {}) is not None else Unary("not", test.condition)


def always(kernel: Kernel, path: Sequence[Node], *conditions: Expr) -> bool:
    """Whether conditions over sizes and iterators of loops around hold wherever the statement at the end of a path is
    reached; False where one is not affine."""
    here, names = _place(kernel, path), names_at(kernel, path)
    return all(follows(here.sizes, here.assumptions, substitute(x, names)) for x in conditions)


def throughout(kernel: Kernel, iterators: Collection[str], condition: Expr) -> Expr | None:
    """What has to hold of the sizes of a kernel that are no `iterators` for a condition to hold wherever the kernel's
    assumptions do; None where it is not affine and has iterators in it."""
    known = isl.Set.from_params(_context(kernel.sizes, kernel.assumptions))
    some = _without(iterators, known)
    try:
        broken = known.subtract(condition_set(condition, known.get_space()))
    except NotAffineError:
        never = set_condition(some.complement(), ())
        return None if variables(condition) & set(iterators) else disjunction((never, condition))
    return set_condition(_without(iterators, broken).complement().gist(some), ())


def _without(iterators: Collection[str], points: isl.Set) -> isl.Set:
    """The sizes for which there are iterators among some points."""
    for name in iterators:
        at = points.find_dim_by_name(isl.dim_type.param, isl_name(name))
        points = points.project_out(isl.dim_type.param, at, 1)
    return points


@lru_cache(maxsize=4096)
def follows(sizes: tuple[str, ...], assumptions: tuple[Expr, ...], condition: Expr) -> bool:
    """Whether a condition on sizes holds wherever assumptions do; False where that is not found out."""
    try:
        known = isl.Set.from_params(_context(sizes, assumptions))
        return bool(known.is_subset(condition_set(condition, known.get_space())))
    except NotAffineError:
        if any(_is_weaker(condition, x) for x in assumptions):
            return True
        return any(all(follows(sizes, assumptions, x) for x in simpler) for simpler in _simpler(condition))


def _is_weaker(condition: Expr, assumption: Expr) -> bool:
    """Whether a condition asks the same as an assumption, or for a number less, of the same products of sizes."""
    asked, known = _margin(condition), _margin(assumption)
    more = constant(normal(sub(asked, known))) if asked is not None and known is not None else None
    return more is not None and more >= 0


def _margin(condition: Expr) -> Expr | None:
    """What is not negative where a condition on sizes holds, and only there; None where it compares no order."""
    match condition:
        case Compare(op="ge", left=more, right=less) | Compare(op="le", left=less, right=more):
            return sub(more, less)
        case Compare(op="gt", left=more, right=less) | Compare(op="lt", left=less, right=more):
            return sub(sub(more, less), index(1))
        case _:
            return None


def _simpler(condition: Expr) -> Iterator[tuple[Expr, Expr]]:
    """Pairs of conditions from each of which a condition with products of sizes in it follows."""
    match condition:
        case Compare(op="ge", left=Binary(op="min", left=one, right=other), right=least):
            yield Compare("ge", one, least), Compare("ge", other, least)
            return
        case Compare(op="ge", left=most, right=Binary(op="min", left=one, right=other)):
            yield Compare("ge", most, one), TRUE
            yield Compare("ge", most, other), TRUE
            return
        case Compare(op="ge" | "le" as op, left=left, right=right):
            terms = polynomial(sub(left, right) if op == "ge" else sub(right, left))
            plain = Compare("ge", build(terms), index(0))
            if plain != condition:
                yield plain, TRUE
        case _:
            return
    shared = reduce(and_, ({x for x in monomial if isinstance(x, Var)} for monomial in terms)) if terms else set()
    if shared:
        factor = min(shared, key=lambda x: x.name)
        rest = exact_quotient(build(terms), factor)
        assert rest is not None
        yield Compare("ge", factor, index(0)), Compare("ge", rest, index(0))
    match sorted(terms.items(), key=lambda x: len(x[0])):
        case [((), number), (product, times)] if number <= 0 and times > 0:
            # One of the factors is large enough by itself, if the others are no zeros.
            for size in dict.fromkeys(x for x in product if len(product) > 1):
                rest = exact_quotient(build({product: times}), size)
                assert rest is not None
                yield Compare("ge", size, index(1)), Compare("ge", rest, index(-number))
        case _:
            return


@lru_cache(maxsize=1024)
def _context(sizes: tuple[str, ...], assumptions: tuple[Expr, ...]) -> isl.Set:
    return extract_scop(Kernel("", sizes, assumptions=assumptions)).context
