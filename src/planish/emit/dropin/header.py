"""The header of a drop-in: the user's functions, and the types that they take, for C and for C++.

The drop-in itself may be included beside it, before or behind: the types are defined once (`share_types`).

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> file = read_c(Source("f.c", "typedef struct { int x; } cell;\\nint f(cell a[restrict 4]) { return a->x; }\\n"))
>>> print(emit_header("f", file.interface).split("\\n\\n")[4])
#ifndef F_C_TYPES
#define F_H_TYPES
typedef struct
{
  int x;
} cell;
#endif
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from planish.frontend.c.translation_unit import HeaderInterface, Prototype, TypeText

_KEYWORDS = frozenset(
    ("bool", "char", "const", "double", "enum", "float", "int", "long", "restrict", "short", "signed", "struct",
     "typedef", "union", "unsigned", "void", "volatile", "_Bool", "_Complex")
)  # fmt: skip
_RESTRICT = """\
#if !defined(__cplusplus)
#define {word} restrict
#elif defined(__GNUC__) || defined(_MSC_VER)
#define {word} __restrict
#else
#define {word}
#endif
"""


def emit_header(stem: str, interface: HeaderInterface) -> str:
    """A header of the user's functions; `stem` is the name of the file without what follows the dot."""
    guard = _guard(stem)
    word = f"{guard}_RESTRICT"
    parts = [f"#ifndef {guard}\n#define {guard}\n"]
    includes = dict.fromkeys(("<stddef.h>", "<stdint.h>", *interface.includes))
    parts.append("".join(f"#include {x}\n" for x in includes))
    body = [*_types(guard, interface.types), *(_declaration(x) for x in interface.prototypes)]
    body += [f"/* {name} is not declared: {reason.replace('*/', '* /')}. */\n" for name, reason in interface.left_out]
    text = "".join(body)
    renamed = re.sub(r"\brestrict\b", word, text)
    if renamed != text:
        parts.append(_RESTRICT.format(word=word))
    parts.append('#ifdef __cplusplus\nextern "C" {\n#endif\n')
    parts.append(renamed)
    parts.append("#ifdef __cplusplus\n}\n#endif\n")
    parts.append(f"{f'#undef {word}' + chr(10) if renamed != text else ''}#endif /* {guard} */\n")
    return "\n".join(parts)


def common_interface(read: Sequence[HeaderInterface]) -> HeaderInterface:
    """What a header says for all of several targets, for each of which the file was read: what it is for one alone is
    not declared.

    >>> one, other = Prototype("f", "void f(void)", None), Prototype("g", "int g(void)", None)
    >>> found = common_interface([HeaderInterface((one, other)), HeaderInterface((one,))])
    >>> [x.name for x in found.prototypes], found.left_out
    (['f'], (('g', 'it is not the same for all targets'),))
    >>> read = [HeaderInterface((one,), (TypeText(f"typedef {x} char b;"),)) for x in ("signed", "unsigned")]
    >>> [x.name for x in common_interface(read).prototypes], common_interface(read).types
    (['f'], ())
    """
    first = read[0]
    known = {x.name: x for x in first.prototypes}
    names = dict.fromkeys(y.name for x in read for y in x.prototypes)
    includes = all(x.includes == first.includes for x in read)
    types, differing = _common_types(read)
    same = [
        x for x in names
        if includes and all(known.get(x) in y.prototypes for y in read) and differing.isdisjoint(_words(known[x].text))
    ]  # fmt: skip
    told = {x: "it is not the same for all targets" for x in names if x not in same}
    told = dict([*(y for x in read for y in x.left_out), *told.items()])
    if not same:
        return HeaderInterface((), (), (), tuple(told.items()))
    return HeaderInterface(tuple(known[x] for x in same), types, first.includes, tuple(told.items()))


def _common_types(read: Sequence[HeaderInterface]) -> tuple[tuple[TypeText, ...], set[str]]:
    """The types that are the same for all targets, and the names of those that are not, or are made of such."""
    kept = [x for x in read[0].types if all(x in y.types for y in read)]
    names = {z for x in read for y in x.types if y not in kept for z in _names_of(y)}
    while more := [x for x in kept if not names.isdisjoint(_words(x.text))]:
        kept = [x for x in kept if x not in more]
        names |= {y for x in more for y in _names_of(x)}
    return tuple(kept), names


def _names_of(type: TypeText) -> set[str]:
    """The names that a definition of types may give: those before a comma, bracket or its end, and tags."""
    outside = re.sub(r"\{.*\}", " ", type.text, flags=re.DOTALL)
    found = re.findall(r"(\w+)\s*(?=[;,)\[(]|$)", outside)
    found += re.findall(r"\b(?:struct|union|enum)\s+(\w+)", outside)
    found += _words(type.text) if re.search(r"\benum\b", type.text) else []
    return {*found} - _KEYWORDS


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d]\w*", text)


def share_types(text: str, stem: str, interface: HeaderInterface) -> str:
    """The drop-in's text, which leaves the types to the header where that stands before it, and the other way round."""
    defined = [x for x in interface.types if x.original]
    if not defined:
        return text
    guard = _guard(stem)
    places = {_find(text, type): type for type in defined}
    for start, type in sorted(places.items(), key=lambda x: x[0], reverse=True):
        end = start + len(type.original)
        before = "" if start == 0 or text[start - 1] == "\n" else "\n"
        behind = "" if text[end : end + 1] in ("\n", "") else "\n"
        otherwise = f"#else\n{type.otherwise}\n" if type.otherwise else ""
        whole = f"{before}#ifndef {guard}_TYPES\n{type.original}\n{otherwise}#endif{behind}"
        text = text[:start] + whole + text[end:]
    head, banner, rest = text.partition("*/\n") if text.startswith("/*") else ("", "", text)
    return f"{head}{banner}#define {guard.removesuffix('H')}C_TYPES /* for the header, where it follows */\n{rest}"


def _find(text: str, type: TypeText) -> int:
    """Where a definition stands in the drop-in, which has all definitions of the file."""
    start = -1
    for _ in range(type.ordinal + 1):
        start = text.index(type.original, start + 1)
    return start


def _guard(stem: str) -> str:
    guard = re.sub(r"\W", "_", f"{stem}_H", flags=re.ASCII).upper()
    return guard if not guard[0].isdigit() else f"H_{guard}"


def _types(guard: str, types: tuple[TypeText, ...]) -> list[str]:
    """The types that the functions take; those that C++ does not have are for C alone."""
    if not types:
        return []
    out = [f"#ifndef {guard.removesuffix('H')}C_TYPES\n#define {guard}_TYPES\n"]
    for type in types:
        twin = re.sub(r"\b_Bool\b", "bool", type.text)
        if not type.portable:
            out.append(f"#ifndef __cplusplus\n{type.text}\n#endif\n")
        elif twin != type.text:
            out.append(f"#ifdef __cplusplus\n{twin}\n#else\n{type.text}\n#endif\n")
        else:
            out.append(f"{type.text}\n")
    return [*out, "#endif\n\n"]


def _declaration(prototype: Prototype) -> str:
    if prototype.cplusplus is None:
        return f"#ifndef __cplusplus\n{prototype.text};\n#endif\n"
    if prototype.cplusplus == prototype.text:
        return f"{prototype.text};\n"
    return f"#ifdef __cplusplus\n{prototype.cplusplus};\n#else\n{prototype.text};\n#endif\n"
