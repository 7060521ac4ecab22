"""The C of a program that runs instructions on inputs from a file: a function for each trial, and what calls them.

A trial is an instruction with its immediates. All operands of a row stand one behind the other in the input; what is
in memory lies before a page that nothing may touch. After each trial its number is written, so that a crash has a name.

>>> from planish.isa.entry import Signature
>>> text = "(a: 8, n: 8 immediate) -> out: 8 { out.u8[0] = a.u8[0] }"
>>> trial = Trial(Entry("_f", "x86", Signature("char", (("char", "a"), ("int", "n"))), text), {"n": 3}, {"a": 1}, {})
>>> "r = _f(a0, 3)" in write_program([trial], ("x.h",))
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planish.isa.entry import Entry


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
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
enum {{ TESTS = sizeof tests / sizeof *tests, ROOM = 1 << 18, PAGE = 1 << 16 }};

int main(int argc, char **argv) {{
  FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb"), *told = fopen(argv[3], "wb");
  int first = atoi(argv[4]), rows = atoi(argv[5]);
  if (argc < 6 || !in || !out || !told) return 2;
  unsigned char *places[{most}], *result = aligned_alloc(64, 4096);
  for (int o = 0; o < {most}; o++) {{
    unsigned char *room = mmap(0, ROOM + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED || mprotect(room + ROOM, PAGE, PROT_NONE)) return 3;
    places[o] = room + ROOM;
  }}
  for (int t = 0; t < TESTS; t++) {{
    const struct test *test = &tests[t];
    if (t >= first) {{
      fseek(told, 0, SEEK_SET);
      fprintf(told, "%d\\n", t);
      fflush(told);
    }}
    for (int r = 0; r < rows; r++) {{
      unsigned char *given[{most}];
      for (int o = 0; o < test->count; o++) {{
        unsigned char *place = places[o] - test->operands[o].size;
        if (fread(place, 1, test->operands[o].size, in) != (size_t)test->operands[o].size) return 4;
        given[o] = place + (test->operands[o].start > 0 ? test->operands[o].start : 0);
      }}
      memset(result, 0, 4096);
      if (t >= first) test->run(given, result);
      fwrite(result, 1, test->result, out);
      for (int o = 0; o < test->count; o++)
        if (test->operands[o].start >= 0) fwrite(places[o] - test->operands[o].size, 1, test->operands[o].size, out);
    }}
    fflush(out);
  }}
  fseek(told, 0, SEEK_SET);
  fprintf(told, "%d\\n", TESTS);
  return fclose(told) | fclose(out);
}}
"""


def write_program(trials: Sequence[Trial], includes: Sequence[str], preamble: str = "") -> str:
    """The text of a program that runs trials. Its arguments: the inputs, where the outputs go, where the number of the
    trial goes that runs, the first one to run, and the rows of each."""
    most = max((len(x.sizes) for x in trials), default=1) or 1
    head = _HEAD.format(includes="\n".join(f"#include <{x}>" for x in includes), preamble=preamble)
    lines = [_function(number, trial) for number, trial in enumerate(trials)]
    table = ",\n".join(_row(number, trial) for number, trial in enumerate(trials))
    return head + "\n".join(lines) + _TAIL.format(table=table, most=most)


def _function(number: int, trial: Trial) -> str:
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
            arguments.append(f"a{place}")
        place += 1
    call = f"{entry.name}({', '.join(arguments)})"
    if trial.result_bytes:
        parts.append(f"{_plain(entry.signature.result)} r = {call}; memcpy(out, &r, {trial.result_bytes});")
    else:
        parts.append(f"{call};")
    return f"static void t{number}(unsigned char *const *in, unsigned char *out) {{ {' '.join(parts)} }}"


def _plain(kind: str) -> str:
    return kind.removeprefix("const ").strip()


def _row(number: int, trial: Trial) -> str:
    operands = ", ".join(f"{{{size}, {trial.starts.get(name, -1)}}}" for name, size in trial.sizes.items())
    return f"  {{t{number}, {len(trial.sizes)}, {trial.result_bytes}, {{{operands or '{0, -1}'}}}}}"
