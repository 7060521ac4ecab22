"""Loops with early exits as counted loops that set a flag where an iteration leaves the loop.

Before: while (i < n && a[i] != x) i++;
After:  while (i < n) { if (!(a[i] != x)) flag = 1; i++; }

What an iteration does on its way out is left to the loop as it is written; all that has to be known is whether it
leaves. So is what calls a function of which nothing is known, under a condition, and what fails an assertion: the loop
goes on from there as it is written.

>>> from pycparser.c_generator import CGenerator
>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> text = "int f() { for (i = 0; i < n; i++) { if (a[i] > 9) return a[i]; if (!a[i]) break; } }"
>>> tree = CParser().parse(text)
>>> bound = bind_function(tree.ext[0], bind_file(tree))
>>> made = with_flag(tree.ext[0].body.block_items[0], bound, lambda: c_ast.ID("flag"))
>>> print(" ".join(CGenerator().visit(made).split()))
for (i = 0; i < n; i++) { if (a[i] > 9) { flag = 1; } if (!a[i]) { flag = 1; } }
>>> text = "int f() { for (i = 0; i < n; i++) { b[i] = 2 * a[i]; if (a[i] < 0) { k++; warn(i); } } }"
>>> loop = CParser().parse(text).ext[0].body.block_items[0]
>>> print(" ".join(CGenerator().visit(with_flag(loop, bound, lambda: c_ast.ID("flag"), lambda x: x == "warn")).split()))
for (i = 0; i < n; i++) { b[i] = 2 * a[i]; if (a[i] < 0) { flag = 1; } }
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pycparser import c_ast

from planish.frontend.c.analysis.assertions import asserted
from planish.frontend.c.analysis.scope import BoundNames, Symbol, written
from planish.frontend.c.analysis.statement_runs import LOOPS
from planish.frontend.c.types.constants import has_effects, items_of, walk_tree

_JUMPS = (c_ast.Break, c_ast.Return, c_ast.Goto)
Flag = Callable[[], c_ast.ID]
"""Makes a new mention of the flag."""


def with_flag(
    loop: c_ast.For | c_ast.While, bound: BoundNames, flag: Flag, unknown: Callable[[str], bool] = lambda _: False
) -> c_ast.For | c_ast.While | None:
    """The same loop without its exits, and without branches that call an `unknown` function; None where it has none of
    these, or they are in loops, switches or behind labels inside."""
    if loop.cond is None:
        return None
    parts = split_condition(loop.cond, changed_in(loop, bound), bound)
    if parts is None:
        return None
    counted, tests = parts
    rewriting = _Rewriting(flag, unknown)
    body = rewriting.without_exits(items_of(loop.stmt))
    inside = [x for y in body for x in walk_tree(y) if isinstance(x, (*LOOPS, c_ast.Switch, c_ast.Label, c_ast.Case))]
    if inside or (not tests and not rewriting.exits):
        return None
    leaving = [rewriting.leave_unless(x) for x in tests]
    stmt = c_ast.Compound([*leaving, *body], loop.stmt.coord)
    if isinstance(loop, c_ast.For):
        return c_ast.For(loop.init, counted, loop.next, stmt, loop.coord)
    return c_ast.While(counted, stmt, loop.coord)


def changed_in(loop: c_ast.For | c_ast.While, bound: BoundNames) -> set[Symbol]:
    """The variables that iterations of a loop set."""
    parts = (loop.cond, loop.next if isinstance(loop, c_ast.For) else None, loop.stmt)
    return {x for part in parts if part is not None for x in written(part, bound)}


def split_condition(
    cond: c_ast.Node, changed: set[Symbol], bound: BoundNames
) -> tuple[c_ast.Node, list[c_ast.Node]] | None:
    """The part of a loop's condition that counts, and those that read memory, such as members behind a pointer that is
    `changed`; None where no part counts, or one that is evaluated behind a side effect of those.

    >>> from pycparser.c_parser import CParser
    >>> from planish.frontend.c.analysis.scope import bind_file, bind_function
    >>> text = "int n; struct s *p, *q; void f() { while (n && p->x) { p++; { struct s *q; q = p; } } }"
    >>> tree = CParser().parse(text)
    >>> bound = bind_function(tree.ext[-1], bind_file(tree))
    >>> loop = tree.ext[-1].body.block_items[0]
    >>> changed = changed_in(loop, bound)
    >>> sorted(x.name for x in changed), len(split_condition(loop.cond, changed, bound)[1])
    (['p', 'q'], 1)
    """
    counted: c_ast.Node | None = None
    tests: list[c_ast.Node] = []
    effects = False
    for part in conjuncts(cond):
        if _reads_memory(part, changed, bound):
            tests.append(part)
            effects = effects or has_effects(part)
        elif effects or (tests and has_effects(part)):
            return None
        else:
            counted = part if counted is None else c_ast.BinaryOp("&&", counted, part, cond.coord)
    return None if counted is None else (counted, tests)


def conjuncts(cond: c_ast.Node) -> Iterator[c_ast.Node]:
    """The conditions that all have to hold, in order."""
    if isinstance(cond, c_ast.BinaryOp) and cond.op == "&&":
        yield from conjuncts(cond.left)
        yield from conjuncts(cond.right)
    else:
        yield cond


def _reads_memory(node: c_ast.Node, changed: set[Symbol], bound: BoundNames) -> bool:
    for x in walk_tree(node):
        match x:
            case c_ast.ArrayRef() | c_ast.FuncCall() | c_ast.UnaryOp(op="*"):
                return True
            case c_ast.StructRef(type="->", name=c_ast.ID() as pointer) if bound.symbol(pointer) in changed:
                return True
            case _:
                pass
    return False


def _leaves(items: list[c_ast.Node]) -> bool:
    """Whether statements always leave the loop: what they do before that does not matter."""
    if any(isinstance(x, c_ast.Continue) for item in items for x in walk_tree(item)):
        return False
    match items[-1:]:
        case [c_ast.Break() | c_ast.Return() | c_ast.Goto()]:
            return True
        case [c_ast.If(iftrue=then, iffalse=otherwise)] if otherwise is not None:
            return _leaves(items_of(then)) and _leaves(items_of(otherwise))
        case [c_ast.Compound(block_items=inner)]:
            return _leaves(inner or [])
        case _:
            return False


class _Rewriting:
    """What is made while exits give way to a flag."""

    def __init__(self, flag: Flag, unknown: Callable[[str], bool]) -> None:
        self._flag = flag
        self._unknown = unknown
        self.exits = 0

    def leave_unless(self, cond: c_ast.Node) -> c_ast.Node:
        """`if (!cond) flag = 1;`"""
        against = c_ast.UnaryOp("!", cond, cond.coord)
        return c_ast.If(against, self._leave(cond), None, cond.coord)

    def _leave(self, node: c_ast.Node) -> c_ast.Node:
        self.exits += 1
        one = c_ast.Constant("int", "1", node.coord)
        store = c_ast.Assignment("=", self._flag(), one, node.coord)
        return c_ast.Compound([store], node.coord)

    def without_exits(self, items: list[c_ast.Node]) -> list[c_ast.Node]:
        """Statements that set the flag in the place of their exits."""
        out: list[c_ast.Node] = []
        for item in items:
            match item:
                case c_ast.Break() | c_ast.Return() | c_ast.Goto():
                    return [*out, self._leave(item)]
                case c_ast.Cast() if (condition := asserted(item)) is not None:
                    out.append(self.leave_unless(condition))
                case c_ast.If(cond=cond, iftrue=then, iffalse=otherwise) if self._exits(item):
                    sides = [self._side(x) for x in (then, otherwise)]
                    if otherwise is not None and _leaves(items_of(then)):
                        # What the other branch does, iterations that stay always do.
                        out += [c_ast.If(cond, sides[0], None, item.coord), *items_of(sides[1])]
                        continue
                    out.append(c_ast.If(cond, sides[0], sides[1], item.coord))
                case c_ast.Compound(block_items=inner) if self._exits(item):
                    out.append(c_ast.Compound(self.without_exits(inner or []), item.coord))
                case _:
                    out.append(item)
        return out

    def _side(self, branch: c_ast.Node | None) -> c_ast.Node | None:
        items = items_of(branch)
        if branch is None or not (self._exits(branch) or self._calls(branch)):
            return branch
        if _leaves(items) or any(map(self._calls, items)):
            return self._leave(branch)
        return c_ast.Compound(self.without_exits(items), branch.coord)

    def _exits(self, node: c_ast.Node) -> bool:
        """Whether a statement holds an exit, or a branch that calls an unknown function."""
        branches = [x for y in walk_tree(node) if isinstance(y, c_ast.If) for x in (y.iftrue, y.iffalse) if x]
        return any(isinstance(x, _JUMPS) for x in walk_tree(node)) or any(map(self._calls, branches))

    def _calls(self, node: c_ast.Node) -> bool:
        """Whether a statement calls an unknown function, but for one of its branches alone."""
        match node:
            case c_ast.FuncCall(name=c_ast.ID(name=name)) if not self._unknown(name):
                return any(self._calls(x) for _, x in node.children())
            case c_ast.FuncCall():
                return True
            case c_ast.If(cond=cond):
                return self._calls(cond)
            case _:
                return any(self._calls(x) for _, x in node.children())
