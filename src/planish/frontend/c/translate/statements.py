"""C statements as statements of a nest: blocks, conditions, and the dispatch over all of them.

A condition over iterators and sizes becomes an `If`; one that depends on data becomes choices between values, and only
where no store appears that the user's program does not make.
"""

from __future__ import annotations

from functools import partial

from pycparser import c_ast

from planish.frontend.c.analysis.assertions import asserted, assumed
from planish.frontend.c.analysis.scope import BoundNames, Symbol
from planish.frontend.c.assumed.granted_conditions import grant, granted_side, is_rare
from planish.frontend.c.assumed.guarded_stores import GuardedStore
from planish.frontend.c.idioms.branch_stores import joined
from planish.frontend.c.idioms.branches import as_statement, is_static
from planish.frontend.c.idioms.data_dependent_rows import search_statement, searched
from planish.frontend.c.idioms.histogram import count_statement, counted
from planish.frontend.c.idioms.memory_calls import is_block_call, run_block_call
from planish.frontend.c.idioms.modular_subscripts import choose_index, may_choose
from planish.frontend.c.idioms.single_store import flat, sets_always, stores_of
from planish.frontend.c.idioms.sole_call import sole_call
from planish.frontend.c.idioms.switch_cases import as_branches
from planish.frontend.c.numbers.complex_numbers import assign_complex, declare_complex, is_complex
from planish.frontend.c.text.gnu_syntax import ASSEMBLER, UNREAD
from planish.frontend.c.text.loop_pragmas import UNDIRECTED, is_threaded, words_of
from planish.frontend.c.translate.addresses import call_name, form_of
from planish.frontend.c.translate.arithmetic import conjunction
from planish.frontend.c.translate.assignments import (
    StoreTarget,
    assign,
    convert_stored,
    declare,
    read_for_effects,
    step_statement,
    target_of,
    write,
)
from planish.frontend.c.translate.expressions import choose, condition_of, operate, value_of
from planish.frontend.c.translate.loops import run_loop
from planish.frontend.c.translate.state import Address, CTranslation, KnownInteger, LostValue, Refused, Value
from planish.frontend.c.types.declarations import CScalar, is_complex_type
from planish.ir.conditional_accesses import opposite, read_always
from planish.ir.expr import Const, Expr, Load, Var, type_of
from planish.ir.nest import Assign, Block, If
from planish.ir.traverse import loads
from planish.ir.types import BOOL

_JUMPS = {c_ast.Break: "break", c_ast.Continue: "continue", c_ast.Return: "return", c_ast.Goto: "goto"}


def execute(node: c_ast.Node, cx: CTranslation) -> None:
    """Translate a statement (or the first or last part of a `for`). Raises Refused and Again."""
    match node:
        case c_ast.UnaryOp() | c_ast.Assignment() if (element := counted(node, cx)) is not None:
            count_statement(node, element, cx, execute)
        case c_ast.For() | c_ast.Assignment() if (symbol := searched(node, cx)) is not None:
            search_statement(node, symbol, cx, execute)
        case c_ast.Compound(block_items=items):
            for item in items or []:
                execute(item, cx)
        case c_ast.DeclList(decls=items) | c_ast.ExprList(exprs=items):
            for item in items:
                execute(item, cx)
        case c_ast.Decl() if (symbol := cx.bound.symbol(node)) is not None and is_complex_type(symbol.ctype):
            declare_complex(node, symbol, cx)
        case c_ast.Decl():
            declare(node, cx)
        case c_ast.Assignment() if is_complex(node.lvalue, cx):
            assign_complex(node, cx)
        case c_ast.Assignment():
            assign(node, cx)
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
            step_statement(node, cx)
        case c_ast.If() | c_ast.FuncCall() | c_ast.DoWhile() if assumed(node) is not None:
            pass  # it does nothing
        case c_ast.For() | c_ast.While() | c_ast.DoWhile():
            run_loop(node, cx, execute)
        case c_ast.If():
            _branch(node, cx)
        case c_ast.Pragma():
            if is_threaded(words_of(node)):
                cx.layouts[UNDIRECTED] = None
        case c_ast.EmptyStatement() | c_ast.Constant() | c_ast.StaticAssert():
            pass
        case c_ast.ID() if (symbol := cx.bound.symbol(node)) is None or isinstance(symbol.ctype, CScalar):
            pass
        case c_ast.Cast() if (condition := asserted(node)) is not None:
            _assert(condition, node, cx)
        case c_ast.Cast(expr=operand):
            execute(operand, cx)
        case _ if (refusal := refused_at_once(node, cx.bound)) is not None:
            raise refusal
        case c_ast.TernaryOp() | c_ast.BinaryOp(op="&&" | "||"):
            execute(cx.bound.keep(as_statement(node)), cx)
        case c_ast.Switch() if (branches := as_branches(node)) is not None:
            execute(cx.bound.keep(branches), cx)
        case c_ast.Switch():
            raise Refused("scop-jump", "a switch", node)
        case c_ast.FuncCall() if is_block_call(node, cx.bound):
            run_block_call(node, cx)
        case c_ast.FuncCall():
            cx.whole = node
            cx.inline(node, cx, read_for_effects)
        case _:
            raise Refused("scop-statement", f"a statement of the form {form_of(node)}", node)


def refused_at_once(node: c_ast.Node, bound: BoundNames, written_out: bool = True) -> Refused | None:
    """Why a statement is none of any nest, whatever stands around it; None where that has to be read."""
    match node:
        case _ if not written_out:
            return Refused("scop-macro", "its text comes out of a macro", node)
        case c_ast.Break() | c_ast.Continue() | c_ast.Return() | c_ast.Goto():
            return Refused("scop-jump", f"a {_JUMPS[type(node)]}", node)
        case c_ast.Label():
            return Refused("scop-jump", "a label", node)
        case c_ast.FuncCall() if assumed(node) is None and not is_block_call(node, bound):
            name = call_name(node)
            if name == UNREAD or name in ASSEMBLER:
                return Refused("scop-statement", "inline assembly, or GNU C that is not read", node)
            known = name in bound.file.functions
            return None if known else Refused("scop-call", f"a call of {bound.file.tell_of(name)}", node)
        case _:
            return None


def _assert(condition: c_ast.Node, node: c_ast.Node, cx: CTranslation) -> None:
    """An assertion inside of a nest is granted, if it speaks of sizes. Raises Refused where it does not."""
    test = condition_of(condition, cx)
    if not (cx.repeats and is_static(test, cx) and grant(test, cx)):
        message = "an assertion about data, which has to be kept: assert in front of the loop, or define NDEBUG"
        raise Refused("scop-assertion", message, node)


def _branch(node: c_ast.If, cx: CTranslation) -> None:
    if node.iffalse is None and isinstance(node.cond, c_ast.BinaryOp) and node.cond.op == "&&" and not cx.guards:
        with cx.trial():
            outer = condition_of(node.cond.left, cx)
        if not isinstance(outer, Const) and is_static(outer, cx):
            # What is on the right of && is then read in a branch of its own.
            inner = c_ast.If(node.cond.right, node.iftrue, None, node.coord)
            _branch(cx.bound.keep(c_ast.If(node.cond.left, inner, None, node.coord)), cx)
            return
    cx.whole = sole_call(node.cond, cx.bound)
    test = condition_of(node.cond, cx)
    if isinstance(test, Const):
        chosen = node.iftrue if test.value else node.iffalse
        if chosen is not None:
            execute(chosen, cx)
        return
    if is_static(test, cx):
        _branch_on_sizes(node, test, cx)
    else:
        _branch_on_data(node, test, cx)


def _branch_on_sizes(node: c_ast.If, test: Expr, cx: CTranslation) -> None:
    try:
        with cx.attempt():
            _take_both(node, test, cx)
    except Refused as reason:
        if not (is_rare(reason, test, cx) and _take_one(node, test, cx)):
            raise


def _take_one(node: c_ast.If, test: Expr, cx: CTranslation) -> bool:
    """Translate the branch that can be read, and grant that the other one is not reached; whether there is one."""

    def run(branch: c_ast.Node | None) -> bool:
        if branch is not None:
            execute(branch, cx)
        return True

    return bool(granted_side(test, {False: partial(run, node.iffalse), True: partial(run, node.iftrue)}, cx))


def _take_both(node: c_ast.If, test: Expr, cx: CTranslation) -> None:
    before = dict(cx.values)
    with cx.inside() as then, cx.conditional():
        execute(node.iftrue, cx)
    after_then, cx.values = cx.values, before
    with cx.inside() as otherwise, cx.conditional():
        if node.iffalse is not None:
            execute(node.iffalse, cx)
    for symbol in {*after_then, *cx.values}:
        cx.values[symbol] = _joined(symbol, test, after_then.get(symbol), cx.values.get(symbol), cx)
    if then or otherwise:
        cx.emit(If(test, Block(tuple(then)), Block(tuple(otherwise)), cx.span_of(node)))


def _joined(symbol: Symbol, test: Expr, a: Value | None, b: Value | None, cx: CTranslation) -> Value:
    """What a variable holds after two branches, taken where `test` holds or not; None: the branch does not touch it."""
    if a is not None and (b is None or a == b) and (b is not None or _untouched(symbol, a)):
        return a
    if b is not None and a is None and _untouched(symbol, b):
        return b
    if isinstance(a, KnownInteger) and isinstance(b, KnownInteger) and may_choose(a.expr, b.expr, cx):
        cx.chosen = True
        return KnownInteger(choose_index(test, a.expr, b.expr))
    return LostValue("it is set under a condition")


def _untouched(symbol: Symbol, value: Value) -> bool:
    """Whether the value is the one on entry."""
    match value:
        case KnownInteger(expr=Var(name=name)):
            return name == symbol.key
        case Address(symbol=array, index=(Const(value=0),)):
            return array is symbol
        case _:
            return False


def _branch_on_data(node: c_ast.If, test: Expr, cx: CTranslation) -> None:
    if cx.guards:
        _choose_by_data(node, test, cx)
        return
    before = (y for x in cx.out if isinstance(x, Assign) for y in read_always(x.value))
    cx.certain = (*read_always(test), *(x for x in before if not any(True for y in x.index for _ in loads(y))))
    try:
        _choose_by_data(node, test, cx)
    finally:
        cx.certain = ()


def _choose_by_data(node: c_ast.If, test: Expr, cx: CTranslation) -> None:
    then, otherwise = flat(node.iftrue), flat(node.iffalse)
    stores = stores_of(node)
    if stores and _is_one_place(stores, cx) and (sets_always(node) or _is_own(stores[0], cx)):
        target = target_of(stores[0].lvalue, cx.bound.symbol(stores[0].lvalue), cx)
        write(target, _chosen(node, test, target, cx), node, cx)
        return
    outer, inside = list(cx.guards), list(cx.guards)
    single = [*then, *otherwise]
    if len(single) > 1 or not isinstance(single[0] if single else None, (c_ast.Assignment, c_ast.UnaryOp)):
        # What the branches store must not change the condition between two uses of it.
        name = cx.temporary("test", BOOL, conjunction([*cx.guards, test]), node)
        test, inside = Load(name, (), BOOL), []  # it holds only where those around hold
    both, sides = ([*inside, test], [*outer, opposite(test)]), list[list[GuardedStore]]()
    for stmts, guards in zip((then, otherwise), both, strict=True):
        cx.guards, known = guards, len(cx.guarded)
        for stmt in stmts:
            execute(stmt, cx)
        sides.append(cx.guarded[known:])
    cx.guards = outer
    if cx.searches is None:
        for a, b in joined(sides[0], sides[1], (tuple(both[0]), tuple(both[1])), cx):
            target = StoreTarget(a.stmt.array, a.stmt.index, type_of(a.value), local=False)
            write(target, choose(test, a.value, b.value), a.node, cx)


def _is_one_place(stores: list[c_ast.Assignment], cx: CTranslation) -> bool:
    """Whether assignments are to one element or cell; variables that are added to are sums, of which each has its
    own."""
    symbols = [cx.bound.symbol(x.lvalue) for x in stores]
    if any(x is not None and not cx.is_cell(x) for x in symbols):
        return False
    return all(x.op == "=" or _is_element(x.lvalue) for x in stores)


def _is_own(store: c_ast.Assignment, cx: CTranslation) -> bool:
    """Whether a store is to a variable that nobody else sees, so that it may be stored as it is."""
    symbol = cx.bound.symbol(store.lvalue)
    return symbol is not None and not symbol.lasting


def _is_element(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.ArrayRef) or (isinstance(node, c_ast.UnaryOp) and node.op == "*")


def _chosen(node: c_ast.If, test: Expr, target: StoreTarget, cx: CTranslation) -> Expr:
    """The value that the branches of a condition store."""
    values: list[Expr] = []
    for branch in (node.iftrue, node.iffalse):
        match next(iter(flat(branch)), None):
            case None:
                values.append(target.load)
            case c_ast.If() as inner:
                with cx.conditional():
                    values.append(_chosen(inner, condition_of(inner.cond, cx), target, cx))
            case store:
                with cx.conditional():
                    value = value_of(store.rvalue, cx)
                if store.op != "=":
                    value = operate(store.op.removesuffix("="), target.load, value, store)
                values.append(convert_stored(value, target.type))
    return choose(test, *values)
