"""The region of a loop with early exits: a kernel that tells whether any iteration leaves it, and how the loop goes on.

Iterations that stay in the loop may change only what each of them advances by the same amount, and variables that each
sets anew: so many of them can be skipped.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> text = "int find(int n, const int *x) { for (int i = 0; i < n; i++) if (x[i] > 9) return i; return -1; }"
>>> (region,) = read_c(Source("find.c", text)).functions[0].regions
>>> loop = region.exits.loop
>>> loop.first, [x for x, _ in loop.advances], text[loop.rest : region.end]
('int i = 0;', ['i'], ' i < n; i++) if (x[i] > 9) return i;')
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from pycparser import c_ast

from planish.frontend.c.analysis.assertions import ASSUMES
from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_integer, is_pointer, written
from planish.frontend.c.early_exits.early_exit import changed_in, with_flag
from planish.frontend.c.early_exits.flags import stored_number, without_flags
from planish.frontend.c.early_exits.uncounted_loops import (
    MOST,
    as_endless,
    is_endless,
    rooms_of,
    with_count,
)
from planish.frontend.c.idioms.memory_calls import BLOCK_FUNCTIONS
from planish.frontend.c.numbers.library_calls import BUILT_IN, is_library_function
from planish.frontend.c.text.extent import Item
from planish.frontend.c.text.lexer import Tokens
from planish.frontend.c.translate.kernels import FinishedKernel
from planish.frontend.c.translate.state import Refused
from planish.frontend.c.translation_unit import EarlyExit, ResumedLoop
from planish.frontend.c.types.constants import items_of, walk_tree
from planish.frontend.c.types.declarations import CScalar
from planish.ir.nest import Alloc, Assign, For, Kernel, Reduce
from planish.ir.passes.declaration_sinking import exposed
from planish.ir.traverse import walk
from planish.ir.types import BOOL, I32
from planish.poly.early_exit.exit_condition import NoExitTest
from planish.poly.early_exit.exit_test import find_exit_test

_WORD = re.compile(r"[A-Za-z_]\w*")
_SURE = frozenset({"unreachable", "constant_p", "expect"})
"""What compilers have built in, and does nothing."""
NAME = "planish_exit"
"""What the flag is called."""

Loop: TypeAlias = c_ast.For | c_ast.While | c_ast.DoWhile
Attempt = Callable[[list[c_ast.Node], list[c_ast.Node], frozenset[Symbol]], FinishedKernel | Refused]
"""Reads statements, behind others that hold in front of them, with what is read behind them."""


def find_early_exit(
    loop: Loop,
    before: Sequence[c_ast.Node],
    bound: BoundNames,
    tokens: Tokens,
    item: Item,
    attempt: Attempt,
) -> tuple[FinishedKernel, EarlyExit] | Refused | None:
    """The kernel of a loop with early exits that stands behind others of its block, and how the loop goes on; why there
    is none, or None where it has no such exits."""
    flag = Symbol(NAME, NAME, CScalar(I32, "int", "int"), "local")
    mention, unknown = partial(bound.mention, flag, loop.coord), partial(_is_unknown, bound=bound)
    plain = as_endless(loop, bound) if isinstance(loop, c_ast.DoWhile) else loop
    if plain is None:
        return None
    numbers = {
        x: number
        for x, value, _ in constants_set([*before, *_begins(plain)], bound)
        if (number := stored_number(value, x)) is not None
    }
    plain, start = without_start(without_flags(plain, numbers, bound), bound)
    made = None if is_endless(plain, bound) else with_flag(plain, bound, mention, unknown)
    facts = [*constant_facts(before, bound), *start]
    endless = None
    if made is None:
        endless = with_count(plain, bound)
        made = None if endless is None else with_flag(endless.loop, bound, mention, unknown)
        if endless is None or made is None:
            return None
        facts.append(endless.start)
    bound.keep(made)
    found = attempt([made], facts, frozenset({flag}))
    if isinstance(found, Refused):
        return found
    loops = [x for x in found.kernel.body.body if not isinstance(x, Alloc)]
    if len(loops) != 1 or not isinstance(loops[0], For) or any(isinstance(x, For) for x in walk(loops[0].body)):
        return Refused("scop-jump", "an exit out of a loop of several parts", loop)
    inside = {bound.symbol(x) for x in walk_tree(loop.stmt) if isinstance(x, c_ast.Decl)}
    if any(x.static for x in inside if x is not None):
        return Refused("scop-jump", "an exit out of a loop that sets what others may read", loop)
    changed = changed_in(made, bound) - inside - {flag}
    if endless is not None:
        changed -= {endless.counter}
    moved = {name for name, _ in found.advances}
    if any(x.lasting for x in changed if x.name in moved):
        return Refused("scop-jump", "an exit out of a loop that sets what others may read", loop)
    kept = {x for x in changed if x.name not in moved}
    again = bool(kept)
    effects = _has_effects(found.kernel) or any(x.lasting for x in changed) or not kept <= set_always(made.stmt, bound)
    if effects:
        # The way out may read all that iterations have set.
        found = attempt([made], facts, frozenset({flag, *changed}))
        if isinstance(found, Refused):
            return found
        if {x.variable for x in found.updates} - moved:
            return Refused("scop-jump", "an exit out of a loop that sets integers to what it counts", loop)
    try:
        test = find_exit_test(found.kernel, NAME)
    except NoExitTest as error:
        return Refused("scop-jump", f"an exit out of a loop that lanes cannot search: {error.reason}", loop)
    if endless is not None:
        found = replace(found, advances=tuple(x for x in found.advances if x[0] != endless.counter.name))
    resumed = resume(loop, found, again and not effects, bound, tokens, item)
    if isinstance(resumed, Refused):
        return resumed
    if endless is None:
        return found, EarlyExit(NAME, resumed, effects)
    most = next(key for key, text in found.names if text == MOST)
    rooms = rooms_of(found.kernel, dict(found.names), most, (x for x in changed if x.name in moved), found.advances)
    if rooms is None:
        return Refused("scop-wrap", "variables that may wrap around in a loop without a count", loop)
    if not rooms and any(x.step < 0 for x in test.rows):
        return Refused("scop-jump", "a loop without a count that reads backwards", loop)
    return found, EarlyExit(NAME, resumed, effects, most, rooms)


def resume(
    loop: Loop, found: FinishedKernel, again: bool, bound: BoundNames, tokens: Tokens, item: Item
) -> ResumedLoop | Refused:
    """How a loop goes on behind iterations that its kernel stands for; `again`: as of that."""
    first, opening, rest = _cut_loop(loop, tokens, item)
    if rest < 0:
        return Refused("scop-macro", "the head of the loop comes out of a macro", loop)
    begun = written(loop.init, bound) if isinstance(loop, c_ast.For) and loop.init is not None else set()
    passed = {word for _, text in found.names for word in _WORD.findall(text)}
    if any(x.name in passed for x in begun):
        return Refused("scop-jump", "a loop that goes on in the middle, whose beginning depends on what it sets", loop)
    return ResumedLoop(found.advances, first, opening, rest, again)


def without_start(loop: c_ast.For | c_ast.While, bound: BoundNames) -> tuple[c_ast.For | c_ast.While, list[c_ast.Node]]:
    """A loop, and what it begins with, as far as that is to set variables which are there before: it is done where the
    loop stands, so that pointers then point to what is searched.

    >>> from pycparser.c_generator import CGenerator
    >>> from pycparser.c_parser import CParser
    >>> from planish.frontend.c.analysis.scope import bind_file, bind_function
    >>> tree = CParser().parse("void f(char *s) { char *p; int i; for (p = s, i = 0; *p; p++) i++; }")
    >>> bound = bind_function(tree.ext[0], bind_file(tree))
    >>> loop, start = without_start(bound.function.body.block_items[-1], bound)
    >>> [CGenerator().visit(x) for x in (*start, loop.cond)], loop.init
    (['p = s', 'i = 0', '*p'], None)
    """
    if not isinstance(loop, c_ast.For) or not (parts := _begins(loop)):
        return loop, []
    targets = [bound.symbol(x.lvalue) for x in parts if isinstance(x, c_ast.Assignment) and x.op == "="]
    if len(targets) < len(parts) or None in targets or not any(is_pointer(x) for x in targets if x is not None):
        return loop, []
    return bound.keep(c_ast.For(None, loop.cond, loop.next, loop.stmt, loop.coord)), parts


def _begins(loop: c_ast.For | c_ast.While) -> list[c_ast.Node]:
    """What a loop begins with."""
    match loop.init if isinstance(loop, c_ast.For) else None:
        case None:
            return []
        case c_ast.ExprList(exprs=parts) | c_ast.DeclList(decls=parts):
            return list(parts)
        case part:
            return [part]


def _is_unknown(name: str, bound: BoundNames) -> bool:
    """Whether nothing is known of what a function does."""
    if name in bound.file.defined:
        return name not in bound.file.functions
    plain = name.removeprefix(BUILT_IN)
    known = name in bound.file.functions or name in ASSUMES or plain in BLOCK_FUNCTIONS or plain in _SURE
    return not known and not is_library_function(name)


def set_always(body: c_ast.Node, bound: BoundNames) -> set[Symbol | None]:
    """The variables that each iteration sets, whatever its conditions are."""
    if any(isinstance(x, c_ast.Continue) for x in walk_tree(body)):
        return set()
    stores = [x for x in items_of(body) if isinstance(x, c_ast.Assignment) and x.op == "="]
    return {bound.symbol(x.lvalue) for x in stores}


def _has_effects(kernel: Kernel) -> bool:
    """Whether iterations store to arrays, add up something, or hand on values."""
    own = {x.name for x in kernel.arrays if not x.shape} - {NAME}
    local = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)}
    for stmt in walk(kernel.body):
        if isinstance(stmt, Reduce) or (isinstance(stmt, Assign) and stmt.array not in {NAME, *own, *local}):
            return True
    return any(exposed(x.body, y) for x in kernel.body.body if isinstance(x, For) for y in own)


def constant_facts(before: Sequence[c_ast.Node], bound: BoundNames) -> list[c_ast.Node]:
    """Statements right in front of a loop that set integers to numbers."""
    return [node for x, _, node in constants_set(before, bound) if is_integer(x)]


def constants_set(before: Sequence[c_ast.Node], bound: BoundNames) -> list[tuple[Symbol, int, c_ast.Node]]:
    """The integers, and flags, that statements right in front of a loop set to numbers, and these statements.

    >>> from pycparser.c_parser import CParser
    >>> from planish.frontend.c.analysis.scope import bind_file, bind_function
    >>> tree = CParser().parse("void f(int n) { int i = 0, j = n; _Bool on = 1; }")
    >>> bound = bind_function(tree.ext[0], bind_file(tree))
    >>> [(x.name, value) for x, value, _ in constants_set(bound.function.body.block_items, bound)]
    [('i', 0), ('on', 1)]
    """
    found: list[tuple[Symbol, int, c_ast.Node]] = []
    later: set[Symbol] = set()
    for node in reversed(before):
        match node:
            case c_ast.Decl(init=value):
                symbol = bound.symbol(node)
            case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target, rvalue=value):
                symbol = bound.symbol(target)
            case _:
                break
        number = None if value is None else bound.value(value)
        plain = symbol is not None and _is_number(symbol) and not symbol.lasting and symbol not in later
        if symbol is not None and plain and number is not None:
            found.append((symbol, number, node))
        later |= written(node, bound)
        if symbol is not None:
            later.add(symbol)
    return found[::-1]


def _is_number(symbol: Symbol) -> bool:
    return is_integer(symbol) or (isinstance(symbol.ctype, CScalar) and symbol.ctype.type == BOOL)


def _cut_loop(loop: Loop, tokens: Tokens, item: Item) -> tuple[str, str, int]:
    """The statement that begins a loop, what stands in front of the rest of its text, and where that starts; -1 where
    the head does not stand in the text."""
    if not isinstance(loop, c_ast.For):
        return "", "", item.start
    at = bisect_left(tokens.tokens, item.start, key=lambda x: x.start)
    words = tokens.tokens[at:]
    if [x.text for x in words[:2]] != ["for", "("]:
        return "", "", -1
    depth, ends = 0, []
    for token in words[1:]:
        depth += (token.text in "([{") - (token.text in ")]}")
        if depth == 0 or token.start >= item.end:
            break
        if token.text == ";" and depth == 1:
            ends.append(token)
    if len(ends) != 2:
        return "", "", -1
    first = tokens.text[words[1].end : ends[0].start].strip()
    behind = "\n" if "//" in first or "#" in first else ""
    return (f"{first}{behind};" if first else ""), "for (;", ends[0].end
