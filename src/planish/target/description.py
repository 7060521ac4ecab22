"""Machine descriptions: TOML files beside this module, found by their name.

>>> load_description("x86-avx2").vector_bits
256
>>> "generic" in target_names()
True
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any, Literal, get_args

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.isa.costs.tables import PROCESSORS
from planish.target.machine import CacheLevel, Target
from planish.target.toml_table import TomlTable, read_table

MACHINES = Path(__file__).with_name("machines")
"""The folder of the descriptions; a machine is added by one file in it."""

NATIVE = "native"
"""The name of the machine that this program runs on; it is probed and has no file."""

Kind = Literal["c", "vliw", "gpu"]
"""What a description describes: a machine that compilers of C make code for, one whose packets are made here, or one
that runs launches of many threads."""

_KIND = re.compile(r"\A(?:\s*(?:#[^\n]*|[\w-]+\s*=[^\n]*)\n)*?\s*kind\s*=\s*[\"'](\w+)[\"']")


def target_names() -> tuple[str, ...]:
    """The names that `--target` takes for C, "native" first."""
    return (NATIVE, *described_names("c"))


def described_names(kind: str) -> tuple[str, ...]:
    """The machines of a kind that descriptions lie here of."""
    return tuple(sorted(x.stem for x in MACHINES.glob("*.toml") if kind_of(x.read_text(encoding="utf-8")) == kind))


def full_name(name: str) -> str:
    """The described machine that is meant by the last word of its name alone, where there is one; else what is given.

    >>> full_name("avx2"), full_name("x86-avx2"), full_name("gpu")
    ('x86-avx2', 'x86-avx2', 'gpu')
    """
    known = {x for kind in get_args(Kind) for x in described_names(kind)}
    found = [x for x in described_names("c") if x.endswith(f"-{name}")]
    return found[0] if len(found) == 1 and name not in known else name


def kind_of(text: str) -> str:
    """What the text of a description says that it describes, before its first section.

    >>> kind_of('name = "x"\\nkind = "vliw"\\n'), kind_of('name = "x"\\n')
    ('vliw', 'c')
    """
    found = _KIND.match(text)
    return found[1] if found else "c"


def load_description(name: str) -> Target:
    """The described machine of that name, or the one in the TOML file at that path (`NAME.toml`).

    Raises PlanishError E0701 where there is none, E0702 where the file is no TOML, E0703 where an entry is wrong.
    """
    return parse_target(read_description(name, "c"))


def read_description(name: str, kind: Kind) -> Source:
    """The text of a description of that kind, by the machine's name or the file's path. Raises PlanishError E0701."""
    name = full_name(name) if kind == "c" else name
    path = Path(name) if name.endswith(".toml") else MACHINES / f"{name}.toml"
    try:
        if not name.endswith(".toml") and name not in described_names(kind):
            raise FileNotFoundError(name)
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PlanishError(_unknown(name, kind)) from None
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot read the machine description {path}: {error}"
        raise PlanishError(Diagnostic("E0701", message, help="check the file's permissions and encoding")) from error
    if kind_of(text) != kind:
        what = _SAID.get(kind_of(text), _SAID["c"])
        raise PlanishError(Diagnostic("E0701", f"{path} describes {what}", help=_HELP[kind]))
    return Source(str(path), text)


def parse_target(source: Source) -> Target:
    """The machine that a TOML text describes. Raises PlanishError E0702 and E0703 with the line."""
    return _target(read_table(source))


_SAID = {"vliw": "a VLIW machine", "gpu": "a GPU", "c": "a machine that compilers of C make code for"}
_HELP: dict[Kind, str] = {
    "c": "`planish build` makes kernels for GPUs, and `planish vliw` code for VLIW machines",
    "vliw": 'a description of a VLIW machine has the line kind = "vliw" before its sections',
    "gpu": 'a description of a GPU has the line kind = "gpu" before its sections',
}


def _unknown(name: str, kind: Kind) -> Diagnostic:
    names = target_names() if kind == "c" else described_names(kind)
    for other in ("vliw", "gpu"):
        if kind == "c" and name in described_names(other):
            return Diagnostic("E0701", f"'{name}' is {_SAID[other]}, for which there is no C", help=_HELP[kind])
    gpus, others = (described_names("gpu"), described_names("vliw")) if kind == "c" else ((), ())
    if kind == "c" and "," in name:
        help = "only `planish build` makes code for several targets"
        return Diagnostic("E0701", f"'{name}' is no target, but several", help=help)
    near = difflib.get_close_matches(name, (*names, *gpus, *others), 1, 0.5)
    guess = f"did you mean '{near[0]}'? " if near else ""
    known = {"c": "known targets", "vliw": "known VLIW machines", "gpu": "known GPUs"}[kind]
    listed = f"{', '.join(names)}; GPUs: {', '.join(gpus)}" if gpus else ", ".join(names)
    help = f"{guess}{known}: {listed}; or the path of a .toml file"
    return Diagnostic("E0701", f"unknown target '{name}'", help=help)


def _target(root: TomlTable) -> Target:
    sections = ("vector", "core", "cache", "flags", "tuning")
    root.known("name", "kind", "isa", "description", "processor", "cores", "frequency_ghz", *sections)
    vector = root.table("vector")
    vector.known("bits", "registers", "masks", "fma", "fma_units", "fma_latency")
    bits = vector.whole("bits", 0)
    if bits % 64:
        raise vector.error("bits", f"'bits' is to be a multiple of 64, not {bits}")
    core = root.table("core")
    core.known("issue_width", "load_ports", "store_ports", "tlb_entries", "page_walk")
    return Target(
        name=root.text("name"),
        isa=root.text("isa"),
        vector_bits=bits,
        vector_registers=vector.whole("registers", 0),
        fma=vector.flag("fma"),
        caches=_caches(root),
        cores=root.whole("cores", 1, 1),
        masks=vector.flag("masks", False),
        fma_units=vector.whole("fma_units", 1, 1),
        fma_latency=vector.whole("fma_latency", 1, 4),
        issue_width=core.whole("issue_width", 1, 4),
        load_ports=core.whole("load_ports", 1, 2),
        store_ports=core.whole("store_ports", 1, 1),
        tlb_entries=core.whole("tlb_entries", 1, 1536),
        page_walk=core.positive("page_walk", 20.0),
        frequency_ghz=root.positive("frequency_ghz", 0.0),
        flags=_flags(root.table("flags")),
        tuning=_flags(root.table("tuning")),
        description=root.text("description", "a machine"),
        processor=_processor(root),
    )


def _processor(root: TomlTable) -> str:
    known = [x for names in PROCESSORS.values() for x in names]
    what = f"a processor whose costs are known: {', '.join(known)}"
    return str(root.take("processor", what, lambda x: x in known)) if "processor" in root.entries else ""


def _caches(root: TomlTable) -> tuple[CacheLevel, ...]:
    tables = root.take("cache", "a list of sections [[cache]]", lambda v: isinstance(v, list) and bool(v))
    caches: list[CacheLevel] = []
    for ordinal, entries in enumerate(tables):
        table = TomlTable(root.source, "cache", entries, ordinal)
        table.known("level", "bytes", "line", "associativity", "shared", "refill")
        cache = CacheLevel(
            level=table.whole("level", 1),
            bytes=table.size("bytes"),
            line=table.whole("line", 1, 64),
            associativity=table.whole("associativity", 1, 8),
            shared=table.whole("shared", 1, 1),
            refill=table.positive("refill", 0.0),
        )
        if caches and cache.level <= caches[-1].level:
            raise table.error("level", "the caches are to go from the nearest level outwards")
        if cache.bytes % cache.line:
            raise table.error("bytes", f"{cache.bytes} bytes are no multiple of the line of {cache.line} bytes")
        caches.append(cache)
    return tuple(caches)


def _flags(table: TomlTable) -> dict[str, tuple[str, ...]]:
    def words(value: Any) -> bool:
        return isinstance(value, list) and all(isinstance(word, str) and word.startswith("-") for word in value)

    return {kind: tuple(table.take(kind, 'a list of flags as ["-mavx2"]', words)) for kind in table.entries}
