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


@dataclass(frozen=True, slots=True)
class CountedCall:
    """How a kernel is called, with the driver's arrays, and the bytes that it stores."""

    arguments: str
    stored: int


_PITCH = _WIDTH + _ROOM
_IMAGE = CountedCall(f"{_WIDTH}, {_HEIGHT}, in, {_PITCH}, out, {_PITCH}, in", _WIDTH * _HEIGHT)
_BLUR = CountedCall(f"{_WIDTH // 2}, {_HEIGHT}, shorts, {_PITCH // 2}, scratch, out, {_PITCH // 2}", _WIDTH * _HEIGHT)
_ROWS = f"{_WIDTH}, 8, in, {_PITCH}"
_POOL, _POOLED = "16, 16, 256, 38, 8, 8, 2, in", 16 * 16 * 256
_SQUARE = 256 * 256 * 4
CALLS: Mapping[str, CountedCall] = {
    "add": CountedCall("16384, in, 3, 100, more, 4, 90, 5, 1, 250, out", 16384),
    "mul": CountedCall("16384, in, 3, more, 4, 10000, 1, 5, 1, 250, out", 16384),
    "average_pool": CountedCall(f"{_POOL}, 2, 250, out", _POOLED),
    "average_pool_add": CountedCall(f"{_POOL}, more, 2, 250, out", _POOLED),
    "max_pool": CountedCall(f"{_POOL}, 2, 250, out", _POOLED),
    "max_pool_add": CountedCall(f"{_POOL}, more, 2, 250, out", _POOLED),
    "blur3x3": _BLUR, "blur5x5": _BLUR, "blur7x7": _BLUR,
    "conv_nn": CountedCall(
        "4, 4, 128, 128, 3, 3, 6, 1, 1, in, 3, more, 5, ints, 1 << 24, 3, 5, 1, 250, out", 4 * 4 * 128
    ),
    "depthwise_conv": CountedCall(
        "8, 8, 256, 4, 4, 11, 1, 1, in, 3, more, 5, ints, 1 << 24, 3, 5, 1, 250, out", 8 * 8 * 256
    ),
    "fully_connected": CountedCall("256, 1024, 4, in, 3, more, 5, ints, 1 << 24, 3, out", 256 * 4 * 2),
    "l2norm": CountedCall(f"{_ROWS}, 3, out, {_PITCH}", _WIDTH * 8),
    "softmax": CountedCall(f"{_ROWS}, 100, 0, 5, 225, 0, scratch, out, {_PITCH}", _WIDTH * 8),
    "batched_matmul_256_32bit": CountedCall("1, shorts, rights, out", _SQUARE),
    "matmul_256_32bit": CountedCall("shorts, rights, out", _SQUARE),
    "matmul_256_32bit_bias_add": CountedCall("shorts, rights, ints, out", _SQUARE),
    "matmul_256_32bit_bias_add_relu": CountedCall("shorts, rights, ints, out", _SQUARE),
    "matmul_256_32bit_bias_add_gelu": CountedCall("shorts, rights, ints, out", _SQUARE),
    "matmul_256_32bit_bias_add_add": CountedCall("shorts, rights, ints, ints, out", _SQUARE),
    "matmul_bias_relu_matmul": CountedCall("shorts, rights, ints, rights, scratch, out", _SQUARE),
    "matmul_bias_gelu_matmul": CountedCall("shorts, rights, ints, rights, scratch, out", _SQUARE),
}  # fmt: skip
"""Calls of those kernels that are none of images of bytes: `in`, `more`: bytes, `shorts`, `rights`, `ints`: small
numbers, `scratch`, `out`: room."""
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
enum { ROOM = 400000, SQUARE = 256 * 256 };
static unsigned char in[ROOM] __attribute__((aligned(128))), more[ROOM] __attribute__((aligned(128)));
static short shorts[SQUARE] __attribute__((aligned(128))), rights[SQUARE] __attribute__((aligned(128)));
static int ints[SQUARE] __attribute__((aligned(128))), scratch[SQUARE] __attribute__((aligned(128)));
static unsigned char out[ROOM] __attribute__((aligned(128)));
void %(name)s();
static unsigned seed = 1;
static unsigned draw(void) { return (seed = seed * 1664525 + 1013904223) >> 24; }
int main(int argc, char **argv) {
  unsigned sum = 0;
  for (int i = 0; i < ROOM; i++) in[i] = draw(), more[i] = draw();
  for (int i = 0; i < SQUARE; i++) shorts[i] = draw() - 100, rights[i] = draw() - 120, ints[i] = draw() - 128;
  for (int i = 0; i < 9; i++) in[i] = 1 + i %% 4;
  const unsigned before = packets();
  %(name)s(%(arguments)s);
  const unsigned after = packets();
  for (int i = 0; i < ROOM; i++) sum = sum * 31 + out[i];
  for (int i = 0; i < SQUARE; i++) sum = sum * 31 + scratch[i];
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
    made = build_file(source, Options(target=TARGET, measure=False, functions=(name,)))
    (function,) = made.functions
    version = function.selection.version.label if function.selection and function.selection.version else "as written"
    called = build_called(source, Options(target=MACHINE, functions=(name,)), load_machine(MACHINE)) if packs else None
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
    call = CALLS.get(name, _IMAGE)
    packets, output = run_counted(text, _DRIVER % {"name": name, "arguments": call.arguments}, more)
    return packets * 128 / call.stored, output


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
