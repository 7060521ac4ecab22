"""The machine that this program runs on, as Linux describes it under /proc and /sys.

>>> probe_host().name
'native'
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planish.target.description import NATIVE, load_description
from planish.target.machine import CacheLevel, Target
from planish.target.toml_table import parse_size

_CPUS = "sys/devices/system/cpu"


@dataclass(frozen=True, slots=True)
class _Vectors:
    """What a feature of the processor says about its vectors."""

    feature: str
    isa: str
    bits: int
    registers: int
    masks: bool = False


# The widest first: the first feature that the processor has decides.
_X86 = (
    _Vectors("avx512bw", "x86-64-v4", 512, 32, True),
    _Vectors("avx2", "x86-64-v3", 256, 16),
    _Vectors("avx", "x86-64-v2", 256, 16),
    _Vectors("sse2", "x86-64", 128, 16),
)
_ARM = (_Vectors("asimd", "armv8-a", 128, 32),)

# The first line whose words are all there: features, and AMD's or Intel's name.
_X86_PROCESSORS = (
    ("znver4", {"AuthenticAMD", "avx2"}), ("icelake-server", {"GenuineIntel", "avx512_vbmi2"}),
    ("skylake-avx512", {"GenuineIntel", "avx2"}),
)  # fmt: skip
_ARM_PROCESSORS = (
    ("neoverse-n1", {"0x41", "0xd0c"}), ("neoverse-v1", {"0x41", "0xd40"}), ("cortex-a76", {"0x41", "0xd0b"}),
    ("apple-m1", {"0x61"}),
)  # fmt: skip

_REFILLS: Mapping[str, Mapping[int, float]] = {"znver4": {1: 64.0, 2: 32.0, 3: 9.0}}
"""The bytes that come into the caches of a processor in a cycle, by their levels, where that is more than usual: a line
from the second level and half a line from the third one, as AMD's guides to optimisation for Zen 4 and Zen 5 have it
(48 to 64 and 25 to 32 were measured), and from memory what one core was measured to read."""


def probe_host(root: Path = Path("/"), machine: str | None = None) -> Target:
    """The host as a target named "native"; what is not found out is taken from the generic description.

    `root` is where proc/cpuinfo and sys/devices are looked for, `machine` the architecture as uname spells it.
    """
    generic = load_description("generic")
    architecture = (machine or platform.machine()).lower()
    facts = _cpuinfo(root)
    features = frozenset((facts.get("flags") or facts.get("Features") or "").split())
    arm = architecture in ("aarch64", "arm64")
    x86 = architecture in ("x86_64", "amd64")
    vectors = next((v for v in (_ARM if arm else _X86 if x86 else ()) if v.feature in features), None)
    fma = "fma" in features if x86 else arm and vectors is not None
    wide = ("-mprefer-vector-width=512",) if vectors is not None and vectors.bits == 512 else ()
    flag = "-mcpu=native" if arm else "-march=native"
    processor = _processor(facts, features, _ARM_PROCESSORS if arm else _X86_PROCESSORS if x86 else ())
    refills = _REFILLS.get(processor, {})
    return Target(
        name=NATIVE,
        isa=vectors.isa if vectors else architecture or generic.isa,
        vector_bits=vectors.bits if vectors else generic.vector_bits,
        vector_registers=vectors.registers if vectors else generic.vector_registers,
        fma=fma,
        caches=tuple(replace(x, refill=refills.get(x.level, 0.0)) for x in _caches(root)) or generic.caches,
        cores=usable_cores(),
        masks=vectors.masks if vectors else False,
        fma_units=2 if fma else 1,
        fma_latency=generic.fma_latency,
        frequency_ghz=_frequency(root, facts),
        flags={"gcc": (flag,), "clang": (flag,)},
        tuning={"gcc": wide, "clang": wide} if wide else {},
        description=facts.get("model name") or f"this {architecture} machine",
        processor=processor,
    )


def _processor(
    facts: Mapping[str, str], features: frozenset[str], known: Sequence[tuple[str, set[str]]]
) -> str:
    """The processor of the tables of costs that is nearest, "" where none is."""
    words = features | {facts.get(x, "") for x in ("vendor_id", "CPU implementer", "CPU part")}
    return next((name for name, wanted in known if wanted <= words), "")


def _cpuinfo(root: Path) -> dict[str, str]:
    """The entries of the first processor."""
    facts: dict[str, str] = {}
    for line in _read(root / "proc/cpuinfo").splitlines():
        name, colon, value = line.partition(":")
        if not colon and facts:
            break
        facts.setdefault(name.strip(), value.strip())
    return facts


def _caches(root: Path) -> tuple[CacheLevel, ...]:
    found: dict[int, CacheLevel] = {}
    for folder in sorted((root / _CPUS / "cpu0/cache").glob("index[0-9]*")):
        level, size = _number(folder / "level"), parse_size(_read(folder / "size"))
        if _read(folder / "type") == "Instruction" or level <= 0 or size <= 0:
            continue
        sharing = cpu_count(_read(folder / "shared_cpu_list"))
        # Two threads of one core count as one: the private caches of a core are not halved.
        threads = cpu_count(_read(root / _CPUS / "cpu0/topology/thread_siblings_list"))
        found[level] = CacheLevel(
            level=level,
            bytes=size,
            line=_number(folder / "coherency_line_size") or 64,
            associativity=_number(folder / "ways_of_associativity") or 8,
            shared=max(1, sharing // max(1, threads)),
        )
    return tuple(found[level] for level in sorted(found))


def cpu_count(text: str) -> int:
    """The processors in a list as Linux writes it; 1 where it is no such list.

    >>> cpu_count("0-3,8,10-11"), cpu_count("")
    (7, 1)
    """
    count = 0
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if match:
            count += int(match[2] or match[1]) - int(match[1]) + 1
    return max(1, count)


def usable_cores() -> int:
    """The processor's cores on which this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def _frequency(root: Path, facts: dict[str, str]) -> float:
    """GHz: the highest that the processor is said to reach, else what it runs at; 0 where unknown."""
    kilohertz = _number(root / _CPUS / "cpu0/cpufreq/cpuinfo_max_freq")
    if kilohertz:
        return kilohertz / 1e6
    match = re.fullmatch(r"\d+(\.\d+)?", facts.get("cpu MHz", ""))
    return round(float(match[0]) / 1e3, 3) if match else 0.0


def _number(path: Path) -> int:
    text = _read(path)
    return int(text) if text.isdigit() else 0


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
