"""Pragmas that belong to the loop behind them: what stands for that is no loop, so they stay with the written one.

Before: #pragma omp simd              After:  if (…) { f(n, x, y); } else {
        for (i = 0; i < n; i++) …             #pragma omp simd
                                              for (i = 0; i < n; i++) … }

Where a compiler is told to run iterations on threads, each of which may run the whole nest or wait for the others, the
loop runs as it is written.

>>> [belongs_to_loop(x) for x in ("omp parallel for reduction(+:s)", "GCC ivdep", "omp critical", "scop")]
[True, True, False, False]
>>> [is_threaded(x) for x in ("omp for simd", "omp simd", "omp atomic", "GCC unroll 4", "acc loop")]
[True, False, True, False, True]
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from pycparser import c_ast

from planish.frontend.c.text.extent import Item
from planish.frontend.c.text.lexer import Directive, Tokens
from planish.frontend.c.translation_unit import Region, ResumedLoop
from planish.frontend.c.types.constants import walk_tree

UNDIRECTED = "planish_undirected"
"""In C: nothing is run as OpenMP or OpenACC would have it."""
_ORDERS = frozenset({"simd", "tile", "unroll", "interchange", "reverse", "fuse"})
_LOOPS = _ORDERS | {"for", "loop", "taskloop", "distribute"}
_ALONE = _ORDERS | {"ordered", "declare", "begin", "end"}
"""Words of directives that start no threads, and wait for none."""
_NAMED = _LOOPS | _ALONE | {"parallel", "teams", "target", "masked", "master", "kernels", "serial"}
_HINTS = re.compile(
    r"(GCC\s+(ivdep|unroll|novector)|clang\s+loop|unroll|nounroll|unroll_and_jam|nounroll_and_jam|ivdep|vector|novector"
    r"|simd|loop|loop_count|nofusion|distribute_point|nvc\s+loop)\b"
)
_HEADS = frozenset({"if", "else", "for", "while", "do", "switch"})
_PRAGMA = re.compile(r"[ \t]*#[ \t]*pragma\b")


def belongs_to_loop(words: str) -> bool:
    """Whether a pragma asks for a loop behind it."""
    return bool(_HINTS.match(words.strip())) or bool(_LOOPS & {*_directive(words)})


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


def pragmas_before(tokens: Tokens, place: int) -> list[LoopPragma]:
    """The pragmas right in front of a statement that belong to the loop that it is, the first one first."""
    out: list[LoopPragma] = []
    while True:
        at = bisect_left(tokens.tokens, place, key=lambda x: x.start)
        line = bisect_left(tokens.directives, place, key=lambda x: x.start)
        directive = tokens.directives[line - 1] if line else None
        if directive is not None and (at == 0 or directive.start > tokens.tokens[at - 1].start):
            found, before = _line(directive), directive.start
        else:
            found = _operator_at(tokens, at - 4)
            before = found.start if found is not None else 0
        if found is None or not belongs_to_loop(found.words):
            return out
        out.insert(0, found)
        place = before


def _macros_before(tokens: Tokens, place: int, most: int) -> int:
    """Where the macros start that stand right in front of a loop, at most so many: `OMP_FOR for (…) …`."""
    at = bisect_left(tokens.tokens, place, key=lambda x: x.start)
    if at < len(tokens.tokens) and tokens.tokens[at].text not in {*_HEADS, "_Pragma"}:
        return place  # the loop comes out of the macro that the pragma does
    for _ in range(min(most, at)):
        last = at - 1
        if tokens.tokens[last].text == ")":
            depth = 1
            while last and depth:
                last -= 1
                depth += (tokens.tokens[last].text == ")") - (tokens.tokens[last].text == "(")
            last -= 1
        if last < 0 or not tokens.tokens[last].text.isidentifier() or tokens.tokens[last].text in _HEADS:
            break
        at, place = last, tokens.tokens[last].start
    return place


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


def with_pragmas(region: Region, tokens: Tokens, written: Sequence[LoopPragma]) -> Region | LoopPragma:
    """The region with the pragmas that belong to it, of those `written` in its function; the one that stands in the way
    where its loop goes on on threads."""
    found = pragmas_before(tokens, region.start)
    start = found[0].start if found else region.start
    hidden = [x for x in written if x.start == region.start and belongs_to_loop(x.words)][len(found) :]
    if hidden:
        start, found = _macros_before(tokens, start, len(hidden)), [*hidden, *found]
    known = [x for x in written if x.start >= region.start or not belongs_to_loop(x.words)]
    threaded = [x for x in (*found, *known) if start <= x.start < region.end and is_threaded(x.words)]
    if region.goes_on and threaded:
        return threaded[0]
    if threaded or any(_is_on_device(x.words) for x in written):
        conditions = tuple(dict.fromkeys((*region.conditions, UNDIRECTED)))
        stages = tuple(replace(x, conditions=(*x.conditions, UNDIRECTED)) for x in region.stages)
        region = replace(region, conditions=conditions, stages=stages)
    if region.rows is not None and (inner := pragmas_before(tokens, region.rows.start)):
        region = replace(region, rows=replace(region.rows, start=inner[0].start))
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
