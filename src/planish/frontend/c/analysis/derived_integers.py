"""Integers that a function derives from its parameters alone: known before it is called.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import FileScope, bind_function
>>> from planish.ir.index.polynomial import show
>>> tree = CParser().parse("void f(int n, int taps) { int steps = n - taps + 1; }")
>>> bound = bind_function(tree.ext[0], FileScope({}, {}, {}, frozenset()))
>>> [(name, show(value)) for name, value in computed_from_parameters(bound)]
[('steps', 'n - taps + 1')]
"""

from __future__ import annotations

from collections.abc import Collection

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_integer, settings
from planish.frontend.c.translate.state import Again, CTranslation, KnownInteger, NotIndex, Refused
from planish.frontend.c.translate.subscripts import index_of
from planish.frontend.c.types.constants import walk_tree
from planish.ir.expr import Expr, Var
from planish.ir.index.polynomial import names, place
from planish.ir.types import INDEX


def computed_from_parameters(bound: BoundNames) -> tuple[tuple[str, Expr], ...]:
    """The keys of local integers that are set in one place, to what parameters determine that nothing changes, and the
    values over these."""
    cx = CTranslation(bound, "strict", frozenset(), lambda _: None)
    places: dict[Symbol, list[c_ast.Node]] = {}
    for symbol, value in settings(bound.function.body, bound):
        places.setdefault(symbol, []).append(value)
    known = {x.key for x in bound.parameters if is_integer(x) and x not in places and not x.lasting}
    out: dict[str, Expr] = {}
    for symbol, values in places.items():
        if len(values) != 1 or symbol.storage != "local" or symbol.lasting or not is_integer(symbol):
            continue
        try:
            expr = index_of(values[0], cx).expr
        except (NotIndex, Refused, Again):
            continue
        members = _members(bound, places)
        if names(expr) <= known | members.keys():
            cx.values[symbol] = KnownInteger(expr)
            out[symbol.key] = place(expr, members)
    return tuple(out.items())


def given_integers(bound: BoundNames) -> dict[str, Expr]:
    """What a call gives: the parameters that nothing changes, and the members that these lead to, each by its key as
    what it is called."""
    places = {symbol for symbol, _ in settings(bound.function.body, bound)}
    own = [x for x in bound.parameters if is_integer(x) and x not in places and not x.lasting]
    return {x.key: Var(x.key, INDEX) for x in own} | _members(bound, places)


def _members(bound: BoundNames, places: Collection[Symbol]) -> dict[str, Expr]:
    """The integers in structures to which parameters lead, by what they are called in C: those that no name sets."""
    stored = {
        x.lvalue.field.name for x in walk_tree(bound.function.body)
        if isinstance(x, c_ast.Assignment) and isinstance(x.lvalue, c_ast.StructRef)
    }  # fmt: skip
    found = [x for x in bound.symbols if x.through and is_integer(x) and x.name.rpartition(">")[2] not in stored]
    given = {x for x in bound.parameters if x not in places}
    return {x.key: Var(x.name, INDEX) for x in found if x.whole in given}
