"""Walking and rebuilding expressions and nests without visitor classes.

>>> from planish.ir.expr import Binary, Const, Var
>>> from planish.ir.types import INDEX
>>> substitute(Binary("add", Var("i", INDEX), Const(1, INDEX)), {"i": Const(4, INDEX)}).left.value
4
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import assert_never

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.nest import Alloc, Assign, Barrier, Block, For, If, Kernel, Launch, Let, Reduce, Stmt, While

_LEAVES = (Const, Var)
_PAIRS = (Binary, Compare)
_NESTED = (Block, For, While, If, Launch)
"""Classes by themselves: a union of them is made anew wherever it is asked about."""


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct operands of an expression."""
    match expr:
        # What there is most of comes first: this is asked more often than anything else.
        case Binary(left=a, right=b) | Compare(left=a, right=b):
            return (a, b)
        case Const() | Var():
            return ()
        case Load(index=index):
            return index
        case Unary(operand=x) | Cast(operand=x):
            return (x,)
        case Select(condition=c, then=a, otherwise=b):
            return (c, a, b)
        case Call(arguments=arguments):
            return arguments
        case _:
            assert_never(expr)


def with_children(expr: Expr, parts: tuple[Expr, ...]) -> Expr:
    """The same expression over other operands; itself where these are its own."""
    if _are_own(children(expr), parts):
        return expr
    match expr:
        case Binary(op=op):
            return Binary(op, *parts)
        case Const() | Var():
            return expr
        case Load(array=array, type=type):
            return Load(array, parts, type)
        case Unary(op=unary):
            return Unary(unary, parts[0])
        case Cast(type=type):
            return Cast(parts[0], type)
        case Compare(op=compared):
            return Compare(compared, *parts)
        case Select():
            return Select(*parts)
        case Call(function=function):
            return Call(function, parts)
        case _:
            assert_never(expr)


def _are_own(own: Sequence[object], parts: Sequence[object]) -> bool:
    """Whether parts are those that there are: what nothing changes is not made anew."""
    return len(own) == len(parts) and all(map(is_, own, parts))


def walk_expr(expr: Expr) -> Iterator[Expr]:
    """The expression and all below it, parents first."""
    rest = [expr]
    while rest:
        x = rest.pop()
        yield x
        if isinstance(x, _PAIRS):
            rest.append(x.right)
            rest.append(x.left)
        elif not isinstance(x, _LEAVES):
            rest += reversed(children(x))


def chained(expr: Expr, op: str) -> Iterator[Expr]:
    """The operands of an operator that is written several times: a, b and c of `(a + b) + c`."""
    if isinstance(expr, Binary) and expr.op == op:
        yield from chained(expr.left, op)
        yield from chained(expr.right, op)
    else:
        yield expr


def bindings(stmt: Stmt) -> Iterator[str]:
    """The names that a statement binds, with all in it: loops, values and local arrays."""
    for x in walk(stmt):
        match x:
            case For(var=name) | Let(var=name):
                yield name
            case Launch(grid=grid, block=block):
                yield from (name for name, _ in (*grid, *block))
            case Alloc(array=array):
                yield array.name
            case _:
                pass


def used_names(kernel: Kernel) -> frozenset[str]:
    """The sizes, scalars, arrays, loops and bound names of a kernel."""
    own = (*kernel.sizes, *(x.name for x in kernel.scalars), *(x.name for x in kernel.arrays))
    return frozenset((*own, *bindings(kernel.body)))


def map_expr(function: Callable[[Expr], Expr], expr: Expr) -> Expr:
    """Rebuild bottom-up: `function` is applied to each node after its operands."""
    if isinstance(expr, _LEAVES):
        return function(expr)
    fresh = tuple([map_expr(function, x) for x in children(expr)])
    return function(with_children(expr, fresh))


def conditions(expr: Expr) -> tuple[Expr, ...]:
    """The conditions of all choices in an expression, each once, outer ones first."""
    return tuple(dict.fromkeys(x.condition for x in walk_expr(expr) if isinstance(x, Select)))


def decide(expr: Expr, test: Expr, holds: bool) -> Expr:
    """The expression where a condition is known to hold, or not to: choices by it are made."""

    def decided(x: Expr) -> Expr:
        if isinstance(x, Select) and x.condition == test:
            return x.then if holds else x.otherwise
        return x

    return map_expr(decided, expr)


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """Replace variables by name."""
    return map_expr(lambda x: values.get(x.name, x) if isinstance(x, Var) else x, expr)


def variables(expr: Expr) -> frozenset[str]:
    """Names of the variables (not arrays) that an expression reads."""
    return frozenset(x.name for x in walk_expr(expr) if isinstance(x, Var))


WORK = frozenset({"min", "max", "floordiv", "mod", "quo", "rem"})
"""Operations on indices that take more than an addition."""


def count_work(*exprs: Expr) -> int:
    """The divisions and extrema in some expressions."""
    return sum(isinstance(x, Binary) and x.op in WORK for expr in exprs for x in walk_expr(expr))


def may_fail(expr: Expr) -> bool:
    """Whether an expression does what C leaves undefined for some values: a division, a shift, a float made whole."""
    for x in walk_expr(expr):
        match x:
            case Binary(op="quo" | "rem" | "floordiv" | "mod" | "shl" | "shr", right=right):
                if not isinstance(right, Const) or right.value <= 0:
                    return True
            case Cast(operand=operand, type=kind) if type_of(operand).is_float and not kind.is_float:
                return True
            case _:
                pass
    return False


def takes_work(expr: Expr) -> bool:
    """Whether there is a division, an extremum or a choice in an expression."""
    rest = [expr]
    while rest:
        x = rest.pop()
        if isinstance(x, Binary):
            if x.op in WORK:
                return True
            rest += (x.left, x.right)
        elif isinstance(x, Select):
            return True
        elif not isinstance(x, Const | Var):
            rest += children(x)
    return False


def has_work(block: Block) -> bool:
    """Whether there is a division, an extremum or a choice in any expression of a nest."""
    return any(takes_work(x) for stmt in walk(block) for x in expressions(stmt))


def loads(expr: Expr) -> tuple[Load, ...]:
    """Every load in an expression, outer ones first."""
    return tuple(x for x in walk_expr(expr) if isinstance(x, Load))


def walk(stmt: Stmt) -> Iterator[Stmt]:
    """The statement and all below it in textual order."""
    rest = [stmt]
    while rest:
        x = rest.pop()
        yield x
        if isinstance(x, _NESTED):
            rest += reversed(x.body if isinstance(x, Block) else blocks_of(x))


def is_counted(kernel: Kernel) -> bool:
    """Whether the trip counts of all its loops are known where they begin."""
    return not any(isinstance(x, While) for x in walk(kernel.body))


def goes_by_data(kernel: Kernel) -> bool:
    """Whether data say how often a loop runs, whether a statement does, or which element it stores to.

    >>> from planish.ir.text.parser import parse_kernel
    >>> text = "kernel k(n; x: u8[n], h: i32[256]) { for i in 0 .. n { h[%s] += 1:i32 } }"
    >>> [goes_by_data(parse_kernel(text % x)) for x in ("i", "i64(x[i])")]
    [False, True]
    """

    def asked(stmt: Stmt) -> Iterable[Expr]:
        match stmt:
            case For(lower=lower, upper=upper):
                return lower, upper
            case If(condition=condition):
                return (condition,)
            case Assign(index=at) | Reduce(index=at):
                return at
            case _:
                return ()

    statements = [*walk(kernel.body)]
    return not is_counted(kernel) or any(True for x in statements for e in asked(x) for _ in loads(e))


def reads_by_data(kernel: Kernel) -> bool:
    """Whether data say which elements are read.

    >>> from planish.ir.text.parser import parse_kernel
    >>> reads_by_data(parse_kernel("kernel k(n; p: i32[n], x: f64[n]) { for i in 0 .. n { x[i] = x[i64(p[i])] } }"))
    True
    """
    read = (x for stmt in walk(kernel.body) for e in expressions(stmt) for x in loads(e))
    return any(True for x in read for e in x.index for _ in loads(e))


def arrays_in(stmt: Stmt) -> Iterator[str]:
    """The arrays that a statement reads or writes, with all below it, as often as it does."""
    for x in walk(stmt):
        if isinstance(x, Assign | Reduce):
            yield x.array
        yield from (load.array for e in expressions(x) for load in loads(e))


def stored_arrays(stmt: Stmt) -> frozenset[str]:
    """The arrays that a statement stores to, with all below it."""
    return frozenset(x.array for x in walk(stmt) if isinstance(x, Assign | Reduce))


def depth_of(block: Block) -> int:
    """How many statements and expressions are inside of each other."""
    met: dict[int, int] = {}
    left: list[tuple[Stmt | Expr, int]] = [(block, 1)]
    while left:
        node, depth = left.pop()
        if depth > met.get(id(node), 0):
            met[id(node)] = depth
            left += ((x, depth + 1) for x in _inside(node))
    return max(met.values())


def _inside(node: Stmt | Expr) -> tuple[Stmt | Expr, ...]:
    match node:
        case Block(body=body):
            return body
        case For() | While() | If() | Assign() | Reduce() | Alloc() | Let() | Launch() | Barrier():
            return (*blocks_of(node), *expressions(node))
        case _:
            return children(node)


def flatten(body: Iterable[Stmt]) -> list[Stmt]:
    """Statements with those of blocks in the place of the blocks."""
    return [x for stmt in body for x in (flatten(stmt.body) if isinstance(stmt, Block) else [stmt])]


def blocks_of(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks that stand directly in a statement."""
    match stmt:
        case Block():
            return (stmt,)
        case For(body=body) | While(body=body) | Launch(body=body):
            return (body,)
        case If(then=then, otherwise=otherwise):
            return (then, otherwise)
        case Assign() | Reduce() | Alloc() | Let() | Barrier():
            return ()
        case _:
            assert_never(stmt)


def with_blocks(stmt: Stmt, blocks: Sequence[Block]) -> Stmt:
    """The statement with other blocks in it; itself where these are its own."""
    if _are_own(blocks_of(stmt), blocks):
        return stmt
    match stmt:
        case Block():
            return blocks[0]
        # There are many statements, and `replace` takes several times as long as this.
        case For(var, lower, upper, step, _, facts, span, label):
            return For(var, lower, upper, step, blocks[0], facts, span, label)
        case If(condition, _, _, span, label):
            return If(condition, blocks[0], blocks[1], span, label)
        case Launch() | While():
            return replace(stmt, body=blocks[0])
        case Assign() | Reduce() | Alloc() | Let() | Barrier():
            return stmt
        case _:
            assert_never(stmt)


def with_body(block: Block, body: Sequence[Stmt]) -> Block:
    """A block of other statements; the same one where these are its own."""
    return block if _are_own(block.body, body) else Block(tuple(body))


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that stand directly in a statement (not in nested ones)."""
    match stmt:
        case Block() | Barrier():
            return ()
        case Launch(grid=grid):
            return tuple(x for _, x in grid)
        case For(lower=lower, upper=upper):
            return (lower, upper)
        case If(condition=condition) | While(condition=condition):
            return (condition,)
        case Assign(index=index, value=value) | Reduce(index=index, value=value):
            return (*index, value)
        case Alloc(array=array):
            return tuple(x for x in array.shape if x is not None)
        case Let(value=value):
            return (value,)
        case _:
            assert_never(stmt)


def control_names(nest: Block) -> frozenset[str]:
    """The names whose values reach a condition or a bound; a `Let` that serves subscripts only is not among them."""
    used: set[str] = set()
    lets: list[Let] = []
    for stmt in walk(nest):
        match stmt:
            case For() | While() | If() | Launch():
                used.update(*(variables(x) for x in expressions(stmt)))
            case Let():
                lets.append(stmt)
            case Block() | Assign() | Reduce() | Alloc() | Barrier():
                pass
            case _:
                assert_never(stmt)
    # A `Let` stands after those that it uses.
    for let in reversed(lets):
        if let.var in used:
            used |= variables(let.value)
    return frozenset(used)


def with_stmts(block: Block, old: Stmt, new: Sequence[Stmt]) -> Block:
    """The block with some statements in the place of one of those in it, which is that very one."""
    out: list[Stmt] = []
    for stmt in block.body:
        if stmt is old:
            out += new
        else:
            out.append(with_blocks(stmt, [with_stmts(x, old, new) for x in blocks_of(stmt)]))
    return with_body(block, out)


def substitute_stmt(stmt: Stmt, values: Mapping[str, Expr]) -> Stmt:
    """Replace variables by name in the expressions that stand directly in a statement."""
    return map_exprs(lambda x: substitute(x, values), stmt)


def substitute_block(block: Block, values: Mapping[str, Expr]) -> Block:
    """Replace variables by name in all expressions; no name may be bound in the block."""
    return map_block(lambda stmt: substitute_stmt(stmt, values), block)


def map_block(function: Callable[[Stmt], Stmt | tuple[Stmt, ...]], block: Block) -> Block:
    """Rebuild a block bottom-up; `function` sees each statement after its parts and may return several."""
    out: list[Stmt] = []
    for stmt in block.body:
        result = function(with_blocks(stmt, [map_block(function, x) for x in blocks_of(stmt)]))
        out.extend(result if isinstance(result, tuple) else (result,))
    return with_body(block, out)


def map_exprs(function: Callable[[Expr], Expr], stmt: Stmt) -> Stmt:
    """Apply `function` to the expressions that stand directly in a statement; the same one where these stay as they
    are."""
    match stmt:
        case Block() | Alloc() | Barrier():
            return stmt
        case Launch(grid=grid):
            counts = tuple([function(x) for _, x in grid])
            if _are_own([x for _, x in grid], counts):
                return stmt
            return replace(stmt, grid=tuple((name, x) for (name, _), x in zip(grid, counts, strict=True)))
        case For(lower=lower, upper=upper):
            bounds = function(lower), function(upper)
            if _are_own((lower, upper), bounds):
                return stmt
            return For(stmt.var, *bounds, stmt.step, stmt.body, stmt.facts, stmt.span, stmt.label)
        case If(condition=condition) | While(condition=condition):
            test = function(condition)
            return stmt if test is condition else replace(stmt, condition=test)
        case Assign(index=index, value=value) | Reduce(index=index, value=value):
            places, result = tuple([function(x) for x in index]), function(value)
            if result is value and _are_own(index, places):
                return stmt
            if isinstance(stmt, Assign):
                return Assign(stmt.array, places, result, stmt.span, stmt.label, stmt.asynchronous)
            return Reduce(stmt.array, places, stmt.op, result, stmt.span, stmt.label)
        case Let(value=value):
            result = function(value)
            return stmt if result is value else replace(stmt, value=result)
        case _:
            assert_never(stmt)
