"""Python's own parser, for text that may be anything: all that it can say against it is a SyntaxError.

>>> type(parse_expression("n + 1")).__name__
'BinOp'
>>> parse_expression("+".join("1" * 20000))
Traceback (most recent call last):
SyntaxError: it is nested too deep
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from typing import TypeVar

_Tree = TypeVar("_Tree", bound=ast.AST)


def parse_module(text: str) -> ast.Module:
    """The tree of a program; SyntaxError for what is none, or is too deep. Nothing is printed: warnings are for those
    who write Python, which the text need not be."""
    return _quietly(lambda: ast.parse(text))


def parse_expression(text: str) -> ast.expr:
    """The tree of an expression; as `parse_module`."""
    return _quietly(lambda: ast.parse(text, mode="eval").body)


def _quietly(parse: Callable[[], _Tree]) -> _Tree:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return parse()
        except ValueError as error:
            raise SyntaxError(str(error)) from error
        except (RecursionError, MemoryError):
            raise SyntaxError("it is nested too deep") from None
