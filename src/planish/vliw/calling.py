"""How C calls what is made of packets: where arguments come, which registers stay as they are, and the text around it.

>>> plain = Calling((("R", 0), ("R", 1)), "{register} = load({offset})", (("R", 8),), "", "", "", "", "return")
>>> plain.is_kept("R", 8), plain.is_kept("R", 1)
(True, False)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from planish.target.toml_table import TomlTable

_REGISTER = re.compile(r"([A-Za-z_]\w*)\.(\d+)")
_TEXTS = ("stacked", "grow", "save", "restore", "shrink", "leave")


@dataclass(frozen=True, slots=True)
class Calling:
    """A convention. `arguments` are the registers of the first ones, by their files and numbers; others are on the
    stack (`stacked`, an operation that loads one into {register}). `saved` are the registers that are as before
    afterwards: two neighbours each are stored ({first}, {second}) and loaded again; the stack grows and shrinks by
    {bytes}. `units`: those that take the jump back (`leave`); `together`: so many of these stores or loads go into a
    packet."""

    arguments: tuple[tuple[str, int], ...]
    stacked: str
    saved: tuple[tuple[str, int], ...]
    grow: str
    save: str
    restore: str
    shrink: str
    leave: str
    units: tuple[str, ...] = ()
    together: int = 2

    def is_kept(self, file: str, number: int) -> bool:
        """Whether a register has to be as it was when the code ends."""
        return (file, number) in self.saved


def read_calling(table: TomlTable) -> Calling | None:
    """The section [calling]; None where it is empty. PlanishError E0703 where an entry is wrong."""
    if not list(table):
        return None
    table.known("arguments", "saved", "units", *_TEXTS)
    texts: dict[str, Any] = {x: str(table.take(x, "a text", lambda v: isinstance(v, str))) for x in _TEXTS}
    units = tuple(table.texts("units", []))
    return Calling(arguments=_registers(table, "arguments"), saved=_registers(table, "saved"), units=units, **texts)


def _registers(table: TomlTable, key: str) -> tuple[tuple[str, int], ...]:
    names: list[Any] = table.texts(key)
    found = [_REGISTER.fullmatch(x) for x in names]
    if not all(found):
        raise table.error(key, f"'{key}' is to be a list of registers", 'as ["R.0", "R.1"]')
    return tuple((x[1], int(x[2])) for x in found if x is not None)
