"""Wrapped instructions as one program, run here or under an emulator, over arrays between forbidden pages."""

from __future__ import annotations

import platform
import re
import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from planish.emit.c.expression import c_type
from planish.emit.c.instruction_calls import headers_of
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.ir.nest import Kernel
from planish.isa.instruction import Catalogue

FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror")

AT_END = -1
"""The place of an array whose last byte is the last one that may be touched."""

_DRIVER = """
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void caller(const int64_t *size, const unsigned char *scalar, void *const *array);
%(callers)s
static caller *const callers[] = {%(names)s};

enum { MANY = 8, GUARD = 1 << 16, CANARY = 0xA5 };
static unsigned char *pages[MANY];
static size_t room;
static sigjmp_buf before;

static void caught(int number) { siglongjmp(before, number); }

static int attempt(caller *call, const int64_t *size, const unsigned char *scalar, void *const *array)
{
  const int number = sigsetjmp(before, 1);
  if (number == 0) {
    call(size, scalar, array);
  }
  return number;
}

static void take(void *to, size_t bytes)
{
  if (fread(to, 1, bytes, stdin) != bytes) {
    exit(3);
  }
}

static int64_t take_number(void)
{
  int64_t number;
  take(&number, sizeof number);
  return number;
}

static void give_number(int64_t number) { fwrite(&number, sizeof number, 1, stdout); }

/* One request: a function, sizes, scalars of 8 bytes each, arrays with their places; then what became of it. */
static void serve(int64_t function)
{
  int64_t size[MANY], length[MANY];
  unsigned char scalar[MANY * 8];
  void *array[MANY];
  const int64_t sizes = take_number(), scalars = take_number(), arrays = take_number();
  take(size, sizeof *size * (size_t)sizes);
  take(scalar, 8 * (size_t)scalars);
  for (int64_t i = 0; i < arrays; i++) {
    const int64_t place = take_number();
    length[i] = take_number();
    memset(pages[i], CANARY, room);
    unsigned char *const first = pages[i] + (place < 0 ? room - (size_t)length[i] : (size_t)place);
    take(first, (size_t)length[i]);
    array[i] = first;
  }
  give_number(attempt(callers[function], size, scalar, array));
  for (int64_t i = 0; i < arrays; i++) {
    const unsigned char *const first = array[i], *const last = first + length[i];
    int64_t spilled = 0;
    for (const unsigned char *p = pages[i]; p < pages[i] + room; p++) {
      spilled += (p < first || p >= last) && *p != CANARY;
    }
    give_number(spilled);
    fwrite(first, 1, (size_t)length[i], stdout);
  }
}

int main(void)
{
  const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
  struct sigaction action = {.sa_handler = caught};
  for (int i = 0; i < 4; i++) {
    sigaction(signals[i], &action, NULL);
  }
  room = (size_t)sysconf(_SC_PAGESIZE);
  for (int i = 0; i < MANY; i++) {
    unsigned char *const block = mmap(NULL, room + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED || mprotect(block + GUARD, room, PROT_READ | PROT_WRITE) != 0) {
      return 4;
    }
    pages[i] = block + GUARD;
  }
  int64_t function;
  while (fread(&function, sizeof function, 1, stdin) == 1) {
    serve(function);
  }
  return 0;
}
"""


@dataclass(frozen=True)
class Machine:
    """How to compile for a processor, and what runs its programs here (nothing where it is this one)."""

    compiler: tuple[str, ...]
    emulator: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """A call: which function, its sizes, scalars as they lie in memory, and arrays with their places."""

    function: int
    sizes: tuple[int, ...]
    scalars: tuple[bytes, ...]
    arrays: tuple[tuple[int, bytes], ...]

    def packed(self) -> bytes:
        """As the program reads it."""
        counts = (self.function, len(self.sizes), len(self.scalars), len(self.arrays))
        parts = [struct.pack(f"={4 + len(self.sizes)}q", *counts, *self.sizes)]
        parts += [x.ljust(8, b"\0") for x in self.scalars]
        parts += [struct.pack("=2q", place, len(data)) + data for place, data in self.arrays]
        return b"".join(parts)


@dataclass(frozen=True)
class Reply:
    """What became of a call: the signal that ended it (0: none), the arrays, and the bytes changed beside each."""

    signal: int
    arrays: tuple[bytes, ...]
    spilled: tuple[int, ...]


def this_processor(name: str, features: Sequence[str]) -> str:
    """Why programs for a processor with some features do not run here as they are; empty where they do."""
    if platform.machine().lower().replace("amd64", "x86_64") != name:
        return f"this is no {name} processor"
    missing = [x for x in features if x not in _features()]
    return f"this processor has no {', '.join(missing)}" if missing else ""


@cache
def _features() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return frozenset(found[1].split() if found else ())


def machine(name: str, features: Sequence[str], flags: Sequence[str]) -> Machine | str:
    """What to run the instructions of a processor with, or the reason why there is nothing."""
    problem = this_processor(name, features)
    if not problem:
        return Machine(("gcc", *flags)) if shutil.which("gcc") else "there is no gcc here"
    cross, emulator = f"{name}-linux-gnu-gcc", f"qemu-{name}"
    if name != "aarch64":
        return problem
    absent = [x for x in (cross, emulator) if shutil.which(x) is None]
    if absent:
        return f"{problem}, and there is no {' and no '.join(absent)} here"
    return Machine((cross, "-static", *flags), (emulator, "-cpu", "max"))


def build(kernels: Sequence[Kernel], catalogue: Catalogue, target: Machine, folder: Path) -> Path:
    """A program that answers requests to call the kernels; AssertionError with the compiler's words."""
    functions = [emit_function(x, f"k_{i}", catalogue=catalogue) for i, x in enumerate(kernels)]
    headers = sorted({header for x in kernels for header in headers_of(x, catalogue)})
    callers = "".join(_caller(i, x) for i, x in enumerate(kernels))
    names = ", ".join(f"call_{i}" for i in range(len(kernels)))
    source, program = folder / "instructions.c", folder / "instructions"
    source.write_text(emit_prologue(functions, headers=headers) + _DRIVER % {"callers": callers, "names": names})
    command = [*target.compiler, *FLAGS, str(source), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return program


def _caller(number: int, kernel: Kernel) -> str:
    """A function of one type for all kernels, which calls the one of a number."""
    lines = [f"static void call_{number}(const int64_t *size, const unsigned char *scalar, void *const *array)", "{"]
    for i, x in enumerate(kernel.scalars):
        lines += [f"  {c_type(x.type)} scalar_{i};", f"  memcpy(&scalar_{i}, scalar + {8 * i}, sizeof scalar_{i});"]
    passed = [f"size[{i}]" for i in range(len(kernel.sizes))]
    passed += [f"scalar_{i}" for i in range(len(kernel.scalars))]
    passed += [f"array[{i}]" for i in range(len(kernel.arrays))]
    unused = ("" if kernel.scalars else "  (void)scalar;\n") + ("" if kernel.sizes else "  (void)size;\n")
    return "\n".join(lines) + f"\n{unused}  k_{number}({', '.join(passed)});\n}}\n\n"


def call_all(program: Path, target: Machine, requests: Sequence[Request]) -> list[Reply]:
    """The replies of a program to requests, in order."""
    command = [*target.emulator, str(program)]
    asked = b"".join(x.packed() for x in requests)
    done = subprocess.run(command, input=asked, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode()}"
    place = 0
    replies = []
    for request in requests:
        (signal,) = struct.unpack_from("=q", done.stdout, place)
        place += 8
        arrays, spilled = [], []
        for _, data in request.arrays:
            spilled.append(struct.unpack_from("=q", done.stdout, place)[0])
            place += 8 + len(data)
            arrays.append(done.stdout[place - len(data) : place])
        replies.append(Reply(signal, tuple(arrays), tuple(spilled)))
    assert place == len(done.stdout)
    return replies
