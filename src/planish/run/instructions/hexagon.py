"""Hexagon: the list of its instructions out of QEMU's source, and programs that need no system's library to run.

>>> all(x.libraries == () for x in hexagon_machines())
True
"""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.isa.vendors.hvx.entries import entry_of
from planish.isa.vendors.hvx.listing import PROBE, ListedInstruction, read_listing
from planish.isa.vendors.hvx.operands import PREDICATE
from planish.isa.vendors.specification import Specification
from planish.run.instructions.compile import Machine
from planish.run.instructions.machines import find_emulator
from planish.run.instructions.program import Dialect
from planish.run.processes.process import Limits, run_process
from planish.run.toolchains.hexagon_system import BEGIN, RUNTIME, SYSTEM_CALLS
from planish.run.toolchains.toolchain import choose_compiler, find_compilers

PACKAGE = "qemu (its source: apt-get source qemu)"
_LIST = "imported/mmvec/ext.idef"
PLACES = ("usr/src/qemu-*/target/hexagon", "usr/src/qemu*/qemu-*/target/hexagon")
_LIMITS = Limits(seconds=60)
_OPTIONS = ("--target=hexagon-unknown-linux-musl", "-mv66", "-mhvx=v66", "-mhvx-length=128B", "-ffreestanding",
            "-fno-builtin", "-nostdlib", "-static", "-fuse-ld=lld")  # fmt: skip

_REGISTERS = """\
typedef long HVX_Vector __attribute__((__vector_size__(128))) __attribute__((aligned(128)));
typedef long HVX_VectorPair __attribute__((__vector_size__(256))) __attribute__((aligned(128)));
typedef HVX_Vector HVX_VectorPred;
static int atoi(const char *text) {
  int found = 0;
  while (*text) found = found * 10 + (*text++ - 48);
  return found;
}
"""
_INTRINSICS = """\
#define LOAD(tag, text) \\
  static inline HVX_Vector __builtin_HEXAGON_##tag##_128B(const void *p) { \\
    HVX_Vector r; __asm__ volatile(text : "=v"(r) : "r"(p) : "memory"); return r; }
#define STORE(tag, text) \\
  static inline void __builtin_HEXAGON_##tag##_128B(void *p, HVX_Vector x) { \\
    __asm__ volatile(text : : "r"(p), "v"(x) : "memory"); }
#define MOVE(tag, not) \\
  static inline HVX_Vector __builtin_HEXAGON_##tag##_128B(HVX_Vector r, int c, HVX_Vector x) { \\
    __asm__ volatile("{ p0 = %1 }\\n{ if (" not "p0) %0 = %2 }" : "+v"(r) : "r"(c), "v"(x) : "p0"); return r; }
#define COMBINE(tag, not) \\
  static inline HVX_VectorPair __builtin_HEXAGON_##tag##_128B(HVX_VectorPair r, int c, HVX_Vector x, HVX_Vector y) { \\
    __asm__ volatile("{ p0 = %1 }\\n{ if (" not "p0) %0 = vcombine(%2, %3) }" \\
      : "+v"(r) : "r"(c), "v"(x), "v"(y) : "p0"); return r; }
#define LOAD_IF(tag, not, text) \\
  static inline HVX_Vector __builtin_HEXAGON_##tag##_128B(HVX_Vector r, int c, const void *p) { \\
    __asm__ volatile("{ p0 = %1 }\\n{ if (" not "p0) %0 = " text " }" : "+v"(r) : "r"(c), "r"(p) : "p0", "memory"); \\
    return r; }
#define STORE_IF(tag, not, text) \\
  static inline void __builtin_HEXAGON_##tag##_128B(int c, void *p, HVX_Vector x) { \\
    __asm__ volatile("{ p0 = %0 }\\n{ if (" not "p0) " text " = %2 }" : : "r"(c), "r"(p), "v"(x) : "p0", "memory"); }
LOAD(V6_vL32b_ai, "%0 = vmem(%1+#0)")
LOAD(V6_vL32b_nt_ai, "%0 = vmem(%1+#0):nt")
LOAD(V6_vL32Ub_ai, "%0 = vmemu(%1+#0)")
STORE(V6_vS32b_ai, "vmem(%0+#0) = %1")
STORE(V6_vS32b_nt_ai, "vmem(%0+#0):nt = %1")
STORE(V6_vS32Ub_ai, "vmemu(%0+#0) = %1")
LOAD_IF(V6_vL32b_pred_ai, "", "vmem(%2+#0)")
LOAD_IF(V6_vL32b_npred_ai, "!", "vmem(%2+#0)")
LOAD_IF(V6_vL32b_nt_pred_ai, "", "vmem(%2+#0):nt")
LOAD_IF(V6_vL32b_nt_npred_ai, "!", "vmem(%2+#0):nt")
STORE_IF(V6_vS32b_pred_ai, "", "vmem(%1+#0)")
STORE_IF(V6_vS32b_npred_ai, "!", "vmem(%1+#0)")
STORE_IF(V6_vS32b_nt_pred_ai, "", "vmem(%1+#0):nt")
STORE_IF(V6_vS32b_nt_npred_ai, "!", "vmem(%1+#0):nt")
STORE_IF(V6_vS32Ub_pred_ai, "", "vmemu(%1+#0)")
STORE_IF(V6_vS32Ub_npred_ai, "!", "vmemu(%1+#0)")
MOVE(V6_vcmov, "")
MOVE(V6_vncmov, "!")
COMBINE(V6_vccombine, "")
COMBINE(V6_vnccombine, "!")
"""
_SYSTEM = _REGISTERS.join((SYSTEM_CALLS, RUNTIME + _INTRINSICS + BEGIN))
_DIALECT = Dialect(
    (), _SYSTEM, "__builtin_HEXAGON_{}_128B",
    {PREDICATE: "__builtin_HEXAGON_V6_vandvrt_128B({}, -1)"}, {PREDICATE: "__builtin_HEXAGON_V6_vandqrt_128B({}, -1)"},
)  # fmt: skip


@cache
def open_semantics(path: str) -> Specification:
    """The specification in the folder `target/hexagon` of QEMU's source."""
    named = {x.tag: x for x in _listing(path)}
    identities = {tag: f"{x.syntax} {x.body}" for tag, x in named.items()}
    return Specification("Qualcomm's semantics of HVX in QEMU's source", identities, lambda tag: entry_of(named[tag]))


def _listing(path: str) -> tuple[ListedInstruction, ...]:
    folder = Path(path)
    if not (folder / _LIST).is_file():
        advice = "give the folder `target/hexagon` of QEMU's source"
        raise PlanishError(Diagnostic("E0650", f"{path} has no {_LIST}", help=advice))
    compiler = choose_compiler(None)
    # Nothing of the folder runs: only its macros are put in.
    probe = folder / _LIST
    text = PROBE.replace("imported/mmvec/ext.idef", str(probe.resolve()))
    finished = _preprocessed(str(compiler.path), str(folder), text)
    return read_listing(Source(str(probe), finished))


def _preprocessed(compiler: str, folder: str, text: str) -> str:
    with TemporaryDirectory(prefix="planish-hvx-") as name:
        source, target = Path(name, "probe.c"), Path(name, "probe.i")
        source.write_text(text)
        command = [compiler, "-E", "-P", f"-I{folder}", str(source), "-o", str(target)]
        finished = run_process(command, _LIMITS, directory=Path(name))
        if finished.code != 0 or not target.exists():
            message = f"the list cannot be preprocessed: {finished.stderr.strip()[:300] or finished.status}"
            raise PlanishError(Diagnostic("E0650", message, help="give QEMU's folder as it was unpacked"))
        return target.read_text("utf-8", "replace")


@cache
def hexagon_machines() -> tuple[Machine, ...]:
    """An emulated Hexagon with clang, where it knows that target and its linker is here."""
    emulator = find_emulator("qemu-hexagon")
    clang = next((x for x in find_compilers() if x.kind == "clang"), None)
    if emulator is None or clang is None:
        return ()
    probe = run_process([str(clang.path), *_OPTIONS[:4], "-fsyntax-only", "-xc", "/dev/null"], _LIMITS)
    if probe.code != 0 or not _links(str(clang.path)):
        return ()
    return (Machine("clang for Hexagon, emulated", (str(clang.path), *_OPTIONS), (emulator.path,), _DIALECT, (),
                    emulator.version),)


def _links(clang: str) -> bool:
    found = run_process([clang, "-print-prog-name=ld.lld"], _LIMITS).stdout.strip()
    return shutil.which(found) is not None
