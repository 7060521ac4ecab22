"""The C of a program that runs instructions on inputs from a file: a function for each trial, and what calls them.

A trial is an instruction with its immediates. All operands of a row stand one behind the other in the input; what is
in memory lies before a page that nothing may touch. After each trial its number is written, so that a crash has a name.

>>> from planish.isa.entry import IntrinsicSignature
>>> text = "(a: 8, n: 8 immediate) -> out: 8 { out.u8[0] = a.u8[0] }"
>>> signature = IntrinsicSignature("char", (("char", "a"), ("int", "n")))
>>> trial = Trial(Entry("_f", "x86", signature, text), {"n": 3}, {"a": 1}, {})
>>> "r = _f(a0, 3)" in write_program([trial], Dialect(("x.h",)))
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planish.isa.entry import Entry

HOSTED = """\
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
"""
"""What a program needs of a system's library."""

@dataclass(frozen=True, slots=True)
class Dialect:
    """How C is written for a machine: the headers and what stands behind them; how an instruction is called by its
    name, and what is put around operands and results of some types."""

    headers: tuple[str, ...]
    preamble: str = HOSTED
    called: str = "{}"
    given: Mapping[str, str] = field(default_factory=dict)
    left: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trial:
    """An instruction with its immediates; `sizes` are the bytes of each operand, `starts` where in those of a memory
    its address points to."""

    entry: Entry
    immediates: Mapping[str, int]
    sizes: Mapping[str, int]
    starts: Mapping[str, int]

    @property
    def result_bytes(self) -> int:
        """The bytes of the result."""
        result = self.entry.definition.result
        return (result.bits + 7) // 8 if result else 0


_HEAD = """\
#define _GNU_SOURCE
{includes}
{preamble}
typedef void trial(unsigned char *const *in, unsigned char *out);
"""

_TAIL = """
struct operand {{ int size, start; }};
struct test {{ trial *run; int count, result; struct operand operands[{most}]; }};
static const struct test tests[] = {{
{table}
}};
enum {{ TESTS = sizeof tests / sizeof *tests, ROOM = 1 << 18, PAGE = 1 << 16, OUT = 1 << 16 }};

static unsigned char trial_written[OUT];
static int trial_kept;

static int trial_flush(int out) {{
  int good = 1;
  for (int at = 0; at < trial_kept;) {{
    long n = write(out, trial_written + at, trial_kept - at);
    if (n <= 0) {{ good = 0; break; }}
    at += n;
  }}
  trial_kept = 0;
  return good;
}}

static void trial_put(int out, const unsigned char *data, int size) {{
  if (trial_kept + size > OUT) trial_flush(out);
  memcpy(trial_written + trial_kept, data, size);
  trial_kept += size;
}}

static int trial_get(int in, unsigned char *data, int size) {{
  for (int at = 0; at < size;) {{
    long n = read(in, data + at, size - at);
    if (n <= 0) return 0;
    at += n;
  }}
  return 1;
}}

static void trial_tell(int told, int number) {{
  char text[16];
  int at = 16;
  text[--at] = 10;
  do text[--at] = 48 + number % 10; while (number /= 10);
  lseek(told, 0, SEEK_SET);
  if (write(told, text + at, 16 - at) < 0) return;
}}

int main(int argc, char **argv) {{
  if (argc < 6) return 2;
  int in = open(argv[1], O_RDONLY), making = O_WRONLY | O_CREAT | O_TRUNC;
  int out = open(argv[2], making, 0600), told = open(argv[3], making, 0600);
  int first = atoi(argv[4]), rows = atoi(argv[5]);
  if (in < 0 || out < 0 || told < 0) return 2;
  static unsigned char result[4096] __attribute__((aligned(256)));
  unsigned char *places[{most}];
  for (int o = 0; o < {most}; o++) {{
    unsigned char *room = mmap(0, ROOM + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED || mprotect(room + ROOM, PAGE, PROT_NONE)) return 3;
    places[o] = room + ROOM;
  }}
  for (int t = 0; t < TESTS; t++) {{
    const struct test *test = &tests[t];
    if (t >= first) trial_tell(told, t);
    for (int r = 0; r < rows; r++) {{
      unsigned char *given[{most}];
      for (int o = 0; o < test->count; o++) {{
        unsigned char *place = places[o] - test->operands[o].size;
        if (!trial_get(in, place, test->operands[o].size)) return 4;
        given[o] = place + (test->operands[o].start > 0 ? test->operands[o].start : 0);
      }}
      memset(result, 0, sizeof result);
      if (t >= first) test->run(given, result);
      trial_put(out, result, test->result);
      for (int o = 0; o < test->count; o++)
        if (test->operands[o].start >= 0) trial_put(out, places[o] - test->operands[o].size, test->operands[o].size);
    }}
    if (!trial_flush(out)) return 5;
  }}
  trial_tell(told, TESTS);
  return 0;
}}
"""


def write_program(trials: Sequence[Trial], machine: Dialect) -> str:
    """The text of a program that runs trials. Its arguments: the inputs, where the outputs go, where the number of the
    trial goes that runs, the first one to run, and the rows of each."""
    most = max((len(x.sizes) for x in trials), default=1) or 1
    includes = "\n".join(f"#include <{x}>" for x in machine.headers)
    head = _HEAD.format(includes=includes, preamble=machine.preamble)
    lines = [_function(number, trial, machine) for number, trial in enumerate(trials)]
    table = ",\n".join(_row(number, trial) for number, trial in enumerate(trials))
    return head + "\n".join(lines) + _TAIL.format(table=table, most=most)


def _function(number: int, trial: Trial, machine: Dialect) -> str:
    entry = trial.entry
    parts = []
    arguments = []
    place = 0
    for kind, name in entry.signature.parameters:
        if name in trial.immediates:
            arguments.append(str(trial.immediates[name]))
            continue
        if name in trial.starts:
            arguments.append(f"(void *)in[{place}]")
        else:
            parts.append(f"{_plain(kind)} a{place}; memcpy(&a{place}, in[{place}], {trial.sizes[name]});")
            arguments.append(machine.given.get(kind, "{}").format(f"a{place}"))
        place += 1
    call = f"{machine.called.format(entry.name)}({', '.join(arguments)})"
    if trial.result_bytes:
        kind = entry.signature.result
        left = machine.left.get(kind, "{}").format(call)
        parts.append(f"{_plain(kind)} r = {left}; memcpy(out, &r, {trial.result_bytes});")
    else:
        parts.append(f"{call};")
    return f"static void t{number}(unsigned char *const *in, unsigned char *out) {{ {' '.join(parts)} }}"


def _plain(kind: str) -> str:
    return kind.removeprefix("const ").strip()


def _row(number: int, trial: Trial) -> str:
    operands = ", ".join(f"{{{size}, {trial.starts.get(name, -1)}}}" for name, size in trial.sizes.items())
    return f"  {{t{number}, {len(trial.sizes)}, {trial.result_bytes}, {{{operands or '{0, -1}'}}}}}"
