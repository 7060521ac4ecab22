"""Descriptions of GPUs: TOML files in `machines` whose `kind` is "gpu", or anywhere by their path.

>>> h100 = load_device("cuda-sm90")
>>> h100.dialect, h100.architecture, h100.multiprocessors, h100.threads
('cuda', 'sm_90', 132, 1024)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planish.core.span import Source
from planish.target.description import described_names, kind_of, read_description
from planish.target.toml_table import read_table

DIALECT_NAMES = ("cuda", "hip", "opencl")
"""The languages in which kernels are written."""


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU: the `dialect` of its kernels, the `architecture` as its compiler calls it ("" for any), the number of its
    multiprocessors, threads of a warp and at most of a block, 32-bit registers of a multiprocessor and at most of a
    thread, bytes of shared memory at most of a block without asking for more, banks of four bytes that this has, and
    bytes of a sector, the least that is read of memory."""

    name: str
    description: str
    dialect: str
    architecture: str
    multiprocessors: int
    warp: int
    threads: int
    registers: int
    registers_a_thread: int
    shared_bytes: int
    banks: int
    sector: int
    command: str


def device_names() -> tuple[str, ...]:
    """The GPUs that are described here."""
    return described_names("gpu")


def is_device(name: str) -> bool:
    """Whether a target is a GPU: one that is described here, or by the TOML file at that path."""
    if name in device_names():
        return True
    path = Path(name)
    if not name.endswith(".toml"):
        return False
    try:
        return kind_of(path.read_text(encoding="utf-8")) == "gpu"
    except (OSError, UnicodeDecodeError):
        return False


def load_device(name: str) -> Device:
    """The GPU of that name, or the one in the TOML file at that path. PlanishError E0701, E0702, E0703."""
    return parse_device(read_description(name, "gpu"))


def parse_device(source: Source) -> Device:
    """The GPU that a TOML text describes. PlanishError E0702 and E0703 with the line."""
    root = read_table(source)
    root.known("name", "kind", "description", "dialect", "architecture", "command", "multiprocessor", "block")
    one, block = root.table("multiprocessor"), root.table("block")
    one.known("count", "warp", "registers", "banks", "sector")
    block.known("threads", "registers_a_thread", "shared")
    what = f"one of {', '.join(DIALECT_NAMES)}"
    return Device(
        name=root.text("name"),
        description=root.text("description", "a GPU"),
        dialect=str(root.take("dialect", what, lambda x: x in DIALECT_NAMES)),
        architecture=root.text("architecture", ""),
        multiprocessors=one.whole("count", 1),
        warp=one.whole("warp", 1, 32),
        threads=block.whole("threads", 1, 1024),
        registers=one.whole("registers", 1, 65536),
        registers_a_thread=block.whole("registers_a_thread", 1, 255),
        shared_bytes=block.size("shared"),
        banks=one.whole("banks", 1, 32),
        sector=one.whole("sector", 1, 32),
        command=root.text("command", ""),
    )
