"""The C of a machine's operations, from their definitions.

>>> from planish.vliw.description import load_machine
>>> machine = load_machine("ftmatrix")
>>> text, numbers = write_operations(machine)
>>> f"static void operation_{numbers['SADD']}(" in text
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.ir.expr import Const, Expr, Load, Select
from planish.ir.index.evaluate import evaluate
from planish.ir.index.interval import Interval, range_of
from planish.ir.nest import Alloc, Array, Assign, Barrier, Block, For, If, Kernel, Launch, Let, Reduce, Stmt, While
from planish.ir.traverse import children, expressions
from planish.ir.types import F32, F64, Type
from planish.vliw.machine import VliwMachine
from planish.vliw.simulator.meaning import total

_NUMBERS = """\
static inline float planish_float(int64_t bits)
{
  const int32_t low = (int32_t)bits;
  float f;
  memcpy(&f, &low, 4);
  return f;
}

static inline double planish_double(int64_t bits)
{
  double f;
  memcpy(&f, &bits, 8);
  return f;
}
"""


def write_operations(machine: VliwMachine) -> tuple[str, dict[str, int]]:
    """The table `planish_operations` of functions, which take immediates and the addresses of operands, and the number
    in it of each operation that is no jump. Those that do the same share one."""
    known: dict[Kernel, int] = {}
    numbers: dict[str, int] = {}
    for operation in machine.operations:
        if operation.branch or operation.transfer:
            continue
        plain = _in_plain_memory(operation.definition)
        numbers[operation.name] = known.setdefault(plain, len(known))
    functions = [emit_function(total(x), x.name.format(i)) for i, x in enumerate(_named(known))]
    calls = [_call(x, i) for i, x in enumerate(known)]
    table = ",\n".join(f"  planish_call_{i}" for i in range(len(known)))
    head = emit_prologue(functions, settings=None)
    typed = "static void (*const planish_operations[])(const int64_t *, void *const *) = {\n"
    return "\n".join(["#include <string.h>", head, _NUMBERS, *calls, f"{typed}{table}\n}};\n"]), numbers


def _named(known: Mapping[Kernel, int]) -> list[Kernel]:
    return [replace(x, name=f"operation_{i}") for i, x in enumerate(known)]


def _in_plain_memory(definition: Kernel) -> Kernel:
    """The definition over arrays in memory, which never overlap what it writes, under one name."""
    arrays = tuple(replace(x, memory="dram", distinct=True) for x in definition.arrays)
    return Kernel("operation", definition.sizes, definition.scalars, arrays, definition.body)


def _call(kernel: Kernel, number: int) -> str:
    """A function of the table's type, which calls that of an operation."""
    types: list[Type | None] = [*(None for _ in kernel.sizes), *(x.type for x in kernel.scalars)]
    arguments = [_immediate(i, type) for i, type in enumerate(types)]
    arguments += [f"p[{i}]" for i in range(len(kernel.arrays))]
    unused = "" if types else "(void)k; "
    return (
        f"static void planish_call_{number}(const int64_t *k, void *const *p) "
        f"{{ {unused}operation_{number}({', '.join(arguments)}); }}"
    )


def _immediate(number: int, type: Type | None) -> str:
    if type == F32:
        return f"planish_float(k[{number}])"
    if type == F64:
        return f"planish_double(k[{number}])"
    return f"k[{number}]"


def stays_inside(definition: Kernel, immediates: Mapping[str, int]) -> bool:
    """Whether every access of a definition lies in its operand, for these immediates and any values of operands.

    >>> from planish.ir.text.parser import parse_kernel
    >>> text = "kernel f(k, d: i32[] @S, a: i32[4] @V, p: i64[] @S) { d[] = a[k] + a[p[] % 4] }"
    >>> stays_inside(parse_kernel(text), {"k": 3}), stays_inside(parse_kernel(text), {"k": 4})
    (True, False)
    """
    counts = {x.name: _count(x) for x in definition.arrays}
    return _inside(definition.body, {x: (y, y) for x, y in immediates.items()}, counts)


def _inside(stmt: Stmt, known: dict[str, Interval], counts: dict[str, int]) -> bool:
    match stmt:
        case Block(body=inner):
            known = dict(known)
            return all(_inside(x, known, counts) for x in inner)
        case For(var=var, lower=lower, upper=upper, step=step, body=body):
            bounds = _value(lower, known), _value(upper, known)
            if bounds[0] is None or bounds[1] is None:
                return False
            rounds = range(bounds[0], bounds[1], step)
            return all(_inside(body, {**known, var: (i, i)}, counts) for i in rounds)
        case If(condition=condition, then=then, otherwise=otherwise):
            holds = _value(condition, known)
            parts = [x for x, when in ((then, holds != 0), (otherwise, holds is None or holds == 0)) if when]
            return _loads_inside(condition, known, counts) and all(_inside(x, known, counts) for x in parts)
        case Assign(array=name, index=index) | Reduce(array=name, index=index):
            own = not index or _within(_reach(index[0], known), counts.get(name, 0))
            return own and all(_loads_inside(x, known, counts) for x in expressions(stmt))
        case Let(var=var, value=value):
            if not _loads_inside(value, known, counts):
                return False
            known[var] = _reach(value, known)
            return True
        case Alloc(array=array):
            counts[array.name] = _count(array)
            return True
        case Launch() | Barrier() | While():
            raise AssertionError("launches are made last; loops without a count hold nests of their own")
        case _:
            assert_never(stmt)


def _count(array: Array) -> int:
    """The elements of an array whose extent is a constant."""
    extent = array.shape[0] if array.shape else None
    return int(extent.value) if isinstance(extent, Const) else int(not array.shape)


def _value(expr: Expr, known: Mapping[str, Interval]) -> int | None:
    """The value of an expression that no operand has a part in."""
    try:
        return evaluate(expr, {name: x[0] for name, x in known.items() if x[0] == x[1]})
    except (KeyError, ValueError, ArithmeticError):
        return None


def _reach(expr: Expr, known: Mapping[str, Interval]) -> Interval:
    value = _value(expr, known)
    return range_of(expr, known) if value is None else (value, value)


def _within(reach: Interval, count: int) -> bool:
    return reach[0] >= 0 and reach[1] < count


def _loads_inside(expr: Expr, known: Mapping[str, Interval], counts: Mapping[str, int]) -> bool:
    if isinstance(expr, Select):
        holds = _value(expr.condition, known)
        chosen = [x for x, when in ((expr.then, holds != 0), (expr.otherwise, holds is None or holds == 0)) if when]
        return all(_loads_inside(x, known, counts) for x in (expr.condition, *chosen))
    if isinstance(expr, Load) and expr.index and not _within(_reach(expr.index[0], known), counts.get(expr.array, 0)):
        return False
    return all(_loads_inside(x, known, counts) for x in children(expr))
