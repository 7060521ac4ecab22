"""Integer constant expressions, and the enumerations that they give values to.

>>> from pycparser.c_parser import CParser
>>> types, constants = {}, {}
>>> tree = CParser().parse("enum shade { NONE, DARK = 'a', BLACK }; enum { WIDE = sizeof(void *) };")
>>> [sorted(define_enumerations(x, types, constants)) for x in tree.ext]
[[], ['WIDE']]
>>> constants["BLACK"], types["enum shade"].spelling
(98, 'unsigned int')
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping

from pycparser import c_ast

from planish.frontend.c.types.declarations import CArray, CScalar, CType, enumeration_key, enumeration_type, resolve

Constants = Mapping[str, int] | Callable[[c_ast.ID], int | None]
"""The values of enumerators by their names, or what tells that of a name where it stands."""

STEPS = frozenset({"++", "--", "p++", "p--"})
"""The operators that step a variable, those with `p` behind it."""
_LEAVES = frozenset({c_ast.ID, c_ast.Constant})
_REAL: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip
_ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, "\\": 92, "'": 39, '"': 34, "?": 63}
_CHARACTER = re.compile(
    r"""'(?:(?P<plain>[^\\'\n\x80-\U0010ffff])|\\(?:(?P<named>[abfnrtv\\'"?])|x(?P<hex>[0-9a-fA-F]+)|(?P<octal>[0-7]{1,3})))'"""
)
"""A character constant without a prefix; how many bytes others than these have depends on the file's encoding."""


def walk_tree(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """A node and all below it, parents first."""
    left = [node]
    while left:
        part = left.pop()
        yield part
        if part.__class__ not in _LEAVES and (inner := [*part]):
            inner.reverse()
            left += inner


def has_effects(node: c_ast.Node) -> bool:
    """Whether an expression may do more than to give a value.

    >>> from pycparser.c_parser import CParser
    >>> tree = CParser().parse("void f() { a[-i] + 1; a[i++]; g(); (k = 1); }")
    >>> [has_effects(x) for x in tree.ext[0].body.block_items]
    [False, True, True, True]
    """
    return any(
        isinstance(x, c_ast.Assignment | c_ast.FuncCall) or (isinstance(x, c_ast.UnaryOp) and x.op in STEPS)
        for x in walk_tree(node)
    )


def items_of(node: c_ast.Node | None) -> list[c_ast.Node]:
    """The statements of a body or branch."""
    match node:
        case None | c_ast.EmptyStatement():
            return []
        case c_ast.Compound(block_items=items):
            return list(items or [])
        case _:
            return [node]


def define_enumerations(
    node: c_ast.Node, types: MutableMapping[str, CType], constants: MutableMapping[str, int],
    known: Mapping[str, int] | None = None,
) -> frozenset[str]:  # fmt: skip
    """Note the types of the enumerations that a declaration defines, wherever it does, and their enumerators as far as
    their values are known; the names of the others. `known` are enumerators besides those in `constants`."""
    unknown: set[str] = set()
    for part in walk_tree(node):
        if not isinstance(part, c_ast.Enum) or part.values is None:
            continue
        values: list[int | None] = []
        for item in part.values.enumerators:
            if not isinstance(item, c_ast.Enumerator):
                continue
            if item.value is not None:
                visible = {**(known or {}), **constants}
                value = _fold_enumerator(item.value, {x: y for x, y in visible.items() if x not in unknown})
            else:
                value = 0 if not values else None if values[-1] is None else values[-1] + 1
            values.append(value)
            if value is not None:
                constants[item.name] = value
            else:
                unknown.add(item.name)
        own = part.underlying_type
        types[enumeration_key(part)] = enumeration_type(values) if own is None else resolve(own, types)
    return frozenset(unknown)


def _fold_enumerator(node: c_ast.Node, constants: Mapping[str, int]) -> int | None:
    """The value of an enumerator; None where it is not known, or its type is needed to tell."""
    value = fold(node, constants)
    if value is None or isinstance(node, c_ast.Constant):
        return value
    unsigned = any(_is_unsigned(x) for x in walk_tree(node))
    return None if (unsigned and value < 0) or not -(1 << 31) <= value < 1 << 31 else value


def _is_unsigned(node: c_ast.Node) -> bool:
    match node:
        case c_ast.Constant(value=text):
            return "u" in str(text).lower()
        case c_ast.UnaryOp(op="sizeof"):
            return True
        case _:
            return False


def fold(node: c_ast.Node, constants: Constants, types: Mapping[str, CType] | None = None) -> int | None:
    """The value of an integer constant expression made of literals, enumerators, sizes of numbers and of arrays of them
    (`types` are names of such), the usual operators, and conversions of doubles to `int`.

    >>> from pycparser.c_parser import CParser
    >>> fold(CParser().parse("int a[sizeof(short[3]) * N + 1];").ext[0].type.dim, {"N": 5})
    31
    >>> fold(CParser().parse("int a[(int)(0.587 * N + 0.5)];").ext[0].type.dim, {"N": 16384})
    9617
    """
    match node:
        case c_ast.Constant(type=kind, value=text) if "int" in kind and not text.endswith("'"):
            # The parser calls several characters an int as well: each compiler has its own value for them.
            return parse_integer(text)
        case c_ast.Constant(type="char", value=text) if (found := parse_character(text)) is not None:
            # The value of others depends on whether `char` has a sign.
            return found if found < 128 else None
        case c_ast.ID(name=name):
            return constants(node) if callable(constants) else constants.get(name)
        case c_ast.UnaryOp(op="-" | "~" | "+" as op, expr=x):
            value = fold(x, constants, types)
            return None if value is None else -value if op == "-" else ~value if op == "~" else value
        case c_ast.BinaryOp(op=op, left=left, right=right):
            a, b = fold(left, constants, types), fold(right, constants, types)
            return None if a is None or b is None else _operate(op, a, b)
        case c_ast.UnaryOp(op="sizeof", expr=c_ast.Typename() as named):
            return _size_of(resolve(named, types or {}), constants, types or {})
        case c_ast.Cast(to_type=c_ast.Typename(type=c_ast.TypeDecl(type=c_ast.IdentifierType(names=["int"]))), expr=x):
            real = _fold_double(x, constants)
            value = fold(x, constants, types) if real is None else math.trunc(real)
            return value if value is not None and -(1 << 31) <= value < 1 << 31 else None
        case _:
            return None


def _fold_double(node: c_ast.Node, constants: Constants) -> float | None:
    """The value of a constant expression of doubles; None for others, and where it is no finite number."""
    match node:
        case c_ast.Constant(type="double", value=text) if not text.lower().startswith("0x"):
            value = float(text)
        case c_ast.UnaryOp(op="-", expr=x) if (inner := _fold_double(x, constants)) is not None:
            value = -inner
        case c_ast.BinaryOp(op=op, left=left, right=right) if op in _REAL:
            reals = [_fold_double(x, constants) for x in (left, right)]
            if reals == [None, None]:
                return None
            a, b = (fold(x, constants) if y is None else y for x, y in zip((left, right), reals, strict=True))
            if a is None or b is None or (op == "/" and b == 0):
                return None
            value = _REAL[op](float(a), float(b))
        case _:
            return None
    return value if math.isfinite(value) else None


def is_null(node: c_ast.Node) -> bool:
    """Whether an expression is the address that leads nowhere.

    >>> from pycparser.c_parser import CParser
    >>> tree = CParser().parse("void f() { g(0, (void *)0L, 1, p); }")
    >>> [is_null(x) for x in tree.ext[0].body.block_items[0].args.exprs]
    [True, True, False, False]
    """
    match node:
        case c_ast.Cast(expr=inner):
            return is_null(inner)
        case c_ast.Constant():
            return fold(node, {}) == 0
        case c_ast.ID(name=name):
            return str(name) == "NULL"  # of a header that is not there
        case _:
            return False


def _size_of(ctype: CType, constants: Constants, types: Mapping[str, CType]) -> int | None:
    match ctype:
        case CScalar(type=type_):
            return type_.size
        case CArray(element=element, extent=c_ast.Node() as extent):
            count, size = fold(extent, constants, types), _size_of(element, constants, types)
            return None if count is None or size is None else count * size
        case _:
            return None


def _operate(op: str, a: int, b: int) -> int | None:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/" if a >= 0 and b > 0:
            return a // b
        case "%" if a >= 0 and b > 0:
            return a % b
        case "<<" if 0 <= b < 63:
            return a << b
        case ">>" if 0 <= b < 63 and a >= 0:
            return a >> b
        case "|":
            return a | b
        case "&":
            return a & b
        case "^":
            return a ^ b
        case _:
            return None


def parse_character(text: str) -> int | None:
    """The byte that a character constant without a prefix stands for; None where it is not a single one.

    >>> parse_character("'a'"), parse_character(r"'\\n'"), parse_character(r"'\\xff'"), parse_character("'ab'")
    (97, 10, 255, None)
    """
    match = _CHARACTER.fullmatch(text)
    if match is None:
        return None
    if match["plain"]:
        value = ord(match["plain"])
    elif match["named"]:
        value = _ESCAPES[match["named"]]
    else:
        value = int(match["hex"], 16) if match["hex"] else int(match["octal"], 8)
    return value if value < 256 else None


def parse_integer(text: str) -> int:
    """The value of an integer literal.

    >>> parse_integer("0x10UL"), parse_integer("017")
    (16, 15)
    """
    digits = text.rstrip("uUlLzZ").replace("'", "")
    if len(digits) > 1 and digits[0] == "0" and digits[1] in "01234567":
        return int(digits, 8)
    return int(digits, 0)
