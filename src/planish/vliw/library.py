"""Operations out of an instruction library: a machine has them by the section [library] of its description.

Their text is how assembly writes the instruction, their meaning its definition, their units and latency those of the
table of costs. A name ends with the numbers in its text: `V6_valignbi.3`.

>>> from planish.vliw.description import load_machine
>>> found = load_machine("hexagon").operation("V6_vmpybus")
>>> found.text, found.units, found.pairs
('{Vdd_high:Vdd_low}.h = vmpy({Vu}.ub,{Rt}.b)', ('S2_MPY2', 'S3_MPY2'), (('Vdd_low', 'Vdd_high'),))
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from planish.ir.nest import Array
from planish.ir.types import I32, U8
from planish.isa.collection import load_collection
from planish.isa.costs.tables import Cost, load_costs
from planish.isa.entry import Entry
from planish.isa.semantics.lane_kernel import NoLanesError, lane_kernel
from planish.isa.vendors.hvx.assembly import AssemblyForm, AssemblyOperand, assembly_form
from planish.target.toml_table import TomlTable
from planish.vliw.machine import MachineOperation

_FORMS = {"hvx": assembly_form}
"""How assembly writes the instructions of an architecture."""

_RESULT = "dst"
"""What definitions call their result."""


@dataclass(frozen=True, slots=True, eq=False)
class InstructionOperations:
    """The instructions of an architecture as operations: `vectors` and `numbers` are the files of their operands,
    `near` how many registers some are confined to; `pipes` names the units that the cycles in the table of costs stand
    for, `units` is how the machine's units are named by slot and pipes, all of which are `known`."""

    isa: str
    processor: str
    vectors: str
    numbers: str
    near: int
    units: str
    pipes: Mapping[str, str]
    known: frozenset[str]
    interlocked: bool
    shift: tuple[str, ...] = ()
    _made: dict[str, MachineOperation] = field(default_factory=dict)

    def operation(self, name: str) -> MachineOperation:
        """The operation of an instruction; KeyError where there is none, or its cost or meaning is not known."""
        if name not in self._made:
            self._made[name] = self._derived(name)
        return self._made[name]

    def parameters(self, name: str) -> tuple[str, ...]:
        """The operands of an instruction in the order of its arguments, but for numbers in its text."""
        entry = load_collection(self.isa).entry(name)
        return tuple(x for _, x in entry.signature.parameters if x not in entry.values)

    def shifted(self, bytes_: int, width: int) -> str | None:
        """The operation that takes the bytes from `bytes_` on of two neighbours of `width` bytes, the upper one of
        which is its first operand; None where there is none."""
        for tag, number in zip(self.shift, (bytes_, width - bytes_), strict=False):
            entry = load_collection(self.isa).entry(tag)
            if all(number in values for values in entry.values.values()):
                return f"{tag}.{number}"
        return None

    def _derived(self, name: str) -> MachineOperation:
        tag, *numbers = name.split(".")
        entry = load_collection(self.isa).entry(tag)
        form = _FORMS[self.isa](entry.mnemonic)
        costs = load_costs(self.isa)
        known = costs.of(tag) if costs is not None and tag in costs.records else None
        cost = known.get(self.processor) if known is not None else None
        if form is None or cost is None or entry.definition is None:
            raise KeyError(name)
        immediates = [x.name for x in form.operands if x.kind == "immediate"]
        if len(immediates) != len(numbers):
            raise KeyError(name)
        fixed = dict(zip(immediates, map(int, numbers), strict=True))
        return self._operation(name, entry, form, fixed, cost)

    def _operation(
        self, name: str, entry: Entry, form: AssemblyForm, fixed: Mapping[str, int], cost: Cost
    ) -> MachineOperation:  # fmt: skip
        assert entry.definition is not None
        given = [x for x in form.operands if x.kind != "immediate"]
        result = next(x for x in given if x.written)
        homes = {result.name if result.tied else _RESULT: self._arrays(result)}
        homes |= {x.name: self._arrays(x) for x in given if not x.written}
        tied = result.name if result.tied else ""
        try:
            kernel = lane_kernel(name, entry.definition, homes, tied, fixed)
        except NoLanesError as error:
            raise KeyError(name) from error
        spelt = {x.name: f"{{{x.name}_high:{x.name}_low}}" if x.kind == "pair" else f"{{{x.name}}}" for x in given}
        text = form.text.format(**spelt, **{x: str(number) for x, number in fixed.items()})
        pairs = tuple((f"{x.name}_low", f"{x.name}_high") for x in given if x.kind == "pair")
        near = tuple((x.name, self.near) for x in given if x.kind == "near")
        latency = max(1, cost.latency)
        return MachineOperation(
            name, text, kernel, self._units(name, cost), 1 if self.interlocked else latency,
            stall=latency - 1 if self.interlocked else 0, bare=True, pairs=pairs, near=near,
        )  # fmt: skip

    def _arrays(self, x: AssemblyOperand) -> tuple[Array, ...]:
        """The arrays of an operand, whose types are found with its lanes."""
        match x.kind:
            case "pair":
                return tuple(Array(f"{x.name}_{part}", U8, (), memory=self.vectors) for part in ("low", "high"))
            case "vector":
                return (Array(x.name, U8, (), memory=self.vectors),)
            case _:
                return (Array(x.name, I32, (), memory=self.numbers),)

    def _units(self, name: str, cost: Cost) -> tuple[str, ...]:
        busy = {port: cycles for port, cycles in cost.ports if not port.startswith("SLOT")}
        pipes = self.pipes.get(" ".join(f"{port}:{cycles:g}" for port, cycles in sorted(busy.items())))
        slots = [port.removeprefix("SLOT") for port, _ in cost.ports if port.startswith("SLOT")]
        units = tuple(self.units.format(slot=x, pipes=pipes) for x in slots)
        if pipes is None or not units or not self.known.issuperset(units):
            raise KeyError(name)
        return units


def read_library(table: TomlTable, units: Collection[str], interlocked: bool) -> InstructionOperations | None:
    """The section [library]; None where there is none. PlanishError E0703 where an entry is wrong."""
    if not list(table):
        return None
    table.known("isa", "processor", "vectors", "numbers", "near", "units", "pipes", "shift")
    isa = table.text("isa")
    if isa not in _FORMS:
        raise table.error("isa", f"the assembly of '{isa}' is not known", f"of {', '.join(_FORMS)} it is")
    pipes = table.table("pipes")
    near = int(table.take("near", "a whole number", lambda x: type(x) is int, 0))
    return InstructionOperations(
        isa, table.text("processor"), table.text("vectors"), table.text("numbers"), near, table.text("units"),
        {x: pipes.text(x) for x in pipes}, frozenset(units), interlocked, tuple(table.texts("shift", [])),
    )  # fmt: skip
