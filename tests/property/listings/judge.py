"""Builds a random C file with planish in several settings, compiles the drop-ins in several ways, runs and compares.

>>> compare_output("i a 12\\n", "i a 13\\n", exact=True)
'a: 13, but 12 is right'
>>> compare_output("d a 12 1.0 1.0 0\\n", "d a 13 1.00000000001 1.0 0\\n", exact=False)
''
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import random
import re
import resource
import shlex
import subprocess
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from shutil import which

from planish.build.assemble import FileResult, assemble_file
from planish.build.emit import make_drop_ins
from planish.build.functions import FunctionResult
from planish.build.job import make_workbench
from planish.build.lower import lower_region
from planish.build.read import read_file
from planish.core.diagnostic import PlanishError
from planish.core.reasons import LOSSES
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file
from planish.run.calls.passing import signature_of
from planish.run.toolchains.toolchain import REFERENCE_FLAGS
from planish.target.load import load_target

PLAIN = ("-fwrapv", "-fno-strict-aliasing")
"""What every program is compiled with, so that it has no undefined behaviour."""

SETTINGS: Mapping[str, Options] = {
    "strict": Options(measure=False, fp="strict"),
    "default": Options(measure=False),
    "clang": Options(measure=False, compiler=which("clang") or "clang-19"),
    "measured": Options(budget=0.05),
    "any": Options(),
    "any-strict": Options(fp="strict"),
}
"""What a build is asked for, by the setting's name. `any…`: no build, but the most promising version of each function,
and any of the versions, without planish's own check; that takes less time and shows what the check would hide."""

EXACT_WAYS = ("printed", "gcc -O1", "gcc -O2", "clang -O1", "clang -O2")
"""Compilers that fuse no product and sum of what is left as it was, so that each bit of a strict build is known."""

WARMING = """
#include <stdint.h>
void a(int n, uint8_t *y, const uint8_t *x) { for (int i = 0; i < n; i++) y[i] = x[i] > 9 ? x[i] - 9 : y[i]; }
void b(int n, int16_t *y, const int8_t *x) { for (int i = 0; i < n; i++) y[i] = x[i] * 3 + y[i]; }
void c(int n, float *y, const float *x) { for (int i = 0; i < n; i++) if (x[i] > y[i]) y[i] = x[i]; }
void d(int n, uint8_t *y, const uint8_t *x) { for (int i = 0; i < n; i++) y[i] = (77 * x[3 * i] + x[3 * i + 1]) >> 8; }
int e(int n, const int *x) { int s = 0; for (int i = 0; i < n; i++) s += x[i] * x[i]; return s; }
"""
"""Functions for which tables are made that all builds of a process share."""

PATIENCE = 30.0
"""A build is ended after so many times its limit: that is of processor time, and others may use the machine, too."""
TIMED = 2.0
"""A build that times versions may take so many times as long, for each function of the file."""

_FAULTY = {
    "verify-result": "caught", "verify-order": "caught", "verify-time": "caught", "verify-compile": "caught",
    LOSSES["processor"]: "slow", LOSSES["wall"]: "slow",
    LOSSES["killed"]: "crash", LOSSES["crash"]: "crash",
}  # fmt: skip
"""What a remark on a function says of planish, by the remark's id: the kind of the fault."""

_WRONG = {0: "wrong", 1000: "compile"}
_TOLERANCE = {"f": 2e-4, "d": 1e-9}


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong, where, and with which setting. `kind`: the build did not end (slow), took more of the
    processor's time than it may (late), raised (crash), was killed (died), refused the file (refused), said nothing of
    a loop that it left (silent), noticed a wrong version itself (caught); the drop-in does not compile (compile), ends
    with an error (dies), prints something else (wrong); or the plain file itself does not run (invalid)."""

    kind: str
    where: str
    setting: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Built:
    """What a build came to: the drop-in (empty where there is none), the functions that got new nests, faults, and the
    remarks for functions that did not; the processor's time of it and all that it ran; how many functions there are;
    other drop-ins of the same analysis."""

    text: str = ""
    taken: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()
    faults: tuple[Fault, ...] = ()
    seconds: float = 0.0
    functions: int = 1
    others: tuple[str, ...] = ()


@dataclass(slots=True)
class Verdict:
    """All faults of one program, and what its builds came to, by setting."""

    faults: list[Fault] = field(default_factory=list)
    built: dict[str, Built] = field(default_factory=dict)


def judge(
    text: str,
    settings: Mapping[str, Options],
    limit: float,
    ways: Mapping[str, list[str]],
    name: str = "listing.c",
    printed: bool = True,
) -> Verdict:
    """Builds, compiles and runs one program; `limit`: seconds that a build may take, `ways`: compilers besides the
    command that is printed; where not `printed`, each drop-in is compiled in one of the ways alone, in turns."""
    verdict = Verdict()
    with tempfile.TemporaryDirectory(prefix="listing-") as folder:
        rights: dict[tuple[str, ...], str] = {}
        done: dict[str, str] = {}
        for setting, options in settings.items():
            built = build_apart(Source(name, text), options, setting, limit)
            verdict.built[setting] = built
            verdict.faults += built.faults
            if not built.taken or "main(" not in text:
                continue
            odd = ("-DSPECIAL",) if options.fp == "strict" else ()
            if odd not in rights:
                code, right = run_program(text, ["gcc", *REFERENCE_FLAGS, *odd], Path(folder))
                if code:
                    verdict.faults.append(Fault("invalid", "gcc -O1", setting, f"exit {code}: {right[-500:]}"))
                    text = text.partition("#ifdef MAIN")[0]  # nothing to compare with; it is built all the same
                    continue
                rights[odd] = right
            for way, command, drop_in in _compilations(built, ways, printed):
                body = drop_in.partition("*/")[2]
                if done.setdefault(body + way + shlex.join((*command, *odd)), setting) != setting:
                    continue
                exact = options.fp == "strict" and way in EXACT_WAYS
                code, printed = run_program(drop_in, [*command, *odd], Path(folder))
                kind, wrong = _WRONG.get(code, "dies"), f"exit {code}: {printed[-500:]}"
                if code == 0:
                    wrong = compare_output(rights[odd], printed, exact)
                    if wrong and not exact:
                        wrong = compare_output(rights[odd], printed, exact=False, moved=_moved(text, odd, Path(folder)))
                if wrong:
                    verdict.faults.append(Fault(kind, way, setting, wrong))
    return verdict


def _compilations(
    built: Built, ways: Mapping[str, list[str]], all_ways: bool
) -> Iterator[tuple[str, list[str], str]]:
    """How each drop-in of a build is compiled: the first one as it says itself, too; the name of the way, the command
    and the drop-in."""
    printed = {"printed": printed_command(built.text)}
    if not all_ways:
        for (way, command), text in zip(ways.items(), (built.text, *built.others), strict=False):
            yield way, command or printed["printed"], text
        return
    for text in (built.text, *built.others):
        for way, command in ({**printed, **ways} if text is built.text or not ways else ways).items():
            yield way, command, text


def printed_command(text: str) -> list[str]:
    """The command that the drop-in's banner names."""
    found = re.search(r"compile: (.*)", text)
    return shlex.split(found[1]) if found else ["gcc", "-O3"]


def _moved(text: str, odd: Sequence[str], folder: Path) -> tuple[str, ...]:
    """What the program prints for data that are moved a little."""
    return tuple(
        run_program(text, ["gcc", *REFERENCE_FLAGS, *odd, f"-DWOBBLE={x}"], folder)[1] for x in ("1e-12", "1e-7")
    )


def run_program(text: str, command: list[str], folder: Path) -> tuple[int, str]:
    """The exit code and output of a program; the compiler's message with the code 1000."""
    source, binary = folder / "program.c", folder / "program"
    source.write_text(text)
    line = [*command, "-w", *PLAIN, "-DMAIN", str(source), "-o", str(binary), "-lm"]
    made = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    if made.returncode:
        return 1000, made.stderr[:1000]
    try:
        ran = subprocess.run([str(binary)], capture_output=True, text=True, timeout=60, check=False, errors="replace")
    except subprocess.TimeoutExpired:
        return 124, "does not end"
    return ran.returncode, ran.stdout


def compare_output(right: str, got: str, exact: bool, moved: tuple[str, ...] = ()) -> str:
    """What is wrong, or nothing; `moved`: the output for data moved a little, which shows how they are conditioned."""
    a, b = right.splitlines(), got.splitlines()
    if len(a) != len(b):
        return f"{len(b)} lines, but {len(a)} are right"
    others = [x.splitlines() for x in moved]
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        if x == y:
            continue
        if any(not _near(x, o[k]) for o in others):
            # A little moves this much: no program has the right value but bit for bit.
            if not exact:
                continue
        if exact or not _near(x, y):
            return f"{x.split()[1]}: {' '.join(y.split()[2:])}, but {' '.join(x.split()[2:])} is right"
    return ""


def _near(a: str, b: str) -> bool:
    """Whether two lines agree, but for rounding."""
    x, y = a.split(), b.split()
    if x[:2] != y[:2] or x[0] == "i":
        return x == y
    if x[5] != y[5]:
        return False
    return abs(float(x[3]) - float(y[3])) <= _TOLERANCE[x[0]] * (float(x[4]) + 1e-300)


# -- builds


def build_apart(source: Source, options: Options, setting: str, limit: float) -> Built:
    """A build in a child process: more than `limit` seconds of the processor's time are a fault, and more than
    `PATIENCE` times as many on the wall end it."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    patience = PATIENCE * limit * (TIMED if options.measure else 1)
    with tempfile.NamedTemporaryFile("w+", prefix="listing-trace-") as trace:
        began = time.monotonic()
        child = context.Process(target=_serve, args=(there, source, options, setting, patience, trace.name))
        child.start()
        there.close()
        try:
            built: Built = here.recv() if here.poll(patience + 5) else Built()
            told = here.poll(0) or built.seconds > 0
        except EOFError:
            built, told = Built(), False
        if not told:
            child.kill()
        child.join()
        here.close()
        if told:
            most = limit * (TIMED * built.functions if options.measure else 1)
            if built.seconds <= most:
                return built
            late = Fault("late", "", setting, f"{built.seconds:.1f} s of at most {most:g} s")
            return replace(built, faults=(*built.faults, late))
        stack = Path(trace.name).read_text()
        seconds = time.monotonic() - began
    if stack or seconds > patience:
        where = innermost(re.findall(r'File "([^"]+)", line (\d+) in (\S+)', stack), inside_first=True)
        return Built(faults=(Fault("slow", where, setting, f"over {patience:g} s"),), seconds=seconds)
    return Built(faults=(Fault("died", f"signal {child.exitcode}", setting),), seconds=seconds)


def _serve(link: Connection, source: Source, options: Options, setting: str, limit: float, trace: str) -> None:
    with open(trace, "w") as file:
        faulthandler.dump_traceback_later(limit, exit=True, file=file)
        link.send(_build(source, options, setting))
        faulthandler.cancel_dump_traceback_later()


def warm() -> None:
    """Makes what all builds of this process and its children share."""
    for name in ("any", "any-strict"):
        _take_any(Source("warming.c", WARMING), SETTINGS[name])


def _take_any(source: Source, options: Options) -> tuple[FileResult, tuple[str, ...]]:
    """The file with the most promising version of each function, and the text with any of them; nothing is checked."""
    rng = random.Random(source.text)
    target, file = load_target(options.target), read_file(source, options)
    first, other = list[FunctionResult](), list[FunctionResult]()
    for function in file.functions:
        plans = tuple(lower_region(x, options, target) for x in function.regions)
        remarks = tuple(x for p in plans for x in p.remarks)
        known = any(p.versions for p in plans) and signature_of(function) is not None
        versions, refused = make_drop_ins(plans, file, options) if known else ((), ())
        for taken, at in ((first, 0), (other, rng.randrange(max(1, len(versions))))):
            chosen = versions[at].shipped if versions else ()
            taken.append(FunctionResult(function, plans, None, chosen, (*remarks, *refused)))
    with tempfile.TemporaryDirectory() as folder:
        bench = make_workbench(options, target, Path(folder), source)
        result, more = (assemble_file(file, options, tuple(x), bench) for x in (first, other))
    return result, (more.text,) if more.text != result.text else ()


def _build(source: Source, options: Options, setting: str) -> Built:
    try:
        result, others = _take_any(source, options) if setting.startswith("any") else (build_file(source, options), ())
    except PlanishError as error:
        known = error.diagnostic.code in ("E0105",)
        faults = () if known else (Fault("refused", error.diagnostic.code, setting, str(error)),)
        return Built(faults=faults, seconds=_spent())
    except Exception as error:  # any exception is a fault, told by its place
        frames = [(f.filename, str(f.lineno), f.name) for f in traceback.extract_tb(error.__traceback__)]
        where = f"{innermost(frames)} {type(error).__name__}"
        detail = "".join(traceback.format_exception(error)[-8:])
        return Built(faults=(Fault("crash", where, setting, detail),), seconds=_spent())
    faults, taken, left = [], [], []
    for function in result.functions:
        name = function.function.name
        for remark in function.remarks:
            if remark.id in _FAULTY:
                faults.append(Fault(_FAULTY[remark.id], remark.id, setting, f"{name}: {remark.message}"))
        if function.replacements:
            taken.append(name)
            continue
        first, last = function.function.span.line, source.text.count("\n", 0, function.function.end) + 1
        about = [r for r in result.remarks if r.span is not None and first <= r.span.line <= last]
        reasons = [r.render(source) for r in (*about, *function.remarks) if r.kind != "done"]
        left.append((name, "\n".join(reasons)))
        body = source.text[function.function.start : function.function.end]
        if not reasons and re.search(r"\b(for|while|do)\b", body):
            faults.append(Fault("silent", "", setting, name))
    return Built(result.text, tuple(taken), tuple(left), tuple(faults), _spent(), max(1, len(result.functions)), others)


def _spent() -> float:
    """Seconds of processor time of this child and of all that it ran: others may use the machine, too."""
    used = [resource.getrusage(x) for x in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(x.ru_utime + x.ru_stime for x in used)


def innermost(frames: list[tuple[str, str, str]], inside_first: bool = False) -> str:
    """The innermost place of planish in a stack."""
    ours = [x for x in frames if "/planish/" in x[0]]
    if not ours:
        return "outside"
    file, _, name = ours[0 if inside_first else -1]
    return f"{file.rpartition('/planish/')[2]}:{name}"
