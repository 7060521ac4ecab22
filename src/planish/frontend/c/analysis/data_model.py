"""Whether a file means the same where `long` and addresses have 32 bits, or a plain `char` has another sign.

>>> text = '# 1 "k.c"\\nvoid k(ptrdiff_t s, float *a)\\n{\\n  for (unsigned long i = 0; i < 4; i++) a[i] = s;\\n}\\n'
>>> (found,) = wider_words(text, "/nowhere")
>>> found.line, found.column, found.text
(3, 8, 'unsigned long')
>>> [names_plain_char(x, (x,), "/nowhere") for x in (text, "unsigned char c; char d;", r"int c = '\\x0ff';")]
[False, True, True]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source, Span
from planish.frontend.c.text.lexer import CToken, tokenize
from planish.frontend.c.text.syntax import line_map
from planish.frontend.c.types.constants import parse_character

_UNSIGNED = ("size_t", "uintptr_t", "uint_fast16_t", "uint_fast32_t", "sizeof", "_Alignof", "__builtin_offsetof")
"""What counts, or is made, modulo 2^32 there."""
_SIGNED = ("ptrdiff_t", "intptr_t", "ssize_t", "int_fast16_t", "int_fast32_t")
_LITERAL = re.compile(r"(?!0[xX]|.*[.]).*?\d(?:[uU]?[lL]|[lL][uU])|0[xX][\da-fA-F]+(?:[uU]?[lL]|[lL][uU])")
_AFTER = (",", ")", "=", ";")
_CHARACTER = re.compile(r"\bchar\b|['\"]")
_LIMIT = re.compile(r"\bCHAR_M(?:IN|AX)\b")
_FAR = re.compile(r'".*?(?:\\x0*[89a-fA-F][\da-fA-F]|\\[23][0-7]{2}|[^\x00-\x7f])', re.DOTALL)
"""A string with characters above 127."""
_SPELT = re.compile(
    r"""(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|[uUL]?'(?:\\.|[^'\\\n])*'"""
    r"""|(?<![\w$])(?:(?P<before>[A-Za-z_]\w*)\s+)?(?P<char>char)(?![\w$])(?=\s+(?P<behind>\w+)|)""",
    re.DOTALL,
)
"""Strings, characters, and the word `char` with those beside it."""
_MAY_ASK = re.compile(r"^[ \t]*#[ \t]*(?:el)?if\b.*'", re.MULTILINE)
_ASKED = re.compile(r"[ \t]*#[ \t]*(?:el)?if\b(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class WiderWord:
    """Where a word stands that means less there: file, line and column from 1."""

    file: str
    line: int
    column: int
    text: str


def check_data_model(preprocessed: str, own: str | tuple[str, ...], source: Source, machine: str) -> None:
    """PlanishError E0205 where what a file says of such types is not the same on a machine with 32 bits."""
    for x in wider_words(preprocessed, own):
        last = x.column + len(x.text)
        message = f"`{x.text}` has 32 bits on {machine}, and is read with 64"
        advice = "use int, or the types of stdint.h with a number in their name"
        raise PlanishError(Diagnostic("E0205", message, Span(x.file, x.line, x.column, x.line, last), advice), source)


def names_plain_char(preprocessed: str, written: Sequence[str], own: str | tuple[str, ...]) -> bool:
    """Whether a preprocessed text, but for files below the folders `own`, has a `char` without a word on its sign, or a
    character that may be a number below 0; what is `written` in its files may name the limits of a `char`, or decide by
    such a character.

    >>> [names_plain_char("int f;", (x,), "/nowhere") for x in (r"#if '\\377' < 0", "#define A CHAR_MIN", "#if 'a'")]
    [True, True, False]
    """
    if any(_LIMIT.search(x) or _asks_sign(x) for x in written):
        return True
    if _CHARACTER.search(preprocessed) is None:
        return False
    lines = zip(preprocessed.split("\n"), line_map(preprocessed), strict=True)
    plain = "\n".join(x for x, place in lines if not x.startswith("#") and not place[0].startswith(own))
    signs = ("signed", "unsigned", "__signed__", "__signed")
    return any(
        x["before"] not in signs and x["behind"] not in signs if x["char"] else _is_far(x[0])
        for x in _SPELT.finditer(plain)
    )


def _is_far(word: str) -> bool:
    """Whether a token is a character above 127, or a string with one."""
    if word.startswith("'"):
        return (parse_character(word) or 0) > 127
    return _FAR.match(word) is not None


def _asks_sign(text: str) -> bool:
    """Whether a condition of the preprocessor has a character above 127."""
    if "'" not in text or _MAY_ASK.search(text.replace("\\\r\n", "").replace("\\\n", "")) is None:
        return False
    asked = (found[1] for x in tokenize(text).directives if (found := _ASKED.match(x.text)))
    return any(_is_far(x.text) for y in asked for x in tokenize(y).tokens)


def wider_words(preprocessed: str, own: str | tuple[str, ...]) -> Iterator[WiderWord]:
    """The words of a preprocessed text, but for files below the folders `own`, whose meaning may differ. A number with
    a sign that has a name of its own is the same, and so is an int as such a number: these do not overflow in a
    program that is correct there."""
    lines = preprocessed.split("\n")
    places = line_map(preprocessed)
    plain = "\n".join(
        "" if x.startswith("#") or place[0].startswith(own) else x for x, place in zip(lines, places, strict=True)
    )
    tokens = tokenize(plain).tokens
    starts = [0]
    for x in plain.split("\n"):
        starts.append(starts[-1] + len(x) + 1)
    integers = _integers(tokens)
    at = 0
    while at < len(tokens):
        end = _end(tokens, at, integers)
        if end:
            first = tokens[at]
            file, line = places[first.line - 1]
            text = " ".join(x.text for x in tokens[at:end])
            yield WiderWord(file, line, first.start - starts[first.line - 1] + 1, text)
        at = max(end, at + 1)


def _integers(tokens: Sequence[CToken]) -> frozenset[str]:
    """The names that are declared as `int`, and as nothing else."""
    found: dict[str, bool] = {}
    for before, word, name in zip(["", *(x.text for x in tokens)], tokens, tokens[1:], strict=False):
        if name.text.isidentifier() and word.text.isidentifier() and word.text != "return":
            plain = word.text == "int" and before not in ("unsigned", "long", "short")
            found[name.text] = found.get(name.text, True) and plain
    return frozenset(x for x, y in found.items() if y)


def _end(tokens: Sequence[CToken], at: int, integers: frozenset[str]) -> int:
    """One past the last token of such a word that begins here; 0 where none does."""
    word = tokens[at].text
    if word in _UNSIGNED or _LITERAL.fullmatch(word):
        return at + 1
    if word in _SIGNED:
        return 0 if _is_scalar(tokens, at + 1) or _is_cast(tokens, at + 1, integers) else at + 1
    if word not in ("long", "unsigned", "signed", "int"):
        return 0
    end = at
    while end < len(tokens) and tokens[end].text in ("long", "unsigned", "signed", "int", "double"):
        end += 1
    words = [x.text for x in tokens[at:end]]
    if words.count("long") != 1 or "double" in words:
        return 0
    if "unsigned" in words:
        return end
    return 0 if _is_scalar(tokens, end) or _is_cast(tokens, end, integers) else end


def _is_cast(tokens: Sequence[CToken], at: int, integers: frozenset[str]) -> bool:
    """Whether the end of a cast of an int follows a type."""
    return at + 1 < len(tokens) and tokens[at].text == ")" and tokens[at + 1].text in integers


def _is_scalar(tokens: Sequence[CToken], at: int) -> bool:
    """Whether a name and the end of its declaration follow a type."""
    while at < len(tokens) and tokens[at].text == "const":
        at += 1
    return at + 1 < len(tokens) and tokens[at].text.isidentifier() and tokens[at + 1].text in _AFTER
