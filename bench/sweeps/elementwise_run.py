"""Builds a file of elementary loops; a program that knows nothing of planish runs the drop-in beside the original.

The program fills arrays between margins, calls each function for several sizes, in place and with arrays that overlap
where the types allow it, and writes all memory that it gave away; the original under `gcc -O2 -fwrapv` says what is
right. The drop-in is compiled by gcc with the printed command, and by clang with `-O3` for the same machine.

>>> from bench.sweeps.elementwise_loops import BY_NAME, Loop
>>> char = BY_NAME["char"]
>>> loop = Loop("add", "map", char, char, char, "int", False)
>>> [x.name for x in slots(loop)]
['a', 'b', 'o']
>>> print(calls(loop)[-1])
Call(m=3, n=70, offset=1)
"""

from __future__ import annotations

import re
import subprocess
import traceback
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import which
from struct import Struct
from typing import Literal

import numpy as np

from bench.sweeps.elementwise_loops import CType, Loop, Role, data_of
from planish.build.assemble import assemble_file
from planish.build.emit import make_drop_ins
from planish.build.functions import FunctionResult, build_function
from planish.build.job import make_job, make_workbench
from planish.build.lower import lower_region
from planish.build.read import read_file
from planish.build.selection import Selection
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFile, CFunction
from planish.ir.types import Floats
from planish.options import Options
from planish.report.account import remarks_of
from planish.run.calls.passing import signature_of
from planish.target.load import load_target
from planish.target.machine import Target

Outcome = Literal["taken", "unchanged", "refused", "wrong", "internal error", "not compiled", "invalid"]
"""`refused`: planish's own check found its version wrong; `invalid`: the original itself failed."""

Which = Literal["first", "every", "checked"]
"""Which versions are judged: the most promising one, as it is; each one that is tried where there is a clock; the one
that planish's own checks let through, which takes most of the time."""

HEAD = "#include <stdint.h>\n#include <stddef.h>\n#include <stdlib.h>\n#include <math.h>\n"
MARGIN = 64
"""Bytes before and behind each array, which nothing may change."""
_ROOM = 16384
_SIZES = ((1, 0), (2, 1), (3, 7), (2, 33), (1, 133), (0, 5), (3, 70))
"""Rows, and elements of each (of a single row where the loop has none)."""
_PATIENCE = 60.0
_HEADER = Struct("4i")


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one loop: the reason, or the place that raised."""

    key: str
    fp: Floats
    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Slot:
    """An array parameter and its element type."""

    name: Role
    type: CType


@dataclass(frozen=True, slots=True)
class Call:
    """Sizes of a call; `offset`: where o begins in a, in elements; None where they are apart."""

    m: int
    n: int
    offset: int | None = None


def slots(loop: Loop) -> list[Slot]:
    """The arrays that a loop is called with."""
    out = [Slot("a", loop.a)] if loop.reads_a else []
    out += [Slot("b", loop.b)] if loop.of.reads_y else []
    return out if loop.form == "inplace" or loop.folds else [*out, Slot("o", loop.o)]


def elements(loop: Loop, name: Role, call: Call) -> int:
    """How many elements of an array a call reaches."""
    rows = call.m if loop.is_grid else 1
    match loop.form, name:
        case "matmul", "b":
            return call.n * call.n
        case "window", "a" | "b":
            return call.n + 4
        case ("row-sums", "o"):
            return rows
        case ("column-sums", "o"):
            return call.n
        case ("rows" | "transpose" | "row-sums" | "column-sums", "b"):
            return call.n
        case _:
            return rows * call.n


def calls(loop: Loop) -> list[Call]:
    """The calls of a loop: those in which o overlaps a come last."""
    out = [Call(m, n) for m, n in _SIZES if loop.form != "matmul" or n * n * 8 < _ROOM // 2]
    overlaps = loop.reads_a and any(x.name == "o" for x in slots(loop)) and not loop.restricted and loop.a == loop.o
    last = out[-1]
    return out + [Call(last.m, last.n, offset) for offset in (0, 1) if overlaps]


def program(loops: Sequence[Loop], strict: bool) -> str:
    """The `main` that calls `f0`, `f1`, … : `PROGRAM WIDE FIRST [END]` writes records of four ints and their bytes."""
    parts = [HEAD, _MAIN_HEAD]
    parts += [_prototype(loop, k) + _runner(loop, k, strict) for k, loop in enumerate(loops)]
    table = ", ".join(f"r{k}" for k in range(len(loops)))
    return "\n".join(parts) + _MAIN_TAIL.format(table=table, count=len(loops))


def _prototype(loop: Loop, k: int) -> str:
    return loop.text(f"f{k}").split("\n{", 1)[0] + ";\n"


def _runner(loop: Loop, k: int, strict: bool) -> str:
    """The C function that makes all calls of a loop."""
    lines = [f"static void r{k}(int wide)", "{"]
    if loop.wraps:
        lines.append("  if (!wide) return;")
    for number, call in enumerate(calls(loop)):
        arguments = [f"{call.m}"] if loop.is_grid else []
        arguments.append(f"{call.n}")
        lines.append("  seed = 1;")
        for slot in slots(loop):
            lines.append(f"  {_filled(loop, slot, elements(loop, slot.name, call), strict)}")
        for slot in slots(loop):
            place = f"b_{slot.name} + {MARGIN}"
            if slot.name == "o" and call.offset is not None:
                place = f"b_a + {MARGIN + call.offset * loop.a.size}"
            arguments.append(f"(void *)({place})")
        if loop.of.reads_s:
            low = data_of(loop, loop.a, "s", False)
            value = (low.low + low.high) // 2 + 1 if low.high > low.low else low.high
            value = min(value + number % 3, low.high)
            arguments.append(f"({loop.a.name})({value}{' / 16.0' if loop.a.is_float else ''})")
        called = f"f{k}({', '.join(arguments)})"
        if loop.folds:
            lines.append(f"  {{ {loop.result.name} t = {called}; tell({k}, {number}, 'r', &t, sizeof t); }}")
        else:
            lines.append(f"  {called};")
        for slot in slots(loop):
            size = 2 * MARGIN + (elements(loop, slot.name, call) + 1) * slot.type.size
            lines.append(f"  tell({k}, {number}, '{slot.name}', b_{slot.name}, {size});")
    return "\n".join([*lines, "}", ""])


def _filled(loop: Loop, slot: Slot, count: int, strict: bool) -> str:
    """The C statement that fills an array."""
    tame, wide = (data_of(loop, slot.type, slot.name, x) for x in (False, True))
    special = strict and slot.type.is_float and loop.takes_nans and loop.form != "product"
    kind = "f" if slot.type.is_float else "i"
    ends = [f"wide ? {_long(w)} : {_long(t)}" for t, w in ((tame.low, wide.low), (tame.high, wide.high))]
    flags = f"wide && {int(not wide.whole)}, wide && {int(special)}"
    return f"fill(b_{slot.name}, '{kind}', {slot.type.size}, {count + 1}, {', '.join(ends)}, {flags});"


def _long(value: int) -> str:
    value = (value + (1 << 63)) % (1 << 64) - (1 << 63)
    return f"(-{(1 << 63) - 1}ll - 1)" if value == -(1 << 63) else f"{value}ll"


_MAIN_HEAD = f"""\
#include <stdio.h>
#include <string.h>
static _Alignas(64) unsigned char b_a[{_ROOM}], b_b[{_ROOM}], b_o[{_ROOM}];
static unsigned long long seed;
static unsigned long long next(void)
{{
  seed = seed * 6364136223846793005ull + 1442695040888963407ull;
  unsigned long long x = seed ^ seed >> 29;
  x *= 0xbf58476d1ce4e5b9ull;
  return x ^ x >> 32;
}}
/* Numbers between two ends, floats between sixteenths of them; each eighth one is an end. */
static void fill(unsigned char *to, int kind, int size, int count, long long low, long long high, int fine, int special)
{{
  memset(to, 0x5a, {_ROOM});
  to += {MARGIN};
  for (int k = 0; k < count; k++, to += size) {{
    const unsigned long long span = (unsigned long long)high - (unsigned long long)low + 1, r = next();
    long long v = (long long)((unsigned long long)low + (span ? r % span : r));
    const int pick = (int)(next() % 16);
    if (pick < 2) v = pick ? high : low;
    if (kind == 'i') {{ memcpy(to, &v, (size_t)size); continue; }}
    double d = (double)v / 16.0;
    if (fine && pick >= 2 && v < high) d += (double)(next() >> 12) / 4503599627370496.0 / 16.0;
    const double infinite = 1.0 / 0.0;
    const double odd[] = {{ -0.0, infinite, -infinite, infinite - infinite }};
    if (special && pick >= 2 && pick < 6) d = odd[pick - 2];
    const float f = (float)d;
    memcpy(to, size == 4 ? (const void *)&f : (const void *)&d, (size_t)size);
  }}
}}
static void tell(int function, int call, int what, const void *bytes, size_t size)
{{
  const int head[4] = {{ function, call, what, (int)size }};
  fwrite(head, sizeof head, 1, stdout);
  fwrite(bytes, 1, size, stdout);
}}
"""
_MAIN_TAIL = """
static void (*const table[])(int) = {{ {table} }};
int main(int count, char **argument)
{{
  if (count < 3) return 2;
  const int end = count > 3 ? atoi(argument[3]) : {count};
  for (int k = atoi(argument[2]); k < end; k++) {{ table[k](atoi(argument[1])); fflush(stdout); }}
  return 0;
}}
"""

Records = dict[tuple[int, int, str], bytes]
"""What a program wrote: by function, call, and array ('r': what the function returned)."""


def run_loops(loops: Sequence[Loop], fp: Floats, folder: Path, which: Which = "first") -> list[Finding]:
    """What becomes of loops that are built as one file in `folder`, without the clock."""
    text = HEAD + "\n" + "\n".join(f"/* {x.key} */\n{x.text(f'f{k}')}" for k, x in enumerate(loops))
    source = Source(str(folder / "loops.c"), text)
    options = Options(measure=False, fp=fp)
    found: dict[int, Finding] = {}
    results: dict[int, tuple[FunctionResult, ...]] = {}
    target = load_target(options.target)
    file = read_file(source, options)
    bench = make_workbench(options, target, folder, source)
    job = make_job(file.functions, file, options, target, bench)
    functions = {x.name: x for x in file.functions}
    for k, loop in enumerate(loops):
        function = functions[f"f{k}"]
        try:
            if which == "checked":
                results[k] = (build_function(function, job),)
            else:
                results[k] = _unchecked(function, options, target, file, which == "every")
        except PlanishError as error:
            found[k] = Finding(loop.key, fp, "unchanged", str(error).splitlines()[0])
        except Exception as error:  # whatever it is, it ends a build with exit code 70
            found[k] = Finding(loop.key, fp, "internal error", _place_of(error))
        else:
            found[k] = _account(loop, fp, results[k][0], file)
    if all(x.outcome != "taken" for x in found.values()):
        return [found[k] for k in sorted(found)]
    right = _run_original(loops, fp, folder, text)
    for number in range(max(map(len, results.values()))):
        # The drop-in is judged as a whole: what was left unchanged must stay right, too.
        chosen = {k: x[number] for k, x in results.items() if number < len(x)}
        made = assemble_file(file, options, tuple(chosen.values()), bench)
        new = {k for k, x in chosen.items() if x.replacements}
        for k, (outcome, reason) in _judge(loops, fp, folder, made.text, right, new).items():
            if found[k].outcome in ("taken", "unchanged"):
                selection = chosen[k].selection if k in chosen else None
                label = selection.version.label if selection is not None and selection.version is not None else "none"
                found[k] = Finding(loops[k].key, fp, outcome, f"version {label}: {reason}")
    return [found[k] for k in sorted(found)]


def _unchecked(
    function: CFunction, options: Options, target: Target, file: CFile, every: bool
) -> tuple[FunctionResult, ...]:  # fmt: skip
    """A function with its most promising version, or with each that is tried where there is a clock."""
    options = replace(options, measure=every)
    plans = tuple(lower_region(x, options, target, None if every else 1) for x in function.regions)
    remarks = tuple(r for p in plans for r in p.remarks)
    if signature_of(function) is None or not any(p.versions for p in plans):
        return (FunctionResult(function, plans, None, (), remarks),)
    versions, refused = make_drop_ins(plans, file, options)
    remarks = (*remarks, *refused)
    made = tuple(
        FunctionResult(function, plans, Selection(x, None, None, None, ()), x.shipped, remarks) for x in versions
    )
    return made or (FunctionResult(function, plans, None, (), remarks),)


def _account(loop: Loop, fp: Floats, result: FunctionResult, file: CFile) -> Finding:
    """Whether a function has a new nest, or why not."""
    if result.replacements:
        return Finding(loop.key, fp, "taken")
    said = remarks_of(result.function, result.remarks, file.remarks)
    outcome: Outcome = "refused" if any(x.id.startswith("verify") for x in said) else "unchanged"
    return Finding(loop.key, fp, outcome, "; ".join(f"{x.id}: {x.message}" for x in said) or "no reason is given")


def _place_of(error: Exception) -> str:
    """The error, and the line of planish that raised it."""
    frames = [x for x in traceback.extract_tb(error.__traceback__) if "/planish/" in x.filename]
    where = f"{frames[-1].filename.rpartition('/planish/')[2]}:{frames[-1].lineno} {frames[-1].name}" if frames else "?"
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''} at {where}"


@dataclass(frozen=True, slots=True)
class _Way:
    """How the drop-in is compiled, and with which data it is run."""

    name: str
    command: tuple[str, ...]
    wide: tuple[int, ...]


def _ways(printed: Sequence[str], clang: str | None) -> list[_Way]:
    """What is printed, where integers wrap around; and clang for the same machine, where they do not."""
    machine = [x for x in printed if x.startswith("-m")]
    ways = [_Way("as printed", (*printed, "-fwrapv"), (0, 1))]
    return [*ways, _Way("clang -O3", (clang, "-O3", *machine), (0,))] if clang is not None else ways


@dataclass(frozen=True, slots=True)
class _Right:
    """What the original writes, by whether data are wide; and where it fails itself."""

    records: Mapping[int, Records]
    died: Mapping[int, str]


def _run_original(loops: Sequence[Loop], fp: Floats, folder: Path, text: str) -> _Right:
    (folder / "original.c").write_text(text)
    (folder / "main.c").write_text(program(loops, fp == "strict"))
    _compile(("gcc", "-O0", "-w", "-c", "main.c", "-o", "main.o"), folder)
    # No fused operations, and no vector lanes but those of every processor.
    plain = ("gcc", "-O2", "-fwrapv", "-ffp-contract=off", "-w", "original.c", "main.o", "-o", "original", "-lm")
    _compile(plain, folder)
    runs = {wide: _run(folder, "original", wide, len(loops)) for wide in (0, 1)}
    died = {k: f"the original, wide={wide}: {why}" for wide, (_, all_of) in runs.items() for k, why in all_of.items()}
    return _Right({wide: records for wide, (records, _) in runs.items()}, died)


def _judge(
    loops: Sequence[Loop], fp: Floats, folder: Path, made: str, right: _Right, new: Collection[int]
) -> dict[int, tuple[Outcome, str]]:
    """What is wrong when a drop-in is compiled and run. Functions that are not `new`, and calls that a new nest leaves
    to the original, are the user's own code: compilers fuse products and sums in it where nobody forbids it."""
    (folder / "made.c").write_text(made)
    out: dict[int, tuple[Outcome, str]] = {k: ("invalid", why) for k, why in right.died.items()}
    match = re.search(r"^ \*   compile: (.*)$", made, re.MULTILINE)
    assert match is not None, "the banner has the compiler's command"
    for way in _ways(match[1].split(), find_clang()):
        name = re.sub(r"\W+", "-", way.name)
        message = _compile((*way.command, "-w", "made.c", "main.o", "-o", name, "-lm"), folder, must=False)
        if message:
            named = {int(x) for x in re.findall(r"function .(?:planish_)?f(\d+)", message)}
            for k in named or range(len(loops)):
                out.setdefault(k, ("not compiled", f"{way.name}: {message[:200]}"))
            continue
        for wide in way.wide:
            records, died = _run(folder, name, wide, len(loops))
            for k, why in died.items():
                out.setdefault(k, ("wrong", f"{way.name}, wide={wide}: {why}"))
            for at, want in right.records[wide].items():
                loop, call, what = loops[at[0]], calls(loops[at[0]])[at[1]], at[2]
                rounding = fp if at[0] in new and call.offset is None else "contract"
                difference = compare_records(loop, rounding, what, want, records.get(at, b""))
                if difference:
                    out.setdefault(
                        at[0], ("wrong", f"{way.name}, wide={wide}, call {at[1]}, {at[2]}: {difference}")
                    )
    return out


def find_clang() -> str | None:
    """The first clang there is."""
    return next((x for x in ("clang", "clang-19", "clang-18", "clang-17", "clang-16") if which(x)), None)


def _compile(command: Sequence[str], folder: Path, must: bool = True) -> str:
    """What the compiler says where it fails; RuntimeError where it `must` not."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode and must:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[:2000]}")
    return done.stderr if done.returncode else ""


def _run(folder: Path, name: str, wide: int, count: int) -> tuple[Records, dict[int, str]]:
    """The records of a program, and the functions in which it died; after one it goes on with the next."""
    records: Records = {}
    died: dict[int, str] = {}
    first = 0
    while first < count:
        try:
            done = subprocess.run(
                [str(folder / name), str(wide), str(first)], capture_output=True, check=False, timeout=_PATIENCE
            )
            data, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as error:
            data, code = error.stdout or b"", -14
        place, last = 0, first - 1
        while place + _HEADER.size <= len(data):
            function, call, what, size = _HEADER.unpack_from(data, place)
            place += _HEADER.size
            records[function, call, chr(what)] = data[place : place + size]
            place, last = place + size, max(last, function)
        if code == 0:
            break
        # Functions that a mode leaves out write nothing: the one that died is found by running it alone.
        rest = range(max(last, first), count)
        at = next((k for k in rest if not _comes_through(folder, name, wide, k)), count)
        died[at] = f"ends with {code}"
        first = at + 1
    return records, died


def _comes_through(folder: Path, name: str, wide: int, only: int) -> bool:
    command = [str(folder / name), str(wide), str(only), str(only + 1)]
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=_PATIENCE).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def compare_records(loop: Loop, fp: Floats, what: str, want: bytes, got: bytes) -> str:
    """How what was written differs, "" where it does not: bit by bit, NaNs alike; where `fp` allows other roundings,
    floats (and integers made of inexact ones) within a bound."""
    if want == got:
        return ""
    if len(want) != len(got):
        return f"{len(got)} bytes for {len(want)}"
    type = {"a": loop.a, "b": loop.b, "o": loop.o, "r": loop.result}[what]
    margin = 0 if what == "r" else MARGIN
    if margin and (want[:margin] != got[:margin] or want[-margin:] != got[-margin:]):
        return "memory beside the array"
    kind = np.dtype(f"{'f' if type.is_float else 'u' if type.kind != 'int' else 'i'}{type.size}")
    x, y = (np.frombuffer(t[margin : len(t) - margin], kind) for t in (want, got))
    if type.is_float:
        bits = x.view(f"u{type.size}") == y.view(f"u{type.size}")
        same = bits | (np.isnan(x) & np.isnan(y))
        if fp != "strict":
            finite = np.abs(x[np.isfinite(x)], dtype="f8")
            unit = 1e-5 if type.bits == 32 or "f" in loop.of.text.lower() and loop.a.bits == 32 else 1e-13
            bound = unit * max(1.0, float(finite.max(initial=0.0)))
            with np.errstate(invalid="ignore"):  # infinities of one sign
                same = same | (np.abs(x.astype("f8") - y.astype("f8")) <= bound)
    else:
        same = x == y
        if fp != "strict" and loop.computes_floats and loop.of.inexact:
            same = same | (np.abs(x.astype("f8") - y.astype("f8")) <= 1)
    wrong = np.flatnonzero(~same)
    if not len(wrong):
        return ""
    at = int(wrong[0])
    return f"{len(wrong)} of {len(x)} elements, the first is [{at}]: {y[at]!r} for {x[at]!r}"
