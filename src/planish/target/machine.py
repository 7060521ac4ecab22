"""A machine as the schedules see it: vectors, caches, cores, and how compilers are told of it.

>>> from planish.ir.types import F32
>>> tiny = Target("tiny", "x86-64", 128, 16, False, (CacheLevel(1, 32768),))
>>> tiny.lanes(F32), tiny.cache(1).bytes, tiny.cache(3).level
(4, 32768, 1)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planish.ir.types import Type

PAGE = 4096
"""The bytes of a page of memory."""


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """A data cache: its size and line in bytes, the ways of a set, the number of cores that share it, and the bytes
    that come into it in a cycle from what is behind it, while a core reads on and on (0: as is usual)."""

    level: int
    bytes: int
    line: int = 64
    associativity: int = 8
    shared: int = 1
    refill: float = 0.0

    @property
    def share(self) -> int:
        """The bytes that one core has when all that share it are busy."""
        return self.bytes // self.shared


@dataclass(frozen=True, slots=True)
class Target:
    """A machine.

    `vector_bits` is the width of its vectors (0: none), `vector_registers` their number, `fma` whether it multiplies
    and adds in one instruction, `fma_units` how many of these (or additions) it starts in a cycle, `fma_latency` how
    many cycles one takes, `masks` whether lanes can be switched off; it issues `issue_width` instructions in a cycle,
    `load_ports` and `store_ports` of them such as load or store. `tlb_entries` are the pages of which it knows where
    they are, in `page_walk` cycles it finds another one. `caches` go from the nearest outwards and hold
    data. `frequency_ghz` is 0 where unknown. `flags` make a compiler ("gcc", "clang") generate code for it; `tuning`
    are optional flags that let it use the full width of the vectors. `processor` is the one, as LLVM calls it, whose
    costs its instructions have; "" where none are known.
    """

    name: str
    isa: str
    vector_bits: int
    vector_registers: int
    fma: bool
    caches: tuple[CacheLevel, ...]
    cores: int = 1
    masks: bool = False
    fma_units: int = 1
    fma_latency: int = 4
    issue_width: int = 4
    load_ports: int = 2
    store_ports: int = 1
    tlb_entries: int = 1536
    page_walk: float = 20.0
    frequency_ghz: float = 0.0
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tuning: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    description: str = ""
    processor: str = ""

    @property
    def architecture(self) -> str:
        """The kind of processor as Linux and compilers call it: "x86_64", "aarch64"; "" for one that is any."""
        names = (("x86-64", "x86_64"), ("aarch64", "aarch64"), ("armv8", "aarch64"), ("armv9", "aarch64"),
                 ("hexagon", "hexagon"))  # fmt: skip
        return next((name for start, name in names if self.isa.startswith(start)), "")

    @property
    def vector_extension(self) -> str | None:
        """The vector extension whose shipped instructions it has; None where it has none of them."""
        if self.architecture in ("aarch64", "hexagon"):
            return {"aarch64": "neon", "hexagon": "hvx"}[self.architecture]
        return {256: "avx2", 512: "avx512"}.get(self.vector_bits if self.fma else 0)

    @property
    def predefined(self) -> tuple[str, ...]:
        """The macros by which its compilers say what C leaves open: whether a plain `char` has no sign."""
        return ("__CHAR_UNSIGNED__=1",) if self.architecture in ("aarch64", "hexagon") else ()

    @property
    def long_bits(self) -> int:
        """The bits of C's `long`, and of addresses."""
        return 32 if self.architecture == "hexagon" else 64

    def lanes(self, type: Type) -> int:
        """How many elements of a type one vector holds, at least 1."""
        return max(1, self.vector_bits // (8 * type.size))

    def cache(self, level: int) -> CacheLevel:
        """The cache of that level; the last one where the machine has fewer."""
        return next((cache for cache in self.caches if cache.level >= level), self.caches[-1])

    def refill(self, cache: CacheLevel) -> float:
        """The bytes that come into one of its caches in a cycle; where that is not told, what recent cores reach: half
        a line from the second level, less from the third one, still less from memory."""
        usual = 6.0 if cache is self.caches[-1] else 32.0 if cache is self.caches[0] else 12.0
        return cache.refill or usual

    def flags_for(self, compiler: str) -> tuple[str, ...]:
        """The flags for a kind of compiler, empty where none are known."""
        return tuple(self.flags.get(compiler, ()))

    def flops_per_cycle(self, type: Type) -> int:
        """The floating operations of a type that one core can start in a cycle."""
        return self.lanes(type) * self.fma_units * (2 if self.fma else 1)
