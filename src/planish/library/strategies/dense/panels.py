"""Blocked factorisations that go by panels: pivoted LU, block Gram-Schmidt, compact-WY Householder.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> cx = Context.of(parse_kernel(text), load_target("x86-avx512"))
>>> list(PANELS.apply(cx, *PANELS.match(cx)))
[]
"""

from __future__ import annotations

from planish.ir.nest import Kernel
from planish.library.dense import gram_schmidt, householder, lu_partial_pivoting
from planish.library.dense.panel_factorisation import list_panel_arguments, panel_versions
from planish.library.strategy import Context, Made, Strategy, share


def _match(cx: Context) -> tuple[Kernel, ...]:
    return () if cx.flat is None or cx.counts else (cx.flat,)


def _apply(cx: Context, found: Kernel) -> Made:
    made, remarks = panel_versions(
        found, cx.prepared, cx.target, cx.fp, cx.maker, cx.threads, cx.scratch, cx.point
    )  # fmt: skip
    return (*made, *remarks)


PANELS = Strategy(
    "panels", "factorises a panel of columns, then updates the trailing matrix by a matrix product",
    _match, _apply, share(0.15, start=True), kernels=True, search=True,
    arguments=lambda cx, found, version: list_panel_arguments(version),
    variants={
        lu_partial_pivoting.NAME: "LU with partial pivoting, right-looking over panels of columns",
        gram_schmidt.NAME: "modified Gram-Schmidt: a panel is orthogonalised, then projected out of all other columns",
        householder.NAME: "Householder QR: the reflections of a panel in compact WY form",
    },
)  # fmt: skip
