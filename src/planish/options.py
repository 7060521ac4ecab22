"""What the user asks for.

>>> Options(sizes={"n": 100}).describe()
'--target native --fp reassociate --size n=100'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from planish.core.span import Source
from planish.emit.c.compiler_attributes import CompilerSettings, settings_for
from planish.ir.nest import Kernel
from planish.ir.text.canonical_nest import canonical_text
from planish.ir.types import Floats
from planish.isa.instruction import Catalogue
from planish.schedule.arguments import NestChoice
from planish.target.load import load_target


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asks for; every field has the command line's default.

    `sizes` (name to value) and `budget` (seconds a function) are for checking and timing; `functions`: work on these
    alone, where any are named. `script`: the schedule of the one nest there is, in place of those that planish finds;
    `catalogue`: instructions that it may use besides those that come with planish, from the files `instructions`.
    `blas`: the library that a version may call, with integers of 64 bits where `ilp64`. `raising`: a version may call
    kernels of planish's own library.
    `choices`: what tuning, or a record, says of some nests.
    `race`: where versions are not measured, the one that is taken runs beside the original in a few calls, and is used
    where it is not slower. `gain`: where versions are not measured, loops in another order are used only where they
    promise to be that many times as fast as what a C compiler makes of the original (0: always). `patience`:
    seconds of the clock on the wall for all functions of a file; those that are not done by then stay as written.
    `variant`: what the target is called among several whose versions stand in one file, which is compiled for any
    processor of its architecture (planish.build.several_targets).
    """

    target: str = "native"
    functions: tuple[str, ...] = ()
    threads: int = 1
    fp: Floats = "reassociate"
    measure: bool = True
    sizes: Mapping[str, int] = field(default_factory=dict)
    defines: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    compiler: str | None = None
    budget: float = 2.0
    script: Source | None = None
    catalogue: Catalogue = Catalogue()
    instructions: tuple[str, ...] = ()
    blas: str | None = None
    ilp64: bool = False
    raising: bool = True
    race: bool = False
    gain: float = 0.0
    choices: tuple[NestChoice, ...] = ()
    patience: float | None = None
    variant: str = ""

    @property
    def settings(self) -> CompilerSettings:
        """What compilers are told of generated functions."""
        return settings_for(load_target(self.target), self.fp, self.variant)

    @property
    def macros(self) -> tuple[str, ...]:
        """The macros that files are read with: the user's, and those by which the target's compilers say what it is."""
        return (*self.defines, *load_target(self.target).predefined)

    def takes(self, function: str) -> bool:
        """Whether a function of that name is asked for.

        >>> Options().takes("f"), Options(functions=("g", "h")).takes("f")
        (True, False)
        """
        return not self.functions or function in self.functions

    def choice_for(self, kernel: Kernel) -> NestChoice | None:
        """What is said of a nest."""
        text = canonical_text(kernel) if self.choices else ""
        return next((x for x in self.choices if x.nest in (text, "")), None)

    def describe(self) -> str:
        """The options as the command line would spell them."""
        sizes = "".join(f" --size {k}={v}" for k, v in self.sizes.items())
        defines = "".join(f" -D{d}" for d in self.defines)
        threads = f" --threads {self.threads}" if self.threads > 1 else ""
        script = f" --script {self.script.name}" if self.script is not None else ""
        files = "".join(f" --instructions {x}" for x in self.instructions)
        blas = f" --blas={self.blas}{' --ilp64' if self.ilp64 else ''}" if self.blas is not None else ""
        raising = "" if self.raising else " --no-raise"
        return f"--target {self.target} --fp {self.fp}{threads}{sizes}{defines}{script}{files}{blas}{raising}"
