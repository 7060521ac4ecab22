"""Preprocessed C to pycparser's tree, going on past unknown type names and functions that cannot be parsed.

>>> tree = parse_c("void f(strange_t *a) { a = 0; }", Source("a.c", ""))
>>> tree.unknown_types
('strange_t',)
"""

from __future__ import annotations

import re
import shutil
import subprocess
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pycparser import c_ast
from pycparser.c_parser import CParser, ParseError

from planish.core.diagnostic import Diagnostic, PlanishError, Remark
from planish.core.recursion_limit import MOST_NESTED, deep
from planish.core.span import Source, Span
from planish.frontend.c.text.extent import UnreadableText, behind_declarations
from planish.frontend.c.text.lexer import CToken, tokenize
from planish.frontend.c.types.declarations import OWN_TYPES

UNKNOWN = "planish_unknown_"
"""What the parser takes for a type that no header declares is a structure of a name that begins so."""
_PLACE = re.compile(r"^(.*?)(?::(\d+))?(?::(\d+))?: (.*)$", re.S)
_MARKER = re.compile(r'^#\s*(?:line\s+)?(\d+)\s+"((?:[^"\\]|\\.)*)"')
_SYNTAX = re.compile(r"^(.*?):(\d+):(\d+): error: (expected .*|.* before .*|.*undeclared.*type.*)$", re.M)
_NAME = re.compile(r"[A-Za-z_]\w*")
_MOST_TYPES = 200
_MOST_PARSED = 12_000_000
"""Characters that are parsed for one file, all tries together: some seconds."""
_MOST_DROPPED = 32
_MOST_CALLS = 20_000
"""Calls of the parser within each other."""
_BEHIND = 1 << 60
_Part = tuple[int, int, int]
"""Start, end and physical line of a part of the text."""

_WORDS = frozenset(
    re.findall(
        r"\w+",
        "auto break case char const continue default do double else enum extern float for goto if inline int long "
        "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
        "_Bool _Complex _Alignas _Static_assert _Thread_local _Noreturn _Atomic _Generic asm __asm __asm__ typeof "
        "__typeof __typeof__ __label__ __real__ __imag__ __int128 __float128 _Float128 _Float16 _Alignof alignof",
    )
)


@dataclass(slots=True)
class _Guesses:
    """Names that are taken for types, and how many characters may still be parsed to find more; `placed`: only those
    after which the parser comes further, not those after which it does not say where it stopped."""

    types: list[str]
    left: int = _MOST_PARSED
    placed: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """The parsed file, the type names that no header declared, and remarks on functions that were left out."""

    ast: c_ast.FileAST
    unknown_types: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True)
class _Failure:
    """A parse error: where it is in the user's terms, and which physical line of the text that is (0: unknown)."""

    span: Span
    physical: int
    message: str

    @property
    def position(self) -> tuple[int, int]:
        """How far the parser came; faults without a place are found behind all that have one."""
        return self.physical or _BEHIND, self.span.column


def parse_c(text: str, source: Source, flags: Sequence[str] = ()) -> Tree:
    """Parse preprocessed text. What a compiler takes (with these `flags`) and the parser does not is left out: bodies
    of functions, and then whole declarations. Raises PlanishError E0201 with the place of a syntax error."""
    if not text.startswith("#"):
        text = f'# 1 "{source.name}"\n{text}'
    guesses = _Guesses([])
    unknown = guesses.types
    outcome = _parse_guessing_types(text, source, guesses)
    if isinstance(outcome, c_ast.FileAST):
        return Tree(outcome, tuple(unknown), tuple(_leave_out_deep(outcome)))
    wrong = _ask_compiler(text, unknown)
    taken = _is_taken(source, flags)
    if wrong is not None and not taken:
        raise PlanishError(wrong, source)
    bodies = _function_bodies(text)
    failed: list[_Part] = []
    for body in bodies:
        others = [b for b in bodies if b != body]
        tried = None if guesses.left < 0 else _parse_guessing_types(_blank(text, others), source, guesses)
        if not isinstance(tried, c_ast.FileAST):
            failed.append(body)
    if len(failed) == len(bodies):
        # Not even one body alone: what stands between them may be at fault.
        failed = []
    rest, dropped = _parse_without_declarations(_blank(text, failed), source, guesses)
    if isinstance(rest, _Failure) or not any(isinstance(x, c_ast.FuncDef) for x in rest.ext):
        if outcome.physical == 0:
            # A guess at a type may lead to a fault without a place: what the parser says without it has one.
            told = [_parse_once(text, source, x) for x in (unknown, [])]
            outcome = next((x for x in told if isinstance(x, _Failure) and x.physical), outcome)
        if outcome.physical == 0 and bodies:
            file, line = line_map(text)[bodies[0][2] - 1]
            outcome = replace(outcome, span=Span(file, line, 1, line, 2))
        raise PlanishError(_tell_unread(outcome, taken), source)
    lines = line_map(text)
    remarks = [_tell_left_out("function", x, lines) for x in failed]
    remarks += [_tell_left_out("declaration", x, lines) for x in dropped]
    return Tree(rest, tuple(unknown), (*remarks, *_leave_out_deep(rest)))


def _leave_out_deep(tree: c_ast.FileAST) -> Iterator[Remark]:
    """Takes away the bodies of functions that are nested too deep to be analysed, and tells of each."""
    for node in tree.ext:
        if isinstance(node, c_ast.FuncDef) and (depth := _depth_of(node.body)) > MOST_NESTED:
            node.body = c_ast.Compound([], node.body.coord)
            at = node.decl.coord
            name = node.decl.name
            message = f"{name} is {depth} levels deep, of which {MOST_NESTED} are analysed; it stays as written"
            span = Span(str(at.file), at.line, at.column or 1, at.line, (at.column or 1) + len(name))
            yield Remark("analysis-depth", "refused", message, span)


def _depth_of(node: c_ast.Node) -> int:
    """How many statements and expressions are inside of each other."""
    deepest, left = 0, [(node, 1)]
    while left:
        part, depth = left.pop()
        deepest = max(deepest, depth)
        left += ((child, depth + 1) for _, child in part.children())
    return deepest


def _tell_unread(failure: _Failure, taken: bool) -> Diagnostic:
    """A syntax error, or what is none for a compiler."""
    if not taken:
        return Diagnostic("E0201", f"syntax error: {failure.message}", failure.span)
    message = f"syntax that Planish does not read: {failure.message}"
    return Diagnostic("E0201", message, failure.span, "put the nests into a file of their own, in plain C")


def _tell_left_out(what: str, part: _Part, lines: list[tuple[str, int]]) -> Remark:
    file, line = lines[part[2] - 1]
    message = f"this {what} uses syntax that Planish does not read; it stays as written"
    return Remark("scop-syntax", "refused", message, Span(file, line, 1, line, 2))


def _parse_without_declarations(
    text: str, source: Source, guesses: _Guesses
) -> tuple[c_ast.FileAST | _Failure, list[_Part]]:
    """The tree without those declarations and functions that the parser does not take, and these: as few as can be."""
    outcome, dropped = _drop_declarations(text, source, guesses)
    if not dropped or guesses.left < 0:
        return outcome, dropped
    # A name that was wrongly taken for a type costs all functions that have a variable of this name.
    other = _Guesses([], guesses.left, placed=True)
    again, fewer = _drop_declarations(text, source, other)
    guesses.left = other.left
    if isinstance(again, _Failure) or (isinstance(outcome, c_ast.FileAST) and len(fewer) >= len(dropped)):
        return outcome, dropped
    guesses.types[:] = other.types
    return again, fewer


def _drop_declarations(text: str, source: Source, guesses: _Guesses) -> tuple[c_ast.FileAST | _Failure, list[_Part]]:
    parts = _declarations(text)
    dropped: list[_Part] = []
    outcome = _parse_guessing_types(text, source, guesses)
    while isinstance(outcome, _Failure) and len(dropped) < _MOST_DROPPED and guesses.left >= 0:
        part = _part_at_fault(text, outcome, parts, dropped, source, guesses.types)
        if part is None:
            break
        parts.remove(part)
        dropped.append(part)
        outcome = _parse_guessing_types(_blank(text, dropped), source, guesses)
    if dropped and guesses.types and isinstance(outcome, c_ast.FileAST):
        # What was taken for a type on the way to what is left out now may be none.
        plain = _parse_once(_blank(text, dropped), source, [])
        if isinstance(plain, c_ast.FileAST):
            guesses.types.clear()
            return plain, dropped
    return outcome, dropped


def _part_at_fault(
    text: str, failure: _Failure, parts: list[_Part], dropped: list[_Part], source: Source, unknown: list[str]
) -> _Part | None:
    """The declaration in which the parser stopped; where it does not say, the first one that it does not take."""
    if failure.physical:
        return next((p for p in parts if p[2] <= failure.physical <= p[2] + text.count("\n", p[0], p[1])), None)
    fewest, most = 0, len(parts)
    while fewest < most:
        middle = (fewest + most) // 2
        rest = _blank(text, [*dropped, *parts[middle + 1 :]])
        if isinstance(_parse_once(rest, source, unknown), c_ast.FileAST):
            fewest = middle + 1
        else:
            most = middle
    return parts[fewest] if fewest < len(parts) else None


def _declarations(text: str) -> list[_Part]:
    """Start, end and physical line of each declaration and function at file scope."""
    out: list[_Part] = []
    first: CToken | None = None
    depth, body, previous, opened = 0, False, "", 0
    tokens = tokenize(text).tokens
    for n, token in enumerate(tokens):
        if depth == 0 and previous == ")" and n > opened and (brace := _body_behind(tokens, n)) > n:
            # The declarations of parameters in front of it are a part of the function.
            body, opened = True, brace
        first = first or token
        if token.text in ("(", "[", "{"):
            body = body or (depth == 0 and token.text == "{" and (previous == ")" or first is token))
            depth += 1
        elif token.text in (")", "]", "}"):
            depth -= 1
        if depth == 0 and n >= opened and (token.text == ";" or (body and token.text == "}")):
            out.append((first.start, token.end, first.line))
            first, body = None, False
        previous = token.text
    return out


def _body_behind(tokens: Sequence[CToken], at: int) -> int:
    """The position of the brace of a definition as before 1989, whose parameters are declared at `at`; else `at`."""
    try:
        return behind_declarations(tokens, at)
    except UnreadableText:
        return at


def _parse_guessing_types(text: str, source: Source, guesses: _Guesses) -> c_ast.FileAST | _Failure:
    """Parse; at an error see whether a name nearby reads like a type, declare it so, and try again."""
    unknown = guesses.types
    reached = (-1, -1)
    tried: list[str] = []
    last: _Failure | None = None
    for _ in range(_MOST_TYPES):
        outcome = _parse_once(text, source, [*unknown, *tried[-1:]])
        guesses.left -= len(text)
        if isinstance(outcome, c_ast.FileAST):
            unknown.extend(tried[-1:])
            return outcome
        if guesses.left < 0:
            return last if last is not None else outcome
        if outcome.physical == 0 and (found := [x for x in _likely_types(text) if x not in unknown]):
            # The parser does not say where: take every name that can only be a type.
            unknown.extend(found)
            tried = []
            continue
        if tried and outcome.position > reached and (outcome.physical or not guesses.placed):
            unknown.append(tried[-1])
            tried = []
        if not tried:
            last = outcome
            candidates = _type_candidates(text, outcome, unknown)
        reached = max(reached, outcome.position)
        if not candidates:
            return last if last is not None else outcome
        tried.append(candidates.pop(0))
    return outcome


def _parse_once(text: str, source: Source, unknown: list[str]) -> c_ast.FileAST | _Failure:
    prelude = "".join(f"typedef struct {UNKNOWN}{name} {name}; " for name in unknown)
    prelude += "".join(f"typedef struct {name} {name}; " for name in OWN_TYPES if name in text)
    try:
        with deep(_MOST_CALLS):
            tree = CParser().parse(f"{prelude}\n{text}", source.name)
        for node in tree.ext:
            # The parser takes a body behind anything.
            if isinstance(node, c_ast.FuncDef) and not isinstance(node.decl.type, c_ast.FuncDecl):
                return _locate(f"{node.decl.coord}: before: {node.decl.name}", text, source)
        return tree
    except ParseError as error:
        return _locate(str(error), text, source)
    except RecursionError:
        return _Failure(source.point(1), 0, "what is nested deeper than the C parser goes")
    except (AssertionError, AttributeError, IndexError, ValueError) as error:
        # Defects of the parser on unusual input must not look like ours.
        return _Failure(source.point(1), 0, f"the C parser gave up ({type(error).__name__})")


def _locate(message: str, text: str, source: Source) -> _Failure:
    found = _PLACE.match(message)
    if found is None or found.group(2) is None:
        lines = line_map(text)
        last = max((line for file, line in lines if file == source.name), default=1)
        return _Failure(source.point(last), 0, found.group(4) if found else message)
    file, line, column = found.group(1), int(found.group(2)), int(found.group(3) or 1)
    physical = next((n for n, place in enumerate(line_map(text), 1) if place == (file, line)), 0)
    return _Failure(Span(file, line, column, line, column + 1), physical, _sentence(found.group(4)))


def _sentence(message: str) -> str:
    if message.startswith("before: "):
        return f"unexpected `{message.removeprefix('before: ')}`"
    return message[:1].lower() + message[1:]


def line_map(text: str) -> list[tuple[str, int]]:
    """File and line of each physical line of the preprocessed text."""
    out: list[tuple[str, int]] = []
    file, line = "", 1
    for physical in text.split("\n"):
        found = _MARKER.match(physical)
        if found:
            out.append((file, line))
            line, file = int(found.group(1)), re.sub(r"\\(.)", r"\1", found.group(2))
        else:
            out.append((file, line))
            line += 1
    return out


def main_lines(text: str, name: str) -> list[tuple[int, str]]:
    """The lines of the preprocessed text that come from the file `name`, with their numbers in it."""
    lines = zip(line_map(text), text.split("\n"), strict=True)
    return [(line, content) for (file, line), content in lines if file == name and not content.startswith("#")]


def _type_candidates(text: str, failure: _Failure, unknown: list[str]) -> list[str]:
    """Names near the error that stand where a type would: before a name, a `*`, or a closing parenthesis of a cast."""
    if failure.physical == 0:
        return []
    tokens = tokenize(text).tokens
    here = [n for n, t in enumerate(tokens) if t.line == failure.physical]
    if not here:
        return []
    column = failure.span.column
    starts = {n: _column(text, tokens[n]) for n in here}
    centre = max((n for n in here if starts[n] <= column), default=here[0])
    out: list[str] = []
    for n in (centre, centre - 1, centre - 2, centre + 1, centre - 3, centre - 4, *here):
        if not 0 <= n < len(tokens) - 1:
            continue
        word, after = tokens[n].text, tokens[n + 1].text
        named = _NAME.fullmatch(word) and word not in _WORDS and word not in unknown and word not in out
        if named and (after in ("*", ")") or _NAME.fullmatch(after)):
            out.append(word)
    return out


def _likely_types(text: str) -> list[str]:
    """Names directly before a name at the start of a declaration or parameter, which no typedef introduces; outside of
    functions, those before a `*` and a name as well."""
    tokens = tokenize(text).tokens
    bodies = _function_bodies(text)
    known = set(re.findall(r"\btypedef\b[^;{]*?(?:\{[^}]*\}[^;]*?)?\b(\w+)\s*(?:\[[^\]]*\]\s*)*;", text))
    out: list[str] = []
    for before, here, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        starts = before.text in ("(", ",", ";", "{", "}", "const", "static", "extern", "inline", "register")
        if not starts or not _NAME.fullmatch(here.text) or here.text in _WORDS or here.text in known:
            continue
        named = _NAME.fullmatch(after.text) and (after.text not in _WORDS or after.text in ("const", "restrict"))
        pointed = after.text == "*" and not _is_within(bodies, here.start)
        if (named or pointed) and here.text not in out:
            out.append(here.text)
    return out


def _is_within(bodies: Sequence[_Part], place: int) -> bool:
    """Whether a place lies in one of the bodies, which are in their order."""
    at = bisect_right(bodies, place, key=lambda x: x[0])
    return at > 0 and place < bodies[at - 1][1]


def _column(text: str, token: CToken) -> int:
    return token.start - text.rfind("\n", 0, token.start)


def _function_bodies(text: str) -> list[_Part]:
    """Start, end (inside the braces) and physical line of the body of each function."""
    out: list[_Part] = []
    depth, opened, previous = 0, -1, ""
    for token in tokenize(text).tokens:
        if token.text == "{":
            if depth == 0:
                opened = token.end if previous == ")" else -1
                line = token.line
            depth += 1
        elif token.text == "}":
            depth -= 1
            if depth == 0 and opened >= 0:
                out.append((opened, token.start, line))
                opened = -1
        previous = token.text
    return out


def _blank(text: str, bodies: list[_Part]) -> str:
    """The text with the content of these bodies removed, lines kept: what stands behind them moves."""
    for start, end, _ in sorted(bodies, reverse=True):
        inside = "\n".join(line if line.startswith("#") else "" for line in text[start:end].split("\n"))
        text = text[:start] + inside + text[end:]
    return text


def _is_taken(source: Source, flags: Sequence[str]) -> bool:
    """Whether a compiler takes the file as the user wrote it."""
    compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    if compiler is None:
        return False
    command = [compiler, "-fsyntax-only", "-w", *flags, "-x", "c", "-"]
    return subprocess.run(command, input=source.text, capture_output=True, text=True, check=False).returncode == 0


def _ask_compiler(text: str, unknown: list[str]) -> Diagnostic | None:
    """A syntax error that a compiler finds as well is the user's; what only our parser rejects is not."""
    compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    if compiler is None:
        return None
    prelude = "".join(f"typedef int {name}; " for name in unknown)
    own = [f"-D{name}=float" for name in OWN_TYPES]
    command = [compiler, "-fsyntax-only", "-w", *own, "-x", "c", "-"]
    done = subprocess.run(command, input=f"{prelude}\n{text}", capture_output=True, text=True, check=False)
    found = _SYNTAX.search(done.stderr)
    if found is None:
        return None
    file, line, column, message = found.groups()
    span = Span(file, int(line), int(column), int(line), int(column) + 1)
    return Diagnostic("E0201", f"syntax error: {message}", span)
