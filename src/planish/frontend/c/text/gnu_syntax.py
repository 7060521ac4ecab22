"""Syntax of compilers in plain C: assembler as a call of an unknown function, ranges of cases as cases.

>>> as_plain_c('void f(int *p) { asm volatile ("bswap %0" : "+r"(*p) : "r"(4)); }')
'void f(int *p) { planish_unread(&(* p), 4); }'
>>> as_plain_c("switch (x) { case 'a' ... 'c': y = 1; }")
"switch (x) { case 'a': case 98: case 'c': y = 1; }"
>>> as_plain_c("x = t[k] ?: 7;")
'x = t[k] ? t[k] : 7;'
>>> without_words('GLOBAL(void) LOCAL f(short n) { }', {"short"})
'              void f(short n) { }'
>>> unread_body("{ t = k + find(&table); }", set())
'{ planish_unread(&find, &k, &t, &table); }'
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from planish.frontend.c.text.extent import UnreadableText, balanced
from planish.frontend.c.text.lexer import CToken, tokenize
from planish.frontend.c.text.type_guesses import WORDS

_NAME = re.compile(r"[A-Za-z_]\w*")
ASSEMBLER = frozenset({"asm", "__asm", "__asm__"})
_TYPEOF = frozenset({"typeof", "__typeof", "__typeof__"})
TYPE_OF = "planish_type_of"
UNREAD = "planish_unread"
"""What stands for a call that may do anything, in the place of what the parser does not read."""
"""The name of a type that is that of an expression."""
_AWAY = frozenset({"__extension__"})
_MOST_CASES = 256
_BEFORE = frozenset({
    ";", "{", "}", ",", "?", ":", "return", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=",
})  # fmt: skip
"""What stands in front of the first operand of a choice."""
_PREFIXES = frozenset({"static", "extern", "inline", "const", "register", "volatile", "_Noreturn", "*"})
"""Words of a declaration that say nothing of what it is."""


def as_plain_c(text: str) -> str:
    """The text of a declaration or function in C that the parser reads, as far as there is such; its lines stay where
    they are."""
    tokens = tokenize(text).tokens
    made: list[tuple[int, int, str]] = []
    at, depth = 0, 0
    while at < len(tokens):
        depth += {"{": 1, "}": -1}.get(tokens[at].text, 0)
        end, instead = _rewritten(tokens, at, depth > 0)
        if instead is not None:
            start, stop = tokens[at].start, tokens[end - 1].end
            made.append((start, stop, instead + "\n" * (text.count("\n", start, stop) - instead.count("\n"))))
        at = max(end, at + 1)
    for start, stop, instead in reversed(made):
        text = text[:start] + instead + text[stop:]
    return text


def unread_body(text: str, types: Collection[str]) -> str:
    """A body that may do anything with what the one in `text` names."""
    names = {x.text for x in tokenize(text).tokens if _NAME.fullmatch(x.text)}
    kept = sorted(x for x in names if x not in WORDS and x not in types)
    return f"{{ {UNREAD}({', '.join(f'&{x}' for x in kept)}); }}"


def without_words(text: str, types: Collection[str]) -> str:
    """A declaration without the words in front of its declarator that are no types, and the arguments behind these, as
    macros of headers are that were not found; what is returned where nothing is said of it is nothing."""
    tokens = tokenize(text).tokens
    head, at = list[tuple[int, int, str]](), 0
    while at < len(tokens) and (_NAME.fullmatch(tokens[at].text) or tokens[at].text == "*"):
        after = at + 1
        try:
            if after < len(tokens) and tokens[after].text == "(":
                after = balanced(tokens, after)
        except UnreadableText:
            return text
        head.append((at, after, tokens[at].text))
        at = after
    named = [n for n, x in enumerate(head) if _NAME.fullmatch(x[2])]
    if not named:
        return text
    typed = False
    for first, after, word in reversed(head[: named[-1]]):
        known = word == "*" or word in WORDS or word in types
        typed = typed or (known and word not in _PREFIXES)
        if not known:
            start, end = tokens[first].start, tokens[after - 1].end
            text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    if not typed:
        at = tokens[head[named[-1]][0]].start
        text = text[: max(0, at - 5)] + "void " + text[at:] if text[max(0, at - 5) : at].isspace() else text
    return text


def _rewritten(tokens: Sequence[CToken], at: int, inside: bool) -> tuple[int, str | None]:
    """One past the last token of what is written otherwise, and how; None: it stays. `inside`: of a body."""
    text = tokens[at].text
    try:
        if text in ASSEMBLER:
            return _assembler(tokens, at, inside)
        if text == "case":
            return _cases(tokens, at)
        if text in _TYPEOF and at + 1 < len(tokens) and tokens[at + 1].text == "(":
            return balanced(tokens, at + 1), TYPE_OF
        if text == "?" and at + 1 < len(tokens) and tokens[at + 1].text == ":":
            return _elvis(tokens, at)
    except UnreadableText:
        pass
    if text == "va_arg" or text == "__builtin_va_arg":
        return _argument(tokens, at)
    if _is_beside_string(tokens, at):
        return at + 1, ""  # a macro of a header that was not found
    if text in _AWAY:
        return at + 1, ""
    return at + 1, None


def _argument(tokens: Sequence[CToken], at: int) -> tuple[int, str | None]:
    """`va_arg(list, type)`"""
    if at + 1 >= len(tokens) or tokens[at + 1].text != "(":
        return at + 1, None
    end = balanced(tokens, at + 1)
    fields = [" ".join(x.text for x in y) for y in _split(tokens[at + 2 : end - 1], ",")]
    return (end, f"(*({fields[1]} *){UNREAD}(&({fields[0]})))") if len(fields) == 2 else (at + 1, None)


def _is_beside_string(tokens: Sequence[CToken], at: int) -> bool:
    """Whether a name stands beside a string, as none does in C."""
    text = tokens[at].text
    if not _NAME.fullmatch(text) or text in WORDS or text in ASSEMBLER:
        return False
    before = tokens[at - 1].text if at else ""
    after = tokens[at + 1].text if at + 1 < len(tokens) else ""
    return before.endswith('"') or after.startswith('"')


def _elvis(tokens: Sequence[CToken], at: int) -> tuple[int, str | None]:
    """`a ?: b`, of which the first operand is written twice where nothing happens in it."""
    first, depth = at, 0
    while first > 0 and not (depth == 0 and tokens[first - 1].text in _BEFORE):
        text = tokens[first - 1].text
        depth += (text in (")", "]")) - (text in ("(", "["))
        if depth < 0:
            break
        first -= 1
    operand = tokens[first:at]
    calls = any(x.text == "(" and _NAME.fullmatch(y.text) for y, x in zip(operand, operand[1:], strict=False))
    if not operand or calls or any(x.text in ("++", "--", "=") or x.text[-1:] == "=" for x in operand):
        return at + 1, None
    return at + 2, f"? {' '.join(x.text for x in operand)} :".replace(" [ ", "[").replace(" ] ", "] ")


def _assembler(tokens: Sequence[CToken], at: int, inside: bool) -> tuple[int, str | None]:
    after = at + 1
    while after < len(tokens) and tokens[after].text in ("volatile", "__volatile__", "inline"):
        after += 1
    if after >= len(tokens) or tokens[after].text != "(":
        return at + 1, None  # one that jumps
    end = balanced(tokens, after)
    if not inside or tokens[at - 1].text not in (";", "{", "}", ")", "else", "do", ":"):
        return end, ""  # the name of something for the assembler
    fields = _split(tokens[after + 1 : end - 1], ":")
    outputs = [f"&({x})" for x in _operands(fields[1] if len(fields) > 1 else ())]
    inputs = [*_operands(fields[2] if len(fields) > 2 else ())]
    return end, f"{UNREAD}({', '.join((*outputs, *inputs))})"


def _operands(field: Sequence[CToken]) -> Iterable[str]:
    """The expressions of the operands of assembler."""
    for operand in _split(field, ","):
        first = next((n for n, x in enumerate(operand) if x.text == "("), None)
        if first is not None:
            yield " ".join(x.text for x in operand[first + 1 : balanced(operand, first) - 1])


def _split(tokens: Sequence[CToken], separator: str) -> list[Sequence[CToken]]:
    """The tokens between separators that are in no brackets."""
    out: list[list[CToken]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if token.text == separator and depth == 0:
            out.append([])
        else:
            out[-1].append(token)
    return [*out]


def _cases(tokens: Sequence[CToken], at: int) -> tuple[int, str | None]:
    """`case 1 ... 3:` with numbers or characters."""
    if at + 4 >= len(tokens) or tokens[at + 2].text != "..." or tokens[at + 4].text != ":":
        return at + 1, None
    first, last = _number(tokens[at + 1].text), _number(tokens[at + 3].text)
    if first is None or last is None or not first < last <= first + _MOST_CASES:
        return at + 1, None
    inner = [str(x) for x in range(first + 1, last)]
    listed = [tokens[at + 1].text, *inner, tokens[at + 3].text]
    return at + 5, " ".join(f"case {x}:" for x in listed)


def _number(text: str) -> int | None:
    if re.fullmatch(r"'[^'\\]'", text):
        return ord(text[1]) if ord(text[1]) < 128 else None
    try:
        return int(text, 0)
    except ValueError:
        return None
