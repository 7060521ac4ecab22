"""Packets that functions take on Hexagon, in the emulator: ours, clang's, and those of clang's vectoriser.

    for x in examine_hexagon(quick=True, stored=False): print(x)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from math import exp, log
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.harness.journal import Journal
from bench.harness.places import RESULTS
from bench.promises.claim import Claim, Note, at_least
from bench.promises.hvx_packets import FOLDER, TARGET, Packets, missing_tools, run_counted
from bench.promises.hvx_packets import count_packets as count_strips
from planish.build.called_packets import build_called
from planish.core.span import Source
from planish.options import Options
from planish.run.processes.process import Limits, run_process
from planish.run.toolchains.cross import compiler_for
from planish.target.load import load_target
from planish.vliw.description import load_machine

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "vliw" / "integers.c"
MACHINE = "hexagon"
CALLS: Mapping[str, str] = {
    "dot": "1000, a, b", "dot_16": "1000, a, b", "saxpy": "1000, 3, a, c", "window_16": "1000, a, c",
    "fir": "500, 16, a, b, c", "fir_8": "1000, a, b, c", "autocor": "500, 16, a, c", "stencil": "1000, a, c",
    "largest": "1000, a", "matmul_8": "a, b, c", "matmul_32": "a, b, c", "matvec": "30, 30, a, b, c",
    "conv2d_3": "a, b, c", "clamp_8": "1000, 20, 200, a, c", "sad_8": "1000, a, b", "blend_8": "1000, a, b, c",
    "xor_32": "1000, 77, a, c", "running_sum": "1000, a, c", "complex_multiply": "500, a, b, c",
    "biquad": "1000, b, a, c, d",
}  # fmt: skip
"""What functions are called with: arrays a to d of 4096 numbers each."""
SELECTED = "gaussian3x3"
"""With `quick`: this kernel of `kernels33`."""
QUICK = ("saxpy", "window_16", "largest", "xor_32")
PACKETS_BAR, KERNELS_BAR = 0.9, 10
_LIMITS = Limits(seconds=120)
_RIVALS: Mapping[str, tuple[str, ...]] = {"clang": (), "autohvx": ("-mllvm", "-hexagon-autohvx")}
_PIPELINED = re.compile(r"Schedule found with Initiation Interval: (\d+)")

_DRIVER = """
enum { COUNT = 4096 };
static int data[4 * COUNT + 32] __attribute__((aligned(128)));
%(type)s %(name)s();
int main(int argc, char **argv) {
  unsigned seed = 1, sum = 0;
  int *a = data, *b = data + COUNT, *c = data + 2 * COUNT, *d = data + 3 * COUNT;
  for (int i = 0; i < 4 * COUNT; i++) data[i] = (seed = seed * 1664525 + 1013904223) >> 8;
  const unsigned before = packets();
  %(call)s;
  const unsigned after = packets();
  for (int i = 0; i < 4 * COUNT; i++) sum = sum * 31 + data[i];
  tell(after - before);
  tell(sum);
  return 0;
}
"""


@dataclass(frozen=True, slots=True)
class FunctionPackets:
    """The packets of a call: of our drop-in (0: it is not right, or there is none), of clang -O3, and of that with its
    vectoriser (0: not right); `least`: our inner loops' intervals with the least there can be, `theirs`: those of
    LLVM's pipeliner."""

    name: str
    ours: int
    clang: int
    autohvx: int
    described: str
    intervals: tuple[tuple[int, int], ...]
    theirs: tuple[int, ...]

    @property
    def ratio(self) -> float:
        """Ours over the better one of clang's that is right."""
        rivals = [x for x in (self.clang, self.autohvx) if x]
        return self.ours / min(rivals) if self.ours and rivals else float("inf")


def _packets_of(source: Source, name: str) -> dict[str, object]:
    return asdict(count_packets(source, name))


def examine_hexagon(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """Packets of functions in whole numbers beside clang's; how many take 0.9 of the better of its two or fewer."""
    missing = missing_tools()
    if missing:
        yield Note(f"Hexagon: nothing is counted: {missing}")
        return
    found: list[FunctionPackets] = []
    source = Source(PROGRAM.name, PROGRAM.read_text())
    work = {name: partial(_packets_of, source, name) for name in (QUICK if quick else CALLS)}
    for _, counted in Journal(RESULTS / "hexagon_functions.jsonl").run(work, not stored):
        x = FunctionPackets(**{**counted, "intervals": tuple(map(tuple, counted["intervals"]))})
        found.append(x)
        loops = ", ".join(f"{a} (least {b})" for a, b in x.intervals) or "none"
        theirs = ", ".join(map(str, x.theirs)) or "none"
        yield Note(
            f"{x.name}: {x.ours} packets, clang {x.clang}, autohvx {x.autohvx}, {x.ratio:.2f}x; {x.described}; "
            f"II {loops}; LLVM's pipeliner {theirs}"
        )
    yield at_least("vliw.hexagon.right", sum(x.ours > 0 for x in found), len(found))
    fewer = sum(x.ratio <= PACKETS_BAR for x in found)
    yield at_least("vliw.hexagon.fewer_packets", fewer, len(QUICK) if quick else KERNELS_BAR)
    logs = [log(x.ratio) for x in found if x.ours]
    if logs:
        yield Note(f"packets beside the better one of clang's: {exp(sum(logs) / len(logs)):.2f}x (geometric mean)")


def _strips_of(name: str) -> dict[str, object]:
    return asdict(count_strips(name, packs=True))


def examine_selected(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """Packets of strips in selected instructions, for 128 bytes of output: beside those that clang makes of the same
    instructions out of C with intrinsics, and of the plain C. What was counted with this compiler is kept."""
    if missing_tools():
        return
    found: list[Packets] = []
    names = (SELECTED,) if quick else tuple(sorted(x.stem for x in FOLDER.glob("*.c")))
    work = {name: partial(_strips_of, name) for name in names}
    for _, counted in Journal(RESULTS / "hexagon_strips.jsonl").run(work, not stored):
        x = Packets(**counted)
        found.append(x)
        yield Note(
            f"{x.name}: {x.packed:.2f} packets for 128 bytes, {x.ours:.2f} where clang packs the instructions "
            f"({x.beside_packer:.2f}x), clang {x.clang:.1f}, autohvx {x.autohvx:.1f} ({x.beside_compiler:.2f}x); "
            f"{x.described}"
        )
    yield at_least("vliw.hexagon.strips_right", sum(x.packed > 0 for x in found), len(found))
    fewer = sum(x.beside_compiler <= PACKETS_BAR for x in found)
    yield at_least("vliw.hexagon.strips_fewer_packets", fewer, len(found))
    packed = sum(x.beside_packer <= 1.0 for x in found)
    yield at_least("vliw.hexagon.strips_beside_packer", packed, len(found))


def count_packets(source: Source, name: str) -> FunctionPackets:
    """What one function takes."""
    made = build_called(source, Options(functions=(name,)), load_machine(MACHINE))
    told = next((x for x in made.results if x.function == name), None)
    planned = told.planned if told is not None and not told.message else None
    found = {x: run_call(source.text, name, flags) for x, flags in _RIVALS.items()}
    wanted = found["clang"][1]
    ours = run_call(made.file.text, name, ()) if planned is not None and made.file is not None else (0, "")
    right = {x: count if output == wanted else 0 for x, (count, output) in {**found, "ours": ours}.items()}
    loops = tuple((x.interval, x.least) for x in planned.packed.loops) if planned is not None else ()
    why = told.remarks[0].message if told is not None and told.remarks else ""
    described = planned.described if planned is not None else f"refused: {told.message or why if told else why}"
    return FunctionPackets(
        name, right["ours"], right["clang"], right["autohvx"], described, loops, pipelined(source.text, name)
    )


def run_call(text: str, name: str, more: tuple[str, ...]) -> tuple[int, str]:
    """The packets of a call, and what it leaves."""
    found = re.search(rf"^(\w+) {name}\(", text, re.M)
    kind = found[1] if found else "void"
    call = f"{name}({CALLS[name]})"
    filled = {"name": name, "type": kind, "call": call if kind == "void" else f"sum = {call}"}
    return run_counted(text, _DRIVER % filled, more)


def pipelined(text: str, name: str) -> tuple[int, ...]:
    """The intervals that LLVM's pipeliner tells of a function's loops."""
    target = load_target(TARGET)
    compiler = compiler_for(target, None)
    with TemporaryDirectory(prefix="planish-packets-") as folder:
        kernel = Path(folder, "kernel.c")
        found = re.search(rf"^\w+ {name}\(.*?^}}", text, re.M | re.S)
        kernel.write_text(found[0] if found else "")
        flags = [str(compiler.path), *target.flags_for("clang"), "-w", "-O3", "-Rpass-analysis=pipeliner"]
        done = run_process([*flags, "-Rpass=pipeliner", "-c", str(kernel), "-o", f"{kernel}.o"], _LIMITS)
    return tuple(map(int, _PIPELINED.findall(done.stderr)))
