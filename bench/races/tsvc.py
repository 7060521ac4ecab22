"""The loops of TSVC, which the user has at hand, as drop-ins beside what each compiler makes of them by itself.

    python -m bench.races.tsvc TSVC_2/src                    # all 151, without the clock
    python -m bench.races.tsvc TSVC_2/src s311 vag           # these
    python -m bench.races.tsvc TSVC_2/src --measure          # versions chosen by the clock
    python -m bench.races.tsvc TSVC_2/src --keep DIR         # leaves the functions, drop-ins and drivers there

`TSVC_2/src` has `tsvc.c`, `common.c` and `common.h` (https://github.com/UoB-HPC/TSVC_2). Each loop is cut out as a
function over the source's own arrays: without the loop that repeats it and without the call that keeps it alive, with
what it reads of its argument as parameters, and with the value that the call or the checksum is given as its result.
Without the clock a drop-in is built once and compiled by each compiler; with it, built for each. Each compiler has the
same flags for both. A result counts as wrong that is farther from the original's under `-O1` than twice what these
flags do to the original: some loops square their values until nothing is left of the first.

>>> text = '''real_t f(struct args_t * func_args)
... {
...     int k = *(int*)func_args->arg_info;
...     real_t s;
...     for (int nl = 0; nl < 9; nl++) {
...         s = m[k];
...         dummy(a, s);
...     }
...     return calc_checksum(0);
... }'''
>>> loop = cut_loops(text + 'int main(){ time_function(&f, &n1); }')[0]
>>> print(loop.function)
real_t f(int k)
{
    real_t s;
    s = m[k];
    return s;
}
>>> loop.argument, loop.reads
('&n1', ('int k = *(int*)func_args->arg_info;',))
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.races.loops import (
    OWN,
    PLAIN,
    TURNS,
    PlainLoop,
    Raced,
    compile_driver,
    compile_library,
    functions_with_vectors,
    one_of_each_kind,
    run_driver,
    summarise,
)
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import FileResult, build_file

DRIVER = Path(__file__).with_name("tsvc_driver.h")
ROUNDS, TOLERANCE = 15, 2e-4
RANDOM = 2
"""So many times results are compared on random data, besides those of the source."""
_LOOP = re.compile(r"^real_t (\w+)\(struct args_t \*\s*func_args\)\s*\{", re.MULTILINE)
_HELPER = re.compile(r"^(?:void|int|real_t) (\w+)\(([^()]*)\)\s*\{", re.MULTILINE)
_CALL = re.compile(r"time_function\(&(\w+), (.*)\);")
_DUMMY = re.compile(r"\bdummy\((?:[^();]|\([^();]*\))*,\s*(\w[\w.]*)\)\s*;")
_NUMBER = re.compile(r"[\d.]+f?$")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cut:
    """A loop as a function of its own; `reads`: how its caller takes the parameters out of `argument`; `prepares`:
    loops that fill arrays before."""

    name: str
    function: str
    parameters: tuple[str, ...]
    reads: tuple[str, ...]
    argument: str
    prepares: str
    result: bool


def cut_loops(text: str) -> list[Cut]:
    """The loops of `tsvc.c`, in their order."""
    text = _COMMENT.sub("", text)
    arguments = dict(_CALL.findall(text))
    helpers = {x[1]: f"static {text[x.start() : _end(text, x.end() - 1)]}\n\n" for x in _HELPER.finditer(text)}
    loops = (x for x in _LOOP.finditer(text) if x[1] in arguments)
    return [_cut(x[1], text[x.end() : _end(text, x.end() - 1) - 1], arguments[x[1]], helpers) for x in loops]


def _end(text: str, start: int) -> int:
    """Where the block ends whose brace opens at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if not depth:
            return place + 1
    raise ValueError(f"no end of the block at {start}")


def _cut(name: str, body: str, argument: str, helpers: dict[str, str]) -> Cut:
    head = re.search(r"for \(int nl = 0;[^{]*\{", body)
    assert head is not None, name
    end = _end(body, head.end() - 1)
    before = re.sub(r"\b(?:initialise_arrays|gettimeofday)\([^;]*;", "", body[: head.start()])
    inner, after = body[head.end() : end - 1], body[end:]
    dummy = _DUMMY.search(inner)
    assert dummy is not None, name
    inner = inner.replace(dummy[0], "")
    returned = re.search(r"return ([^;]*);", after)
    result = returned[1] if returned is not None and "calc_checksum" not in returned[1] else dummy[1]
    prepares = re.search(r"\bfor \(.*", before, re.DOTALL)
    loops = prepares[0] if prepares is not None else ""
    if loops:  # one statement, and what is declared behind it
        loops = loops[: loops.index(";", loops.index(")")) + 1]
        before = before.replace(loops, "")
    statements = [re.sub(r"\s+", " ", x).strip() + ";" for x in _statements(before)]
    reads = tuple(x for x in statements if "func_args" in x or re.search(r"= x->\w+;", x))
    taken = [x for x in reads if not x.startswith("struct")]
    parameters = tuple(x.partition(" =")[0] for x in taken)
    kept = [f"    {x}" for x in statements if x not in reads]
    lines = [x[4:] if x.startswith("        ") else x for x in inner.splitlines() if x.strip()]
    is_value = not _NUMBER.match(result)
    used = "".join(y for x, y in helpers.items() if re.search(rf"\b{x}\(", inner))
    first = f"{'real_t' if is_value else 'void'} {name}({', '.join(parameters) or 'void'})\n{{"
    function = "\n".join((used + first, *kept, *lines, *([f"    return {result};"] if is_value else []), "}"))
    return Cut(name, function, parameters, reads, argument, loops, is_value)


def _statements(text: str) -> Iterator[str]:
    """Up to each semicolon that lies in no braces."""
    depth, start = 0, 0
    for place, character in enumerate(text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == ";" and not depth:
            yield text[start:place]
            start = place + 1


@dataclass(frozen=True, slots=True)
class Suite:
    """The folder of the source: its loops, and what stands before them (types, sizes, arrays)."""

    folder: Path
    loops: tuple[Cut, ...]
    head: str

    def unit(self, loop: Cut) -> str:
        """A file of one loop."""
        return f"{self.head}{loop.function}\n"

    def driver(self, loop: Cut) -> str:
        """The program that calls a loop: `PROGRAM check RANDOM|time ROUNDS LIBRARY…`."""
        names = [x.split()[-1].lstrip("*") for x in loop.parameters]
        kept = "*(double *)result = (double)" if loop.result else ""
        return f"""{self.head}
{TURNS.read_text()}
{DRIVER.read_text()}
static int *ip, n1 = 1, n3 = 1;
static real_t s1, s2;
typedef {"real_t" if loop.result else "void"} loop({", ".join(loop.parameters) or "void"});
static void go(void *function, void *result, int times)
{{
    struct {{ void *arg_info; }} held = {{ {loop.argument} }}, *func_args = &held;
    {" ".join(loop.reads)}
    (void)func_args;
    for (int turn = 0; turn < times; turn++)
        {kept}((loop *)function)({", ".join(names)});
}}
static void begin(void)
{{
    init(&ip, &s1, &s2);
    initialise_arrays("{loop.name}");
    {loop.prepares}
}}
int main(int count, char **argument)
{{
    return drive(count, argument, "{loop.name}", go, begin);
}}
"""


def read_suite(folder: Path) -> Suite:
    """What `tsvc.c` and `common.h` of a folder hold."""
    text = (folder / "tsvc.c").read_text()
    arrays = _COMMENT.sub("", text[: text.index("real_t s000")])
    arrays = re.sub(r"^#include.*\n|^struct args_t \{[^}]*\};\n", "", arrays, flags=re.MULTILINE)
    head = f"#include <math.h>\n#include <stdlib.h>\n{(folder / 'common.h').read_text()}{arrays}"
    return Suite(folder, tuple(cut_loops(text)), re.sub(r"\n{2,}", "\n", head) + "\n")


def race_loop(suite: Suite, loop: Cut, options: Options, rounds: int, folder: Path) -> Raced | str:
    """A loop, as written and as a drop-in, by each compiler; a text where it was not built."""
    text, stem = suite.unit(loop), folder / loop.name
    compilers = one_of_each_kind()
    reference = compile_library(compilers[0], text, ("-O1", "-ffp-contract=off", "-w"), Path(f"{stem}-right"))
    flags = (*PLAIN, *OWN[options.fp])
    libraries: dict[str, Path] = {}
    built: FileResult | None = None
    for x in compilers:
        if built is None or options.measure:
            asked = replace(options, compiler=str(x.path))
            try:
                built = build_file(Source(f"{loop.name}.c", text), asked)
            except PlanishError as error:
                return f"{loop.name}: not built for {x.name}: {error}"
        libraries[x.name] = compile_library(x, text, flags, Path(f"{stem}-{x.name}"))
        libraries[f"ours {x.name}"] = compile_library(x, built.text, flags, Path(f"{stem}-ours-{x.name}"))
    assert built is not None
    taken = any(x.replacements for x in built.functions)
    flags, sources = ("-O1", "-rdynamic"), (suite.folder / "common.c",)
    driver = compile_driver(compilers[0], suite.driver(loop), Path(f"{stem}-driver"), flags, sources)
    checked = reference, *libraries.values()
    apart = run_driver(driver, ("check", RANDOM), checked, may_exit=True)
    if not apart:  # random data end the program: `exit` in a loop
        apart = run_driver(driver, ("check", 0), checked)
    wrong = "; ".join(_wrong(dict(zip(libraries, apart, strict=True))))
    times = run_driver(driver, ("time", rounds), tuple(libraries.values()))
    vectors = loop.name in functions_with_vectors(libraries[f"ours {compilers[0].name}"])
    plain = PlainLoop(loop.name, "real_t" if loop.result else "void", ())
    return Raced(plain, "tsvc", dict(zip(libraries, times, strict=True)), vectors, wrong, taken)


def _wrong(apart: Mapping[str, float]) -> Iterator[str]:
    """The drop-ins whose results are wrong."""
    for name, own in apart.items():
        theirs = apart.get(name.removeprefix("ours "), 0.0)
        if name.startswith("ours ") and not own <= max(TOLERANCE, 2 * theirs):
            yield f"{name}: {own:.2g} apart ({theirs:.2g})"


def race_all(
    folder: Path, only: Sequence[str], options: Options, rounds: int = ROUNDS, keep: Path | None = None
) -> Iterator[Raced | str]:
    """The loops that are named, or all."""
    suite = read_suite(folder.resolve())
    with tempfile.TemporaryDirectory(prefix="planish-tsvc-") as scratch:
        place = (keep or Path(scratch)).resolve()
        place.mkdir(parents=True, exist_ok=True)
        for x in suite.loops:
            if not only or x.name in only:
                try:
                    yield race_loop(suite, x, options, rounds, place)
                except subprocess.SubprocessError as error:
                    yield f"{x.name}: {error}"


def main(arguments: Sequence[str]) -> int:
    """0 where all were built and are right."""
    parser = argparse.ArgumentParser(description="Races the loops of TSVC, as written and as drop-ins.")
    parser.add_argument("folder", type=Path, help="with tsvc.c, common.c and common.h")
    parser.add_argument("only", nargs="*", metavar="LOOP", help="only these; default: all")
    parser.add_argument("--fp", choices=tuple(OWN), default="reassociate")
    parser.add_argument("--measure", action="store_true", help="builds choose by the clock")
    parser.add_argument("--gain", type=float, default=0.0, help="as of planish build")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave what was made there")
    asked = parser.parse_args(arguments)
    raced, faults = list[Raced](), 0
    options = Options(fp=asked.fp, measure=asked.measure, gain=asked.gain)
    for x in race_all(asked.folder, asked.only, options, asked.rounds, asked.keep):
        print(x, flush=True)
        if isinstance(x, Raced):
            raced.append(x)
        faults += isinstance(x, str) or bool(x.wrong)
    for line in summarise(raced) if raced else ():
        print(line)
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
