"""Names that must be types where no header declares them, found near the place where the parser stopped.

>>> likely_types("strange_t *find(other_t *x, rare_t);", body=False)
['other_t', 'rare_t']
>>> type_candidates("void f(void) { strange_t *a; }", 1, 27, ())[0]
'strange_t'
"""

from __future__ import annotations

import re
from collections.abc import Collection

from planish.frontend.c.text.lexer import CToken, tokenize

_NAME = re.compile(r"[A-Za-z_]\w*")
WORDS = frozenset(
    re.findall(
        r"\w+",
        "auto break case char const continue default do double else enum extern float for goto if inline int long "
        "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
        "_Bool _Complex _Alignas _Static_assert _Thread_local _Noreturn _Atomic _Generic asm __asm __asm__ typeof "
        "__typeof __typeof__ __label__ __real__ __imag__ __int128 __float128 _Float128 _Float16 _Alignof alignof",
    )
)
"""Words that are no names in C or its dialects."""


def type_candidates(text: str, line: int, column: int, unknown: Collection[str]) -> list[str]:
    """Names near a place of `text` that stand where a type would: before a name, a `*`, or a closing parenthesis of a
    cast; those nearest first."""
    tokens = tokenize(text).tokens
    here = [n for n, t in enumerate(tokens) if t.line == line]
    if not here:
        return []
    starts = {n: _column(text, tokens[n]) for n in here}
    centre = max((n for n in here if starts[n] <= column), default=here[0])
    out: list[str] = []
    for n in (centre, centre - 1, centre - 2, centre + 1, centre - 3, centre - 4, *here):
        if not 0 <= n < len(tokens) - 1:
            continue
        word, after = tokens[n].text, tokens[n + 1].text
        named = _NAME.fullmatch(word) and word not in WORDS and word not in unknown and word not in out
        if named and (after in ("*", ")") or _NAME.fullmatch(after)):
            out.append(word)
    return out


def likely_types(text: str, body: bool = True) -> list[str]:
    """Names directly before a name at the start of a declaration or parameter; outside of the body of a function, if
    it has a `body`, those before a `*` and a name as well, and parameters without a name."""
    tokens = tokenize(text).tokens
    out: list[str] = []
    depth = 0
    for before, here, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        depth += {"{": 1, "}": -1}.get(before.text, 0)
        starts = before.text in ("(", ",", ";", "{", "}", "const", "static", "extern", "inline", "register")
        if not starts or not _NAME.fullmatch(here.text) or here.text in WORDS:
            continue
        named = _NAME.fullmatch(after.text) and (after.text not in WORDS or after.text in ("const", "restrict"))
        outside = depth == 0 or not body
        alone = outside and before.text in ("(", ",") and after.text in (",", ")") and not body
        pointed = after.text == "*" and outside
        if (named or pointed or alone) and here.text not in out:
            out.append(here.text)
    return out


def _column(text: str, token: CToken) -> int:
    return token.start - text.rfind("\n", 0, token.start)
