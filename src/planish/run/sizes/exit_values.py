"""Numbers with which iterations of a loop with early exits leave it, or stay: its condition, compiled.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> text = "int find(int n, const int *x, int v) { for (int i = 0; i < n; i++) if (x[i] > v) return i; return -1; }"
>>> (region,) = read_c(Source("find.c", text)).functions[0].regions
>>> from planish.poly.early_exit.exit_test import find_exit_test
>>> leaving = compiled(find_exit_test(region.kernel, "planish_exit"), region.kernel)
>>> set(leaving({"x": 5, "v": 4})), set(leaving({"x": 5, "v": 5}))
({True}, {False})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from planish.frontend.c.translation_unit import CFunction, Region
from planish.ir.expr import Const, Expr, Load, Select
from planish.ir.nest import Array, Assign, Block, Kernel
from planish.ir.semantics.arithmetic import limits
from planish.ir.semantics.interpreter import compile_kernel
from planish.ir.traverse import map_expr
from planish.ir.types import BOOL, I32, U8, Type
from planish.poly.early_exit.exit_test import ITERATION, ExitTest
from planish.run.calls.passing import leaves_of

_USUAL = (0, 1, -1, 32, 2, 97, 100)
_ITERATIONS = (0, 3, 200)

Number = int | float


def number_pool(type: Type, constants: Sequence[Number]) -> list[Number]:
    """Numbers of a type that a condition may ask for: usual ones, those near the function's own, and the limits."""
    near = [x + step for x in constants for step in (0, 1, -1)]
    ends = () if type.is_float else _limits(type)
    return list(dict.fromkeys(held([*_USUAL, *near, *ends], type)))


def held(numbers: Sequence[Number], type: Type) -> list[Number]:
    """Those of some numbers that an element of a type may be.

    >>> held((0, 0.5, 300), U8), held((2, 0.5), BOOL)
    ([0], [])
    """
    if type.is_float:
        return [float(x) for x in numbers]
    low, high = _limits(type)
    return [int(x) for x in numbers if x == int(x) and low <= x <= high]


def _limits(type: Type) -> tuple[int, int]:
    return (0, 1) if type == BOOL else limits(type)


def arguments_of(region: Region, function: CFunction) -> dict[str, tuple[str, ...]]:
    """The numbers that a call is made of in which elements of each of a region's arrays lie: in an array of structures,
    all members of their type.

    >>> from planish.core.span import Source
    >>> from planish.frontend.c.reader import read_c
    >>> text = "int f(struct s *p, int *x) { int i = 0; while (p[i].key > x[i]) i++; return i; }"
    >>> text = f"struct s {{ int key; float v; }}; {text}"
    >>> function = read_c(Source("f.c", text)).functions[0]
    >>> told = arguments_of(function.regions[0], function)
    >>> told["p_i32"], told["x"]
    (('p[].key',), ('x',))
    """
    leaves, names = leaves_of(function), dict(region.names)
    out: dict[str, tuple[str, ...]] = {}
    for x in region.kernel.arrays:
        members = f"{region.views.get(x.name)}[]."
        own = names[x.name].lstrip("&")
        told = (p.name for p in leaves if p.name == own or (p.name.startswith(members) and p.type == x.type))
        out[x.name] = tuple(told)
    return out


def compiled(test: ExitTest, kernel: Kernel) -> Callable[[Mapping[str, Number]], list[bool | None]]:
    """Whether each of some iterations leaves where arrays hold one number each; None where it fails."""
    types: dict[int, Type] = {}

    def cell(x: Expr) -> Expr:
        if isinstance(x, Load):
            types[int(x.array)] = x.type
            return Load(f"row{x.array}", (), x.type)
        return x

    condition = map_expr(cell, test.condition)
    body = Block((Assign("leaves", (), Select(condition, Const(1, I32), Const(0, I32))),))
    cells = {f"row{n}": np.zeros((), (U8 if x == BOOL else x).numpy) for n, x in types.items()}
    cells["leaves"] = np.zeros((), np.int32)
    arrays = tuple(Array(f"row{n}", x) for n, x in types.items())
    sizes = (*kernel.sizes, ITERATION)
    probe = Kernel("probe", sizes, kernel.scalars, (*arrays, Array("leaves", I32)), body)
    run = compile_kernel(probe, cells)

    def leaving(values: Mapping[str, Number]) -> list[bool | None]:
        out: list[bool | None] = []
        for n in types:
            cells[f"row{n}"][...] = values[test.rows[n].array]
        for iteration in _ITERATIONS:
            known = {**dict.fromkeys(kernel.sizes, 500), ITERATION: iteration}
            try:
                run(*(known[x] for x in sizes), *(values[x.name] for x in kernel.scalars))
                out.append(bool(cells["leaves"]))
            except ArithmeticError:
                out.append(None)
        return out

    return leaving
