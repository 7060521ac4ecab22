"""Store forwarding: what a local array passes between statements of one iteration becomes a name for a value.

A scalar that is set in several ways is an array with a cell for each iteration while loops are put in order; where each
value is used before the iteration ends, wherever it was set or updated, nothing of that array need be in memory.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "for i in 0 .. n { l[i] = x[i] y[i] = l[i] + l[i] }"
>>> kernel = parse_kernel("kernel k(n; x: f64[n], y: f64[n]) { alloc l: f64[n] " + text + " }")
>>> print(print_stmt(pass_values(kernel).body), end="")
{
  for i in 0 .. n {
    let l_value = x[i]
    y[i] = l_value + l_value
  }
}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from planish.ir.accesses import reads
from planish.ir.expr import Expr, Load, Var, type_of
from planish.ir.nest import Alloc, Assign, Block, For, Kernel, Let, Reduce, Stmt
from planish.ir.passes.update_idioms import combined
from planish.ir.traverse import blocks_of, map_expr, map_exprs, used_names, variables, walk, with_blocks  # fmt: skip

Cell = tuple[str, tuple[Expr, ...]]


@dataclass(slots=True)
class _Names:
    taken: set[str]

    def fresh(self, stem: str) -> str:
        name, n = f"{stem}_value", 1
        while name in self.taken:
            n += 1
            name = f"{stem}_value_{n}"
        self.taken.add(name)
        return name


def pass_values(kernel: Kernel, kept: Collection[str] = ()) -> Kernel:
    """The kernel without those of the arrays that it allocates at its top of which all values are used where they are
    made; others may lie beside them, and those that are `kept` stay."""
    own = [x.array for x in kernel.body.body if isinstance(x, Alloc)]
    arrays = {x.name for x in own if x.shape and x.memory == "dram" and not x.values} - {*kept}
    if not arrays:
        return kernel
    # An array of which something is left to load stays as it is, and so do the stores to it.
    tried = _pass(kernel.body, {}, arrays, _Names({*used_names(kernel)}))
    left = {x.array for x in reads(tried)}
    gone = arrays - left - {x.array for x in walk(tried) if isinstance(x, Reduce)}
    if not gone:
        return kernel
    body = _pass(kernel.body, {}, gone, _Names({*used_names(kernel)}))
    return replace(kernel, body=Block(tuple(x for x in body.body if not _allocates(x, gone))))


def _allocates(stmt: Stmt, gone: set[str]) -> bool:
    return isinstance(stmt, Alloc) and stmt.array.name in gone


def _pass(block: Block, known: dict[Cell, Var], arrays: set[str], names: _Names) -> Block:
    """A block with names in the place of what cells of the arrays hold."""
    return Block(tuple(_passed(x, known, arrays, names) for x in block.body))


def _passed(stmt: Stmt, known: dict[Cell, Var], arrays: set[str], names: _Names) -> Stmt:
    """The same of one statement; `known` is brought up to what cells hold behind it."""
    if known and not blocks_of(stmt):
        stmt = map_exprs(lambda x: map_expr(lambda y: _told(y, known), x), stmt)
    if isinstance(stmt, Reduce) and stmt.array in arrays and (old := known.get((stmt.array, stmt.index))) is not None:
        stmt = Assign(stmt.array, stmt.index, combined(stmt.op, old, stmt.value), stmt.span)
    if isinstance(stmt, Assign) and stmt.array in arrays:
        _forget(known, stmt)
        var = names.fresh(stmt.array)
        known[stmt.array, stmt.index] = Var(var, type_of(stmt.value))
        return Let(var, stmt.value, stmt.span)
    if isinstance(stmt, Let):
        _rename(known, stmt.var)
    blocks = []
    for block in blocks_of(stmt):
        inside = dict(known)
        if isinstance(stmt, For):
            _forget(inside, block)
            _rename(inside, stmt.var)
        blocks.append(_pass(block, inside, arrays, names))
    _forget(known, stmt)
    return with_blocks(stmt, blocks)


def _forget(known: dict[Cell, Var], stmt: Stmt) -> None:
    """What is stored to in a statement is not known any more."""
    stored = {x.array for x in walk(stmt) if isinstance(x, Assign | Reduce)}
    for cell in [x for x in known if x[0] in stored]:
        del known[cell]


def _rename(known: dict[Cell, Var], var: str) -> None:
    """A name stands for something else from here on, in subscripts as well."""
    for cell in [x for x in known if any(var in variables(i) for i in x[1])]:
        del known[cell]


def _told(expr: Expr, known: Mapping[Cell, Var]) -> Expr:
    return known.get((expr.array, expr.index), expr) if isinstance(expr, Load) else expr
