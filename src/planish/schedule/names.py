"""Names that a step may give: not yet used anywhere in the kernel.

>>> from planish.ir.text.parser import parse_kernel
>>> check_fresh(parse_kernel("kernel z(n; A: f32[n]) { for i in 0 .. n { A[i] = 0.0:f32 } }"), "j", "k")
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.names import take_name
from planish.ir.nest import Alloc, Block, Kernel, Stmt
from planish.ir.traverse import blocks_of, used_names, with_blocks, with_body
from planish.schedule.accesses import Indices, redirect


def check_fresh(kernel: Kernel, *names: str, free: str = "") -> None:
    """That names are identifiers, different, and used for nothing, but for one that becomes `free`; PlanishError
    E0603."""
    taken = used_names(kernel) - {free}
    for name in names:
        if not name.isidentifier():
            raise PlanishError(Diagnostic("E0603", f"`{name}` is no name", help="use letters, digits and `_`"))
        if name in taken:
            message = f"the name `{name}` is taken in `{kernel.name}`"
            raise PlanishError(Diagnostic("E0603", message, help="choose another name"))
        taken |= {name}


def _renamed(name: str, at: Indices) -> tuple[str, Indices]:
    return name, at


def name_buffers(kernel: Kernel) -> Kernel:
    """The kernel with a name of its own for each local array: copies of a loop have copies of its buffers."""
    taken, seen = set(used_names(kernel)), set[str]()

    def visit(block: Block) -> Block:
        out: list[Stmt] = []
        rest = list(block.body)
        while rest:
            stmt = rest.pop(0)
            if isinstance(stmt, Alloc):
                name = stmt.array.name
                if name in seen:
                    other = take_name(name, taken)
                    stmt = replace(stmt, array=replace(stmt.array, name=other))
                    rest = list(redirect(Block(tuple(rest)), name, partial(_renamed, other)).body)
                seen.add(stmt.array.name)
            out.append(with_blocks(stmt, [visit(part) for part in blocks_of(stmt)]))
        return with_body(block, out)

    return replace(kernel, body=visit(kernel.body))
