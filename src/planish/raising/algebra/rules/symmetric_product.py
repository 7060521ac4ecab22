"""A A^T is symmetric (SYRK): one triangle is computed and mirrored.

Before: C = A * A'
After:  C = syrk(A)   (the lower triangle); mirror(C)

>>> SYRK.einsum, SYRK.inputs, MIRROR.output
('ik,jk->ij', ('A',), 'C')
"""

from __future__ import annotations

from dataclasses import replace

from planish.core.diagnostic import Remark
from planish.ir.expr import Expr
from planish.ir.index.polynomial import same
from planish.ir.text.parser import parse_kernel
from planish.raising.algebra.cost import CostShape, shape_of
from planish.raising.algebra.effects import Facts
from planish.raising.algebra.product import same_view
from planish.raising.algebra.product_writer import origin_of
from planish.raising.algebra.rule_context import RuleResult, Setting, done, refused, replaced
from planish.raising.algebra.rules.identity_elements import span
from planish.raising.operation import Operation
from planish.raising.raised import Apply

SYRK = Operation(
    "syrk",
    parse_kernel("""kernel syrk(ni, nk; A: f64[ni, nk], C: f64[ni, ni]) {
        for i in 0 .. ni { for j in 0 .. i + 1 { C[i, j] = 0.0 for k in 0 .. nk { C[i, j] += A[i, k] * A[j, k] } } }
    }"""),
    "ik,jk->ij",
)
"""The lower triangle of a matrix times its transpose."""

SCALED_SYRK = Operation(
    "syrk",
    parse_kernel("""kernel syrk(ni, nk; alpha: f64; A: f64[ni, nk], C: f64[ni, ni]) {
        for i in 0 .. ni {
            for j in 0 .. i + 1 { C[i, j] = 0.0 for k in 0 .. nk { C[i, j] += alpha * A[i, k] * A[j, k] } }
        }
    }"""),
    "ik,jk->ij",
)
"""The same times a number."""

MIRROR = Operation(
    "mirror",
    parse_kernel("""kernel mirror(ni; C: f64[ni, ni]) {
        for i in 0 .. ni { for j in 0 .. i { C[j, i] = C[i, j] } }
    }"""),
)
"""The upper triangle becomes the lower one's mirror image."""


def use_symmetry(facts: Facts, setting: Setting) -> RuleResult:
    """Compute the first product of a matrix with its own transpose as a triangle and its mirror image."""
    remarks: list[Remark] = []
    for place, product in enumerate(facts.products):
        if product is None or len(product.factors) != 2:
            continue
        step = facts.raised.steps[place]
        first, second = product.factors
        rows, columns = product.output.letters[:1], product.output.letters[1:]
        if len(columns) != 1 or len(product.sums) != 1:
            continue
        if rows not in first.letters:
            first, second = second, first
        found = [sorted(x.letters) for x in (first, second)]
        if found != [sorted(rows + product.sums), sorted(columns + product.sums)]:
            continue
        a, b = first.ordered(rows + product.sums), second.ordered(columns + product.sums)
        if not same_view(a.view, b.view) or not same(product.extents[rows], product.extents[columns]):
            continue
        type = facts.type_of(product)
        if not product.overwrites:
            message = "the product of a matrix with its transpose is added to what need not be symmetric"
            remarks.append(refused("algebra-symmetric", message, span(step)))
            continue
        if not setting.may_reorder(type) and not (product.exact and product.alpha is None):
            message = f"the scalar is multiplied with one operand first, which --fp {setting.floats} keeps"
            remarks.append(refused("algebra-symmetric", message, span(step)))
            continue
        operands = (("ik", 1), ("jk", 1), ("ij", 1))
        extents = {"i": product.extents[rows], "j": product.extents[columns], "k": product.extents[product.sums]}
        half = CostShape("syrk", operands, extents, share=0.5)
        mirror = CostShape("transpose", (("ij", 1), ("ij", 1)), extents, share=0.5)
        if not setting.model.wins([(half, type), (mirror, type)], [(shape_of(product), type)]):
            message = "half of a symmetric product would be saved, but copying a triangle takes longer"
            remarks.append(refused("algebra-symmetric", message, span(step)))
            continue
        assert isinstance(step, Apply)
        output = product.output.view
        sizes: dict[str, Expr] = {"ni": extents["i"], "nk": extents["k"]}
        origin = origin_of(step)
        operation = SYRK if product.alpha is None else SCALED_SYRK
        scalars = {} if product.alpha is None else {"alpha": product.alpha}
        triangle = Apply(operation, {"A": a.view, "C": output}, sizes, scalars, span=origin.span)
        turned = Apply(MIRROR, {"C": output}, {"ni": extents["i"]}, span=origin.span)
        fresh = replaced(facts.raised, place, (triangle, turned))
        message = f"{output.array} is symmetric: one triangle is computed and copied to the other"
        change = done(fresh, "algebra-symmetric", message, span(step))
        return replace(change, remarks=(*remarks, *change.remarks))
    return RuleResult(None, tuple(remarks))
