"""Instruction selection for loops that name none: the loop becomes a definition, which is looked up among the learnt
instructions.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel f(A: f32[16, 8]) { alloc a: f32[16] @zmm for l in 0 .. 16 { a[l] *= A[3, 1] } }"
>>> program = Program.of(parse_kernel(text))
>>> found = find_learnt(program.loop("l"), program)
>>> found.name, found.template
('zmm_3abf8bc0', '{r0} = _mm512_mul_ps({r0}, _mm512_set1_ps({x0}));')
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from planish.core.cache import key
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.nest import PLAIN_MEMORIES, Array, Assign, Block, For, Kernel, Let, Reduce, Scalar, Stmt
from planish.ir.text.printer import print_expr, print_kernel
from planish.ir.traverse import substitute, substitute_block
from planish.ir.types import INDEX
from planish.isa.instruction import Instruction, make_instruction
from planish.schedule.accesses import arrays_of
from planish.schedule.program import Program


class _Unknown(Exception):
    """What keeps a loop from being a definition."""


def without_names(loop: For) -> For:
    """A loop whose values have no names of their own: each is written where it is used. Only where one assignment is
    all that follows, so that nothing is stored in between.

    >>> from planish.ir.text.parser import parse_kernel
    >>> text = "kernel f(A: i32[8]) { for i in 0 .. 8 { let s = A[i] + 1:i32 A[i] = s * s } }"
    >>> (found,) = parse_kernel(text).body.body
    >>> without_names(found).body.body == parse_kernel(text.replace("let s = A[i] + 1:i32 ", "").replace(
    ...     "s * s", "(A[i] + 1:i32) * (A[i] + 1:i32)")).body.body[0].body.body
    True
    """
    *names, last = loop.body.body
    if isinstance(last, For) and not names:
        return replace(loop, body=Block((without_names(last),)))
    if not names or not isinstance(last, Assign | Reduce) or not all(isinstance(x, Let) for x in names):
        return loop
    values: dict[str, Expr] = {}
    for x in names:
        assert isinstance(x, Let)
        values[x.var] = substitute(x.value, values)
    (made,) = substitute_block(Block((last,)), values).body
    return replace(loop, body=Block((made,)))


def find_learnt(loop: For, program: Program) -> Instruction:
    """An instruction that does a loop; PlanishError E0632 where none is found."""
    try:
        return _find(loop, program)
    except _Unknown as error:
        message = f"no instruction is known for the loop over `{loop.var}`: {error}"
        advice = "stage its operands in registers, or name an instruction of a file"
        raise PlanishError(Diagnostic("E0632", message, loop.span, advice)) from error


def _find(loop: For, program: Program) -> Instruction:
    known = program.catalogue
    builder = _Builder(arrays_of(program.kernel), frozenset(known.memories))
    definition = builder.definition(loop)
    kinds = sorted({x.memory for x in definition.arrays} - set(PLAIN_MEMORIES))
    if len(kinds) != 1:
        raise _Unknown("it works on registers of several kinds" if kinds else "nothing of it is in vector registers")
    if kinds[0] not in known.speakers:
        raise _Unknown(f"nothing was learnt for registers `{kinds[0]}`")
    speaker, header = known.speakers[kinds[0]]
    plain = speaker.find(definition, fused=False)
    # Where nothing rounds a product and a sum once, what rounds both is still what the loop says.
    text = (speaker.find(definition, fused=True) if program.contract else None) or plain
    if text is None:
        raise _Unknown(f"none of those for `{kinds[0]}` does it")
    # Its name says what it is, so that the same one has it in all programs.
    name = f"{kinds[0]}_{key(print_kernel(definition), text)[:8]}"
    return make_instruction(name, replace(definition, name=name), text, fused=text != plain, header=header)


@dataclass(slots=True)
class _Builder:
    """Makes operands of what a loop touches."""

    arrays: dict[str, Array]
    registers: frozenset[str]
    counters: dict[str, int] = field(default_factory=dict)
    operands: dict[str, Array] = field(default_factory=dict)
    scalars: dict[str, Scalar] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def definition(self, loop: For) -> Kernel:
        self.count(loop)
        body = self.statement(replace(loop, facts=type(loop.facts)(), span=None, label=0))
        return Kernel("loop", scalars=tuple(self.scalars.values()), arrays=tuple(self.operands.values()),
                      body=Block((body,)))  # fmt: skip

    def count(self, loop: For) -> None:
        constant = isinstance(loop.lower, Const) and isinstance(loop.upper, Const) and loop.step == 1
        if not constant or loop.lower != Const(0, INDEX):
            raise _Unknown(f"`{loop.var}` does not run over a constant number of lanes from 0")
        assert isinstance(loop.upper, Const)
        self.counters[loop.var] = int(loop.upper.value)

    def statement(self, x: Stmt) -> Stmt:
        match x:
            case For(body=Block((inner,))):
                self.count(x)
                return replace(x, body=Block((self.statement(inner),)), span=None, label=0)
            case Assign(array=name, index=index, value=value) | Reduce(array=name, index=index, value=value):
                operand, place = self.operand(name, index)
                return replace(x, array=operand, index=place, value=self.value(value), span=None, label=0)
            case _:
                raise _Unknown("it is more than one assignment")

    def value(self, x: Expr) -> Expr:
        match x:
            case Load(array=name, index=index, type=kind):
                inner = self.arrays[name].memory in self.registers or any(self.moves(y) for y in index)
                if not inner:
                    return self.scalar(x)
                operand, place = self.operand(name, index)
                return Load(operand, place, kind)
            case Var(name=name) if name in self.counters:
                raise _Unknown(f"the number of the lane is a value in it: `{print_expr(x)}`")
            case Var() | Const():
                return self.scalar(x) if type_of(x).is_float or isinstance(x, Var) else x
            case Binary(left=left, right=right):
                return replace(x, left=self.value(left), right=self.value(right))
            case Unary(operand=operand):
                return replace(x, operand=self.value(operand))
            case Cast(operand=operand):
                return replace(x, operand=self.value(operand))
            case Call(arguments=arguments):
                return replace(x, arguments=tuple(map(self.value, arguments)))
            case Compare(left=left, right=right):
                return replace(x, left=self.value(left), right=self.value(right))
            case Select(condition=condition, then=then, otherwise=otherwise):
                chosen = replace(x, condition=self.value(condition), then=self.value(then))
                return replace(chosen, otherwise=self.value(otherwise))

    def scalar(self, x: Expr) -> Expr:
        """A value that is the same in all lanes."""
        text = print_expr(x)
        if text not in self.names:
            name = self.names[text] = self.unused(f"x{len(self.scalars)}")
            self.scalars[name] = Scalar(name, type_of(x))
        return Var(self.names[text], type_of(x))

    def operand(self, name: str, index: tuple[Expr, ...]) -> tuple[str, tuple[Expr, ...]]:
        """The operand that an element is of, and where it is there."""
        array = self.arrays[name]
        if not index or any(self.moves(y) for y in index[:-1]):
            raise _Unknown(f"lanes of `{name}` are not neighbours")
        own, base = self.split(index[-1])
        place = f"{name}[{', '.join(map(print_expr, index[:-1]))}; {base}]"
        letter = "r" if array.memory in self.registers else "m"
        made = self.names.setdefault(place, self.unused(f"{letter}{len(self.operands)}"))
        extent = 1 + sum(factor * (self.counters[counter] - 1) for counter, factor in own.items())
        known = self.operands.get(made)
        if known is not None and known.shape and isinstance(known.shape[0], Const):
            extent = max(extent, int(known.shape[0].value))
        register = array.memory in self.registers
        shape = array.shape[-1:] if register else (Const(extent, INDEX),)
        self.operands[made] = Array(made, array.type, shape, memory=array.memory if register else "dram")
        return made, (_place(own),)

    def unused(self, name: str) -> str:
        """A name that no counter has."""
        while name in self.counters:
            name += "_"
        return name

    def moves(self, x: Expr) -> bool:
        match x:
            case Var(name=name):
                return name in self.counters
            case Binary(left=left, right=right):
                return self.moves(left) or self.moves(right)
            case Const():
                return False
            case _:
                return True

    def split(self, x: Expr) -> tuple[dict[str, int], str]:
        """By how much a subscript moves with each counter, and what else it is."""
        match x:
            case Var(name=name) if name in self.counters:
                return {name: 1}, ""
            case Binary(op="add", left=left, right=right):
                (one, first), (other, second) = self.split(left), self.split(right)
                total = {y: one.get(y, 0) + other.get(y, 0) for y in (*one, *other)}
                return total, f"{first}+{second}"
            case Binary(op="mul", left=Const(value=factor), right=Var(name=name)) if name in self.counters:
                return {name: int(factor)}, ""
            case Binary(op="mul", left=Var(name=name), right=Const(value=factor)) if name in self.counters:
                return {name: int(factor)}, ""
            case _ if not self.moves(x):
                return {}, print_expr(x)
            case _:
                raise _Unknown(f"the subscript `{print_expr(x)}`")


def _place(own: dict[str, int]) -> Expr:
    found: Expr | None = None
    for name, factor in own.items():
        counter = Var(name, INDEX)
        term: Expr = counter if factor == 1 else Binary("mul", Const(factor, INDEX), counter)
        found = term if found is None else Binary("add", found, term)
    return found if found is not None else Const(0, INDEX)
