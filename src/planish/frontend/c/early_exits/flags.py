"""Loops that go on while a flag says so, as loops with exits where the flag is set.

Before: int found = 0; for (i = 0; i < n && !found; i++) if (x[i] > t) found = 1;
After:  for (i = 0; i < n; i++) if (x[i] > t) break;

What an iteration does on its way out is left to the loop as it is written: there, the flag is set.

>>> from pycparser.c_generator import CGenerator
>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> text = "void f(int n, int *x) { int i = 0, ok = 1; while (ok && i < n) { if (x[i] > 9) ok = 0; else i++; } }"
>>> tree = CParser().parse(text)
>>> bound = bind_function(tree.ext[0], bind_file(tree))
>>> *before, loop = bound.function.body.block_items
>>> print(" ".join(CGenerator().visit(without_flags(loop, {bound.symbol(before[1]): 1}, bound)).split()))
while (i < n) { if (x[i] > 9) break; else i++; }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol
from planish.frontend.c.analysis.statement_runs import LOOPS
from planish.frontend.c.early_exits.early_exit import changed_in, conjuncts
from planish.frontend.c.translate.arithmetic import wrap
from planish.frontend.c.types.constants import items_of, walk_tree
from planish.frontend.c.types.declarations import CScalar
from planish.ir.index.overflow import limits
from planish.ir.types import BOOL, I32

_COMPARISONS = ("==", "!=")


def without_flags(
    loop: c_ast.For | c_ast.While, known: Mapping[Symbol, int], bound: BoundNames
) -> c_ast.For | c_ast.While:
    """The same loop with exits in place of the flags in its condition: variables whose numbers are `known` in front of
    the body, with which it goes on, and that only the body names, to set them to numbers with which it does not. As it
    is where there are none."""
    if loop.cond is None:
        return loop
    changed = changed_in(loop, bound)
    rest: c_ast.Node | None = None
    flags: set[Symbol] = set()
    for part in conjuncts(loop.cond):
        flag = _flag_of(part, bound)
        if flag in changed and flag in known and _is_set(loop, part, flag, known[flag], bound):
            flags.add(flag)
        else:
            rest = part if rest is None else c_ast.BinaryOp("&&", rest, part, loop.cond.coord)
    if not flags:
        return loop
    (stmt,) = _with_breaks([loop.stmt], flags, bound)
    if isinstance(loop, c_ast.While) and rest is not None:
        return bound.keep(c_ast.While(rest, stmt, loop.coord))
    first, step = (loop.init, loop.next) if isinstance(loop, c_ast.For) else (None, None)
    return bound.keep(c_ast.For(first, rest, step, stmt, loop.coord))


def _flag_of(condition: c_ast.Node, bound: BoundNames) -> Symbol | None:
    """The variable that a condition asks for, alone or beside a number."""
    match condition:
        case c_ast.ID() | c_ast.UnaryOp(op="!", expr=c_ast.ID()):
            return bound.symbol(condition if isinstance(condition, c_ast.ID) else condition.expr)
        case c_ast.BinaryOp(left=c_ast.ID() as name, right=number) if condition.op in _COMPARISONS:
            symbol, value = bound.symbol(name), bound.value(number)
            # What the variable cannot hold, C may still convert to what it holds.
            known = symbol is not None and value is not None and stored_number(value, symbol) == value
            return symbol if known else None
        case _:
            return None


def _goes_on(condition: c_ast.Node, value: int, bound: BoundNames) -> bool:
    """What a condition says of a variable with some value."""
    match condition:
        case c_ast.BinaryOp(op=op, right=number):
            return bool((bound.value(number) == value) == (op == "=="))
        case _:
            return isinstance(condition, c_ast.ID) == (value != 0)


def stored_number(value: int | None, symbol: Symbol) -> int | None:
    """The number that a variable holds once it is set to a constant with some value; None where that is not known.

    >>> from planish.frontend.c.types.declarations import CScalar
    >>> from planish.ir.types import U8
    >>> [stored_number(x, Symbol("go", "go", CScalar(U8, "unsigned char", "u8"), "local")) for x in (1, 256, -1, None)]
    [1, 0, 255, None]
    """
    type = symbol.ctype.type if isinstance(symbol.ctype, CScalar) else None
    if type is None or value is None or not (type.is_int or type == BOOL):
        return None
    # What int does not hold, C may compute otherwise, as an unsigned number: `-1u`, which only `int` makes -1 again.
    low, high = limits(I32)
    if not (low if type.bits <= I32.bits else 0) <= value <= high:
        return None
    return int(value != 0) if type == BOOL else wrap(value, type)


def _is_set(loop: c_ast.For | c_ast.While, condition: c_ast.Node, flag: Symbol, value: int, bound: BoundNames) -> bool:
    """Whether a loop goes on with a flag as it is before it, and names it nowhere else but where statements of its own
    set it to what ends the loop."""
    own = [*_statements(items_of(loop.stmt))]
    sets = [x for x in own if isinstance(x, c_ast.Assignment) and bound.symbol(x.lvalue) is flag]
    numbers = [stored_number(bound.value(x.rvalue), flag) if x.op == "=" else None for x in sets]
    if not _goes_on(condition, value, bound) or any(x is None or _goes_on(condition, x, bound) for x in numbers):
        return False
    parts = (loop.cond, loop.next if isinstance(loop, c_ast.For) else None, loop.stmt)
    named = (x for part in parts if part is not None for x in walk_tree(part) if isinstance(x, c_ast.ID))
    return sum(bound.symbol(x) is flag for x in named) == 1 + len(sets)


def _statements(items: list[c_ast.Node]) -> Iterator[c_ast.Node]:
    """Statements, and those in their branches; what is in loops and switches is left out."""
    for item in items:
        match item:
            case c_ast.If(iftrue=then, iffalse=otherwise):
                yield from _statements([*items_of(then), *items_of(otherwise)])
            case c_ast.Compound(block_items=inner):
                yield from _statements(inner or [])
            case _ if not isinstance(item, (*LOOPS, c_ast.Switch)):
                yield item
            case _:
                pass


def _with_breaks(items: list[c_ast.Node], flags: set[Symbol], bound: BoundNames) -> list[c_ast.Node]:
    """Statements that leave the loop where they set a flag."""
    out: list[c_ast.Node] = []
    for item in items:
        match item:
            case c_ast.Assignment(lvalue=c_ast.ID() as name) if bound.symbol(name) in flags:
                out.append(c_ast.Break(item.coord))
            case c_ast.If(cond=cond, iftrue=then, iffalse=otherwise):
                sides = [None if x is None else _with_breaks([x], flags, bound)[0] for x in (then, otherwise)]
                out.append(c_ast.If(cond, sides[0], sides[1], item.coord))
            case c_ast.Compound(block_items=inner):
                out.append(c_ast.Compound(_with_breaks(inner or [], flags, bound), item.coord))
            case _:
                out.append(item)
    return out
