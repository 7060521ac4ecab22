"""Which functions are something else under other flags: their text, or what it names, asks macros of the compiler.

>>> from planish.frontend.c.text.preprocess import preprocess
>>> text = "#ifdef __AVX2__\\n#define K 3\\n#else\\n#define K 2\\n#endif\\nenum { k = K };\\n"
>>> source = Source("f.c", text + "int f(void) { return k; }\\nint g(void) { return 1; }\\n")
>>> functions_by_flags(source, {"f": [(7, 7)], "g": [(8, 8)]}, lambda x: preprocess(x).text, ())
{'f': '__AVX2__'}
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.frontend.c.text.lexer import tokenize
from planish.frontend.c.text.preprocess import SYSTEM, included_files
from planish.frontend.c.text.syntax import line_map, main_lines

_FEATURE = re.compile(
    r"\b(?:__AVX\w*__|__SSE3__|__SSSE3__|__SSE4_[12]__|__SSE4A__|__FMA4?__|__BMI2?__|__F16C__|__POPCNT__|__LZCNT__|"
    r"__GFNI__|__AES__|__VAES__|__PCLMUL__|__VPCLMULQDQ__|__SHA__|__ARM_FEATURE_\w+|__FP_FAST_FMAF?|__CHAR_UNSIGNED__|"
    r"__OPTIMIZE__|__OPTIMIZE_SIZE__|__NO_INLINE__|__FAST_MATH__|__FINITE_MATH_ONLY__)\b"
)
"""Macros that compilers define for one processor, or by one flag, of those that a command may name."""
_MOST = 12
"""Macros that are tried one by one."""
_WORDS = frozenset(
    re.findall(
        r"\w+",
        "auto char const double enum extern float inline int long register restrict short signed static struct typedef "
        "union unsigned void volatile _Alignas _Atomic _Bool _Complex _Noreturn _Thread_local __typeof__ typeof",
    )
)

_Item = tuple[str, ...]


def functions_by_flags(
    source: Source, nests: Mapping[str, Sequence[tuple[int, int]]], read: Callable[[Source], str],
    fixed: Sequence[str], text: str | None = None,
) -> dict[str, str]:  # fmt: skip
    """Those of a file's functions, with the first and last lines of their `nests`, that are not the same under all
    flags with which these nests are there, and the macros that decide, as a text. `read` preprocesses, `text` is what
    that makes of the source, `fixed` are definitions with which it is always compiled."""
    text = read(source) if text is None else text
    known = {x.partition("=")[0] for x in fixed}
    macros = [x for x in dict.fromkeys(_mentioned(source, text)) if x not in known]
    if not macros:
        return {}
    first = _items(text)
    found: dict[str, str] = {}
    for told, defined in _readings(macros):
        lines = "".join(f"#undef {x}\n{f'#define {x} 1{chr(10)}' if x in defined else ''}" for x in macros)
        try:
            other = read(Source(source.name, lines + source.text, borrowed=source.borrowed))
        except PlanishError:
            continue  # no flags make a program of it then
        added = lines.count("\n")
        active = {number - added for number, x in main_lines(other, source.name) if x.strip()}
        for x in _affected(first, _items(other), [*nests]):
            if any(not active.isdisjoint(range(start, end + 1)) for start, end in nests[x]):
                found.setdefault(x, told)
    return found


def written_texts(source: Source, text: str) -> Iterator[str]:
    """What stands in a file and in the headers that it includes, but for the system's; `text` is what the preprocessor
    makes of it."""
    yield source.text
    for name in included_files(text, source.name):
        with suppress(OSError), open(name, encoding="utf-8", errors="replace") as header:
            yield header.read()


def _mentioned(source: Source, text: str) -> Iterator[str]:
    for written in written_texts(source, text):
        yield from _FEATURE.findall(written)


def _readings(macros: Sequence[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Which macros are defined at once, and those to tell of where that makes a difference: each alone, all but each,
    all, and none."""
    every, whole = frozenset(macros), ", ".join(macros[:_MOST])
    if len(macros) <= _MOST:
        yield from ((x, frozenset((x,))) for x in macros)
        yield from ((x, every - {x}) for x in macros)
    yield from ((whole, x) for x in (every, frozenset[str]()))


def _items(text: str) -> list[_Item]:
    """The definitions and declarations of a preprocessed text, but for those of the system, as tokens."""
    lines = zip(text.split("\n"), line_map(text), strict=True)
    plain = "\n".join("" if x.startswith("#") or place[0].startswith(SYSTEM) else x for x, place in lines)
    found: list[_Item] = []
    item: list[str] = []
    depth, body = 0, False
    for token in tokenize(plain).tokens:
        word = token.text
        if word == "{" and depth == 0:
            body = not item or item[-1] == ")"
        item.append(word)
        depth += (word in ("(", "[", "{")) - (word in (")", "]", "}"))
        if depth == 0 and (word == ";" or (word == "}" and body)):
            found.append(tuple(item))
            item, body = [], False
    return [*found, tuple(item)] if item else found


def _affected(first: Sequence[_Item], other: Sequence[_Item], functions: Sequence[str]) -> list[str]:
    """The functions that are not the same in both texts, or that name what is not."""
    differing = {*(Counter(first) - Counter(other)), *(Counter(other) - Counter(first))}
    if not differing:
        return []
    names = {y for x in differing for y in _declared(x)}
    grown = True
    while grown:
        more = {x for x in first if x not in differing and not names.isdisjoint(x)}
        differing |= more
        new = {y for x in more for y in _declared(x)} - names
        names |= new
        grown = bool(new)
    same = {y for x in first if x not in differing and x[-1] == "}" for y in _declared(x)}
    return [x for x in functions if x not in same]


def _declared(item: _Item) -> set[str]:
    """The names that a declaration makes known; of a function, its own."""
    at = item.index("(") if "(" in item else 0
    if 0 < at < len(item) - 1 and _is_name(item[at - 1]) and item[at + 1] != "*" and item[0] != "typedef":
        return {item[at - 1]}
    found: set[str] = set()
    depth = 0
    for before, word, behind in zip(("", *item), item, (*item[1:], ""), strict=False):
        depth += (word == "{") - (word == "}")
        if not _is_name(word):
            continue
        tag = before in ("struct", "union", "enum")
        if tag or (depth == 0 and behind in ("[", "=", ",", ";", ")", ":", "")) or (depth and "enum" in item):
            found.add(word)
    return found


def _is_name(word: str) -> bool:
    return word.isidentifier() and word not in _WORDS
