"""C types: what a declaration says of the object it names, with Planish's scalar types at the leaves (LP64).

>>> from pycparser.c_parser import CParser
>>> resolve(CParser().parse("unsigned char *p;").ext[0].type, {})
CPointer(target=CScalar(type=Type(kind='uint', bits=8)), restrict=False)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from planish.ir.types import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Type


@dataclass(frozen=True, slots=True)
class CScalar:
    """A number."""

    type: Type


@dataclass(frozen=True, slots=True)
class CVoid:
    """No value."""


@dataclass(frozen=True, slots=True)
class CUnknown:
    """A type that Planish does not handle: a structure, a vector, an unknown name; `text` names it."""

    text: str


@dataclass(frozen=True, slots=True)
class CPointer:
    """An address of `target`."""

    target: CType
    restrict: bool = False


@dataclass(frozen=True, slots=True)
class CArray:
    """Elements in a row; `extent` is the expression between the brackets (None: not given)."""

    element: CType
    extent: c_ast.Node | None


CType = CScalar | CVoid | CUnknown | CPointer | CArray

_LEAVES: dict[tuple[str, ...], Type] = {
    ("_Bool",): BOOL, ("char",): I8, ("char", "signed"): I8, ("char", "unsigned"): U8,
    ("short",): I16, ("short", "signed"): I16, ("short", "unsigned"): U16,
    (): I32, ("signed",): I32, ("unsigned",): U32,
    ("long",): I64, ("long", "signed"): I64, ("long", "unsigned"): U64,
    ("long", "long"): I64, ("long", "long", "signed"): I64, ("long", "long", "unsigned"): U64,
    ("float",): F32, ("double",): F64, ("_Float16",): F16, ("_Float32",): F32, ("_Float64",): F64,
}  # fmt: skip

OWN_TYPES: Mapping[str, Type] = {"__bf16": BF16}
"""Types that compilers have besides C's; the parser takes them for structures of that name."""


def resolve(node: c_ast.Node | None, typedefs: Mapping[str, CType]) -> CType:
    """The type that a declarator's tree stands for; `typedefs` are the names in scope."""
    match node:
        case c_ast.TypeDecl() | c_ast.Typename() | c_ast.Decl():
            if "volatile" in (node.quals or ()) or "_Atomic" in (node.quals or ()):
                return CUnknown("volatile")
            return resolve(node.type, typedefs)
        case c_ast.PtrDecl():
            if "volatile" in (node.quals or ()):
                return CUnknown("volatile")
            return CPointer(resolve(node.type, typedefs), "restrict" in (node.quals or ()))
        case c_ast.ArrayDecl():
            return CArray(resolve(node.type, typedefs), node.dim)
        case c_ast.IdentifierType(names=names):
            if len(names) == 1 and names[0] in typedefs:
                return typedefs[names[0]]
            if names == ["void"]:
                return CVoid()
            words = [x for x in names if x != "int"] if "char" not in names else list(names)
            leaf = _LEAVES.get(tuple(sorted(words)))
            return CScalar(leaf) if leaf is not None else CUnknown(" ".join(names))
        case c_ast.Enum():
            return CScalar(I32 if node.underlying_type is None else I64)
        case c_ast.Struct(name=name) if name in OWN_TYPES:
            return CScalar(OWN_TYPES[name])
        case c_ast.Struct() | c_ast.Union():
            return CUnknown(f"{type(node).__name__.lower()} {node.name or ''}".strip())
        case c_ast.FuncDecl():
            return CUnknown("function")
        case _:
            return CUnknown(type(node).__name__ if node is not None else "nothing")


def as_parameter(ctype: CType, node: c_ast.Node) -> CType:
    """A parameter declared as an array is a pointer to its element."""
    if isinstance(ctype, CArray):
        quals = node.type.dim_quals if isinstance(node.type, c_ast.ArrayDecl) else []
        return CPointer(ctype.element, "restrict" in (quals or ()))
    return ctype


def leaf_of(ctype: CType) -> Type | None:
    """The scalar type at the end of pointers and arrays, or None."""
    while isinstance(ctype, (CPointer, CArray)):
        ctype = ctype.target if isinstance(ctype, CPointer) else ctype.element
    return ctype.type if isinstance(ctype, CScalar) else None


def declared(node: c_ast.Node) -> str:
    """A declaration as C text, without its initialiser."""
    return str(CGenerator().visit(node))
