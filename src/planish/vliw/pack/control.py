"""The operations of a machine that loops are made of: constants, moves, sums, comparisons and jumps.

They are found by what their definitions say; no operation is known by its name.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import VliwMachine, MachineOperation, VliwRegisterFile, Unit
>>> kernels = {
...     "ADDI": "kernel ADDI(v: i64, d: i64[] @S, a: i64[] @S) { d[] = a[] + v }",
...     "MOVI": "kernel MOVI(v: i64, d: i64[] @S) { d[] = v }",
...     "LT": "kernel LT(d: i64[] @S, a: i64[] @S, b: i64[] @S) { d[] = i64(a[] < b[]) }"}
>>> tiny = VliwMachine("tiny", {"s": 1}, (Unit("U", "s"),), (VliwRegisterFile("S", 8, 64, predicates=True),), (),
...     tuple(MachineOperation(k, k, parse_kernel(v), ("U",)) for k, v in kernels.items()))
>>> control = Control(tiny)
>>> c, p = StreamRegister("S", "c"), StreamRegister("S", "p")
>>> print(*control.add(c, c, -1), *control.constant(c, 7), sep="; ")
ADDI #-1, S.c, S.c; MOVI #7, S.c
>>> test = control.less(p, c, 5, lambda file: StreamRegister(file, "five"))
>>> print(*test.before, test.instr, test.negated, sep="; ")
MOVI #5, S.five; LT S.p, S.c, S.five; False
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Load, Select, Var, type_of
from planish.ir.nest import Assign, Kernel, Reduce
from planish.ir.traverse import flatten
from planish.ir.types import BOOL
from planish.vliw.machine import MachineOperation, VliwMachine
from planish.vliw.program import Guard, Immediate, Instr, Label, Operand, StreamRegister

Spare = Callable[[str], StreamRegister]
"""Makes a register of a file that nothing else uses."""

_SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


@dataclass(frozen=True, slots=True)
class ControlForm:
    """An operation that puts one expression over registers and immediates into a register of a file."""

    operation: MachineOperation
    target: str
    file: str
    value: Expr

    def file_of(self, operand: Expr) -> str | None:
        """The register file of an operand; None for an immediate."""
        return self.operation.definition.array(operand.array).memory if isinstance(operand, Load) else None

    def instr(self, target: StreamRegister, values: dict[Expr, StreamRegister | Immediate]) -> Instr:
        """The operation with operands in the places of the leaves of its expression."""
        definition = self.operation.definition
        by_name: dict[str, Operand] = {_leaf_name(k): v for k, v in values.items()}
        by_name[self.target] = target
        names = (*definition.sizes, *(x.name for x in definition.scalars), *(x.name for x in definition.arrays))
        return Instr(self.operation.name, tuple(by_name[x] for x in names))


@dataclass(frozen=True, slots=True)
class LoopTest:
    """A comparison, what is done once before it, and whether it gives zero where what is asked for holds."""

    before: tuple[Instr, ...]
    instr: Instr
    negated: bool


@dataclass(frozen=True, slots=True)
class PassEnds:
    """What is done once for the end of all passes of a loop, and at the end of each, one operation after the other."""

    before: tuple[Instr, ...]
    chain: tuple[Instr, ...]


@dataclass(slots=True)
class Control:
    """What a machine has for loops. Its functions raise PlanishError E0911 where it lacks what they need."""

    machine: VliwMachine
    forms: list[ControlForm] = field(default_factory=list)
    _jump: MachineOperation | None = None

    def __post_init__(self) -> None:
        found = [x for operation in self.machine.operations for x in _forms(operation, self.machine)]
        # Counts are whole registers: of like operations the one on the widest numbers.
        self.forms = sorted(found, key=lambda x: -x.operation.definition.array(x.target).type.bits)
        self._jump = next((x for x in self.machine.operations if x.branch and not x.loop), None)

    def counter_file(self, source: str | None) -> str:
        """The file in which a loop counts, from a constant or from a register of the file `source`: one that guards
        jumps where there is one that can count."""
        for file in sorted((x for x in self.machine.files if not x.loops), key=lambda x: not x.predicates):
            if self._can_add(file.name) and self._can_set(file.name, source):
                return file.name
        raise self._lack("a constant is added to a register that is set to the count of a loop")

    def predicate_file(self) -> str:
        """A file whose registers guard operations."""
        for file in self.machine.files:
            if file.predicates and not file.loops:
                return file.name
        raise self._lack("an operation is guarded")

    def guards(self, file: str) -> bool:
        """Whether registers of a file guard operations."""
        return self.machine.file(file).predicates

    def constant(self, to: StreamRegister, value: int) -> tuple[Instr, ...]:
        """The register becomes a constant."""
        for form in self.forms:
            if form.file == to.file and _is_immediate(form.value) and form.operation.may_have(value):
                return (form.instr(to, {form.value: Immediate(value)}),)
        raise self._lack(f"a constant is put into a register of {to.file}")

    def move(self, to: StreamRegister, source: StreamRegister) -> tuple[Instr, ...]:
        """The register becomes another's value."""
        for form in self.forms:
            if form.file == to.file and form.file_of(form.value) == source.file:
                return (form.instr(to, {form.value: source}),)
        return self.add(to, source, 0)

    def add(self, to: StreamRegister, source: StreamRegister, value: int) -> tuple[Instr, ...]:
        """The register becomes another's value and a constant; where the machine has no immediates for that, E0911."""
        for form in self.forms:
            match form.value:
                case Binary(op="add" | "sub" as op, left=left, right=right) if form.file == to.file:
                    pairs = ((left, right), (right, left)) if op == "add" else ((left, right),)
                    for register, other in pairs:
                        if form.file_of(register) != source.file or not _is_immediate(other):
                            continue
                        if _leaf_name(register) == form.target and to != source:
                            continue
                        signed = value if op == "add" else -value
                        if not form.operation.may_have(signed):
                            continue
                        return (form.instr(to, {register: source, other: Immediate(signed)}),)
                case _:
                    pass
        raise self._lack(f"a constant is added to a register of {source.file}")

    def with_number(self, op: str, to: StreamRegister, source: StreamRegister, value: int) -> tuple[Instr, ...]:
        """The register becomes what an operation ("shr", "and") makes of another one and a constant."""
        for form in self.forms:
            match form.value:
                case Binary(op=own, left=Load() as left, right=Var() as right) if own == op and form.file == to.file:
                    if form.file_of(left) == source.file and form.operation.may_have(value):
                        return (form.instr(to, {left: source, right: Immediate(value)}),)
                case _:
                    pass
        raise self._lack(f"`{op}` is done on a register of {source.file} and a constant")

    def less(self, to: StreamRegister, source: StreamRegister, bound: int, spare: Spare) -> LoopTest:
        """The register becomes zero or not as another is below a constant."""
        for by_register in (False, True):
            for form in self.forms:
                for op, left, right in _comparisons(form) if form.file == to.file else ():
                    other = form.file_of(right)
                    if form.file_of(left) != source.file or (other is not None) != by_register:
                        continue
                    # a < b, a <= b - 1, !(a >= b), !(a > b - 1)
                    value = bound - (op in ("le", "gt"))
                    negated = op in ("ge", "gt")
                    if other is None and not form.operation.may_have(value):
                        continue
                    if other is None:
                        return LoopTest((), form.instr(to, {left: source, right: Immediate(value)}), negated)
                    constant = spare(other)
                    instr = form.instr(to, {left: source, right: constant})
                    return LoopTest(self.constant(constant, value), instr, negated)
        raise self._lack(f"a register of {source.file} is compared with a constant into one of {to.file}")

    def jump(self, label: str, guard: Guard | None = None) -> Instr:
        """A jump to a label."""
        if self._jump is None:
            raise self._lack("a loop jumps to its start")
        return Instr(self._jump.name, (Label(label),), guard)

    def jump_if_less(self, register: StreamRegister, bound: int, label: str, spare: Spare) -> list[Instr]:
        """The operations that jump to a label where a register is below a constant."""
        predicate = spare(self.predicate_file())
        test = self.less(predicate, register, bound, spare)
        return [*test.before, test.instr, self.jump(label, Guard(predicate, test.negated))]

    def count_down(self, counter: StreamRegister, label: str, spare: Spare) -> list[Instr]:
        """The operations that end an iteration: the counter goes down, and there is a jump unless it is zero."""
        ends = self.passes_end(counter, 1, 1, label, spare)
        return [*ends.before, *ends.chain]

    def passes_end(self, counter: StreamRegister, by: int, least: int, label: str, spare: Spare) -> PassEnds:
        """The operations that end a pass: the counter goes down, and there is a jump if at least `least` is left."""
        down = self.add(counter, counter, -by)
        if least == 1 and self.guards(counter.file):
            return PassEnds((), (*down, self.jump(label, Guard(counter))))
        predicate = spare(self.predicate_file())
        test = self.less(predicate, counter, least, spare)
        return PassEnds(test.before, (*down, test.instr, self.jump(label, Guard(predicate, not test.negated))))

    def is_sum(self, instr: Instr) -> tuple[StreamRegister, int] | None:
        """The register and the constant where an operation does nothing but add the one to the other."""
        for form in self.forms:
            if form.operation.name != instr.operation or instr.guard is not None:
                continue
            match form.value:
                case Binary(op="add" | "sub" as op, left=left, right=right):
                    pairs = ((left, right), (right, left)) if op == "add" else ((left, right),)
                    for register, other in pairs:
                        if form.file_of(register) == form.file and _is_immediate(other):
                            operands = _operands(form.operation.definition, instr)
                            value, to = operands[_leaf_name(other)], operands[form.target]
                            if operands[_leaf_name(register)] == to and isinstance(value, Immediate):
                                if isinstance(to, StreamRegister) and isinstance(value.value, int):
                                    return to, value.value if op == "add" else -value.value
                case _:
                    pass
        return None

    def with_sum(self, instr: Instr, value: int) -> Instr:
        """An operation that `is_sum` takes apart, with another constant."""
        target = self.is_sum(instr)
        assert target is not None
        return self.add(target[0], target[0], value)[0]

    def _can_add(self, file: str) -> bool:
        register = StreamRegister(file, "0")
        try:
            return bool(self.add(register, register, -1))
        except PlanishError:
            return False

    def _can_set(self, file: str, source: str | None) -> bool:
        register = StreamRegister(file, "0")
        try:
            return bool(
                self.constant(register, 1) if source is None else self.move(register, StreamRegister(source, "1"))
            )
        except PlanishError:
            return False

    def _lack(self, what: str) -> PlanishError:
        return PlanishError(Diagnostic("E0911", f"{self.machine.name} has no operation with which {what}"))


def _operands(definition: Kernel, instr: Instr) -> dict[str, Operand]:
    names = (*definition.sizes, *(x.name for x in definition.scalars), *(x.name for x in definition.arrays))
    return dict(zip(names, instr.operands, strict=True))


def _forms(operation: MachineOperation, machine: VliwMachine) -> Iterator[ControlForm]:
    files = {x.name for x in machine.files}
    definition = operation.definition
    if operation.branch or operation.sequence:
        return
    if any(x.memory not in files or x.shape or x.type.is_float for x in definition.arrays):
        return
    match flatten(definition.body.body):
        case [Assign(array=target, index=(), value=value)]:
            yield ControlForm(operation, target, definition.array(target).memory, _plain(value))
        case [Reduce(array=target, index=(), op="add", value=value)]:
            own = Load(target, (), definition.array(target).type)
            yield ControlForm(operation, target, definition.array(target).memory, Binary("add", own, _plain(value)))
        case _:
            pass


def _plain(value: Expr) -> Expr:
    """An expression over whole numbers without its conversions."""
    match value:
        case Cast(operand=operand, type=type) if type_of(operand) == BOOL or type_of(operand).bits <= type.bits:
            return _plain(operand)
        case Binary(op=op, left=left, right=right):
            return Binary(op, _plain(left), _plain(right))
        case Compare(op=compared, left=left, right=right):
            return Compare(compared, _plain(left), _plain(right))
        case Select(condition=condition, then=Const(value=yes), otherwise=Const(value=0)) if yes:
            return _plain(condition)
        case _:
            return value


def _is_immediate(value: Expr) -> bool:
    return isinstance(value, Var)


def _leaf_name(leaf: Expr) -> str:
    assert isinstance(leaf, Load | Var)
    return leaf.array if isinstance(leaf, Load) else leaf.name


def _comparisons(form: ControlForm) -> Iterator[tuple[str, Expr, Expr]]:
    match form.value:
        case Compare(op="lt" | "le" | "gt" | "ge" as op, left=Load() | Var() as left, right=Load() | Var() as right):
            definition = form.operation.definition
            if all(definition.array(x.array).type.kind == "int" for x in (left, right) if isinstance(x, Load)):
                yield op, left, right
                yield _SWAPPED[op], right, left
        case _:
            pass
