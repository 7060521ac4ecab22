"""Hexagon without a system's library: system calls, what compilers call on their own, and where a program begins.

>>> "__hexagon_divsi3" in RUNTIME and "_start" in BEGIN
True
>>> library_runtime(("--target=hexagon",)), library_runtime(("-nostdlib", "--target=hexagon")) is None
(None, False)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_ASK = """\
typedef unsigned long size_t;
static long ask(long number, long a, long b, long c, long d, long e, long f) {
  register long r0 __asm__("r0") = a, r1 __asm__("r1") = b, r2 __asm__("r2") = c, r3 __asm__("r3") = d;
  register long r4 __asm__("r4") = e, r5 __asm__("r5") = f, r6 __asm__("r6") = number;
  __asm__ volatile("trap0(#1)" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r6) : "memory");
  return r0;
}
"""

_FILES = """\
enum { O_RDONLY = 0, O_WRONLY = 1, O_CREAT = 0100, O_TRUNC = 01000, SEEK_SET = 0 };
enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2, MAP_PRIVATE = 2, MAP_ANONYMOUS = 0x20 };
#define MAP_FAILED ((void *)-1)
static int open(const char *name, int how, ...) { return ask(56, -100, (long)name, how, 0600, 0, 0); }
static long read(int file, void *data, long size) { return ask(63, file, (long)data, size, 0, 0, 0); }
static long write(int file, const void *data, long size) { return ask(64, file, (long)data, size, 0, 0, 0); }
static long lseek(int file, long at, int whence) {
  long long found;
  return ask(62, file, 0, at, (long)&found, whence, 0) < 0 ? -1 : (long)found;
}
static void *mmap(void *at, long size, int what, int how, int file, long from) {
  return (void *)ask(222, (long)at, size, what, how, file, from);
}
static int mprotect(void *at, long size, int what) { return ask(226, (long)at, size, what, 0, 0, 0); }
static int munmap(void *at, long size) { return ask(215, (long)at, size, 0, 0, 0, 0); }
"""

SYSTEM_CALLS = _ASK + _FILES
"""Files and memory, as of Linux."""

RUNTIME = """\
void *memcpy(void *to, const void *from, size_t size) {
  volatile unsigned char *a = to;
  const unsigned char *b = from;
  while (size--) *a++ = *b++;
  return to;
}
void *__hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(void *to, const void *from, size_t size) {
  return memcpy(to, from, size);
}
unsigned long long __hexagon_udivdi3(unsigned long long a, unsigned long long b) {
  unsigned long long found = 0, rest = 0;
  for (int at = 63; at >= 0; at--) {
    rest = rest << 1 | (a >> at & 1);
    if (rest >= b) rest -= b, found |= 1ull << at;
  }
  return found;
}
unsigned __hexagon_udivsi3(unsigned a, unsigned b) { return __hexagon_udivdi3(a, b); }
long long __hexagon_divdi3(long long a, long long b) {
  unsigned long long found = __hexagon_udivdi3(a < 0 ? -(unsigned long long)a : a, b < 0 ? -(unsigned long long)b : b);
  return (a < 0) == (b < 0) ? found : -found;
}
int __hexagon_divsi3(int a, int b) { return __hexagon_divdi3(a, b); }
unsigned long long __hexagon_umoddi3(unsigned long long a, unsigned long long b) {
  return a - __hexagon_udivdi3(a, b) * b;
}
unsigned __hexagon_umodsi3(unsigned a, unsigned b) { return __hexagon_umoddi3(a, b); }
long long __hexagon_moddi3(long long a, long long b) { return a - __hexagon_divdi3(a, b) * b; }
int __hexagon_modsi3(int a, int b) { return __hexagon_moddi3(a, b); }
void *memmove(void *to, const void *from, size_t size) {
  volatile unsigned char *a = to;
  const volatile unsigned char *b = from;
  if (a < b) while (size--) *a++ = *b++;
  else while (size--) a[size] = b[size];
  return to;
}
void *memset(void *to, int what, size_t size) {
  volatile unsigned char *a = to;
  while (size--) *a++ = what;
  return to;
}
"""
"""What clang makes calls of: copies, and quotients."""

BEGIN = """\
int main(int argc, char **argv);
__attribute__((used)) static void begin(long *stack) { ask(94, main(stack[0], (char **)(stack + 1)), 0, 0, 0, 0, 0); }
__asm__(".global _start\\n_start:\\n  r0 = r29\\n  r29 = and(r29, #-256)\\n  call begin\\n");
"""
"""Calls `main`, on a stack at a multiple of 256."""

_ENDS = """\
long write(int file, const void *data, unsigned long size) { return ask(64, file, (long)data, size, 0, 0, 0); }
void abort(void) { __builtin_trap(); }
int abs(int x) { return x < 0 ? -x : x; }
long labs(long x) { return x < 0 ? -x : x; }
long long llabs(long long x) { return x < 0 ? -x : x; }
void *malloc(size_t size) {
  size_t *block = size > 0x40000000 ? (size_t *)-1 : (size_t *)ask(222, 0, size + 128, 3, 0x22, -1, 0);
  if ((unsigned long)block > -4096ul) return 0;
  *block = size + 128;
  return (char *)block + 128;
}
void free(void *at) {
  if (at) ask(215, (long)at - 128, *(size_t *)((char *)at - 128), 0, 0, 0, 0);
}
"""

HEADERS = {
    "stdlib.h": """\
#include <stddef.h>
int abs(int);
long labs(long);
long long llabs(long long);
void *malloc(size_t);
void free(void *);
void abort(void);
""",
    "string.h": """\
#include <stddef.h>
void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
void *memset(void *, int, size_t);
""",
}
"""Headers that clang does not bring, with what a library is linked with."""


def put_headers(folder: Path) -> tuple[str, ...]:
    """Writes the headers below a folder; the flags by which they are found where there are no others."""
    place = folder / "include"
    place.mkdir(exist_ok=True)
    for name, text in HEADERS.items():
        (place / name).write_text(text)
    return "-idirafter", str(place)


def library_runtime(flags: Sequence[str]) -> str | None:
    """What a library is linked with where flags say that no system's is there; None where one is, or for another
    processor."""
    is_hexagon = any(x.startswith("--target=hexagon") for x in flags)
    return _ASK + RUNTIME + _ENDS if is_hexagon and "-nostdlib" in flags else None
