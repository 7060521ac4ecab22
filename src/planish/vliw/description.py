"""Descriptions of VLIW machines: TOML files in `target/machines` whose `kind` is "vliw", or anywhere by their path.

>>> machine = load_machine("ftmatrix")
>>> machine.operation("VFMULAS32").latency, machine.sides["vector"], "ftmatrix" in machine_names()
(6, 6, True)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NoReturn

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.ir.checker import check_kernel
from planish.ir.expr import Const
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_expr, parse_kernel
from planish.ir.traverse import stored_arrays
from planish.ir.types import BF16, BOOL, BY_NAME
from planish.target.description import described_names, kind_of, read_description
from planish.target.toml_table import TomlTable, parse_size, read_table
from planish.vliw.calling import read_calling
from planish.vliw.library import read_library
from planish.vliw.machine import (
    LOOP_WORDS,
    Assembly,
    MachineMemory,
    MachineOperation,
    Reach,
    Transfers,
    Unit,
    VliwMachine,
    VliwRegisterFile,
    covers,
    operand_names,
    transfer_kernel,
    written_arrays,
)

_SECTIONS = ("constants", "types", "units", "sides", "files", "memories", "transfers", "assembly", "calling",
             "library", "operations")  # fmt: skip
_OPERAND = re.compile(r"\{(\w+)\}")
_NAME = re.compile(r"[A-Za-z_]\w*")


def machine_names() -> tuple[str, ...]:
    """The VLIW machines that are described here."""
    return described_names("vliw")


def is_machine(name: str) -> bool:
    """Whether a target is a VLIW machine: one that is described here, or by the TOML file at that path."""
    if name in machine_names():
        return True
    path = Path(name)
    return path.suffix == ".toml" and path.is_file() and kind_of(path.read_text(errors="replace")) == "vliw"


def load_machine(name: str) -> VliwMachine:
    """The VLIW machine of that name, or the one in the TOML file at that path (`NAME.toml`).

    Raises PlanishError E0701 where there is none, E0702 where the file is no TOML, E0703 where an entry is wrong, and
    E0704 where an operation's definition is.
    """
    return parse_machine(read_description(name, "vliw"))


@lru_cache(maxsize=64)
def parse_machine(source: Source) -> VliwMachine:
    """The VLIW machine that a TOML text describes, over its `base` where it has one. Raises as `load_machine`."""
    root = _with_base(source, ())
    root.known("name", "kind", "base", "description", "frequency_ghz", "update_latency", "interlocked", "target",
               *_SECTIONS)  # fmt: skip
    reader = _Reader(root, _constants(root.table("constants")))
    units = reader.units()
    files = tuple(reader.file(x) for x in reader.sections("files"))
    memories = tuple(reader.memory(x) for x in reader.sections("memories"))
    _check_distinct(root, files, memories)
    operations = tuple(y for x in reader.sections("operations") for y in reader.operations(x, units, files, memories))
    return VliwMachine(
        name=root.text("name"),
        sides=reader.sides(units),
        units=tuple(y for x in units.values() for y in x),
        files=files,
        memories=memories,
        operations=operations,
        transfers=reader.transfers(),
        update_latency=reader.number(root, "update_latency", 1, 1),
        frequency_ghz=root.positive("frequency_ghz", 0.0),
        description=root.text("description", "a VLIW machine"),
        constants=reader.constants,
        assembly=_assembly(root.table("assembly")),
        interlocked=root.flag("interlocked", False),
        calling=read_calling(root.table("calling")),
        target=root.text("target") if "target" in root else "",
        library=read_library(
            root.table("library"), frozenset(y.name for x in units.values() for y in x), root.flag("interlocked", False)
        ),
    )


def _with_base(source: Source, seen: tuple[str, ...]) -> TomlTable:
    """The table of a description over that of its base, and so on."""
    root = read_table(source)
    if "base" not in root:
        return root
    name = root.text("base")
    if name in seen:
        raise root.error("base", f"the description is based on itself, by way of '{name}'")
    try:
        base = read_description(name, "vliw")
    except PlanishError as error:
        raise root.error("base", error.diagnostic.message, error.diagnostic.advice) from error
    return root.over(_with_base(base, (*seen, name)))


def _constants(table: TomlTable) -> dict[str, int]:
    """Names for numbers, each a number or an expression of those before it."""
    known: dict[str, int] = {}
    for name in table:
        known[name] = _evaluate(table, name, known)
    return known


def _evaluate(table: TomlTable, key: str, constants: Mapping[str, int]) -> int:
    """A whole number, or an expression of constants such as "2 * LANES"."""
    value = table.take(key, 'a whole number, or an expression of constants as "2 * LANES"', _is_number)
    if isinstance(value, int):
        return value
    try:
        return evaluate(parse_expr(value), constants)
    except PlanishError as error:
        raise table.error(key, f"'{value}' is no expression: {error.diagnostic.message}") from error
    except KeyError as error:
        known = f"there are {', '.join(constants)}" if constants else "there are none before it"
        raise table.error(key, f"there is no constant {error.args[0]}", known) from error
    except (ValueError, ArithmeticError) as error:
        raise table.error(key, f"'{value}' has no whole number as its value") from error


def _assembly(table: TomlTable) -> Assembly:
    """How assembly is written; an entry may have the words that its default has."""
    table.known(*(x.name for x in fields(Assembly)))
    chosen: dict[str, str] = {}
    for x in fields(Assembly):
        if x.name not in table:
            continue
        chosen[x.name] = str(table.take(x.name, "a text", lambda v: isinstance(v, str)))
        stray = set(_OPERAND.findall(chosen[x.name])) - set(_OPERAND.findall(str(x.default)))
        if stray:
            raise table.error(x.name, f"{{{min(stray)}}} stands for nothing here", f"usual is {x.default!r}")
    return Assembly(**chosen)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _check_distinct(root: TomlTable, files: Iterable[VliwRegisterFile], memories: Iterable[MachineMemory]) -> None:
    names = {x.name for x in files}
    for memory in memories:
        if memory.name in names:
            raise root.table("memories").error(memory.name, f"'{memory.name}' is a register file as well")


@dataclass(frozen=True, slots=True)
class _Reader:
    """A description, and the constants that stand in its entries."""

    root: TomlTable
    constants: Mapping[str, int]

    def sections(self, group: str) -> list[TomlTable]:
        """The sections [GROUP.NAME]."""
        table = self.root.table(group)
        if not list(table):
            raise table.error("", f"there is no section [{group}.NAME]", "see docs/vliw.md for a whole description")
        return [table.table(x) for x in table]

    def number(self, table: TomlTable, key: str, least: int, default: int | None = None) -> int:
        """A whole number or an expression of constants, not below the least."""
        if key not in table and default is not None:
            return default
        value = _evaluate(table, key, self.constants)
        if value < least:
            raise table.error(key, f"'{key}' is to be a whole number from {least} on, not {value}")
        return value

    def units(self) -> dict[str, tuple[Unit, ...]]:
        """The units of each class: several of one class are told apart by a number from 1 on."""
        found: dict[str, tuple[Unit, ...]] = {}
        for table in self.sections("units"):
            table.known("side", "count", "parts", "shared")
            name = _name_of(table)
            if "parts" in table:
                single = {y.name: y for x in found.values() for y in x if not y.parts}
                parts = tuple(table.texts("parts"))
                for part in parts:
                    if part not in single:
                        raise table.error("parts", f"there is no unit '{part}' before it", f"of {', '.join(single)}")
                found[name] = (Unit(name, single[parts[0]].side, parts),)
                continue
            side, count = table.text("side"), self.number(table, "count", 1, 1)
            if "shared" in table:
                found[name] = (Unit(name, side, (), True),)
                continue
            found[name] = tuple(Unit(f"{name}{i + 1}" if count > 1 else name, side) for i in range(count))
        return found

    def sides(self, units: Mapping[str, tuple[Unit, ...]]) -> dict[str, int]:
        """How many operations of each side a packet has: as many as there are units, unless the file says less."""
        everything = [y for x in units.values() for y in x if not y.parts]
        sides = {x.side: sum(y.side == x.side for y in everything) for x in everything}
        shared = (y.name for x in units.values() for y in x if y.shared)
        tables = {_name_of(x): x for x in self.sections("units")}
        sides |= {units[x][0].side: self.number(tables[x], "shared", 1) for x in shared}
        table = self.root.table("sides")
        for side in table:
            if side not in sides:
                raise table.error(side, f"no unit is on a side '{side}'", f"there are {', '.join(sides)}")
            sides[side] = self.number(table, side, 1)
        return sides

    def file(self, table: TomlTable) -> VliwRegisterFile:
        """A register file."""
        kinds = ("predicates", "addresses", "offsets", "loops")
        table.known("count", "bits", "readers", "writers", "text", "first", *kinds)
        bits = self.number(table, "bits", 8)
        if bits % 8:
            raise table.error("bits", f"'bits' is to be a multiple of 8, not {bits}")
        name = _name_of(table)
        text = table.text("text", f"{name}{{number}}")
        if "{number}" not in text:
            raise table.error("text", "'text' is to have {number} where a register's number stands")
        return VliwRegisterFile(
            name, self.number(table, "count", 1), bits,
            self.number(table, "readers", 0, 0), self.number(table, "writers", 0, 0),
            table.flag("predicates", False), table.flag("addresses", False), table.flag("offsets", False), text,
            table.flag("loops", False), self.number(table, "first", 0, 0),
        )  # fmt: skip

    def memory(self, table: TomlTable) -> MachineMemory:
        """A memory."""
        table.known("bytes", "alignment", "reach", "stride", "guarded", "vectors", "either")
        value = table.take("bytes", 'a size as 32768, "32K" or "1M"', lambda x: _is_number(x))
        size = parse_size(value) if isinstance(value, str) else value
        if size < 1:
            raise table.error("bytes", f'\'bytes\' is to be a size as 32768, "32K" or "1M", not {value!r}')
        return MachineMemory(
            _name_of(table), size, self.number(table, "alignment", 1, 1),
            _reach(table, "reach"), _reach(table, "stride"), _reach(table, "guarded"), _reach(table, "vectors"),
            table.flag("either", False),
        )  # fmt: skip

    def transfers(self) -> Transfers:
        """Block transfers; none where the description has no section of them."""
        table = self.root.table("transfers")
        if not list(table):
            return Transfers(0, 0, 0.0)
        table.known("channels", "startup", "bytes_per_cycle")
        rate = table.positive("bytes_per_cycle", 0.0)
        if rate <= 0:
            raise table.error("bytes_per_cycle", "'bytes_per_cycle' is to be a number above 0")
        return Transfers(self.number(table, "channels", 1), self.number(table, "startup", 0, 0), rate)

    def operations(
        self, table: TomlTable, units: Mapping[str, tuple[Unit, ...]], files: Iterable[VliwRegisterFile],
        memories: Iterable[MachineMemory],
    ) -> list[MachineOperation]:  # fmt: skip
        """An operation, and those of other types that have the same unit and latency (`also`)."""
        if "transfer" in table:
            return [self.transfer(table, units, files, memories)]
        table.known("definition", "text", "units", "latency", "busy", "branch", "assumed", "type", "also",
                    "bare", "loop", "silent", "scaled", "sequence", "immediates", "reach", "stride",
                    "aligned")  # fmt: skip
        name = _name_of(table)
        if not _NAME.fullmatch(name):
            raise table.error("", f"'{name}' is no name of an operation")
        where = self._units(table, units)
        latency, stall = self.number(table, "latency", 1, 1), 0
        if self.root.flag("interlocked", False):
            # Readers wait: the next packet has the new value, some cycles later.
            latency, stall = 1, latency - 1
        busy = self.number(table, "busy", 1, 1)
        branch = table.flag("branch", False)
        kinds = {file.name: file.bits for file in files} | {memory.name: 0 for memory in memories}
        text = table.text("text", "") if "text" in table else ""
        made: list[MachineOperation] = []
        for variant, type in self._variants(table, name):
            definition = Kernel(variant) if branch else self._definition(table, variant, type)
            if not branch:
                _check_operands(table, definition, kinds)
            _check_text(table, text, definition, branch)
            spelt = re.sub(rf"\b{name}\b", variant, text)
            if "text" not in table:
                unspelt = table.flag("silent", False) or "sequence" in table
                spelt = "" if unspelt else _default_text(variant, definition, branch)
            made.append(
                MachineOperation(
                    variant, spelt, definition, where, latency, busy, branch, table.flag("assumed", False), "", (),
                    stall, table.flag("bare", False), table.flag("loop", False),
                    table.flag("scaled", False), tuple(table.texts("sequence", [])),
                    _reach(table, "immediates"), _reach(table, "reach"), _reach(table, "stride"),
                    aligned=self.number(table, "aligned", 1, 0),
                )
            )  # fmt: skip
        return made

    def transfer(
        self, table: TomlTable, units: Mapping[str, tuple[Unit, ...]], files: Iterable[VliwRegisterFile],
        memories: Iterable[MachineMemory],
    ) -> MachineOperation:  # fmt: skip
        """An operation that starts a block transfer, `from` a memory `to` another one, the numbers in registers of the
        file `counts`; or one that waits until that of a channel is done."""
        table.known("transfer", "from", "to", "counts", "text", "units", "latency", "assumed")
        name, kind = _name_of(table), table.text("transfer")
        if kind not in ("start", "wait"):
            raise table.error("transfer", f"'transfer' is to be \"start\" or \"wait\", not '{kind}'")
        if not list(self.root.table("transfers")):
            raise table.error("transfer", "the machine has no section [transfers]", "it says how fast they are")

        def known(key: str, names: list[str]) -> str:
            chosen = table.text(key)
            if chosen not in names:
                raise table.error(key, f"there is no '{chosen}'", f"there are {', '.join(names)}")
            return chosen

        if kind == "start":
            every = [x.name for x in memories]
            to, source = known("to", every), known("from", every)
            definition = transfer_kernel(name, to, source, known("counts", [x.name for x in files]))
        else:
            definition = Kernel(name, ("channel",))
        text = table.text("text", _default_text(name, definition, False))
        _check_text(table, text, definition, False)
        waits = tuple(x.name for x in memories) if kind == "wait" else ()
        where, latency = self._units(table, units), self.number(table, "latency", 1, 1)
        assumed = table.flag("assumed", False)
        chosen: Literal["start", "wait"] = "start" if kind == "start" else "wait"
        return MachineOperation(name, text, definition, where, latency, 1, False, assumed, chosen, waits)

    def _units(self, table: TomlTable, units: Mapping[str, tuple[Unit, ...]]) -> tuple[str, ...]:
        every = {y.name: (y,) for x in units.values() for y in x} | dict(units)
        names = table.texts("units")
        for name in names:
            if name not in every:
                raise table.error("units", f"there is no unit '{name}'", f"there are {', '.join(units)}")
        if not names:
            raise table.error("units", "no unit takes the operation", f"there are {', '.join(units)}")
        return tuple(dict.fromkeys(unit.name for name in names for unit in every[name]))

    def _variants(self, table: TomlTable, name: str) -> list[tuple[str, str]]:
        """The name and the type (`T`) of an operation and of those like it."""
        if "type" not in table and "also" not in table:
            return [(name, "")]
        also = table.table("also")
        variants = [(name, table.text("type")), *((also.text(x), x) for x in also)]
        for type in (x for _, x in variants):
            if type not in BY_NAME:
                key = "also" if type in also else "type"
                raise table.error(key, f"'{type}' is no type", f"one of {', '.join(BY_NAME)}")
        return variants

    def _definition(self, table: TomlTable, name: str, type: str) -> Kernel:
        """What an operation does: a kernel without its name, in which constants stand for numbers and T for a type."""
        text = table.text("definition")
        owner = table.owner("definition")
        words = {x: str(y) for x, y in self.constants.items()}
        if type:
            known = self.root.table("types").table(type)
            words |= {x: str(_evaluate(known, x, self.constants)) for x in known} | {"T": type}
        padded = _at_its_place(owner, text, f"kernel `{name}`")
        try:
            kernel = parse_kernel(padded, owner.source.name, words)
            check_kernel(kernel, f"reading operation {name}")
        except PlanishError as error:
            found = error.diagnostic
            message = f"operation {name}: {found.message}"
            span = found.span or owner.place("definition")
            raise PlanishError(Diagnostic("E0704", message, span, found.help), owner.source) from error
        return kernel


def _reach(table: TomlTable, key: str) -> Reach | None:
    """The least and the greatest of some numbers."""
    if key not in table:
        return None
    pair = table.take(key, "two whole numbers, as [-8, 7]", _is_pair)
    return int(pair[0]), int(pair[1])


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(x) is int for x in value) and value[0] <= value[1]


def _name_of(table: TomlTable) -> str:
    return table.section.rpartition(".")[2]


def _at_its_place(table: TomlTable, definition: str, head: str) -> str:
    """The text of a kernel with as much before it as there is in the file, so that places in messages are right."""
    line = table.place("definition").line
    before = table.source.text.splitlines(keepends=True)[: line - 1]
    start = table.source.text.find(definition, sum(map(len, before)))
    if start < 0:
        return "\n" * (line - 2) + f"{head}\n{definition}"
    lines = table.source.text[:start].split("\n")
    return "\n" * (len(lines) - 2) + f"{head}\n" + " " * len(lines[-1]) + definition


def _check_operands(table: TomlTable, definition: Kernel, kinds: Mapping[str, int]) -> None:
    """Each operand is in a register file, whose registers hold it, or in a memory; one at most is in memory, the first
    ones are what is written. E0704 otherwise."""

    def refuse(message: str, advice: str = "") -> NoReturn:
        raise table.error("definition", f"operation {definition.name}: {message}", advice, "E0704")

    for array in definition.arrays:
        if array.memory not in kinds:
            known = ", ".join(kinds)
            refuse(f"`{array.name}` is in `{array.memory}`, which is no register file or memory", f"there are {known}")
        if array.type in (BOOL, BF16):
            refuse(f"`{array.name}` is {array.type}, which no register holds", "write an integer, or f32")
        shape = [x.value for x in array.shape if isinstance(x, Const)]
        if len(shape) != len(array.shape) or len(shape) > 1:
            refuse(f"`{array.name}` is neither one value nor a row of lanes whose number is known")
        bits = array.type.bits * int(shape[0] if shape else 1)
        width = kinds[array.memory]
        if width and bits > width:
            refuse(f"`{array.name}` has {bits} bits, a register of {array.memory} has {width}")
    addressed = [x.name for x in definition.arrays if not kinds[x.memory]]
    if len(addressed) > 1:
        refuse(f"`{addressed[0]}` and `{addressed[1]}` are both in memory")
    stored = stored_arrays(definition.body)
    if not stored:
        refuse("it writes nothing")
    for array in definition.arrays:
        if not kinds[array.memory] and array.name in stored and not covers(definition, array):
            refuse(f"it may leave a part of `{array.name}`, in memory, as it was")
    late = [x.name for i, x in enumerate(definition.arrays) if x.name in stored and i >= len(stored)]
    if late:
        refuse(f"`{late[0]}` is written, but stands behind operands that are only read", "written operands come first")


def _check_text(table: TomlTable, text: str, definition: Kernel, branch: bool) -> None:
    stray = sorted(set(_OPERAND.findall(text)) - {*operand_names(definition, branch), *LOOP_WORDS})
    if stray:
        raise table.error("text", f"the text has {{{stray[0]}}}, which is no operand", code="E0704")


def _default_text(name: str, definition: Kernel, branch: bool) -> str:
    """The operation's name and its operands, those that are written last."""
    written = {x.name for x in written_arrays(definition)}
    names = operand_names(definition, branch)
    ordered = [*(x for x in names if x not in written), *(x for x in names if x in written)]
    return f"{name} {', '.join(f'{{{x}}}' for x in ordered)}"
