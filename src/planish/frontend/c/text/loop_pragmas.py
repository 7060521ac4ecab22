"""Pragmas that belong to the loop behind them: what stands for that is no loop, so they stay with the written one.

Before: #pragma omp simd              After:  if (…) { f(n, x, y); } else {
        for (i = 0; i < n; i++) …             #pragma omp simd
                                              for (i = 0; i < n; i++) … }

Where a compiler is told to run iterations on threads, each of which may run the whole nest or wait for the others, the
loop runs as it is written. So do those where it is not certain what a pragma is for: in a group of `#if`.

>>> [is_bound(x) for x in ("omp parallel for reduction(+:s)", "GCC ivdep", "omp critical(a)", "scop", "omp barrier")]
[True, True, True, False, False]
>>> [is_threaded(x) for x in ("omp for simd", "omp simd", "omp atomic", "GCC unroll 4", "acc loop")]
[True, False, True, False, True]
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from pycparser import c_ast

from planish.frontend.c.text.extent import Item, UnreadableText, balanced_conditionals, scan_statement
from planish.frontend.c.text.lexer import Directive, Tokens
from planish.frontend.c.translation_unit import Region, ResumedLoop
from planish.frontend.c.types.constants import walk_tree

UNDIRECTED = "planish_undirected"
"""In C: nothing is run as OpenMP or OpenACC would have it."""
_ORDERS = frozenset({"simd", "tile", "unroll", "interchange", "reverse", "fuse"})
_LOOPS = _ORDERS | {"for", "loop", "taskloop", "distribute"}
_ALONE = _ORDERS | {"declare", "begin", "end"}
"""Words of directives that start no threads, and wait for none."""
_STANDING = frozenset(
    {"barrier", "taskwait", "taskyield", "flush", "cancel", "cancellation", "depobj", "interop", "error", "nothing"}
    | {"threadprivate", "allocate", "declare", "begin", "end", "requires", "scan"}
    | {"wait", "update", "enter", "exit", "routine", "init", "shutdown", "set", "cache"}
)
"""The first words of directives that are for no statement behind them."""
_SHAPED = re.compile(r"\b(collapse|tile|sizes|interchange|permutation|fuse|sections|inscan)\b|\bordered\s*\(")
"""In directives that tell what statements there are right inside the one behind them."""
_CLOSED = re.compile(r"\bdefault\s*\(\s*(none|private|firstprivate)\b")
"""In directives that name all variables, or make others of them."""
_NAMED = _LOOPS | _ALONE | {"parallel", "teams", "target", "masked", "master", "kernels", "serial"}
_HINTS = re.compile(
    r"(GCC\s+(ivdep|unroll|novector)|clang\s+loop|unroll|nounroll|unroll_and_jam|nounroll_and_jam|ivdep|vector|novector"
    r"|simd|loop|loop_count|nofusion|distribute_point|nvc\s+loop)\b"
)
_HEADS = frozenset({"if", "else", "for", "while", "do", "switch"})
_ENDS = frozenset({";", "{", "}", ":"})
_DEFINITION = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)")
_PRAGMA = re.compile(r"[ \t]*#[ \t]*pragma\b")


def is_bound(words: str) -> bool:
    """Whether a pragma is for the loop, or the statement, behind it."""
    if _is_directive(words):
        return re.findall(r"\w+", words)[1:2] not in [[x] for x in _STANDING]
    return bool(_HINTS.match(words.strip()))


def is_threaded(words: str) -> bool:
    """Whether a pragma tells how a team of threads, or a device, runs what stands behind it."""
    found = {*_directive(words)}
    return _is_directive(words) and not (found and found <= _ALONE)


def words_of(node: c_ast.Pragma) -> str:
    """What a pragma says."""
    text = node.string.value if isinstance(node.string, c_ast.Constant) else node.string
    return str(text or "").strip('"')


def _is_on_device(words: str) -> bool:
    """Whether what stands behind a pragma may run on a device, which has no function that stands for a nest."""
    return bool({"target", "kernels", "serial"} & {*_directive(words)}) or words.split()[:2] == ["acc", "parallel"]


def _directive(words: str) -> list[str]:
    """The words that name a directive of OpenMP or OpenACC; none for another pragma."""
    found = re.findall(r"\w+|\S", words)
    return [*takewhile(_NAMED.__contains__, found[1:])] if _is_directive(words) else []


def _is_directive(words: str) -> bool:
    return words.split()[:1] in (["omp"], ["acc"])


@dataclass(frozen=True, slots=True)
class LoopPragma:
    """A pragma in front of a loop: its `words` behind `pragma`, and where it starts in the text."""

    words: str
    start: int


def pragmas_in(node: c_ast.Node, items: Mapping[int, Item]) -> Iterator[LoopPragma]:
    """The pragmas of a statement, also those of macros; each starts where the statement behind it does."""
    for block in walk_tree(node):
        waiting: list[str] = []
        for part in (block.block_items or []) if isinstance(block, c_ast.Compound) else []:
            if isinstance(part, c_ast.Pragma):
                waiting.append(words_of(part))
                continue
            if id(part) in items:
                yield from (LoopPragma(x, items[id(part)].start) for x in waiting)
            waiting = []


@dataclass(frozen=True, slots=True)
class PragmasBefore:
    """The pragmas right in front of a statement that are for it, the first one first; `unsure` is what may be for it,
    too, where that depends on the preprocessor."""

    found: tuple[LoopPragma, ...]
    unsure: str | None = None


def pragmas_before(tokens: Tokens, place: int, floor: int = -1) -> PragmasBefore:
    """Those of a statement, or of what stands at a place, which are behind `floor`."""
    out: list[LoopPragma] = []
    grouped = False
    while True:
        at = bisect_left(tokens.tokens, place, key=lambda x: x.start)
        line = bisect_left(tokens.directives, place, key=lambda x: x.start) - 1
        directive = tokens.directives[line] if line >= 0 else None
        last = tokens.tokens[at - 1] if at else None
        if directive is not None and (last is None or directive.start > last.start):
            if directive.start <= floor:
                return PragmasBefore(tuple(out))
            place, found = directive.start, _line(directive)
            if directive.conditional is not None:
                grouped = True
                parts = _parts_before(tokens, line)
                for opening, end in pairwise(parts) if directive.conditional == "endif" else ():
                    if (unsure := _at_end(tokens, end, opening)) is not None:
                        return PragmasBefore(tuple(out), unsure)
                place = parts[0]
            if found is None:
                continue
        else:
            found = _operator_at(tokens, at - 4)
            if found is None or found.start <= floor:
                return PragmasBefore(tuple(out))
            place = found.start
        if is_bound(found.words):
            if grouped:
                return PragmasBefore(tuple(out), f"#pragma {found.words}")
            out.insert(0, found)
        elif _is_directive(found.words):
            return PragmasBefore(tuple(out))


def _parts_before(tokens: Tokens, line: int) -> list[int]:
    """Where the directives of a group of `#if` stand, up to the one that is given."""
    out = [tokens.directives[line].start]
    depth = 0
    for directive in reversed(tokens.directives[:line] if not _opens(tokens.directives[line]) else ()):
        if directive.conditional == "endif":
            depth += 1
        elif depth:
            depth -= _opens(directive)
        elif directive.conditional is not None:
            out.insert(0, directive.start)
            if _opens(directive):
                break
    return out


def _opens(directive: Directive) -> bool:
    return directive.conditional in ("if", "ifdef", "ifndef")


def _at_end(tokens: Tokens, end: int, opening: int) -> str | None:
    """What a part of a group of `#if` ends with, where that may be for what stands behind the group."""
    inner = pragmas_before(tokens, end, opening)
    if inner.found or inner.unsure is not None:
        return inner.unsure or f"#pragma {inner.found[-1].words}"
    return _macro_unsure(tokens, end, opening)


def statement_encloses(tokens: Tokens, pragma: LoopPragma, place: int) -> bool:
    """Whether the statement behind a pragma goes on behind a place; also where that is not certain."""
    at = bisect_left(tokens.tokens, pragma.start, key=lambda x: x.start)
    try:
        while at < len(tokens.tokens) and tokens.tokens[at].text == "_Pragma":
            at += 4
        return scan_statement(tokens.tokens, at)[0].end > place
    except UnreadableText:
        return True


def _macros_before(tokens: Tokens, place: int, most: int) -> int:
    """Where the macros start that stand right in front of a loop, at most so many: `OMP_FOR for (…) …`."""
    at = bisect_left(tokens.tokens, place, key=lambda x: x.start)
    if at < len(tokens.tokens) and tokens.tokens[at].text not in {*_HEADS, "_Pragma", "{"}:
        return place  # the loop comes out of the macro that the pragma does
    for _ in range(most):
        if (last := _macro_before(tokens, at)) is None:
            break
        at, place = last, tokens.tokens[last].start
    return place


def _macro_before(tokens: Tokens, at: int) -> int | None:
    """The name right in front of a token, or of what looks like a call there, which is not a keyword."""
    last = at - 1
    if last > 0 and tokens.tokens[last].text == ")":
        depth = 1
        while last and depth:
            last -= 1
            depth += (tokens.tokens[last].text == ")") - (tokens.tokens[last].text == "(")
        last -= 1
    found = last >= 0 and tokens.tokens[last].text.isidentifier() and tokens.tokens[last].text not in _HEADS
    return last if found else None


def _macro_unsure(tokens: Tokens, place: int, floor: int = -1) -> str | None:
    """The macro right in front of a place, and behind `floor`, that the text does not say to be no pragma."""
    name = _macro_before(tokens, bisect_left(tokens.tokens, place, key=lambda x: x.start))
    if name is None or tokens.tokens[name].start <= floor or tokens.tokens[name].text == "_Pragma":
        return None
    reached = _reached(_definitions(tokens), tokens.tokens[name].text)
    return None if len(reached) > 1 and "_Pragma" not in reached else tokens.tokens[name].text


def _definitions(tokens: Tokens) -> dict[str, list[set[str]]]:
    """The words that macros of the text stand for, one set for each definition of them."""
    out: dict[str, list[set[str]]] = {}
    for x in tokens.directives:
        if (found := _DEFINITION.match(x.text)) is not None:
            out.setdefault(found[1], []).append({"", *re.findall(r"\w+", x.text[found.end() :])})
    return out


def _reached(defined: Mapping[str, Sequence[set[str]]], name: str) -> set[str]:
    """A name, and all that it may stand for."""
    reached, waiting = set[str](), [name]
    while waiting:
        reached.add(last := waiting.pop())
        waiting.extend({y for x in defined.get(last, ()) for y in x} - reached)
    return reached


def _sometimes_pragma(tokens: Tokens, start: int, end: int) -> str | None:
    """A macro in a part of the text that is a pragma by one of its definitions, and something else by another."""
    defined = _definitions(tokens)
    first, last = (bisect_left(tokens.tokens, x, key=lambda y: y.start) for x in (start, end))
    for name in dict.fromkeys(x.text for x in tokens.tokens[first:last] if x.text in defined):
        reached = _reached(defined, name)
        if "_Pragma" in reached and any(len(defined.get(x, ())) > 1 for x in reached):
            return name
    return None


def _is_first(tokens: Tokens, place: int, alone: bool) -> bool:
    """Whether a statement begins at a place, which is the whole body of a branch or loop where it stands `alone`."""
    at = bisect_left(tokens.tokens, place, key=lambda x: x.start)
    last = tokens.tokens[at - 1].text if at else ";"
    return last in {*_ENDS, "else", "do"} or (alone and last == ")")


def _line(directive: Directive) -> LoopPragma | None:
    found = _PRAGMA.match(directive.text)
    if found is None:
        return None
    words = re.sub(r"\\\r?\n", " ", directive.text[found.end() :]).strip()
    return LoopPragma(words, directive.start + len(directive.text) - len(directive.text.lstrip()))


def _operator_at(tokens: Tokens, at: int) -> LoopPragma | None:
    """`_Pragma("…")` that starts with a token."""
    if at < 0 or tokens.tokens[at].text != "_Pragma" or len(tokens.tokens) < at + 4:
        return None
    return LoopPragma(tokens.tokens[at + 2].text.strip('"'), tokens.tokens[at].start)


def with_pragmas(region: Region, tokens: Tokens, written: Sequence[LoopPragma]) -> Region | str:
    """The region with the pragmas that are for it, of those `written` in its function; why it stays as it is written
    where a pragma stands in the way."""
    before = pragmas_before(tokens, region.start)
    if before.unsure is not None:
        return f"`{before.unsure}` in front of it is under a condition of the preprocessor"
    found = [*before.found]
    start = found[0].start if found else region.start
    hidden = [x for x in written if x.start == region.start and is_bound(x.words)][len(found) :]
    if hidden:
        start, found = _macros_before(tokens, start, len(hidden)), [*hidden, *found]
        if not balanced_conditionals(tokens, start, region.end) or not _is_first(tokens, start, region.alone):
            return f"`#pragma {hidden[0].words}` comes out of a macro"
    if (unsure := _macro_unsure(tokens, start)) is not None:
        return f"the macro `{unsure}` in front of it may be a pragma"
    lines = [y for x in tokens.directives if (y := _line(x)) is not None]
    around = [
        x for x in dict.fromkeys((*lines, *written))
        if x.start < start and is_bound(x.words) and _is_directive(x.words)
        and statement_encloses(tokens, x, region.start)
    ]  # fmt: skip
    for x in around:
        if _SHAPED.search(x.words) or (region.rows is not None and _CLOSED.search(x.words)):
            return f"`#pragma {x.words}` asks for all that it stands in as it is written"
    known = [x for x in (*lines, *written) if x.start >= region.start or not is_bound(x.words)]
    threaded = [x for x in (*found, *known) if start <= x.start < region.end and is_threaded(x.words)]
    if region.goes_on and threaded:
        return f"`#pragma {threaded[0].words}` shares its iterations out"
    if (
        threaded
        or _sometimes_pragma(tokens, start, region.end) is not None
        or any(_is_on_device(x.words) for x in (*written, *around))
        or (region.stages and any(is_threaded(x.words) for x in around))
    ):
        conditions = tuple(dict.fromkeys((*region.conditions, UNDIRECTED)))
        stages = tuple(replace(x, conditions=(*x.conditions, UNDIRECTED)) for x in region.stages)
        region = replace(region, conditions=conditions, stages=stages)
    if region.rows is not None:
        inner = pragmas_before(tokens, region.rows.start)
        if inner.unsure is not None:
            return f"`{inner.unsure}` in front of the loop around it is under a condition of the preprocessor"
        if inner.found:
            region = replace(region, rows=replace(region.rows, start=inner.found[0].start))
    if not found:
        return region
    kept = "".join(f"#pragma {x.words}\n" for x in found if not _is_directive(x.words))
    if region.exits is not None:
        region = replace(region, exits=replace(region.exits, loop=_behind(kept, region.exits.loop)))
    if region.packing is not None:
        region = replace(region, packing=replace(region.packing, loop=_behind(kept, region.packing.loop)))
    stages = tuple(replace(x, start=start) for x in region.stages)
    return replace(region, start=start, stages=stages)


def _behind(pragmas: str, loop: ResumedLoop) -> ResumedLoop:
    return replace(loop, opening=f"\n{pragmas}{loop.opening}") if pragmas else loop


def asked_as_written(tokens: Tokens, start: int, end: int) -> str | None:
    """What asks for a loop as it is written: a pragma in front of it or in it, or a macro that may hold one."""
    before = pragmas_before(tokens, start)
    if before.found or before.unsure is not None:
        return before.unsure or f"#pragma {before.found[-1].words}"
    lines = [y for x in tokens.directives if (y := _line(x)) is not None and _is_directive(y.words)]
    for x in lines:
        around = x.start < start and bool(_SHAPED.search(x.words)) and statement_encloses(tokens, x, start)
        if around or (start <= x.start < end and is_threaded(x.words)):
            return f"#pragma {x.words}"
    return _macro_unsure(tokens, start)
