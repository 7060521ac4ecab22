"""Regions that may be no static control part where loops inside are: with inlined calls, with strides of their own.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel k(n, m; A: i32[?]) {{ for i in 0 .. n {{ for j in 0 .. m {{ A[{}] = 0:i32 }} }} }}"
>>> [why_not_affine(parse_kernel(text.format(x)), calls=True) is None for x in ("i * m + j", "i * j")]
[True, False]
"""

from __future__ import annotations

from functools import partial

from pycparser import c_ast

from planish.frontend.c.analysis.escape import called_name
from planish.frontend.c.analysis.scope import BoundNames
from planish.frontend.c.types.constants import walk_tree
from planish.ir.nest import For, Kernel
from planish.ir.traverse import walk
from planish.poly.canonical.canonicalise import tidy
from planish.poly.canonical.delinearise import check_strides
from planish.poly.canonical.temporaries import bind_temporaries
from planish.poly.canonical.uncollapse import unfold
from planish.poly.isl.affine import NotAffineError
from planish.poly.isl.op_budget import PASS, OverBudgetError, within
from planish.poly.scop.extraction import extract_scop


def calls_functions(nodes: list[c_ast.Node], bound: BoundNames) -> bool:
    """Whether functions of the file are called, which were inlined."""
    return any(
        isinstance(x, c_ast.FuncCall) and called_name(x) in bound.file.functions for y in nodes for x in walk_tree(y)
    )


def why_not_affine(kernel: Kernel, calls: bool) -> str | None:
    """Why a kernel, which holds calls or not, is no static control part where loops inside of it may be one; None where
    it is one, or that is not found out."""
    try:
        within(partial(_extract if calls else _check_nested, kernel), 2 * PASS)
    except NotAffineError as error:
        return error.reason
    except OverBudgetError:
        pass
    return None


def _check_nested(kernel: Kernel) -> None:
    """Raises NotAffineError where loops around loops have strides that are no multiples of each other, also where each
    is told apart from others that it was folded with."""
    if any(isinstance(y, For) for x in walk(kernel.body) if isinstance(x, For) for y in walk(x.body)):
        try:
            check_strides(kernel)
        except NotAffineError:
            check_strides(unfold(bind_temporaries(kernel)))


def _extract(kernel: Kernel) -> None:
    extract_scop(tidy(kernel))
