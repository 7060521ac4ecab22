"""The workbench: versions are built beside the original, which is built once for a whole file.

    reference = Reference(text, bench, (signature, other))
    reference.library_for(signature) == reference.library_for(other)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from planish.core.diagnostic import PlanishError
from planish.core.span import Span
from planish.emit.dropin.replacement import Replacement
from planish.ir.expr import Expr
from planish.ir.types import Floats
from planish.run.calls.abi_wrapper import entries_text
from planish.run.calls.signature import Signature
from planish.run.oracle.comparison import DEFAULT_LIMITS
from planish.run.oracle.differential import LEAST_SECONDS
from planish.run.oracle.long_double import widened_library
from planish.run.oracle.tolerance import Tolerance
from planish.run.processes.process import Limits
from planish.run.toolchains.blas import Blas
from planish.run.toolchains.cross import Runner
from planish.run.toolchains.toolchain import REFERENCE_FLAGS, Compiler, compile_library

EMULATED_LIMITS, EMULATED_CALL_SECONDS = Limits(seconds=400), 60.0
"""For all calls of a check in an emulator."""
_BUILDING = Limits(120.0)


@dataclass(frozen=True, slots=True)
class ReplacedNest:
    """A nest that a version replaces: where it begins in the text, its place, and what its new code asks of sizes;
    `chooses`: the conditions on them by which it does one thing or another."""

    start: int
    span: Span | None
    asked: tuple[Expr, ...] = ()
    chooses: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class DropIn:
    """A text of the whole file in which one function is transformed; `link` are the flags of libraries it calls,
    `slack` is that of `Tolerance`. `counted` is the text in which each of the `nests` that are replaced sets a bit
    (`planish.run.oracle.nest_coverage`), which is what is built; `patches` are the replacements in it,
    `shipped` those in `text`."""

    label: str
    text: str
    link: tuple[str, ...] = ()
    slack: Mapping[str, float] = field(default_factory=dict)
    counted: str = ""
    nests: tuple[ReplacedNest, ...] = ()
    patches: tuple[Replacement, ...] = ()
    shipped: tuple[Replacement, ...] = ()

    def tolerance(self, floats: Floats) -> Tolerance | Literal["exact"]:
        """How far its results may be from those of the original."""
        return "exact" if floats == "strict" else Tolerance(slack=self.slack)


@dataclass(frozen=True, slots=True)
class Workbench:
    """Where and how versions are built: the compiler, its flags for the target, a folder, what floats may do, a BLAS
    that versions may call; and what calls them."""

    compiler: Compiler
    flags: tuple[str, ...]
    folder: Path
    floats: Floats
    threads: int = 1
    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    budget: float = 2.0
    blas: Blas | None = None
    runner: Runner = Runner()
    patient: bool = False
    """Calls may take as long as in an emulator: threads of a device are emulated, or it compiles what it runs first."""

    @property
    def limits(self) -> Limits:
        """How long all calls of a check may take; emulators are slow."""
        return EMULATED_LIMITS if self.runner.command or self.patient else DEFAULT_LIMITS

    @property
    def least_seconds(self) -> float:
        """What a call of a version may take however fast the original is: the machine may be busy."""
        return EMULATED_CALL_SECONDS if self.patient else LEAST_SECONDS

    @property
    def plain_flags(self) -> tuple[str, ...]:
        """Flags with which the original says what is right."""
        return (*REFERENCE_FLAGS, *(self.flags if self.runner.command else ()))

    @property
    def command_flags(self) -> tuple[str, ...]:
        """The flags that the user is told, with which versions and the original are timed. None changes what a program
        means, or is needed for what versions compute; without OpenMP they run on one core."""
        return ("-O3", *self.flags, *(f"-D{x}" for x in self.defines), *(("-fopenmp",) if self.threads > 1 else ()))

    @property
    def check_flags(self) -> tuple[str, ...]:
        """The flags with which versions are checked: what is as it was written is to compute the same bits, too, where
        bits are compared."""
        return (*self.command_flags, *(("-ffp-contract=off",) if self.floats == "strict" else ()))

    def build(self, text: str, signatures: Sequence[Signature], flags: Sequence[str]) -> Path:
        """The library of a file's text with entries of functions, in the folder; PlanishError as of
        `compile_library`."""
        full = text + entries_text(signatures)
        return compile_library(self.compiler, full, ("-w", *flags), self.folder, _BUILDING, self.include_dirs)

    def build_checked(self, version: DropIn, signatures: Sequence[Signature]) -> Path:
        """A version as it is checked, which notes the nests that run."""
        text, flags = version.counted or version.text, (*self.check_flags, *version.link)
        return self.build(text, signatures, flags)


@dataclass(slots=True)
class Reference:
    """The original text of a file, built with plain flags when that is first asked for: once for all its functions with
    `signatures`, if that can be; and with wider numbers for single ones."""

    text: str
    bench: Workbench
    signatures: tuple[Signature, ...] = ()
    libraries: dict[str, Path] = field(default_factory=dict)
    wider: dict[str, Path | None] = field(default_factory=dict)

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of all these."""
        return (*self.bench.plain_flags, *(f"-D{x}" for x in self.bench.defines))

    def library_for(self, signature: Signature) -> Path:
        """A library in which a function can be called; PlanishError where it cannot be built."""
        name = signature.function
        if name not in self.libraries and signature in self.signatures:
            try:
                library = self.bench.build(self.text, self.signatures, self.flags)
                self.libraries |= dict.fromkeys((x.function for x in self.signatures), library)
            except PlanishError:
                self.signatures = ()  # some entry has an error, so that each is built by itself
        if name not in self.libraries:
            self.libraries[name] = self.bench.build(self.text, (signature,), self.flags)
        return self.libraries[name]

    def widen(self, signature: Signature) -> Path | None:
        """The library with wider numbers, or None."""
        name, bench = signature.function, self.bench
        if name not in self.wider:
            self.wider[name] = widened_library(
                self.text, signature, bench.compiler, self.flags, bench.folder, bench.include_dirs
            )
        return self.wider[name]
