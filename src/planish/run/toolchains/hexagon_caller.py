"""The program that calls libraries for Hexagon in an emulator: it loads them itself, since there is no system's loader.

>>> caller_text().count("int main(")
2
"""

from __future__ import annotations

from planish.run.toolchains.hexagon_system import BEGIN, RUNTIME, SYSTEM_CALLS

_LOADER = r"""
typedef struct {
  unsigned char ident[16]; unsigned short type, machine; unsigned version, entry, segments, sections, flags;
  unsigned short size, segment_size, segment_count, section_size, section_count, names; } header;
typedef struct { unsigned type, offset, address, physical, file_size, memory_size, flags, align; } segment;
typedef struct { unsigned name, value, size; unsigned char info, other; unsigned short section; } symbol;
typedef struct { unsigned place, info; int addend; } relocation;
enum { LOAD = 1, DYNAMIC = 2, TLS = 7, PLT_SIZE = 2, HASH = 4, NAMES = 5, SYMBOLS = 6, RELA = 7,
       RELA_SIZE = 8, PLT = 23, KINDS = 24, BIT32 = 6, GLOBAL = 33, JUMP = 34, RELATIVE = 35, PROT_EXEC = 4 };

static const char *why = "there is no such library";

static int same(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

static int relocate(char *base, const relocation *each, unsigned bytes, const symbol *symbols) {
  for (unsigned i = 0; i < bytes / sizeof *each; i++) {
    unsigned *place = (unsigned *)(base + each[i].place);
    const symbol *named = symbols + (each[i].info >> 8);
    switch (each[i].info & 255) {
    case RELATIVE: *place = (unsigned)base + each[i].addend; break;
    case BIT32: case GLOBAL: case JUMP:
      *place = named->section ? (unsigned)base + named->value + each[i].addend : 0;
      break;
    default: why = "a relocation of an unknown kind"; return 0;
    }
  }
  return 1;
}

/* The address of a function in a library, whose segments are put into memory; NULL where there is none. */
static void *find(const char *path, const char *name) {
  const int file = open(path, O_RDONLY);
  if (file < 0) return 0;
  const long bytes = lseek(file, 0, 2);
  lseek(file, 0, SEEK_SET);
  char *data = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (long at = 0, got; at < bytes; at += got)
    if ((got = read(file, data + at, bytes - at)) <= 0) return 0;
  const header *head = (const header *)data;
  const segment *segments = (const segment *)(data + head->segments);
  unsigned end = 0, dynamic = 0;
  for (int i = 0; i < head->segment_count; i++) {
    if (segments[i].type == TLS) { why = "it has variables of threads"; return 0; }
    if (segments[i].type == DYNAMIC) dynamic = segments[i].address;
    if (segments[i].type == LOAD && segments[i].address + segments[i].memory_size > end)
      end = segments[i].address + segments[i].memory_size;
  }
  char *base = mmap(0, end, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < head->segment_count; i++)
    if (segments[i].type == LOAD) memcpy(base + segments[i].address, data + segments[i].offset, segments[i].file_size);
  munmap(data, bytes);
  unsigned known[KINDS] = {0};
  for (const unsigned *entry = (const unsigned *)(base + dynamic); entry[0]; entry += 2)
    if (entry[0] < KINDS) known[entry[0]] = entry[1];
  const symbol *symbols = (const symbol *)(base + known[SYMBOLS]);
  if (!relocate(base, (const relocation *)(base + known[RELA]), known[RELA_SIZE], symbols)) return 0;
  if (!relocate(base, (const relocation *)(base + known[PLT]), known[PLT_SIZE], symbols)) return 0;
  const unsigned count = ((const unsigned *)(base + known[HASH]))[1];
  for (unsigned i = 1; i < count; i++)
    if (symbols[i].section && same(base + known[NAMES] + symbols[i].name, name)) return base + symbols[i].value;
  why = "it has no such function";
  return 0;
}
"""

_MAIN = r"""
/* A library's entry, called with what comes in; what is left behind goes out. Arrays keep their places in whole pages,
   with pages around them that nobody may touch: these are larger here, so that an array that does not begin at the
   first byte ends at the last one of such a page. */
enum { MANY = 64, PAGE = 1 << 16, RESULT = 16, INEXACT = 32 };
typedef void entry(void **arguments, void *result);

static void leave(int code) { ask(94, code, 0, 0, 0, 0, 0); }

static void take(void *to, long bytes) {
  for (long got; bytes > 0; to = (char *)to + got, bytes -= got)
    if ((got = read(0, to, bytes)) <= 0) leave(0);
}

static void give(const void *from, long bytes) {
  for (long put; bytes > 0; from = (const char *)from + put, bytes -= put)
    if ((put = write(1, from, bytes)) <= 0) leave(0);
}

static long long take_number(void) {
  long long number;
  take(&number, sizeof number);
  return number;
}

int main(int count, char **names) {
  entry *call = count == 3 ? (entry *)find(names[1], names[2]) : 0;
  const char ready = call != 0;
  give(&ready, 1);
  if (!call) {
    long length = 0;
    while (why[length]) length++;
    give(why, length);
    return 1;
  }
  for (;;) {
    static void *arguments[MANY];
    static char *blocks[MANY], *maps[MANY], scalars[MANY][RESULT] __attribute__((aligned(16)));
    static long sizes[MANY], whole[MANY];
    char result[RESULT] __attribute__((aligned(16)));
    const long arity = take_number();
    if (arity > MANY) return 2;
    for (long i = 0; i < arity; i++) {
      const long bytes = take_number(), place = take_number();
      blocks[i] = 0;
      if (bytes < 0) {
        take(scalars[i], RESULT);
        arguments[i] = scalars[i];
        continue;
      }
      sizes[i] = bytes;
      const long inner = (bytes + PAGE - 1) / PAGE * PAGE;
      whole[i] = inner + 2 * PAGE;
      maps[i] = mmap(0, whole[i], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if ((unsigned long)maps[i] > -4096ul) return 3;
      if (bytes > 0 && mprotect(maps[i] + PAGE, inner, PROT_READ | PROT_WRITE) != 0) return 3;
      blocks[i] = maps[i] + PAGE + (place > 0 ? inner - bytes : 0);
      take(blocks[i], bytes);
      arguments[i] = place < 0 ? 0 : blocks[i] + place;
    }
    memset(result, 0, RESULT);
    __asm__ volatile("usr = %0" : : "r"(0) : "memory");
    call(arguments, result);
    int state;
    __asm__ volatile("%0 = usr" : "=r"(state) : : "memory");
    const char rounded = (state & INEXACT) != 0;
    give(&rounded, 1);
    give(result, RESULT);
    for (long i = 0; i < arity; i++) {
      if (!blocks[i]) continue;
      give(blocks[i], sizes[i]);
      munmap(maps[i], whole[i]);
    }
  }
}
"""


def caller_text() -> str:
    """The program, in C that needs no headers."""
    return SYSTEM_CALLS + RUNTIME + _LOADER + BEGIN + _MAIN
