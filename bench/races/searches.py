"""Loops that end early, as drop-ins beside the same compiler's own code, by where they end.

    python -m bench.races.searches                      # with each compiler that is here
    python -m bench.races.searches find_byte find_point # these of bench/races/searches.c

Nanoseconds of the processor for a call, the least of several rounds in turns. The drop-in is built without the clock.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file

PROGRAM = Path(__file__).with_name("searches.c")
PLACES = (0, 1, 3, 6, 10, 16, 30, 100, 1000, 20000, 300000)
DRIVER = """#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <string.h>
typedef struct { float x, y; } point;
%(prototypes)s
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}
static _Alignas(64) char s[1 << 23], t[1 << 23];
volatile ptrdiff_t sink;
%(races)s
int main(void) { %(calls)s return 0; }
"""
RACE = """static void race_%(name)s(void) {
  const ptrdiff_t n = 320000, places[] = {%(places)s};
  %(type)s *const a = (void *)s, *const b = (void *)t;
  for (ptrdiff_t i = 0; i < n; i++) a[i] = b[i] = (%(type)s)%(calm)s;
  for (int k = 0; k < %(count)d; k++) {
    const ptrdiff_t at = places[k], place = %(backwards)d ? n - 1 - at : at;
    const ptrdiff_t reps = at < 50 ? 20000 : 2000000 / (at + 1) + 1;
    const %(type)s kept = a[place];
    double best[2] = {1e30, 1e30};
    a[place] = (%(type)s)%(end)s;
    if (o_%(name)s(n, a, b) != m_%(name)s(n, a, b)) printf("%(name)s differs at %%td\\n", at);
    for (int round = 0; round < 9; round++)
      for (int side = 0; side < 2; side++) {
        const double start = now();
        for (ptrdiff_t q = 0; q < reps; q++) sink = side ? m_%(name)s(n, a, b) : o_%(name)s(n, a, b);
        const double took = (now() - start) / reps;
        if (took < best[side]) best[side] = took;
      }
    printf("%(name)s %%td %%.2f %%.2f\\n", at, best[0], best[1]);
    a[place] = kept;
  }
}
"""
INPUTS = {
    "skip_blanks": ("32", "200"), "find_byte": ("65", "10"), "copy_until_u8": ("65", "10"),
    "find_any_of": ("65", "10"), "is_sorted_i32": ("1", "-9"),
}  # fmt: skip
"""What arrays hold where iterations stay, and where one leaves; of others, it depends on the type."""
USUAL = {"uint8_t": ("65", "200"), "point": ("{1, 9}", "{9, 9}")}
_HEAD = re.compile(r"^ptrdiff_t (\w+)\(ptrdiff_t n, const (\w+) \*s", re.MULTILINE)


def write_driver(functions: dict[str, str]) -> str:
    """The C program that times the functions, with the type of the elements of each."""
    names = [f"{side}_{x}" for x in functions for side in "om"]
    prototypes = "".join(f"ptrdiff_t {x}(ptrdiff_t, const void *, void *);\n" for x in names)
    races = []
    for name, type in functions.items():
        calm, end = INPUTS.get(name) or USUAL.get(type, ("1", "9"))
        given = {"name": name, "type": type, "calm": calm, "end": end, "backwards": name.startswith("last")}
        races.append(RACE % {**given, "places": ", ".join(map(str, PLACES)), "count": len(PLACES)})
    calls = " ".join(f"race_{x}();" for x in functions)
    return DRIVER % {"prototypes": prototypes, "races": "".join(races), "calls": calls}


Times = dict[str, dict[int, tuple[float, float]]]


def run_race(text: str, made: str, functions: dict[str, str], compiler: str) -> Times:
    """Nanoseconds of the original and of the drop-in, by function and by where the loop ends."""
    with tempfile.TemporaryDirectory(prefix="planish-searches-") as folder:
        place = Path(folder)
        for side, source in (("o", text), ("m", made)):
            (place / f"{side}.c").write_text(source)
            renamed = [f"-D{x}={side}_{x}" for x, _ in _HEAD.findall(text)]
            command = [compiler, "-O3", "-march=native", "-w", *renamed, "-c", f"{side}.c", "-o", f"{side}.o"]
            subprocess.run(command, cwd=place, check=True)
        (place / "driver.c").write_text(write_driver(functions))
        subprocess.run([compiler, "-O2", "-w", "driver.c", "o.o", "m.o", "-o", "race"], cwd=place, check=True)
        said = subprocess.run([place / "race"], capture_output=True, text=True, check=True).stdout
    out: Times = {x: {} for x in functions}
    for line in said.splitlines():
        words = line.split()
        if words[1] == "differs":
            raise SystemExit(line)
        out[words[0]][int(words[1])] = float(words[2]), float(words[3])
    return out


def main() -> None:
    """Times all functions, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="functions (all)")
    names = parser.parse_args().names
    text = PROGRAM.read_text()
    functions = {x: y for x, y in _HEAD.findall(text) if not names or x in names}
    file = build_file(Source(str(PROGRAM), text), Options(measure=False))
    taken = {x.function.name for x in file.functions if x.replacements}
    print(f"{len(taken & functions.keys())} of {len(functions)} functions are taken")
    for compiler in [x for x in ("gcc", "clang") if shutil.which(x)]:
        found = run_race(text, file.text, functions, compiler)
        print(f"\n{compiler}: times faster, by the iteration that leaves".ljust(24))
        print(f"{'':18}" + "".join(f"{x:>9}" for x in PLACES))
        for name, races in found.items():
            print(f"{name:18}" + "".join(f"{races[x][0] / races[x][1]:8.2f}x" for x in PLACES))
        print("nanoseconds, original and drop-in:")
        for name, races in found.items():
            print(f"{name:18}" + "".join(f"{races[x][0]:9.1f}/{races[x][1]:.1f}" for x in PLACES))


if __name__ == "__main__":
    main()
