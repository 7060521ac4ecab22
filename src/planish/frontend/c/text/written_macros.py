"""Macros that hide loops, written out in the user's text: one that is a whole function, or several statements.

Before: #define SUM(T) T sum_##T(int n, const T *x) { T s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
        SUM(float)
After:  float sum_float(int n, const float *x) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }

What else a macro names stays as it is, so that compilers read it under their own settings. Lines keep their numbers.

>>> text = "#define ALL(k) for (i = 0; i < k; i++) a[i] = N; last(#k);\\nvoid f(void) {\\n  ALL(\\n3)\\n}\\n"
>>> (found,) = hiding_invocations(tokenize(text), frozenset({2, 3, 4, 5}))
>>> write_out(text, [found])[0].split("\\n")[2:]
['  for (i = 0; i < 3; i++) a[i] = N; last("3");', '', '}', '']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from planish.frontend.c.text.extent import UnreadableText, active_tokens, balanced
from planish.frontend.c.text.lexer import CToken, Directive, Tokens, tokenize

_DEFINE = re.compile(r"\s*#\s*define\s+([A-Za-z_]\w*)(\(([^()]*)\))?(.*)", re.S)
_UNDEFINE = re.compile(r"\s*#\s*undef\s+([A-Za-z_]\w*)")
_LONGEST = 20_000
"""Characters of what a macro is written out as."""
_DEEPEST = 6
"""Macros within macros that are written out."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """Where a macro is named, with its arguments, and what it stands for."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class _Definition:
    """A macro: its parameters (None: it takes none), the tokens of its text, and the conditional groups around it
    (None: it is not sure what it stands for)."""

    parameters: tuple[str, ...] | None
    body: tuple[CToken, ...]
    groups: tuple[int, ...] | None


def hiding_invocations(tokens: Tokens, active: frozenset[int]) -> list[Invocation]:
    """Where macros that this text defines, and that hide loops, are named; `active`: the lines that the preprocessor
    keeps."""
    events: list[CToken | Directive] = sorted((*active_tokens(tokens, active), *tokens.directives), key=_start_of)
    kept = [x for x in events if isinstance(x, CToken)]
    place = {x.start: n for n, x in enumerate(kept)}
    known: dict[str, _Definition] = {}
    groups: list[int] = []
    out: list[Invocation] = []
    done = 0
    for event in events:
        if isinstance(event, Directive):
            _follow(event, groups)
            _define(event, tuple(groups), known)
        elif event.start >= done and (definition := _sure(event.text, known, groups)) is not None:
            found = _invoked(kept, place[event.start], definition, known, _DEEPEST)
            if found is not None and _hides(event.text, known, frozenset()) and len(found.text) <= _LONGEST:
                out.append(found)
                done = found.end
            elif found is not None and _spells(definition):
                done = found.end
    return out


def write_out(text: str, invocations: Sequence[Invocation]) -> tuple[str, list[tuple[int, int]]]:
    """The text with macros written out, each on as many lines as before, and where these are then."""
    parts: list[str] = []
    extents: list[tuple[int, int]] = []
    at = length = 0
    for x in invocations:
        instead = x.text + "\n" * text.count("\n", x.start, x.end)
        parts += [text[at : x.start], instead]
        length += x.start - at
        extents.append((length, length + len(instead)))
        length, at = length + len(instead), x.end
    return "".join((*parts, text[at:])), extents


def _start_of(event: CToken | Directive) -> int:
    return event.start


def _follow(directive: Directive, groups: list[int]) -> None:
    """Note which conditional groups are open behind a directive, by the lines of their branches."""
    match directive.conditional:
        case "if" | "ifdef" | "ifndef":
            groups.append(directive.line)
        case "elif" | "else" if groups:
            groups[-1] = directive.line
        case "endif" if groups:
            groups.pop()
        case _:
            pass


def _define(directive: Directive, groups: tuple[int, ...], known: dict[str, _Definition]) -> None:
    text = directive.text.replace("\\\r\n", " ").replace("\\\n", " ")
    if (ended := _UNDEFINE.match(text)) is not None:
        known[ended[1]] = _Definition(None, (), None)
    elif (found := _DEFINE.match(text)) is not None:
        name, has_parameters, listed, body = found.groups()
        parameters = tuple(x.strip() for x in listed.split(",") if x.strip()) if has_parameters else None
        made = tokenize(f"x {body}").tokens[1:]
        before = known.get(name)
        # One of several definitions is in force, and which one depends on conditions.
        unsure = before is not None and before.groups is not None and before.groups[: len(groups)] != groups
        variadic = any("..." in x for x in parameters or ())
        known[name] = _Definition(parameters, made, None if unsure or variadic else groups)


def _sure(name: str, known: Mapping[str, _Definition], groups: Sequence[int]) -> _Definition | None:
    """What a name stands for within conditional groups; None where it is no macro, or that is not sure."""
    found = known.get(name)
    if found is None or found.groups is None or tuple(groups[: len(found.groups)]) != found.groups:
        return None
    return found


def _spells(definition: _Definition) -> bool:
    """Whether a macro makes strings or names of its arguments, in which other macros stay as they are."""
    return definition.parameters is not None and any(x.text == "#" for x in definition.body)


def _hides(name: str, known: Mapping[str, _Definition], seen: frozenset[str]) -> bool:
    """Whether a macro stands for loops, but for `do { … } while (0)`."""
    if name not in known or name in seen:
        return False
    words = [x.text for x in known[name].body]
    loops = words.count("for") + words.count("while") - words.count("do")
    return loops > 0 or any(_hides(x, known, seen | {name}) for x in words)


def _invoked(
    tokens: Sequence[CToken], at: int, definition: _Definition, known: Mapping[str, _Definition], left: int
) -> Invocation | None:
    """What the macro that is named at a position stands for there; None where it is not called as it is defined."""
    start, end = tokens[at].start, tokens[at].end
    arguments: dict[str, str] = {}
    if definition.parameters is not None:
        if at + 1 >= len(tokens) or tokens[at + 1].text != "(":
            return None
        try:
            after = balanced(tokens, at + 1)
        except UnreadableText:
            return None
        given = _arguments(tokens[at + 2 : after - 1])
        if len(given) != len(definition.parameters) and (definition.parameters or given != [""]):
            return None
        arguments, end = dict(zip(definition.parameters, given, strict=False)), tokens[after - 1].end
    text = _substitute(definition.body, arguments)
    if text is None or left == 0:
        return None
    inner = tokenize(f"x {text}").tokens[1:]
    within = {**known, tokens[at].text: _Definition(None, (), None)}
    return Invocation(start, end, _written(inner, within, left - 1))


def _written(tokens: Sequence[CToken], known: Mapping[str, _Definition], left: int) -> str:
    """The text of tokens, with the macros among them that hide loops written out."""
    out: list[str] = []
    at = behind = 0
    while at < len(tokens):
        definition = known.get(tokens[at].text)
        sure = definition if definition is not None and definition.groups is not None else None
        hides = _hides(tokens[at].text, known, frozenset())
        if sure is not None and (hides or _spells(sure)):
            found = _invoked(tokens, at, sure, known, left)
            if found is not None:
                as_it_is = "".join(_gap(x, y.end) + x.text for y, x in pairwise(tokens[at:]) if x.end <= found.end)
                out.append(f" {found.text} " if hides else _gap(tokens[at], behind) + tokens[at].text + as_it_is)
                at = next((n for n in range(at, len(tokens)) if tokens[n].start >= found.end), len(tokens))
                behind = found.end
                continue
        out.append(_gap(tokens[at], behind) + tokens[at].text)
        behind = tokens[at].end
        at += 1
    return "".join(out).strip()


def _gap(token: CToken, behind: int) -> str:
    """What lies between a token and the one that ends at `behind`: what is made a string has one space, or none."""
    return " " if token.start > behind else ""


def _arguments(tokens: Iterable[CToken]) -> list[str]:
    out: list[list[str]] = [[]]
    depth = behind = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and depth == 0:
            out.append([])
        else:
            out[-1].append(_gap(token, behind) + token.text)
        behind = token.end
    return ["".join(x).strip() for x in out]


def _substitute(body: Sequence[CToken], arguments: Mapping[str, str]) -> str | None:
    """The text of a macro with arguments in the place of its parameters; None where that is not sure."""
    out: list[str] = []
    joined = False
    at = behind = 0
    while at < len(body):
        text, gap = body[at].text, _gap(body[at], behind)
        behind = body[at].end
        if text == "#" and at + 1 < len(body) and body[at + 1].text == "#":
            joined, behind, at = True, body[at + 1].end, at + 2
            continue
        if text == "#" and arguments and at + 1 < len(body):
            if body[at + 1].text not in arguments:
                return None
            text, behind, at = _as_string(arguments[body[at + 1].text]), body[at + 1].end, at + 1
        else:
            text = arguments.get(text, text)
        if joined and (not out or not out[-1] or not text):
            return None  # nothing joined to something
        if joined:
            out[-1] += text
        else:
            # What an argument ends with is no part of the next token.
            out.append((gap or " " * (out[-1:] != [] and _glues(out[-1], text))) + text if text else "")
        joined, at = False, at + 1
    return None if joined else "".join(out).strip()


def _glues(left: str, right: str) -> bool:
    """Whether two texts side by side may be other tokens than each for itself."""
    ends = left[-1:] + right[:1]
    return len(tokenize(ends).tokens) < 2 or bool(re.fullmatch(r"[\w.$\"'][\w.$\"']|[-+*/%&|^=<>!#:.]{2}", ends))


def _as_string(text: str) -> str:
    escaped = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', lambda x: x[0].replace("\\", "\\\\"), text)
    return '"' + escaped.replace('"', '\\"') + '"'
