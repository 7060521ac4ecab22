"""Writes a product as an application of an operation, whose definition is made for it.

>>> from planish.ir.text.printer import print_kernel
>>> n, k = index("n"), index("k")
>>> A, x, y = whole_term(Array("A", F64, (n, k)), "ab"), whole_term(Array("x", F64, (k,)), "b"), Array("y", F64, (n,))
>>> step = write_product(Product(whole_term(y, "a"), (A, x), {"a": n, "b": k}, "b"))
>>> print(print_kernel(step.operation.definition).strip())
kernel gemv(ni, nk; A: f64[ni, nk], B: f64[nk], C: f64[ni])
{
  for i in 0 .. ni {
    C[i] = 0.0:f64
    for k in 0 .. nk {
      C[i] += A[i, k] * B[k]
    }
  }
}
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Literal

from planish.core.span import Span
from planish.ir.expr import Binary, Const, Expr, Load, Var, index
from planish.ir.nest import Array, Assign, Block, For, Kernel, Reduce, Scalar, Stmt
from planish.ir.types import F64
from planish.raising.algebra.conv_window import WindowOperand, is_windowed, operand
from planish.raising.algebra.product import Product, ProductOperand, is_number
from planish.raising.algebra.product_kinds import arranged, canonical_letters, kind_of
from planish.raising.operation import Operation
from planish.raising.raised import Apply, whole

Beta = Literal["none", "one", "scalar"]
"""What the output keeps of itself: nothing, all, or a multiple."""

OUTPUT = "C"
OPERANDS = tuple(x for x in "ABDEFGHIJKLMNOPQRSTUVWXYZ")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an application comes from: what has to hold of the sizes, what statements it stands for, where."""

    conditions: tuple[Expr, ...] = ()
    statements: tuple[str, ...] = ()
    span: Span | None = None


def origin_of(*steps: Apply) -> Origin:
    """All that some applications come from; the place is the last one's."""
    conditions = dict.fromkeys(chain.from_iterable(x.conditions for x in steps))
    statements = dict.fromkeys(chain.from_iterable(x.statements for x in steps))
    span = next((x.span for x in reversed(steps) if x.span is not None), None)
    return Origin(tuple(conditions), tuple(statements), span)


def write_product(product: Product, origin: Origin = Origin()) -> Apply:
    """The application of a product; operands and letters are put in the order that its kind has."""
    product = arranged(product)
    beta: Beta = "none" if product.beta is None else "one" if product.accumulates else "scalar"
    alpha = product.alpha is not None and not is_number(product.alpha, 1) and not _is_zero(product)
    zero = _is_zero(product)
    names = canonical_letters(product)
    product = product.renamed(names)
    name = kind_of(product)
    factors = tuple(operand(x) for x in product.factors)
    kernel = definition(name, factors, product.output.letters, product.sums, alpha, beta, zero)
    scalars: dict[str, Expr] = {}
    if alpha and product.alpha is not None:
        scalars["alpha"] = product.alpha
    if beta == "scalar" and product.beta is not None:
        scalars["beta"] = product.beta
    operands = {OUTPUT: product.output.view}
    operands |= {x: y.view for x, y in zip(OPERANDS, factors, strict=False)}
    sizes = {f"n{x}": product.extents[x] for x in product.letters if f"n{x}" in kernel.sizes}
    plain = product.factors and not any(is_windowed(x) for x in product.factors)
    einsum = product.einsum if plain else ""
    return Apply(
        Operation(name, kernel, einsum), operands, sizes, scalars, origin.conditions, origin.statements, origin.span
    )


def _is_zero(product: Product) -> bool:
    return not product.factors and is_number(product.alpha, 0)


def definition(
    name: str, operands: tuple[WindowOperand, ...], output: str, sums: str, alpha: bool, beta: Beta, zero: bool = False
) -> Kernel:
    """The nest of a product with an output of those letters; `zero`: nothing is added."""
    place = tuple(index(x) for x in output)
    factors: list[Expr] = [Var("alpha", F64)] * alpha
    factors += [Load(x, y.subscripts, F64) for x, y in zip(OPERANDS, operands, strict=False)]
    value: Expr = Const(0.0 if zero else 1.0, F64) if not factors else factors[0]
    for x in factors[1:]:
        value = Binary("mul", value, x)
    adding: Stmt = Reduce(OUTPUT, place, "add", value)
    start: tuple[Stmt, ...] = ()
    match beta:
        case "none" if not sums:
            adding = Assign(OUTPUT, place, value)
        case "none":
            start = (Assign(OUTPUT, place, Const(0.0, F64)),)
        case "one":
            pass
        case "scalar":
            start = (Reduce(OUTPUT, place, "mul", Var("beta", F64)),)
    inner = nest(sums, (adding,))
    body = start if zero and start else (*start, *inner)
    scalars = [Scalar("alpha", F64)] * alpha + [Scalar("beta", F64)] * (beta == "scalar")
    arrays = [Array(x, F64, y.shape) for x, y in zip(OPERANDS, operands, strict=False)]
    arrays.append(Array(OUTPUT, F64, tuple(index(f"n{x}") for x in output)))
    used = dict.fromkeys(output + sums)
    return Kernel(name, tuple(f"n{x}" for x in used), tuple(scalars), tuple(arrays), Block(nest(output, body)))


def nest(letters: str, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Loops over letters, the first outermost, around statements."""
    for x in reversed(letters):
        body = (For(x, index(0), index(f"n{x}"), 1, Block(body)),)
    return body


def whole_term(array: Array, letters: str) -> ProductOperand:
    """All of an array, with a letter for each dimension."""
    return ProductOperand(whole(array), letters)
