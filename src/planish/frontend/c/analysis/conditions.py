"""The constants that a function's conditions compare with: values for which it may take other branches.

>>> from pycparser.c_parser import CParser
>>> tree = CParser().parse("void f(int mode, int n, float *p) { if (mode != 7 || n < 2 * mode || !p) return; }")
>>> conditions = conditions_of(tree.ext[0], calls_in(tree, {}), {})
>>> conditions.compared, conditions.bare, conditions.alike
((('mode', (7,)),), ('p',), (('mode', 'n'),))
>>> tree = CParser().parse("void f(int n, int m) { if (n / 2 + 1 != m || n < 9) return; }")
>>> conditions_of(tree.ext[0], {}, {}).equal
(('m', '(n / 2) + 1'),)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pycparser import c_ast

from planish.frontend.c.analysis.assertions import find_assertions
from planish.frontend.c.translation_unit import Conditions
from planish.frontend.c.types.constants import fold, is_null, walk_tree
from planish.frontend.c.types.declarations import text_of

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_MOST = 24
"""Constants of a function, and calls of it, that are told."""


Calls = Mapping[str, tuple[tuple[int | float | None, ...], ...]]
"""The constants that calls of each function pass, by place."""


def conditions_of(function: c_ast.FuncDef, calls: Calls, constants: Mapping[str, int]) -> Conditions:
    """What the conditions of a function compare, and the constants with which the file calls it."""
    compared: dict[str, dict[int | float, None]] = {}
    bare: dict[str, None] = {}
    alike: dict[tuple[str, str], None] = {}
    for part in walk_tree(function.body):
        match part:
            case c_ast.BinaryOp(op=op, left=left, right=right) if op in _COMPARISONS or op in ("&", "%"):
                for one, other in ((left, right), (right, left)):
                    if (value := _value(one, constants)) is not None:
                        for name in _names(other):
                            compared.setdefault(name, {})[value] = None
                if op in _COMPARISONS:
                    pairs = ((a, b) for a in _names(left) for b in _names(right))
                    alike |= {(min(pair), max(pair)): None for pair in pairs if pair[0] != pair[1]}
            case c_ast.Switch(cond=condition, stmt=body):
                labels = [_value(x.expr, constants) for x in walk_tree(body) if isinstance(x, c_ast.Case)]
                for name in _names(condition):
                    compared.setdefault(name, {}).update({x: None for x in labels if x is not None})
            case c_ast.If(cond=condition) | c_ast.TernaryOp(cond=condition):
                bare |= dict.fromkeys(_bare(condition))
            case _:
                pass
    plain = tuple((name, tuple(values)[:_MOST]) for name, values in compared.items())
    all_ = dict.fromkeys(x for values in compared.values() for x in values)
    all_ |= {x: None for node in walk_tree(function.body) if (x := _value(node, {})) is not None and abs(x) > 1}
    called = _named(function, calls.get(function.decl.name, ()))
    return Conditions(plain, tuple(bare), tuple(alike), tuple(all_)[:_MOST], called, tuple(_equal(function.body)))


def _equal(body: c_ast.Compound) -> Iterator[tuple[str, str]]:
    """Variables that are asserted to be equal to an expression of others."""
    for node, holds in find_assertions(body):
        match node:
            case c_ast.BinaryOp(op="==" | "!=" as op, left=left, right=right) if (op == "==") == holds:
                for one, other in ((left, right), (right, left)):
                    parts = [*walk_tree(other)]
                    others = {x.name for x in parts if isinstance(x, c_ast.ID)}
                    plain = all(isinstance(x, c_ast.ID | c_ast.Constant | c_ast.BinaryOp) for x in parts)
                    if isinstance(one, c_ast.ID) and one.name not in others and plain:
                        yield one.name, text_of(other)
            case _:
                pass


def _value(node: c_ast.Node | None, constants: Mapping[str, int]) -> int | float | None:
    """The value of a constant."""
    match node:
        case c_ast.Constant(type=kind, value=text) if "float" in kind or "double" in kind:
            try:
                return float(text.rstrip("fFlL"))
            except ValueError:
                return None
        case c_ast.UnaryOp(op="-", expr=inner):
            value = _value(inner, constants)
            return None if value is None else -value
        case c_ast.Cast(expr=inner):
            return _value(inner, constants)
        case None:
            return None
        case _:
            return fold(node, constants)


def _names(node: c_ast.Node) -> Iterator[str]:
    """The variables in an expression, members of structures as they are written."""
    match node:
        case c_ast.ID(name=name):
            yield name
        case c_ast.StructRef():
            yield text_of(node)
        case c_ast.ArrayRef() | c_ast.FuncCall():
            return
        case _:
            for _, child in node.children():
                yield from _names(child)


def _bare(condition: c_ast.Node) -> Iterator[str]:
    """What is taken for true or false by itself, or compared with no address."""
    match condition:
        case c_ast.ID() | c_ast.StructRef():
            yield from _names(condition)
        case c_ast.UnaryOp(op="!", expr=inner):
            yield from _bare(inner)
        case c_ast.BinaryOp(op="&&" | "||", left=left, right=right):
            yield from _bare(left)
            yield from _bare(right)
        case c_ast.BinaryOp(op="==" | "!=", left=left, right=right):
            for one, other in ((left, right), (right, left)):
                if is_null(one):
                    yield from _bare(other)
        case _:
            return


def calls_in(tree: c_ast.Node, constants: Mapping[str, int]) -> Calls:
    """The calls in a file that pass constants."""
    out: dict[str, dict[tuple[int | float | None, ...], None]] = {}
    for node in walk_tree(tree):
        match node:
            case c_ast.FuncCall(name=c_ast.ID(name=called), args=args) if args is not None:
                values = tuple(_value(x, constants) for x in args.exprs)
                if any(x is not None for x in values):
                    out.setdefault(called, {})[values] = None
            case _:
                pass
    return {name: tuple(values)[:_MOST] for name, values in out.items()}


def _named(
    function: c_ast.FuncDef, values: tuple[tuple[int | float | None, ...], ...]
) -> tuple[tuple[tuple[str, int | float], ...], ...]:
    arguments = function.decl.type.args
    names = [getattr(x, "name", None) for x in (arguments.params if arguments is not None else [])]
    return tuple(tuple((n, v) for n, v in zip(names, x, strict=False) if n and v is not None) for x in values)
