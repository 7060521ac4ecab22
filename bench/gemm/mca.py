"""The inner loop of a micro-kernel for Arm as llvm-mca sees it: cycles of a step beside what multiply-adds alone take.

    python -m bench.gemm.mca         # ours and Exo's of 8 x 12

It needs no Arm: `apt-get install llvm-19 gcc-aarch64-linux-gnu`. A bound is that of LLVM's model of the processor. For
neoverse-n1 that model starts two multiply-adds of 128 bits a cycle, as the processor does. For cortex-a76, whose vector
units are the same, LLVM 19 has no model and takes that of cortex-a57, which starts one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from bench.gemm.microkernels import make_text
from bench.rivals.exo_baseline import NOT_INSTALLED, find_exo, make_neon
from planish.ir.types import F32
from planish.library.kernels.gemm.microkernel import Tile
from planish.library.kernels.vectors import find_vectors

CPUS = ("neoverse-n1", "cortex-a76")
COMPILER = ("aarch64-linux-gnu-gcc", "-O3", "-march=armv8.2-a", "-x", "c", "-S", "-", "-o", "-")
ANALYSER = ("llvm-mca-19", "-mtriple=aarch64", "-resource-pressure=false")
ITERATIONS = 200
PACKAGES = {"aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu", "llvm-mca-19": "llvm-19"}


@dataclass(frozen=True, slots=True)
class Loop:
    """An inner loop on a processor: its multiply-adds, the cycles of an iteration, and how few the former allow."""

    cpu: str
    fmlas: int
    cycles: float
    bound: float

    @property
    def share(self) -> float:
        """Of what is possible."""
        return self.bound / self.cycles


def read_loop(c_text: str, cpu: str) -> Loop:
    """The loop of a C text with most multiply-adds; RuntimeError where there is none, or a tool fails or is missing."""
    body = find_loop(_run(COMPILER, c_text))
    said = _run([*ANALYSER, f"-mcpu={cpu}", f"-iterations={ITERATIONS}"], body)
    total = re.search(r"^Total Cycles: +(\d+)$", said, re.MULTILINE)
    # The columns before an instruction: its micro-operations, its latency, and the cycles it takes of its unit.
    throughputs = re.findall(r"^ *\d+ +\d+ +([\d.]+) +fmla\b", said, re.MULTILINE)
    if total is None:
        raise RuntimeError(f"llvm-mca-19 does not say how many cycles it took:\n{said}")
    return Loop(cpu, len(throughputs), int(total[1]) / ITERATIONS, sum(map(float, throughputs)))


def find_loop(assembly: str) -> str:
    """The innermost loop with most multiply-adds: from a label to the branch that goes back to it."""
    lines = assembly.splitlines()
    labels = {line[:-1]: number for number, line in enumerate(lines) if re.match(r"\.L\d+:$", line)}
    branches = ((number, re.match(r"\t[bct][.\w]*\t.*?(\.L\d+)$", line)) for number, line in enumerate(lines))
    spans = [(labels[found[1]], end) for end, found in branches if found and labels[found[1]] < end]
    innermost = [x for x in spans if not any(x != y and x[0] <= y[0] and y[1] <= x[1] for y in spans)]
    bodies = ["\n".join(lines[start + 1 : end + 1]) for start, end in innermost]
    best = max(bodies, key=_count_fmlas, default="")
    if not _count_fmlas(best):
        raise RuntimeError("the compiled text has no loop with multiply-adds")
    return best + "\n"


def _count_fmlas(body: str) -> int:
    return len(re.findall(r"^\tfmla\b", body, re.MULTILINE))


def _run(command: Sequence[str], given: str) -> str:
    try:
        finished = subprocess.run(command, input=given, capture_output=True, text=True)
    except FileNotFoundError:
        raise RuntimeError(f"no {command[0]}: apt-get install {PACKAGES[command[0]]}") from None
    if finished.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{finished.stderr}")
    return finished.stdout


def main() -> int:
    """Prints the table; 1 where a tool is missing."""
    try:
        texts = {"planish 8 x 12": make_text([Tile(find_vectors("neon", F32), 8, 3)])}
        if find_exo() is None:
            print(f"no exo: {NOT_INSTALLED}", file=sys.stderr)
        else:
            texts["exo 8 x 12"] = make_neon(8, 12).text
        loops = [(name, read_loop(text, cpu)) for name, text in texts.items() for cpu in CPUS]
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{'':16}{'cpu':14}{'fmla':>6}{'cycles':>9}{'bound':>7}{'share':>8}")
    for name, x in loops:
        print(f"{name:16}{x.cpu:14}{x.fmlas:6}{x.cycles:9.2f}{x.bound:7.1f}{x.share:8.1%}")
    print("cortex-a76 is LLVM's model of cortex-a57: one multiply-add of 128 bits a cycle, not two")
    return 0


if __name__ == "__main__":
    sys.exit(main())
