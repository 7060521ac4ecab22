"""The condition under which an iteration leaves a loop, over what it reads: its cells as expressions of that.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> loop = "for i in 0 .. n { alloc c: i32[] c[] = x[i] * 2:i32 f[] = select(c[] > 9:i32, 1:i32, f[]) s[] += c[] }"
>>> kernel = parse_kernel("kernel k(n; x: i32[?] distinct, s: i32[] distinct, f: i32[] distinct) { %s }" % loop)
>>> print_expr(exit_condition(kernel, kernel.body.body[0], "f"))
'x[i] * 2:i32 > 9:i32'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from planish.ir.expr import Binary, Const, Expr, Load, Select, Unary, Var, index
from planish.ir.index.polynomial import add, coefficient_of, mul
from planish.ir.nest import Alloc, Assign, Block, For, If, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import arrays_in, loads, map_block, map_expr, with_stmts
from planish.ir.types import BOOL, I32, INDEX
from planish.poly.early_exit.candidates import FALSE, both, either

COUNT = "planish_count"
"""The number of iterations that stay in a loop."""
_LOST = Var("", INDEX)
"""What a cell holds that an iteration has not set, or of which it is not known."""


class NoExitTest(Exception):
    """Whether an iteration leaves a loop is nothing that lanes can be asked; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def exit_condition(kernel: Kernel, loop: For, flag: str) -> Expr:
    """The condition under which an iteration of a loop sets the cell `flag`, over what it reads. Raises NoExitTest."""
    condition = iteration_values(kernel, loop, flag, {})[flag]
    _check_unstored(condition, loop)
    return condition


def iteration_values(kernel: Kernel, loop: For, flag: str, given: Mapping[str, Expr]) -> dict[str, Expr]:
    """What an iteration of a loop leaves in cells, over what it reads, and of the cell `flag` the condition under which
    it is set; `given`: what some hold where it begins. Raises NoExitTest."""
    inside = {x.array.name for x in _allocated(loop.body)}
    outside = {x.array.name for x in _allocated(kernel.body)} | {x.name for x in kernel.arrays if not x.shape}
    stored = {x.array for x in _stores(loop.body) if not x.index}
    run = _Run(flag, stored | inside)
    return run.after(loop.body.body, {**dict.fromkeys((outside - inside) & stored, _LOST), **given, flag: FALSE})


def _check_unstored(condition: Expr, loop: For) -> None:
    """Raises NoExitTest where iterations store to what a condition reads, but for elements that no other one reads."""
    written = {(x.array, x.index) for x in _stores(loop.body) if x.index}
    for x in loads(condition):
        moving = any((found := coefficient_of(y, loop.var)) is not None and found[0] != 0 for y in x.index)
        if any(array == x.array and (not moving or at != x.index) for array, at in written):
            raise NoExitTest(f"iterations store to {x.array}, which it reads")


def _allocated(body: Block) -> Iterator[Alloc]:
    for x in body.body:
        if isinstance(x, Alloc):
            yield x
        elif isinstance(x, For):
            yield from _allocated(x.body)
        elif isinstance(x, If):
            yield from _allocated(x.then)
            yield from _allocated(x.otherwise)


def _stores(body: Block) -> Iterator[Assign | Reduce]:
    for x in body.body:
        match x:
            case Assign() | Reduce():
                yield x
            case If(then=then, otherwise=otherwise):
                yield from _stores(then)
                yield from _stores(otherwise)
            case _:
                pass


class _Run:
    """One iteration in symbols: what cells hold, as expressions of what they are made of."""

    def __init__(self, flag: str, cells: set[str]) -> None:
        self.flag, self.cells, self.stored = flag, cells, set[str]()

    def after(self, stmts: tuple[Stmt, ...], values: Mapping[str, Expr]) -> dict[str, Expr]:
        """What cells hold behind statements."""
        now = dict(values)
        for stmt in stmts:
            match stmt:
                case Alloc():
                    pass
                case Let(var=name, value=value):
                    now[f"let {name}"] = self.known(value, now)
                case Assign(array=array, index=(), value=value) if array == self.flag:
                    now[array] = self.flagged(value, now)
                case Assign(array=array, index=(), value=value):
                    now[array] = self.known(value, now)
                case Reduce(array=array, index=()):
                    now[array] = _LOST
                case Assign(array=array) | Reduce(array=array):
                    self.stored.add(array)
                case If(condition=condition, then=then, otherwise=otherwise):
                    test = self.value(condition, now)
                    a, b = self.after(then.body, now), self.after(otherwise.body, now)
                    now = {x: self.joined(x, test, a, b) for x in {*a, *b}}
                case _:
                    raise NoExitTest("its iterations hold other loops")
        return now

    def joined(self, name: str, test: Expr, a: Mapping[str, Expr], b: Mapping[str, Expr]) -> Expr:
        """What a cell holds behind a branch."""
        if name not in a or name not in b:
            return a.get(name) or b[name]  # of one side alone: it is set before it is read behind
        if a[name] == b[name] or _LOST in (a[name], b[name]):
            return a[name] if a[name] == b[name] else _LOST
        if name == self.flag:
            return either(both(test, a[name]), both(Unary("not", test), b[name]))
        return Select(test, a[name], b[name])

    def known(self, x: Expr, now: Mapping[str, Expr]) -> Expr:
        """An expression without cells, or that it is not known."""
        try:
            return self.value(x, now)
        except NoExitTest:
            return _LOST

    def value(self, x: Expr, now: Mapping[str, Expr]) -> Expr:
        """An expression without cells."""

        def placed(part: Expr) -> Expr:
            match part:
                case Load(array=array, index=()) if array in self.cells:
                    found = now.get(array, _LOST)
                case Var(name=array) if f"let {array}" in now:
                    found = now[f"let {array}"]
                case Load(array=array) if array in self.stored:
                    raise NoExitTest(f"iterations store to {array} before they read it")
                case _:
                    return part
            if found == _LOST:
                raise NoExitTest(f"it depends on {array}, which iterations hand on")
            return found

        return map_expr(placed, x)

    def flagged(self, x: Expr, now: Mapping[str, Expr]) -> Expr:
        """Whether a value that is stored to the flag is 1, which is what it holds where an iteration leaves."""
        match x:
            case Const(value=value):
                return Const(bool(value), BOOL)
            case Load(array=array, index=()) if array == self.flag:
                return now[array]
            case Select(condition=test, then=then, otherwise=otherwise):
                # What left before has left, whatever is computed behind that.
                known = self.value(test, now)
                first, second = self.flagged(then, now), self.flagged(otherwise, now)
                if second == now[self.flag]:
                    return either(second, both(known, first))
                if first == now[self.flag]:
                    return either(first, both(Unary("not", known), second))
                return either(both(known, first), both(Unary("not", known), second))
            case Binary(op="max", left=Load(array=array), right=Const()) if array == self.flag:
                return self.flagged(x.right, now)
            case _:
                raise NoExitTest("how it leaves is not understood")


def search_kernel(kernel: Kernel, flag: str) -> Kernel:
    """The kernel that only finds out whether an iteration leaves. Raises NoExitTest."""
    loop = _loop_of(kernel)
    leaves = Select(exit_condition(kernel, loop, flag), Const(1, I32), Load(flag, (), I32))
    body = Block((replace(loop, body=Block((Assign(flag, (), leaves, loop.span),))),))
    used = {*arrays_in(body)}
    return replace(kernel, arrays=tuple(x for x in kernel.arrays if x.name in used), body=body)


def counted_kernel(kernel: Kernel, flag: str, count: str) -> tuple[Kernel, Kernel]:
    """The kernel of the first `count` iterations, a size, which all stay in the loop: with what finds that out, and
    without."""
    loop = _loop_of(kernel)
    upper = add(loop.lower, mul(index(loop.step), index(count)))
    counted = replace(loop, upper=upper)
    whole = replace(kernel, sizes=(*kernel.sizes, count), body=with_stmts(kernel.body, loop, (counted,)))
    bare = map_block(lambda x: () if isinstance(x, Assign) and x.array == flag else _filled(x), whole.body)
    used = {*arrays_in(bare)}
    return whole, replace(whole, body=bare, arrays=tuple(x for x in whole.arrays if x.name in used))


def _filled(x: Stmt) -> Stmt | tuple[Stmt, ...]:
    """A statement, without branches that do nothing."""
    return () if isinstance(x, If) and not (x.then.body or x.otherwise.body) else x


def _loop_of(kernel: Kernel) -> For:
    return next(x for x in kernel.body.body if isinstance(x, For))
