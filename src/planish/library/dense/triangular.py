"""Matrix products of which one triangle is wanted (SYRK): full blocks off the diagonal; on it, blocks in a buffer of
which a triangle is added.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.types import F64
>>> from planish.raising.operation import Operation
>>> nest = "for i in 0 .. n { for j in 0 .. i + 1 { for k in 0 .. l { C[i, j] += A[i, k] * A[j, k] } } }"
>>> syrk = Operation("syrk", parse_kernel(f"kernel syrk(n, l; C: f64[n, n], A: f64[n, l]) {{ {nest} }}"))
>>> arrays = {x: Array(x, F64, (index(200), index(9))) for x in "AC"}
>>> views = {x: View(x, (index(0),) * 2, ((1, 0), (0, 1)), (index(200), index(9))) for x in "AC"}
>>> step = Apply(syrk, views, {"n": index(200), "l": index(9)})
>>> triangle = find_triangle(step, arrays, set())
>>> triangle.lower, triangle.offset, len(triangle.products)
(True, 0, 1)
>>> [type(x).__name__ for x in split(triangle, "b", "T", 64).steps[0].steps]
['Loops', 'Apply', 'Loops', 'Apply']
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from planish.core.diagnostic import PlanishError
from planish.ir.expr import Binary, Const, Expr, Load, Unary, index
from planish.ir.index.polynomial import add, constant, extremum, same, sub
from planish.ir.nest import Array, Assign, Block, For, Kernel, Reduce, Stmt
from planish.ir.types import F32, F64, Type
from planish.library.kernels.batched_gemm import NoMatricesError, find_matrices, loops_of
from planish.library.kernels.gemm.compact import choose_few
from planish.library.kernels.vectors import choose_vectors
from planish.library.parallel.work_sharing import Range, is_at_most, share_out
from planish.poly.scop.separation import reads_apart
from planish.raising.algebra.product import Product, ProductOperand, stepped
from planish.raising.algebra.product_kinds import arranged
from planish.raising.algebra.product_reader import read_product
from planish.raising.algebra.product_writer import Origin, write_product
from planish.raising.expansion import inline
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Loops, Repeat, Step, View
from planish.target.machine import Target

ROW, COLUMN = "ab"
"""The letters of the first two loops of a definition."""
_WIDTH = 96
"""About so many rows are in a block on the diagonal of a triangle."""


@dataclass(frozen=True, slots=True)
class Triangle:
    """C[i, j] += products, for j <= i - offset (`lower`) or j >= i + offset; `first` are the loops that set what C
    begins with."""

    step: Apply
    type: Type
    lower: bool
    offset: int
    extent: Expr
    products: tuple[Product, ...]
    first: tuple[Stmt, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockSplit:
    """The steps by blocks, and the block of memory that they need."""

    steps: tuple[Repeat, ...]
    block: Array


def find_triangle(step: Apply, arrays: Mapping[str, Array], taken: set[str]) -> Triangle | None:
    """The triangle that an operation computes; None where it is another one."""
    definition = step.operation.definition
    type = arrays[step.operands[step.operation.output].array].type
    match definition.body.body:
        case (For(body=Block(body=(For() as inner,))) as outer,) if type in (F32, F64):
            pass
        case _:
            return None
    *first, last = inner.body.body
    bounds = _bounds(outer, inner)
    match last:
        case For(body=Block(body=(Reduce(op="add") as update,))) as deepest if bounds is not None and len(first) <= 1:
            pass
        case _:
            return None
    whole = replace(inner, lower=index(0), upper=outer.upper)
    products = []
    for value in _terms(update.value):
        depth = replace(deepest, body=Block((replace(update, value=value),)))
        found = read_product(_with_body(step, _nest(outer, whole, depth)), type)
        if isinstance(found, str) or not found.accumulates:
            return None
        product = arranged(found)
        try:
            matrices = find_matrices(write_product(product), arrays, taken)
        except NoMatricesError:
            return None
        target, *others = matrices.names
        if matrices.numbers.group > 1:
            # Those of narrow numbers are made of whole matrices only.
            return None
        if matrices.batch or (target in others and reads_apart(loops_of(matrices), arrays[target]) is None):
            return None
        products.append(product)
    begin = inline(_with_body(step, _nest(outer, inner, *first)), arrays, taken).body if first else ()
    lower, offset = bounds
    return Triangle(step, type, lower, offset, products[0].extents[ROW], tuple(products), begin)


def _bounds(outer: For, inner: For) -> tuple[bool, int] | None:
    """Which triangle two loops run over, and how far from the diagonal it begins."""
    if outer.step != 1 or inner.step != 1 or constant(outer.lower) != 0:
        return None
    row = index(outer.var)
    if constant(inner.lower) == 0:
        ends = constant(sub(inner.upper, row))
        return (True, 1 - ends) if ends in (0, 1) else None
    begins = constant(sub(inner.lower, row))
    return (False, begins) if begins in (0, 1) and same(inner.upper, outer.upper) else None


def _terms(value: Expr, sign: bool = True) -> Iterator[Expr]:
    """What is added up in a value."""
    match value:
        case Binary(op="add", left=left, right=right):
            yield from _terms(left, sign)
            yield from _terms(right, sign)
        case Binary(op="sub", left=left, right=right):
            yield from _terms(left, sign)
            yield from _terms(right, not sign)
        case _:
            yield value if sign else Unary("neg", value)


def _nest(outer: For, inner: For, *body: Stmt) -> Block:
    return Block((replace(outer, body=Block((replace(inner, body=Block(body)),))),))


def _with_body(step: Apply, body: Block) -> Apply:
    """The application of an operation that differs in its loops."""
    kernel: Kernel = replace(step.operation.definition, body=body)
    return replace(step, operation=Operation(step.operation.name, kernel))


def split(
    triangle: Triangle, var: str, name: str, size: int, threads: int = 1, taken: Collection[str] = ()
) -> BlockSplit:
    """The products by blocks of `size` columns (lower) or rows (upper), in a loop over `var`; `name`: the memory. Each
    of several threads has a share of the rows of a block on the diagonal; `taken` are names that loops may not have."""
    here, n = index(var), triangle.extent
    width = extremum("min", index(size), sub(n, here))
    rest, left = add(here, width), sub(sub(n, here), width)
    block = Array(name, triangle.type, (index(size), index(size)))
    steps: list[Step] = [Loops(Block((_clear(block, var, width),)))]
    origin = Origin((), triangle.step.statements, triangle.step.span)
    for product in triangle.products:
        in_block = partial(_in_block, product, block, here, width, origin)
        steps += share_out((index(0), width), threads, {*taken, var, name}, in_block)
    target = triangle.products[0].output
    steps.append(Loops(Block((_add_triangle(triangle, target, block, var, width),))))
    for product in triangle.products if not is_at_most(n, size) else ():
        part = (rest, left, here, width) if triangle.lower else (here, width, rest, left)
        steps.append(write_product(_part(product, *part), origin))
    return BlockSplit((Repeat(var, index(0), n, size, tuple(steps)),), block)


def _part(product: Product, row: Expr, rows: Expr, column: Expr, columns: Expr) -> Product:
    """The product of some rows and some columns."""
    places = {ROW: (row, rows), COLUMN: (column, columns)}

    def cut(term: ProductOperand) -> ProductOperand:
        start, shape = term.view.start, list(term.view.shape)
        for d, letter in enumerate(term.letters):
            if letter in places:
                start = stepped(start, term.view.steps[d], places[letter][0])
                shape[d] = places[letter][1]
        return ProductOperand(View(term.view.array, start, term.view.steps, tuple(shape)), term.letters)

    extents = {**product.extents, ROW: rows, COLUMN: columns}
    return replace(product, output=cut(product.output), factors=tuple(map(cut, product.factors)), extents=extents)


def _in_block(
    product: Product, block: Array, here: Expr, columns: Expr, origin: Origin, rows: Range
) -> tuple[Step, ...]:
    """The product of some of the rows that begin `here`, added to a block of memory."""
    part = _part(product, add(here, rows[0]), rows[1], here, columns)
    view = View(block.name, (rows[0], index(0)), ((1, 0), (0, 1)), (rows[1], columns))
    output = ProductOperand(view, ROW + COLUMN).ordered(part.output.letters)
    return (write_product(replace(part, output=output), origin),)


def _loops(var: str, width: Expr, low: Expr, high: Expr, body: Stmt) -> For:
    inner = For(f"{var}_j", low, high, 1, Block((body,)))
    return For(f"{var}_i", index(0), width, 1, Block((inner,)))


def _clear(block: Array, var: str, width: Expr) -> For:
    at = (index(f"{var}_i"), index(f"{var}_j"))
    return _loops(var, width, index(0), width, Assign(block.name, at, Const(0.0, block.type)))


def _add_triangle(triangle: Triangle, target: ProductOperand, block: Array, var: str, width: Expr) -> For:
    """The triangle of a block on the diagonal, added to where it belongs."""
    i, j = index(f"{var}_i"), index(f"{var}_j")
    at = target.view.start
    for letter, step in zip(target.letters, target.view.steps, strict=True):
        at = stepped(at, step, add(index(var), i if letter == ROW else j))
    low, high = index(0), add(i, index(1 - triangle.offset))
    if not triangle.lower:
        low, high = add(i, index(triangle.offset)), width
    value = Load(block.name, (i, j), block.type)
    return _loops(var, width, low, high, Reduce(target.view.array, at, "add", value))


def choose_width(target: Target, type: Type) -> int:
    """The rows and columns of blocks on a diagonal: tiles are whole, and little is computed for nothing."""
    try:
        vectors = choose_vectors(target, type)
    except PlanishError:
        return _WIDTH
    width = choose_few(vectors)[1] * vectors.lanes
    return -(-_WIDTH // width) * width
