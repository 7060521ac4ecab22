"""A plugin of mypy, which otherwise takes the "N" in `A: f64["N", "N"]` for the name of a type.

In its configuration: `plugins = planish.mypy_plugin`. An array parameter has the type Any then, as a number has.

>>> plugin("1.0").__name__
'ExtentPlugin'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mypy.nodes import (
    Block,
    ClassDef,
    Decorator,
    ForStmt,
    FuncDef,
    IfStmt,
    Import,
    ImportFrom,
    MypyFile,
    OverloadedFuncDef,
    Statement,
    TryStmt,
    WhileStmt,
    WithStmt,
)
from mypy.plugin import Plugin
from mypy.types import CallableType, UnboundType

_ELEMENTS = ("boolean", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


class ExtentPlugin(Plugin):
    """Takes the extents away from the annotations of arrays, in each file that imports element types."""

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """No more files; mypy asks this of each file between reading and analysing it."""
        names = frozenset(_element_names(file))
        for function in _functions(file.defs) if names else ():
            _strip(function, names)
        return []


def plugin(version: str) -> type[Plugin]:
    """Where mypy, whatever its version, looks for the plugin."""
    return ExtentPlugin


def _element_names(file: MypyFile) -> Iterable[str]:
    """What the element types are called in a file."""
    for statement in file.imports:
        match statement:
            case ImportFrom(id="planish", names=names):
                yield from (shown or name for name, shown in names if name in _ELEMENTS)
            case Import(ids=ids):
                modules = [shown or name for name, shown in ids if name == "planish"]
                yield from (f"{module}.{name}" for module in modules for name in _ELEMENTS)


def _functions(statements: Iterable[Statement | None]) -> Iterator[FuncDef]:
    """All functions in some statements, also those inside of others."""
    for statement in statements:
        match statement:
            case Decorator(func=function) | (FuncDef() as function):
                yield function
                yield from _functions(function.body.body)
            case OverloadedFuncDef(items=items):
                yield from _functions(x for x in items if isinstance(x, Decorator))
            case ClassDef(defs=block):
                yield from _functions(block.body)
            case Block(body=inner):
                yield from _functions(inner)
            case IfStmt(body=branches, else_body=last):
                yield from _functions([*branches, last])
            case ForStmt(body=block, else_body=last) | WhileStmt(body=block, else_body=last):
                yield from _functions([block, last])
            case TryStmt(body=block, handlers=handlers, else_body=last, finally_body=final):
                yield from _functions([block, *handlers, last, final])
            case WithStmt(body=block):
                yield from _functions([block])


def _strip(function: FuncDef, names: frozenset[str]) -> None:
    """Leaves the element types alone in the annotations, in place: the tree is this run's own."""
    wholes = [x for x in (function.type, function.unanalyzed_type) if isinstance(x, CallableType)]
    annotations = [y for x in wholes for y in x.arg_types] + [x.type_annotation for x in function.arguments]
    for annotation in annotations:
        if isinstance(annotation, UnboundType) and annotation.name in names:
            annotation.args = ()
