"""Convolutions from plain C beside oneDNN, for the layers of ResNet-50 on one image.

    python -m bench.races.convolutions            # prints the table
    python -m bench.races.convolutions 3x3@56     # only this layer

>>> LAYERS["3x3@56"].flops
231211008
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.harness.contest import Contestant, Course, Rules, admit, enlist_drop_ins
from bench.harness.places import PROGRAMS, RIVALS
from bench.harness.thresholds import Bar, keep
from bench.races import dense_algebra
from bench.rivals.blas_baselines import ONE_THREAD, Anchor, find_onednn
from planish.core.span import Source
from planish.ir.types import BF16
from planish.options import Options
from planish.pipeline import build_file
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.passing import signature_of
from planish.run.processes.process import Limits
from planish.run.sizes.call_sizes import make_case
from planish.run.timing.clock import measure
from planish.run.toolchains.toolchain import compile_library, knows

FOLDER = PROGRAMS / "convolutions"
WAYS: Mapping[str, tuple[str, ...]] = {"plain": ("-DPLAIN",), "reordered": (), "kept": ("-DWINDOWS_KEPT",)}
"""How oneDNN may work; "kept" knows the windows beforehand, which is another task than ours."""
BYTES, HALVES = " of bytes", " of bf16"
KINDS: Mapping[str, tuple[str, ...]] = {"": (), BYTES: ("BYTES",), HALVES: ("HALVES",)}
"""What is added to a layer's name where the image and the weights are no floats, and what the text calls it."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer: features, channels, the side of its output, of its window, and the stride; `kind`: of its numbers."""

    features: int
    channels: int
    side: int
    window: int
    stride: int = 1
    kind: str = ""

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.features * self.channels * self.side**2 * self.window**2

    @property
    def sizes(self) -> dict[str, int]:
        """The arguments of the function; the border of the image is there already."""
        image = (self.side - 1) * self.stride + self.window
        return {"nf": self.features, "nc": self.channels, "oh": self.side, "ow": self.side, "ih": image, "iw": image}

    @property
    def defines(self) -> tuple[str, ...]:
        """What the text fixes."""
        return f"WINDOW={self.window}", f"STRIDE={self.stride}", *KINDS[self.kind]


FIRST = "3x3@56"
_LAYERS: Mapping[str, Layer] = {
    "7x7@112": Layer(64, 3, 112, 7, 2),
    "1x1@56": Layer(64, 64, 56, 1),
    FIRST: Layer(64, 64, 56, 3),
    "1x1@56 to 256": Layer(256, 64, 56, 1),
    "3x3@28": Layer(128, 128, 28, 3),
    "1x1@28 to 512": Layer(512, 128, 28, 1),
    "1x1@28 from 512": Layer(128, 512, 28, 1),
    "3x3@14": Layer(256, 256, 14, 3),
    "1x1@14 to 1024": Layer(1024, 256, 14, 1),
    "3x3@7": Layer(512, 512, 7, 3),
    "1x1@7 to 2048": Layer(2048, 512, 7, 1),
}
LAYERS: Mapping[str, Layer] = {f"{x}{kind}": replace(y, kind=kind) for kind in KINDS for x, y in _LAYERS.items()}
"""The layers of ResNet-50 that differ, by the side of the window and of the output; of floats, then of others."""


@dataclass(frozen=True, slots=True)
class Convolved:
    """Seconds a call, the medians of one race: ours, and oneDNN's by the name of how it works."""

    name: str
    flops: int
    ours: float
    rivals: Mapping[str, float]

    @property
    def ratio(self) -> float:
        """The faster one of oneDNN's that do the same task over ours."""
        return round(min(y for x, y in self.rivals.items() if x != "kept") / self.ours, 4)

    @property
    def bar(self) -> Bar:
        """For a figure."""
        return Bar(self.name, {"oneDNN": self.ratio})

    def __str__(self) -> str:
        rivals = ", ".join(f"{x} {self.flops / y / 1e9:.1f}" for x, y in self.rivals.items())
        return f"{self.name}: {self.flops / self.ours / 1e9:.1f} Gop/s, oneDNN {rivals}: {self.ratio:.2f}"


def convolve(name: str, layer: Layer, library: Anchor, rules: Rules, folder: Path) -> Convolved:
    """One layer, built by planish and raced; raises PlanishError."""
    text, rival = (FOLDER / "conv2d.c").read_text(), (RIVALS / "onednn.c").read_text()
    if layer.kind == HALVES:
        rules = replace(rules, compilers=tuple(x for x in rules.compilers if knows(x, BF16)))
    options = Options(
        sizes=layer.sizes, defines=layer.defines, budget=rules.build_budget,
        compiler=rules.compilers[0].name if layer.kind == HALVES else None,
    )  # fmt: skip
    built = build_file(Source(str(FOLDER / "conv2d.c"), text), options)
    function = built.functions[-1].function
    signature = signature_of(function)
    assert signature is not None
    case, limits = make_case(function, (), layer.sizes, seed=1), Limits(seconds=rules.time_limit)
    macros = tuple(f"-D{x}" for x in layer.defines)
    compiler, entry = rules.compilers[0], entry_text(signature)
    reference = compile_library(compiler, text + entry, ("-O2", "-w", *macros), folder, limits, ())
    course = Course(reference, signature, case, case, folder, FOLDER, rules)
    linked = ("-O2", *macros, "-Wl,--no-as-needed", str(library.path))
    rivals = [Contestant(x, "blas", compiler, rival, (*linked, *flags)) for x, flags in WAYS.items()]
    entered = admit(name, (*enlist_drop_ins(built, options, rules, folder), *rivals), course)
    times = {x.label: x.median for x in measure(tuple(entered.items()), signature, case, rules.budget, 9)}
    ours = min(y for x, y in times.items() if x.startswith("ours"))
    return Convolved(name, layer.flops, ours, {x: times[x] for x in WAYS if x in times})


def convolve_all(only: Sequence[str], rules: Rules, library: Anchor) -> Iterator[Convolved]:
    """The layers by their names, or all."""
    os.environ.update(ONE_THREAD)
    with tempfile.TemporaryDirectory(prefix="planish-convolutions-") as folder:
        for name, layer in LAYERS.items():
            if only and name not in only:
                continue
            if layer.kind == HALVES and not any(knows(x, BF16) for x in rules.compilers):
                print(f"{name}: no compiler here has the type", file=sys.stderr)
                continue
            yield convolve(name, layer, library, rules, Path(folder))


def main(arguments: Sequence[str]) -> int:
    """0 where all were raced."""
    library = find_onednn()
    if not isinstance(library, Anchor):
        print(f"no oneDNN: {library}", file=sys.stderr)
        return 1
    for found in convolve_all(arguments, dense_algebra.make_rules(False), library):
        keep("convolutions", [found.bar])
        print(found, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
