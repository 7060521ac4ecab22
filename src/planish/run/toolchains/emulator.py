"""The emulator that calls libraries for another processor, and the program that runs in it.

>>> find_emulator("pdp11")
'there is no qemu-pdp11 here'
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.run.processes.process import Limits, run_process
from planish.run.toolchains.hexagon_caller import caller_text
from planish.run.toolchains.hexagon_system import library_runtime
from planish.run.toolchains.toolchain import Compiler

_CALLER = r"""
#include <dlfcn.h>
#include <fenv.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A library's entry, called with what comes in; what is left behind goes out. Arrays keep their places in whole pages,
   with pages around them that nobody may touch. */
enum { MANY = 64, GUARD = 1 << 16, RESULT = 16 };
typedef void entry(void **arguments, void *result);

static void take(void *to, size_t bytes)
{
  if (bytes != 0 && fread(to, 1, bytes, stdin) != bytes) exit(0);
}

static int64_t take_number(void)
{
  int64_t number;
  take(&number, sizeof number);
  return number;
}

int main(int count, char **names)
{
  void *library = count == 3 ? dlopen(names[1], RTLD_NOW) : NULL;
  entry *call = library != NULL ? (entry *)dlsym(library, names[2]) : NULL;
  const char ready = call != NULL;
  fwrite(&ready, 1, 1, stdout);
  if (call == NULL) {
    const char *why = dlerror();
    fputs(why != NULL ? why : "there is no such library", stdout);
    fflush(stdout);
    return 1;
  }
  fflush(stdout);
  for (;;) {
    static void *arguments[MANY];
    static char *blocks[MANY], scalars[MANY][RESULT];
    static size_t sizes[MANY];
    char result[RESULT];
    const int64_t arity = take_number();
    if (arity > MANY) return 2;
    for (int64_t i = 0; i < arity; i++) {
      /* The bytes of the pages, and where the array is in them, below 0 for no address;
         scalars have no pages. */
      const int64_t bytes = take_number(), place = take_number();
      blocks[i] = NULL;
      if (bytes < 0) {
        take(scalars[i], RESULT);
        arguments[i] = scalars[i];
        continue;
      }
      sizes[i] = (size_t)bytes;
      char *block = mmap(NULL, sizes[i] + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (block == MAP_FAILED) return 3;
      if (bytes > 0 && mprotect(block + GUARD, sizes[i], PROT_READ | PROT_WRITE) != 0) return 3;
      blocks[i] = block + GUARD;
      take(blocks[i], sizes[i]);
      arguments[i] = place < 0 ? NULL : blocks[i] + place;
    }
    memset(result, 0, RESULT);
    fesetenv(FE_DFL_ENV);
    call(arguments, result);
    const char rounded = fetestexcept(FE_INEXACT) != 0;
    fwrite(&rounded, 1, 1, stdout);
    fwrite(result, 1, RESULT, stdout);
    for (int64_t i = 0; i < arity; i++) {
      if (blocks[i] == NULL) continue;
      fwrite(blocks[i], 1, sizes[i], stdout);
      munmap(blocks[i] - GUARD, sizes[i] + 2 * GUARD);
    }
    fflush(stdout);
  }
}
"""


def build_caller(compiler: Compiler, flags: Sequence[str], folder: Path, limits: Limits | None = None) -> Path:
    """The program that runs in the emulator, made by a compiler that makes code for that processor with these flags;
    PlanishError E0803 with the compiler's words where it refuses."""
    source, program = folder / "caller.c", folder / "caller"
    hosted = library_runtime(flags) is None
    source.write_text(_CALLER if hosted else caller_text())
    own, libraries = ((), ("-ldl", "-lm")) if hosted else (("-ffreestanding", "-fno-builtin", "-static", "-w"), ())
    command = [str(compiler.path), "-std=gnu11", "-O1", *own, *flags, str(source), "-o", str(program), *libraries]
    done = run_process(command, limits or Limits(60))
    if done.code != 0:
        raise PlanishError(Diagnostic("E0803", f"{compiler.name} failed:\n{done.stderr.strip()}"))
    return program


def find_emulator(architecture: str) -> tuple[str, ...] | str:
    """The command before a program for a kind of processor, or why there is none: qemu's for it, with the libraries of
    that system where Debian's cross compilers have them."""
    name = f"qemu-{architecture}"
    found = shutil.which(name)
    if found is None:
        return f"there is no {name} here"
    if architecture == "hexagon":
        # All that 32 bits address would be reserved, which limits on memory do not allow.
        return found, "-R", "0x80000000"
    return found, "-cpu", "max", "-L", f"/usr/{architecture}-linux-gnu"
