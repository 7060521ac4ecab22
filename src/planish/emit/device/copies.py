"""Copies to shared memory that are under way while threads compute: by what they are spelt, and the functions for that.

>>> from planish.emit.device.dialect import CUDA
>>> print(define_copies("planish_land();", CUDA), end="")
#ifndef PLANISH_EMULATOR_H
static __device__ __forceinline__ void planish_land() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#endif
"""

from __future__ import annotations

import re

from planish.emit.c.context import EmitContext
from planish.emit.c.expression import emit_place
from planish.emit.device.dialect import DeviceDialect
from planish.ir.expr import Const, Expr, Load, index
from planish.ir.index.polynomial import polynomial
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Assign, For, Launch
from planish.ir.traverse import substitute_block, variables, walk

LAND = "planish_land();"
"""The call that waits for the copies of a thread."""

_COPY = """\
static __device__ __forceinline__ void planish_copy_{bytes}(void *to, const void *from)
{{
  asm volatile("{instruction}" ::
               "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}}
"""
_LAND = 'static __device__ __forceinline__ void planish_land() {{ asm volatile("{landed}" ::: "memory"); }}\n'
_ROW = """\
/* Neighbours at once where both places are aligned. */
static __device__ __forceinline__ void planish_copy_{bytes}_of_{size}(void *to, const void *from)
{{
  if (((size_t)to | (size_t)from) % {bytes} == 0) {{
    planish_copy_{bytes}(to, from);
  }} else {{
    for (int i = 0; i < {bytes}; i += {size}) {{
      planish_copy_{size}((char *)to + i, (const char *)from + i);
    }}
  }}
}}
"""


def copies_in(launch: Launch, dialect: DeviceDialect) -> bool:
    """Whether a launch has copies that are under way until a barrier."""
    return bool(dialect.copies) and any(isinstance(x, Assign) and x.asynchronous for x in walk(launch.body))


def emit_copy(stmt: Assign, context: EmitContext, dialect: DeviceDialect) -> str | None:
    """The call that starts the copy of an element; None where the language has none for its size."""
    if not stmt.asynchronous or not isinstance(stmt.value, Load) or stmt.value.type.size not in dialect.copies:
        return None
    return f"planish_copy_{stmt.value.type.size}({_places(stmt, context)});"


def emit_row_copy(loop: For, context: EmitContext, dialect: DeviceDialect) -> str | None:
    """The call that starts the copies of neighbours, of which a loop copies one after the other; None where it is no
    such loop, or the language has none for so many bytes."""
    match loop.lower, loop.upper, loop.body.body:
        case Const(value=0), Const(value=count), (Assign(asynchronous=True, value=Load() as load) as stmt,):
            size, bytes = load.type.size, int(count) * load.type.size
        case _:
            return None
    if size == bytes or loop.step != 1 or not {size, bytes} <= dialect.copies.keys():
        return None
    if not (_is_row(stmt.index, loop.var) and _is_row(load.index, loop.var)):
        return None
    (first,) = simplify_block(substitute_block(loop.body, {loop.var: index(0)})).body
    assert isinstance(first, Assign)
    return f"planish_copy_{bytes}_of_{size}({_places(first, context)});"


def _is_row(at: tuple[Expr, ...], var: str) -> bool:
    """Whether subscripts go to the next element with each value of a variable."""
    *outer, last = at
    terms = polynomial(last)
    own = [x for x in terms if any(var in variables(y) for y in x)]
    return own == [(index(var),)] and terms[own[0]] == 1 and not any(var in variables(x) for x in outer)


def _places(stmt: Assign, context: EmitContext) -> str:
    assert isinstance(stmt.value, Load)
    to, of = emit_place(stmt.array, stmt.index, context), emit_place(stmt.value.array, stmt.value.index, context)
    return f"&{to}, &{of}"


def define_copies(text: str, dialect: DeviceDialect) -> str:
    """The definitions of what a text calls for such copies: instructions, which the emulator has functions for."""
    rows = sorted({(int(x), int(y)) for x, y in re.findall(r"\bplanish_copy_(\d+)_of_(\d+)\(", text)})
    single = {int(x) for x in re.findall(r"\bplanish_copy_(\d+)\(", text)} | {y for x in rows for y in x}
    made = "".join(_COPY.format(bytes=x, instruction=dialect.copies[x]) for x in sorted(single))
    made += _LAND.format(landed=dialect.landed) if LAND in text else ""
    guarded = f"#ifndef PLANISH_EMULATOR_H\n{made}#endif\n" if made else ""
    return guarded + "".join(_ROW.format(bytes=x, size=y) for x, y in rows)
