"""A kernel that does one instruction and nothing else: registers are filled from memory before it, and stored after it.

The registers are filled and stored by `memcpy`, not by instructions of the set: a wrong load cannot hide behind a store
that is wrong in the same way, and every type that a register holds can be looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from planish.ir.checker import check_kernel
from planish.ir.expr import Binary, Const, Expr, Load, Var, index
from planish.ir.nest import PLAIN_MEMORIES, Array, Assign, Block, For, Kernel, LoopFacts, Reduce, Stmt
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel, print_stmt
from planish.ir.traverse import map_block, map_expr, map_exprs
from planish.ir.types import I16, INDEX, Type
from planish.isa.instruction import Catalogue, Instruction, MemoryKind, make_instruction

OFFSET = "offset"
"""The size of a wrapping kernel that says at which element of their arrays the operands in memory begin."""


def in_registers(kernel: Kernel) -> tuple[Array, ...]:
    """The operands that are in vector registers."""
    return tuple(x for x in kernel.arrays if x.memory not in PLAIN_MEMORIES)


def in_memory(kernel: Kernel) -> tuple[Array, ...]:
    """The operands that are in memory."""
    return tuple(x for x in kernel.arrays if x.memory in PLAIN_MEMORIES and x.memory != "nowhere")


def visible(kernel: Kernel) -> tuple[Array, ...]:
    """The operands that a wrapping kernel has for parameters: all that are somewhere."""
    return tuple(x for x in kernel.arrays if x.memory != "nowhere")


def extent(array: Array) -> int:
    """How many elements an operand has: instructions know that."""
    (found,) = array.shape
    assert isinstance(found, Const)
    return int(found.value)


def in_c(kernel: Kernel) -> Kernel:
    """The kernel with values of bf16, which C cannot spell, held as the i16 of the same bits."""
    return parse_kernel(re.sub(r"\bbf16\b", str(I16), print_kernel(kernel)))


def wrapping_catalogue(catalogue: Catalogue) -> Catalogue:
    """The instructions as C can spell their operands, and copies between registers and memory."""
    twins = [replace(x, definition=in_c(x.definition)) for x in catalogue.instructions.values()]
    copies = [x for kind in catalogue.memories.values() for type in kind.types for x in _copies(kind, type)]
    return Catalogue({}, catalogue.memories).with_instructions([*twins, *copies])


def _copies(kind: MemoryKind, type: Type) -> Iterator[Instruction]:
    """A register filled from memory, and stored in memory, byte by byte."""
    lanes = kind.lanes(type)
    texts = {"fill": "memcpy(&{d}, {s}, sizeof {d});", "spill": "memcpy({d}, &{s}, sizeof {s});"}
    for word, (own, other) in {"fill": (f"@{kind.name}", ""), "spill": ("", f"@{kind.name}")}.items():
        name = f"{word}_{kind.name}_{type}"
        parameters = f"d: {type}[{lanes}] {own}, s: {type}[{lanes}] {other}"
        definition = parse_kernel(f"kernel {name}({parameters}) {{ for l in 0 .. {lanes} {{ d[l] = s[l] }} }}")
        yield make_instruction(name, definition, texts[word], header="string.h")


def wrap(instruction: Instruction, immediates: Mapping[str, int]) -> Kernel:
    """The kernel around an instruction whose definition is `in_c`; `immediates` are sizes that are constants.

    Its parameters are those of the definition; operands in memory begin at `offset`, and sizes count from there."""
    definition = instruction.definition
    sizes = [OFFSET, *(x for x in definition.sizes if x not in immediates)]
    scalars = [f"{x.name}: {x.type}" for x in definition.scalars]
    arrays = [_parameter(x) for x in visible(definition)]
    groups = "; ".join(", ".join(x) for x in (sizes, scalars, arrays) if x)
    lines = [f"kernel {instruction.name}({groups})", f"  assume {OFFSET} >= 0", "{"]
    lines += [f"  alloc {x.name}: {x.type}[] nowhere" for x in definition.arrays if x.memory == "nowhere"]
    for x in in_registers(definition):
        lines.append(f"  alloc r_{x.name}: {x.type}[{extent(x)}] @{x.memory}")
        lines.append(f"  {_copy('fill', x, f'r_{x.name}', x.name)}")
    lines.append(print_stmt(_placed(instruction, immediates)))
    lines += [f"  {_copy('spill', x, x.name, f'r_{x.name}')}" for x in in_registers(definition)]
    kernel = parse_kernel("\n".join([*lines, "}"]))
    check_kernel(kernel, instruction.name)
    return kernel


def _parameter(array: Array) -> str:
    """An operand as a parameter: one in memory has some elements before it."""
    before = f"{OFFSET} + " if array.memory in PLAIN_MEMORIES else ""
    return f"{array.name}: {array.type}[{before}{extent(array)}]"


def _copy(word: str, register: Array, target: str, source: str) -> str:
    name = f"{word}_{register.memory}_{register.type}"
    return f"for l in 0 .. {extent(register)} as {name} {{ {target}[l] = {source}[l] }}"


def _placed(instruction: Instruction, immediates: Mapping[str, int]) -> Stmt:
    """The loop of a definition over the operands of the kernel around it."""
    definition = instruction.definition
    memory = {x.name for x in in_memory(definition)}
    registers = {x.name for x in in_registers(definition)}
    sizes: dict[str, Expr] = {x: Binary("sub", index(x), index(OFFSET)) for x in definition.sizes}
    sizes |= {x: index(value) for x, value in immediates.items()}

    def name(array: str) -> str:
        return f"r_{array}" if array in registers else array

    def at(array: str, subscripts: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(Binary("add", index(OFFSET), x) for x in subscripts) if array in memory else subscripts

    def placed_expr(expr: Expr) -> Expr:
        match expr:
            case Load(array=array, index=subscripts):
                return replace(expr, array=name(array), index=at(array, subscripts))
            case Var(name=size, type=type) if type == INDEX:
                return sizes.get(size, expr)
            case _:
                return expr

    def placed(stmt: Stmt) -> Stmt:
        stmt = map_exprs(lambda x: map_expr(placed_expr, x), stmt)
        if isinstance(stmt, Assign | Reduce):
            return replace(stmt, array=name(stmt.array), index=at(stmt.array, stmt.index))
        return stmt

    (loop,) = map_block(placed, Block((instruction.loop,))).body
    assert isinstance(loop, For)
    return replace(loop, facts=LoopFacts(instruction=instruction.name))
