"""Packets of Hexagon for 128 bytes of output, counted in the emulator: our drop-in, clang's code, and Halide's.

    for name in ANCHORS: print(count_packets(name))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from planish.build.called_packets import CalledPackets, build_called
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file
from planish.run.processes.process import Limits, run_process
from planish.run.toolchains.cross import compiler_for
from planish.run.toolchains.emulator import find_emulator
from planish.run.toolchains.hexagon_system import BEGIN, RUNTIME, SYSTEM_CALLS, put_headers
from planish.target.load import load_target
from planish.vliw.description import load_machine

FOLDER = Path(__file__).resolve().parents[1] / "programs" / "kernels33"
TARGET = "hexagon-hvx"
MACHINE = "hexagon"
ANCHORS: Mapping[str, tuple[float, float]] = {
    "gaussian3x3": (14.9, 8.5), "dilate3x3": (9.0, 4.7), "median3x3": (17.3, 10.4), "sobel3x3": (16.8, 11.6),
    "conv3x3a16": (15.0, 6.1), "dilate5x5": (12.3, 7.3), "dilate7x7": (15.5, 10.8),
}  # fmt: skip
"""What Halide 21 takes, where it does not know that rows begin at multiples of 128 bytes, and where it does."""
_WIDTH, _HEIGHT, _ROOM = 1024, 64, 128
_LIMITS = Limits(seconds=120)
_VARIANTS = {"ours": (), "packed": (), "clang": (), "autohvx": ("-mllvm", "-hexagon-autohvx")}

READ_COUNTER = """
static unsigned packets(void) {
  unsigned found;
  __asm__ volatile(".word 0x6a14c000\\n  %0 = r0" : "=r"(found) : : "r0", "memory");  /* r0 = c20 */
  return found;
}
static void tell(unsigned x) {
  char text[12], *at = text + 12;
  *--at = 32;
  do *--at = 48 + x % 10; while (x /= 10);
  write(1, at, text + 12 - at);
}
"""
_DRIVER = """
static unsigned char in[%(bytes)d] __attribute__((aligned(128))), out[%(bytes)d] __attribute__((aligned(128)));
static const signed char mask[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
void %(name)s();
int main(int argc, char **argv) {
  unsigned seed = 1, sum = 0;
  for (int i = 0; i < %(bytes)d; i++) in[i] = (seed = seed * 1664525 + 1013904223) >> 24;
  const unsigned before = packets();
  %(name)s(%(width)d, %(height)d, in, %(pitch)d, out, %(pitch)d, mask);
  const unsigned after = packets();
  for (int i = 0; i < %(bytes)d; i++) sum = sum * 31 + out[i];
  tell(after - before);
  tell(sum);
  return 0;
}
"""


@dataclass(frozen=True, slots=True)
class Packets:
    """For 128 bytes of output: what the drop-in takes whose instructions clang packs, the one that is packets already
    (`packed`), what clang makes of the original alone and with its vectoriser, and the versions that were chosen; 0
    where a program does not run, or its output differs."""

    name: str
    ours: float
    packed: float
    clang: float
    autohvx: float
    version: str
    described: str

    @property
    def beside_packer(self) -> float:
        """Our packets over clang's of the same instructions."""
        return self.packed / self.ours if self.packed and self.ours else float("inf")

    @property
    def beside_compiler(self) -> float:
        """Our packets over the better one of what clang makes of the plain C, with its vectoriser and without."""
        rivals = [x for x in (self.clang, self.autohvx) if x]
        return self.packed / min(rivals) if self.packed and rivals else float("inf")


def missing_tools() -> str:
    """Why nothing can be counted; "" where it can."""
    emulator = find_emulator("hexagon")
    return emulator if isinstance(emulator, str) else ""


def count_packets(name: str, packs: bool = False) -> Packets:
    """What a kernel takes; `packs`: in packets of our own as well. PlanishError where there is no compiler."""
    path = FOLDER / f"{name}.c"
    source = Source(path.name, path.read_text())
    made = build_file(source, Options(target=TARGET, measure=False))
    (function,) = made.functions
    version = function.selection.version.label if function.selection and function.selection.version else "as written"
    called = build_called(source, Options(target=MACHINE), load_machine(MACHINE)) if packs else None
    planned = called.results[0].planned if called is not None and called.results else None
    packets = called.file.text if called is not None and called.file is not None and planned else ""
    texts = {"ours": made.text, "packed": packets}
    found = {variant: _run(texts.get(variant, source.text), name, flags) for variant, flags in _VARIANTS.items()}
    wanted = found["clang"][1]
    counts = {x: count if output == wanted else 0.0 for x, (count, output) in found.items()}
    described = planned.described if planned is not None else _refused(called)
    return Packets(
        name, counts["ours"], counts["packed"], counts["clang"], counts["autohvx"], version, described
    )  # fmt: skip


def _refused(called: CalledPackets | None) -> str:
    """Why there are no packets."""
    if called is None:
        return "not asked for"
    remarks = [x.message for result in called.results for x in result.remarks if x.kind == "refused"]
    wrong = [x.message for x in called.results if x.message]
    return f"refused: {next(iter([*wrong, *remarks]), 'no nest')}"


def _run(text: str, name: str, more: tuple[str, ...]) -> tuple[float, str]:
    """The packets of a function for 128 bytes, and what it leaves."""
    pitch = _WIDTH + _ROOM
    numbers = {"bytes": pitch * (_HEIGHT + 8), "width": _WIDTH, "height": _HEIGHT, "pitch": pitch, "name": name}
    packets, output = run_counted(text, _DRIVER % numbers, more)
    return packets * 128 / (_WIDTH * _HEIGHT), output


def run_counted(text: str, main: str, more: tuple[str, ...]) -> tuple[int, str]:
    """The packets that a program of `text` and `main` tells, after READ_COUNTER, and what it leaves; 0 and "" where it
    does not run."""
    target, emulator = load_target(TARGET), find_emulator("hexagon")
    assert not isinstance(emulator, str)
    compiler = compiler_for(target, None)
    with TemporaryDirectory(prefix="planish-packets-") as folder:
        kernel, driver, program = (Path(folder, x) for x in ("kernel.c", "driver.c", "program"))
        kernel.write_text(text)
        driver.write_text(SYSTEM_CALLS + RUNTIME + BEGIN + READ_COUNTER + main)
        flags = [str(compiler.path), *target.flags_for("clang"), "-w", *put_headers(Path(folder))]
        made = run_process([*flags, "-O3", *more, "-c", str(kernel), "-o", f"{kernel}.o"], _LIMITS)
        plain = ["-O1", "-ffreestanding", "-fno-builtin", "-static"]
        linked = run_process([*flags, *plain, str(driver), f"{kernel}.o", "-o", str(program)], _LIMITS)
        done = run_process([*emulator, str(program)], _LIMITS)
        if made.code or linked.code or done.code:
            return 0, ""
        packets, output = done.stdout.split()
        return int(packets), output
