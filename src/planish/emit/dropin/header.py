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
    """
    first = read[0]
    known = {x.name: x for x in first.prototypes}
    names = dict.fromkeys(y.name for x in read for y in x.prototypes)
    types = all((x.types, x.includes) == (first.types, first.includes) for x in read)
    same = [x for x in names if types and all(known.get(x) in y.prototypes for y in read)]
    told = {x: "it is not the same for all targets" for x in names if x not in same}
    told = dict([*(y for x in read for y in x.left_out), *told.items()])
    kept = tuple(known[x] for x in same)
    if not types:
        return HeaderInterface((), (), (), tuple(told.items()))
    return HeaderInterface(kept, first.types, first.includes, tuple(told.items()))


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
