"""C types: what a declaration says of the object it names, with Planish's scalar types at the leaves (LP64).

>>> from pycparser.c_parser import CParser
>>> resolve(CParser().parse("unsigned long *p;").ext[0].type, {}).target
CScalar(type=Type(kind='uint', bits=64), family='long', spelling='unsigned long')
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from planish.ir.types import BF16, BOOL, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Type


@dataclass(frozen=True, slots=True)
class CScalar:
    """A number.

    Types of the same values may be different ones to C: what is stored as `long long` must not be read as `long`.
    `family` tells those apart that may not stand for each other ("" for the character types, which may for all), and
    `spelling` is what C calls the type wherever `stddef.h` and `stdint.h` are included ("" where it has none).
    """

    type: Type
    family: str = ""
    spelling: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class CVoid:
    """No value."""


@dataclass(frozen=True, slots=True)
class CUnknown:
    """A type that Planish does not handle: a structure, a vector, an unknown name; `text` names it.

    `record`: the tree of a structure, `union` that of a union; `identity` tells apart those without a name.
    """

    text: str
    record: c_ast.Node | None = field(default=None, compare=False)
    identity: int = 0
    union: c_ast.Node | None = field(default=None, compare=False)

    @property
    def told(self) -> str:
        """What is said of a variable of this type."""
        known = {"volatile": "is volatile or atomic", "attributed": "has a type with an attribute, as of vectors"}
        return known.get(self.text, f"has the type {self.text}")


@dataclass(frozen=True, slots=True)
class CPointer:
    """An address of `target`."""

    target: CType
    restrict: bool = False


@dataclass(frozen=True, slots=True)
class CArray:
    """Elements in a row; `extent` is the expression between the brackets (None: not given). A `complex` number is one
    of its real and its imaginary part."""

    element: CType
    extent: c_ast.Node | None
    complex: bool = False


CType = CScalar | CVoid | CUnknown | CPointer | CArray

_LEAVES: dict[str, tuple[Type, str]] = {
    "_Bool": (BOOL, "_Bool"), "char": (I8, ""), "signed char": (I8, ""), "unsigned char": (U8, ""),
    "short": (I16, "short"), "unsigned short": (U16, "short"), "int": (I32, "int"), "unsigned int": (U32, "int"),
    "long": (I64, "long"), "unsigned long": (U64, "long"),
    "long long": (I64, "long long"), "unsigned long long": (U64, "long long"),
    "float": (F32, "float"), "double": (F64, "double"),
}  # fmt: skip
"""Type and family by C's shortest name."""

NAMED_BY_HEADERS = frozenset(
    {"size_t", "ptrdiff_t", "wchar_t", "intptr_t", "uintptr_t", "intmax_t", "uintmax_t"}
    | {f"{sign}int{kind}{bits}_t" for sign in ("", "u") for kind in ("", "_least", "_fast") for bits in (8, 16, 32, 64)}
)
"""The type names of `stddef.h` and `stdint.h`: which types they are differs between systems."""

ADDRESS = CScalar(U64, "address", "planish_address")
"""An address as the integer that it is to the machine: no number of C shares its place."""

OWN_TYPES: Mapping[str, Type] = {"__bf16": BF16}
"""Types that compilers have besides C's; the parser takes them for structures of that name."""


def scalar_named(words: str) -> CScalar | None:
    """The number type of a name of C in its usual order ("unsigned long"); None where there is none."""
    leaf = _LEAVES.get(words)
    return None if leaf is None else CScalar(leaf[0], leaf[1], words)


def _words_of(names: list[str]) -> str:
    """C's shortest name for a list of words: `long unsigned int` is `unsigned long`."""
    words = [x for x in names if x not in ("int", "signed", "unsigned")]
    sign = ["unsigned"] if "unsigned" in names else ["signed"] if "signed" in names and words == ["char"] else []
    return " ".join([*sign, *(sorted(words, key=lambda x: x != "long") or ["int"])])


def renamed(ctype: CType, name: str) -> CType:
    """The type under a name that headers of C give it."""
    return replace(ctype, spelling=name) if isinstance(ctype, CScalar) and name in NAMED_BY_HEADERS else ctype


def enumeration_type(values: Collection[int | None]) -> CType:
    """The integer type that compilers take for an enumeration of these values (None: one that is not known)."""
    known = [x for x in values if x is not None]
    if len(known) < len(values) or not known:
        return CUnknown("an enumeration whose values are not known")
    signed = min(known) < 0
    small = min(known) >= -(1 << 31) and max(known) < 1 << (31 if signed else 32)
    words = f"{'' if signed else 'unsigned '}{'int' if small else 'long'}"
    return scalar_named(words) or CUnknown("an enumeration")


def enumeration_key(node: c_ast.Enum) -> str:
    """Under which name the type of an enumeration is kept beside the type names: no type name has a blank."""
    return f"enum {node.name or id(node)}"


def resolve(node: c_ast.Node | None, typedefs: Mapping[str, CType]) -> CType:
    """The type that a declarator's tree stands for; `typedefs` are the names in scope."""
    match node:
        case c_ast.TypeDecl() | c_ast.Typename() | c_ast.Decl():
            if "volatile" in (node.quals or ()) or "_Atomic" in (node.quals or ()):
                return CUnknown("volatile")
            return resolve(node.type, typedefs)
        case c_ast.PtrDecl():
            if "volatile" in (node.quals or ()) or "_Atomic" in (node.quals or ()):
                return CUnknown("volatile")
            return CPointer(resolve(node.type, typedefs), "restrict" in (node.quals or ()))
        case c_ast.ArrayDecl():
            return CArray(resolve(node.type, typedefs), node.dim)
        case c_ast.IdentifierType(names=names):
            if len(names) == 1 and names[0] in typedefs:
                return typedefs[names[0]]
            if names == ["void"]:
                return CVoid()
            if "_Complex" in names:
                return _complex_type([x for x in names if x != "_Complex"])
            return scalar_named(_words_of(names)) or CUnknown(" ".join(names))
        case c_ast.Enum(underlying_type=underlying) if underlying is not None:
            return resolve(underlying, typedefs)
        case c_ast.Enum(name=name):
            return typedefs.get(enumeration_key(node), CUnknown(f"enum {name or ''}".strip()))
        case c_ast.Struct(name=name) if name in OWN_TYPES:
            return CScalar(OWN_TYPES[name], name)
        case c_ast.Struct(name=name):
            return CUnknown(f"struct {name or ''}".strip(), node, 0 if name else id(node))
        case c_ast.Union(name=name):
            return CUnknown(f"union {name or ''}".strip(), None, 0 if name else id(node), node)
        case c_ast.FuncDecl():
            return CUnknown("function")
        case _:
            return CUnknown(type(node).__name__ if node is not None else "nothing")


def _complex_type(names: list[str]) -> CType:
    """A complex number of parts of a type (none: `double`), as the row of them that it lies in memory as."""
    part = scalar_named(_words_of(names)) if names else scalar_named("double")
    if part is None or not part.type.is_float:
        return CUnknown(" ".join((*names, "_Complex")))
    return CArray(part, c_ast.Constant("int", "2"), True)


def as_parameter(ctype: CType, node: c_ast.Node) -> CType:
    """A parameter declared as an array is a pointer to its element."""
    if isinstance(ctype, CArray) and not ctype.complex:
        quals = node.type.dim_quals if isinstance(node.type, c_ast.ArrayDecl) else []
        return CPointer(ctype.element, "restrict" in (quals or ()))
    return ctype


def is_complex_type(ctype: CType) -> bool:
    """Whether it is a complex number."""
    return isinstance(ctype, CArray) and ctype.complex


def scalar_of(ctype: CType) -> CScalar | None:
    """The number type at the end of pointers and arrays, or None."""
    while isinstance(ctype, (CPointer, CArray)):
        ctype = ctype.target if isinstance(ctype, CPointer) else ctype.element
    return ctype if isinstance(ctype, CScalar) else None


def leaf_of(ctype: CType) -> Type | None:
    """Planish's type of the numbers at the end of pointers and arrays, or None."""
    scalar = scalar_of(ctype)
    return None if scalar is None else scalar.type


def text_of(node: c_ast.Node) -> str:
    """A part of a program as C text."""
    return str(CGenerator().visit(node))
