"""Conditional stores: guards speculative stores with a silent-store test.

`if (x < a[i]) a[i] = x;` is read as a choice between two values that is stored in every case. What is stored without a
need might be seen by others: by a thread that reads it, or by whoever keeps the memory from being written. Where only
changes are stored, something is stored only where the original stores, too; where the value is a choice between a new
one and the element's own, the store gets the condition of that.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> kernel = parse_kernel("kernel k(n; a: i32[n], x: i32[n]) { for i in 0 .. n { a[i] max= x[i] } }")
>>> print(print_stmt(store_changes(kernel, {"a"}).body), end="")
{
  for i in 0 .. n {
    let a_new = x[i]
    if a_new > a[i] {
      a[i] max= a_new
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.emit.idioms.guarded_names import spell_out
from planish.ir.conditional_accesses import ConditionalStore, conditional_store, read_in_any_case
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Var, type_of
from planish.ir.nest import Assign, Block, For, If, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import bindings, blocks_of, loads, map_block, used_names, walk, with_blocks, with_body


def store_changes(
    kernel: Kernel, arrays: Collection[str], guarded: Collection[str] = (), exact: bool = False
) -> Kernel:
    """The kernel where nothing is stored to some arrays but where another value than an element's own is chosen, or,
    where that is no choice, but changes; of those that are `guarded` nothing is read elsewhere either. `exact`: the
    sign of a zero counts, of which no comparison of floats tells that it changes. PlanishError E0715 where an
    instruction that asks for no condition stores to one of them, E0714 where that is read, or it is not known what is
    chosen."""
    if not arrays:
        return kernel
    kernel = spell_out(kernel, guarded) if guarded else kernel
    _refuse_unguarded(kernel, guarded)
    for loop in (x for x in walk(kernel.body) if isinstance(x, For) and (x.facts.instruction or x.facts.stream)):
        if loop.facts.masked:
            continue
        for stored in (x.array for x in walk(loop.body) if isinstance(x, Assign | Reduce) and x.array in arrays):
            message = f"`{stored}` is stored to in any case by {loop.facts.instruction or loop.facts.stream}"
            raise PlanishError(Diagnostic("E0715", message, loop.span))
    taken = {*used_names(kernel), *bindings(kernel.body)}

    def only_changes(stmt: Stmt, names: Mapping[str, Expr]) -> Stmt | tuple[Stmt, ...]:
        if isinstance(stmt, For) and stmt.facts.masked:
            return stmt
        if not isinstance(stmt, Assign | Reduce) or stmt.array not in arrays:
            return with_blocks(stmt, [inside(x) for x in blocks_of(stmt)])
        found = _choice(stmt, names)
        if found is not None:
            return If(found.guard, Block((replace(stmt, value=found.value),)), span=stmt.span)
        if exact and type_of(stmt.value).is_float:
            raise PlanishError(Diagnostic("E0714", f"`{stmt.array}` is stored to in any case", stmt.span))
        stem = f"{stmt.array}_new"
        name = next(x for n in range(1, len(taken) + 2) if (x := f"{stem}_{n}" if n > 1 else stem) not in taken)
        taken.add(name)
        new = Var(name, type_of(stmt.value))
        old = Load(stmt.array, stmt.index, new.type)
        changed = _changes(stmt.op, new) if isinstance(stmt, Reduce) else _differs(new, old)
        if isinstance(stmt, Reduce) and stmt.op in ("min", "max"):
            changed = Compare("lt" if stmt.op == "min" else "gt", new, old)
        return Let(name, stmt.value, stmt.span), If(changed, Block((replace(stmt, value=new),)), span=stmt.span)

    def inside(block: Block) -> Block:
        made, names = list[Stmt](), dict[str, Expr]()
        for stmt in block.body:
            changed = only_changes(stmt, names)
            made += changed if isinstance(changed, tuple) else (changed,)
            if isinstance(stmt, Let):
                names[stmt.var] = stmt.value
            else:
                names = _unchanged(names, {x.array for x in walk(stmt) if isinstance(x, Assign | Reduce)})
        return with_body(block, made)

    return replace(kernel, body=inside(kernel.body))


def _choice(stmt: Assign | Reduce, names: Mapping[str, Expr]) -> ConditionalStore | None:
    if isinstance(stmt, Reduce):
        return None
    return conditional_store(stmt.value, Load(stmt.array, stmt.index, type_of(stmt.value)), names)


def _unchanged(names: Mapping[str, Expr], stored: Collection[str]) -> dict[str, Expr]:
    """The names whose values are still the same where some arrays are stored to; those of others stay names."""
    return {name: x for name, x in names.items() if not any(y.array in stored for y in loads(x))}


def _refuse_unguarded(kernel: Kernel, guarded: Collection[str]) -> None:
    """Raises PlanishError E0714 where what must not be read, or stored, in any case is so outside of instructions that
    ask for conditions."""
    if not guarded:
        return
    plain = map_block(lambda x: () if isinstance(x, For) and x.facts.masked else x, kernel.body)
    for read in (x for x in read_in_any_case(plain.body) if x.array in guarded):
        raise PlanishError(Diagnostic("E0714", f"`{read.array}` is read in any case", kernel.span))
    for stmt in (x for x in walk(plain) if isinstance(x, Assign | Reduce) and x.array in guarded):
        if _choice(stmt, {}) is None:
            raise PlanishError(Diagnostic("E0714", f"`{stmt.array}` is stored to in any case", stmt.span))


def _changes(op: str, term: Expr) -> Expr:
    """Whether an update by a term may change anything."""
    type = type_of(term)
    neutral = {"mul": 1, "and": -1}.get(op, 0)
    if type.kind == "bool":
        return Compare("ne", term, Const(op == "and", type))
    if type.kind == "uint" and op == "and":
        neutral = (1 << type.bits) - 1
    return Compare("ne", term, Const(float(neutral) if type.is_float else neutral, type))


def _differs(new: Expr, old: Expr) -> Expr:
    """Whether two values differ; of floats, two NaNs do not differ."""
    differs = Compare("ne", new, old)
    if not type_of(new).is_float:
        return differs
    return Binary("and", differs, Binary("or", Compare("eq", new, new), Compare("eq", old, old)))
