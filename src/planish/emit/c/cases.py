"""Cases of one value in a loop in lanes: clang makes a switch of comparisons with several constants, and then no lanes.

Every second constant becomes a variable of which the compiler does not know the value.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "kernel k(n; x: i32[n]) { for i in 0 .. n simd { x[i] = select(x[i] == 1:i32, 5:i32, %s) } }"
>>> loop = parse_kernel(text % "select(x[i] == 4:i32, 0:i32, x[i])").body.body[0]
>>> hidden, names = hide_cases(loop, lambda stem: stem)
>>> print(print_stmt(hidden))
for i in 0 .. n simd {
  x[i] = select(x[i] == 1:i32, 5:i32, select(x[i] == case_4, 0:i32, x[i]))
}
>>> names
{Const(value=4, type=Type(kind='int', bits=32)): 'case_4'}
>>> hide_cases(parse_kernel(text % "7:i32").body.body[0], lambda stem: stem)[1]
{}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from planish.ir.expr import Compare, Const, Expr, Select, Var
from planish.ir.nest import For, If
from planish.ir.traverse import expressions, map_block, map_expr, map_exprs, walk, walk_expr

UNKNOWN = """\
/* The value of a variable that stays what it is, though clang may not say so: it would make a switch of cases. */
#if defined(__clang__)
#define planish_unknown(x) __asm__("" : "+r"(x))
#else
#define planish_unknown(x) ((void)0)
#endif"""


def hide_cases(loop: For, name: Callable[[str], str]) -> tuple[For, Mapping[Const, str]]:
    """The loop with names for some of the constants that the same integer is compared with, and what these are."""
    stmts = [*walk(loop.body)]
    parts = [z for x in stmts for y in expressions(x) for z in walk_expr(y)]
    if any(isinstance(x, For) for x in stmts) or not any(isinstance(x, Select | If) for x in (*parts, *stmts)):
        return loop, {}
    cases: dict[Expr, dict[Const, None]] = {}
    for x in parts:
        match x:
            case Compare(op="eq" | "ne", left=left, right=Const() as case) if case.type.is_int:
                cases.setdefault(left, {})[case] = None
            case _:
                pass
    chosen = {(left, case) for left, own in cases.items() for case in [*own][1::2]}
    names = {case: name(f"case_{case.value}".replace("-", "minus_")) for case in dict.fromkeys(x for _, x in chosen)}
    if not names:
        return loop, {}

    def hidden(x: Expr) -> Expr:
        if isinstance(x, Compare) and (x.left, x.right) in chosen and isinstance(x.right, Const):
            return replace(x, right=Var(names[x.right], x.right.type))
        return x

    return replace(loop, body=map_block(partial(map_exprs, partial(map_expr, hidden)), loop.body)), names
