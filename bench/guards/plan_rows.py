"""What the compiler plans of a C file, as rows of text: the names of each nest's versions, with a hash of each nest.

>>> row = parse_row("dsp/dot.c dot.1 x86-avx2 strict timed 1 | 2s | 0badc0de fused | 600df00d original")
>>> row.key, row.seconds, row.versions[1]
('dsp/dot.c dot.1 x86-avx2 strict timed 1', 2, ('600df00d', 'original'))
>>> print(compare_rows(row, parse_row(str(row).replace("fused", "maxfuse"))))
renamed: fused -> maxfuse
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from unittest import mock

from planish.build.lower import RegionPlan, lower_region
from planish.build.read import read_file
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.frontend.c.translation_unit import Region
from planish.ir.nest import Kernel
from planish.ir.text.operator_names import quoted
from planish.ir.text.printer import print_kernel
from planish.ir.types import Floats
from planish.isa.instruction import Catalogue, Instruction
from planish.library.signal.fft_stages.stage_kernels import StageVersion
from planish.options import Options
from planish.schedule.auto import policies
from planish.schedule.auto.plan import Version
from planish.target.load import load_target

Clock = Literal["timed", "untimed"]
"""Whether all versions are planned, which the clock compares, or the one that is taken without it."""

PATIENCE = 300.0
"""Seconds of the polyhedral scheduler in place of the compiler's own few: only its bound on operations, which is the
same on every machine, decides."""

_READ = "as read"
"""The row's first hash: of the kernel that the front-end read."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How files are planned."""

    target: str
    fp: Floats = "reassociate"
    clock: Clock = "timed"
    threads: int = 1

    def __str__(self) -> str:
        return f"{self.target} {self.fp} {self.clock} {self.threads}"


@dataclass(frozen=True, slots=True)
class Row:
    """One nest in one setting. `key`: file, function and number of the nest, setting; `versions`: hashes and names in
    the planned order, the first of what was read; `seconds`: roughly what it took when it was written, never
    compared."""

    key: str
    seconds: int
    versions: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return " | ".join((self.key, f"{self.seconds}s", *(" ".join(x) for x in self.versions)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the versions."""
        return tuple(name for _, name in self.versions)

    @property
    def hashes(self) -> tuple[str, ...]:
        """The hashes of the nests."""
        return tuple(digits for digits, _ in self.versions)


def parse_row(line: str) -> Row:
    """The row that a line is the text of."""
    key, seconds, *versions = line.split(" | ")
    pairs = [x.partition(" ") for x in versions]
    return Row(key, int(seconds.removesuffix("s")), tuple((digits, name) for digits, _, name in pairs))


def plan_file(path: Path, group: str, setting: Setting) -> tuple[Row, ...]:
    """The rows of a file's nests; `group` stands before its name. A file that cannot be read has a single row."""
    options = Options(
        target=setting.target, fp=setting.fp, measure=setting.clock == "timed", threads=setting.threads,
        include_dirs=(path.parent,),
    )  # fmt: skip
    called = f"{group}{path.name}"
    try:
        file = read_file(Source(path.name, path.read_text(encoding="utf-8")), options)
    except PlanishError as error:
        return (Row(f"{called} - {setting}", 0, (("-" * 8, error.diagnostic.code),)),)
    rows = []
    for region in (r for f in file.functions for r in f.regions):
        began = time.process_time()
        versions = tuple(_list_versions(region, options))
        key = f"{called} {region.function}.{region.ordinal} {setting}"
        rows.append(Row(key, _round_up(time.process_time() - began), versions))
    return tuple(rows)


def _round_up(seconds: float) -> int:
    """The next power of two."""
    return 1 << max(0, math.ceil(math.log2(max(seconds, 1.0))))


def _list_versions(region: Region, options: Options) -> Iterator[tuple[str, str]]:
    """Hashes and names, as `Row` has them. A bug is a row like another one: it must not hide the others."""
    yield hash_nest(region.kernel), _READ
    try:
        plan = plan_versions(region, options)
        found: tuple[StageVersion | Version, ...] = plan.versions
        for version in found:
            yield hash_version(version), version.name
    except Exception as bug:
        yield "-" * 8, f"bug: {type(bug).__name__}"


def plan_versions(region: Region, options: Options) -> RegionPlan:
    """What a build plans of a nest. Of the compiler's plan, this is all that the rows know."""
    if region.unseen:
        return RegionPlan(region, None, (), ())
    target = load_target(options.target)
    with mock.patch.object(policies, "SECONDS", PATIENCE):
        return lower_region(region, options, target, None if options.measure else 1)


def hash_version(version: StageVersion | Version) -> str:
    """Eight digits for the nests of a version, whatever these and the version are called."""
    if isinstance(version, StageVersion):
        return _hash(hash_nest(kernel) for x in version.pieces for kernel in (x.region.kernel, x.kernel))
    return hash_nest(version.kernel, version.catalogue)


def hash_nest(kernel: Kernel, catalogue: Catalogue | None = None) -> str:
    """Eight digits for a nest as text. Its own name is no part of that; kernels of a catalogue that it calls stand for
    what they do, and not for their names."""
    called = _Called(catalogue.instructions if catalogue is not None else {})
    return _hash([called.write(kernel)])


@dataclass(frozen=True, slots=True)
class _Called:
    """The kernels that nests call, by name, and the hashes that are known of them."""

    instructions: Mapping[str, Instruction]
    known: dict[str, str] = field(default_factory=dict)

    def write(self, kernel: Kernel) -> str:
        """A nest as text, with hashes in place of the names of kernels that it calls."""
        text = print_kernel(replace(kernel, name="nest"))
        for name in self._made():
            called = f" as {quoted(name)} "
            if called in text:
                text = text.replace(called, f" as #{self._hash(name)} ")
        return text

    def _made(self) -> tuple[str, ...]:
        """The names of instructions that are kernels of ours."""
        return tuple(name for name, x in self.instructions.items() if x.implementation is not None)

    def _hash(self, name: str) -> str:
        if name not in self.known:
            made = self.instructions[name]
            assert made.implementation is not None
            within = _Called({**self.instructions, **{x.name: x for x in made.needs}}, self.known)
            said = (within.write(made.definition), within.write(made.implementation))
            self.known[name] = _hash((*said, f"{made.fused} {made.reassociates}"))
        return self.known[name]


def _hash(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class Difference:
    """How a row differs from the one that was expected: `renamed` versions whose nests are the same, `others` in
    words."""

    renamed: tuple[tuple[str, str], ...] = ()
    others: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.renamed or self.others)

    def __str__(self) -> str:
        return "; ".join((*(f"renamed: {a} -> {b}" for a, b in self.renamed), *self.others))


def compare_rows(expected: Row, found: Row) -> Difference:
    """What is different: with the same nests in the same order, names; else versions that have another nest, another
    place, are gone, or are new."""
    pairs = zip(expected.names, found.names, strict=False)
    if expected.hashes == found.hashes:
        return Difference(renamed=tuple((a, b) for a, b in pairs if a != b))
    others: list[str] = []
    before, after = _by_name(expected), _by_name(found)
    others += [f"NEST CHANGED: {x}" for x in before if x in after and before[x] != after[x]]
    gone, new = [x for x in before if x not in after], [x for x in after if x not in before]
    renamed = []
    for name in gone:
        same = next((x for x in new if after[x] == before[name]), None)
        if same is None:
            others.append(f"GONE: {name}")
        else:
            new.remove(same)
            renamed.append((name, same))
    others += [f"NEW: {x}" for x in new]
    if Counter(expected.hashes) == Counter(found.hashes):
        order = ", ".join(name for name in found.names if name != _READ)
        others.append(f"ORDER CHANGED: now {order}")
    return Difference(tuple(renamed), tuple(others))


def _by_name(row: Row) -> dict[str, tuple[str, ...]]:
    """The hashes of each name, which several versions may have."""
    out: dict[str, tuple[str, ...]] = {}
    for digits, name in row.versions:
        out[name] = (*out.get(name, ()), digits)
    return out


def rename(row: Row, names: Mapping[str, str]) -> Row:
    """The row with other names; of a name such as "dots, streamed", each part is looked up.

    >>> print(rename(parse_row("k | 1s | 00000000 dots, streamed"), {"dots": "gemv-rows"}))
    k | 1s | 00000000 gemv-rows, streamed
    """

    def renamed(name: str) -> str:
        return names.get(name) or ", ".join(names.get(x, x) for x in name.split(", "))

    return replace(row, versions=tuple((digits, renamed(name)) for digits, name in row.versions))
