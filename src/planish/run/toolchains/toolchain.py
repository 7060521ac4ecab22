"""The C compilers of this machine: found, identified, asked what they can do, and used.

>>> compiler = choose_compiler(None)
>>> compiler.kind in ("gcc", "clang")
True
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from planish.core.cache import Cache, key
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.types import BF16, F16, Type
from planish.run.processes.process import Limits, run_process
from planish.run.toolchains.c_type_names import c_name
from planish.run.toolchains.hexagon_system import library_runtime, put_headers
from planish.run.toolchains.link_stubs import stub_text, undefined_names

CompilerKind = Literal["gcc", "clang"]

FEATURES: Mapping[str, tuple[str, ...]] = {
    "native": ("-march=native",),
    "openmp": ("-fopenmp",),
    "polly": ("-O3", "-mllvm", "-polly"),
}
"""The flags that stand for a feature; `supports` asks whether a compiler takes them."""

BASE_FLAGS = ("-std=gnu11", "-fPIC")
"""What every file of a library is compiled with; the caller's flags come after them."""
REFERENCE_FLAGS = ("-O1", "-ffp-contract=off", "-fwrapv", "-fno-ivopts")
"""Flags with which the original says what is right. gcc 12's pass ivopts spells `a[2 * i]` as an offset from address 0,
which other passes take for an access that ends the program."""
LINK_FLAGS = ("-shared",) + (("-Wl,-Bsymbolic", "-Wl,-z,defs") if sys.platform == "linux" else ())
"""What every library is linked with.

Symbolic binding, because a function named like one of the C library or of the interpreter has to call itself; whole,
because what is not defined would make it unusable as it is loaded.
"""

_PROBE = "#include <stdint.h>\nvoid planish_probe(int32_t n, float *a) { for (int i = 0; i < n; i++) a[i] = 0; }\n"
_MISSING_HEADER = re.compile(r"fatal error: '?([^':\n]+)'?(?:: No such file or directory| file not found)")
_NAMES = re.compile(r"(gcc|clang)-(\d+)$")
_NUMBERS = "void planish_probe(float *a, NUMBER *b) { *a = (float)b[0] * (float)b[1]; }\n"
DEFAULT_LIMITS = Limits(seconds=120)
_PROBE_LIMITS = Limits(seconds=20)


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler: `name` as the user calls it ("clang-19"), a dotted `version`, a `stamp` of the program file."""

    name: str
    kind: CompilerKind
    version: str
    path: Path
    stamp: str

    def __str__(self) -> str:
        return f"{self.name} ({self.kind} {self.version})"


@lru_cache(maxsize=8)
def find_compilers(search: str | None = None) -> tuple[Compiler, ...]:
    """The compilers on the path (`search`, or $PATH): gcc, clang, clang-NN, gcc-NN, cc, each program once.

    gcc comes first, then clang from the newest on; a second name of the same program is dropped.
    """
    found: dict[Path, Compiler] = {}
    for name, path in _candidates(search):
        real = path.resolve()
        if real in found:
            continue
        compiler = _identify(name, path)
        if compiler is not None:
            found[real] = compiler
    return tuple(sorted(found.values(), key=lambda c: (c.kind != "gcc", [-n for n in _numbers(c.version)], c.name)))


def choose_compiler(preferred: str | None, search: str | None = None) -> Compiler:
    """The compiler of that name, kind ("clang": the newest) or path; without a preference the first found.

    Raises PlanishError E0801 where there is none, E0802 where the preferred one is not there.
    """
    compilers = find_compilers(search)
    if preferred is not None:
        for compiler in compilers:
            if preferred in (compiler.name, compiler.kind, str(compiler.path)):
                return compiler
        given = shutil.which(preferred, path=search)
        named = _identify(Path(preferred).name, Path(given)) if given else None
        if named is not None:
            return named
        names = ", ".join(c.name for c in compilers) or "none"
        raise PlanishError(Diagnostic("E0802", f"no C compiler '{preferred}' here", help=f"found on the path: {names}"))
    if not compilers:
        advice = "install gcc or clang (Debian, Ubuntu: apt install gcc)"
        raise PlanishError(Diagnostic("E0801", "no C compiler found on the path", help=advice))
    return compilers[0]


def supports(compiler: Compiler, feature: str | tuple[str, ...], cache: Cache | None = None) -> bool:
    """Whether the compiler takes a feature's flags (a name in `FEATURES`, or flags) and links a library with them.

    The answer is remembered in this process, and in `cache` (the default one where None).
    """
    flags = FEATURES[feature] if isinstance(feature, str) else feature
    return _takes(compiler, flags, _PROBE, str((cache or Cache()).root))


def knows(compiler: Compiler, type: Type, cache: Cache | None = None) -> bool:
    """Whether the compiler has a type of its own for these values, and converts them; remembered as by `supports`.

    C's own types it has. gcc has `__bf16` from version 13 on, clang from 17 on.
    """
    flags, root = (f"-DNUMBER={c_name(type)}",), str((cache or Cache()).root)
    return type not in (F16, BF16) or _takes(compiler, flags, _NUMBERS, root)


def missing_type(compiler: Compiler, types: Sequence[Type]) -> str:
    """That nothing of a file with these types can be checked, and which compiler could; "" where it can."""
    missing = next((x for x in types if not knows(compiler, x)), None)
    if missing is None:
        return ""
    others = ", ".join(x.name for x in find_compilers() if knows(x, missing)) or "none that was found"
    return f"{compiler} has no `{c_name(missing)}`, so that nothing can be checked; --cc takes one that has: {others}"


def compile_library(
    compiler: Compiler,
    sources: Sequence[Path] | str,
    flags: Sequence[str],
    out_dir: Path,
    limits: Limits = DEFAULT_LIMITS,
    include_dirs: Sequence[Path] = (),
    whole: bool = False,
) -> Path:
    """A shared object from C files or C text, built in a process with limits and put into `out_dir`.

    Its name derives from the compiler, the flags and the text, so different inputs never share a file. Functions that
    the text calls and nothing defines are stubs, which abort (`planish.run.toolchains.link_stubs`); where `whole`, they
    are refused as well. Raises PlanishError E0803 with the compiler's own messages when it refuses, E0804 when it does
    not come to an end, E0805 when the result cannot be written.
    """
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".build-", dir=out_dir) as folder:
            inputs, identity = _inputs(sources, Path(folder))
            output = out_dir / f"planish-{key(compiler.stamp, tuple(flags), identity)[:24]}.so"
            part = Path(folder) / "library.so"
            includes = [f"-I{directory}" for directory in include_dirs]
            includes += put_headers(Path(folder)) if library_runtime(flags) is not None else ()
            objects = []
            for number, source in enumerate(inputs):
                objects.append(Path(folder) / f"{number}.o")
                command = [*BASE_FLAGS, *includes, *flags, "-c", str(source), "-o", str(objects[-1])]
                _run(compiler, command, flags, limits, Path(folder))
            _link(compiler, objects, flags, part, limits, whole)
            os.replace(part, output)
            return output
    except OSError as error:
        message = f"cannot build a library in {out_dir}: {error.strerror or error}"
        raise PlanishError(Diagnostic("E0805", message, help="check the space and the permissions there")) from error


def preprocess_with(
    compiler: Compiler, text: str, flags: Sequence[str], folder: Path, include_dirs: Sequence[Path] = ()
) -> str:
    """C text as the compiler's preprocessor leaves it, with line markers; PlanishError E0803 where it refuses."""
    return _translate(compiler, text, (*flags, "-E"), folder, include_dirs)


def assemble_with(
    compiler: Compiler, text: str, flags: Sequence[str], folder: Path, include_dirs: Sequence[Path] = ()
) -> str:
    """C text as assembly, with the lines that instructions come from; PlanishError E0803 where the compiler refuses."""
    return _translate(compiler, text, (*flags, "-S", "-g1", "-w"), folder, include_dirs)


def compile_program(compiler: Compiler, text: str, flags: Sequence[str], folder: Path) -> Path:
    """A program from C text; PlanishError E0803 where the compiler refuses."""
    source, out = folder / "program.c", folder / "program"
    source.write_text(text)
    _run(compiler, [*flags, str(source), "-o", str(out), "-lm"], flags, DEFAULT_LIMITS, folder)
    return out


def _translate(
    compiler: Compiler, text: str, flags: Sequence[str], folder: Path, include_dirs: Sequence[Path]
) -> str:
    """What the compiler makes of C text, as text."""
    source, out = folder / "kernel.c", folder / "kernel.out"
    source.write_text(text, errors="surrogateescape")
    includes = [f"-I{directory}" for directory in include_dirs]
    _run(compiler, [*BASE_FLAGS, *includes, *flags, str(source), "-o", str(out)], flags, DEFAULT_LIMITS, folder)
    return out.read_text(errors="surrogateescape")


def _link(
    compiler: Compiler, objects: Sequence[Path], flags: Sequence[str], part: Path, limits: Limits, whole: bool
) -> None:
    """Links a library, with stubs for functions that nothing defines unless it has to be `whole`."""
    runtime = library_runtime(flags)
    if runtime is None:
        command = [*LINK_FLAGS, *map(str, objects), *flags, "-o", str(part), "-lm"]
    else:
        source, made = part.with_name("runtime.c"), part.with_name("runtime.o")
        source.write_text(runtime)
        alone = [*BASE_FLAGS, "-O1", "-w", "-ffreestanding", "-fno-builtin", *flags, "-c", str(source), "-o", str(made)]
        _run(compiler, alone, flags, limits, part.parent)
        command = [*LINK_FLAGS, *map(str, objects), str(made), *flags, "-o", str(part)]
    try:
        _run(compiler, command, flags, limits, part.parent)
    except PlanishError as error:
        names = undefined_names(error.diagnostic.message)
        if whole or not names:
            raise
        stubs, made = part.with_name("stubs.c"), part.with_name("stubs.o")
        stubs.write_text(stub_text(names))
        alone = [*BASE_FLAGS, *flags, "-w", "-fno-builtin", "-c", str(stubs), "-o", str(made)]
        _run(compiler, alone, flags, limits, part.parent)
        _run(compiler, [*LINK_FLAGS, str(made), *command[len(LINK_FLAGS) :]], flags, limits, part.parent)


def _run(compiler: Compiler, command: Sequence[str], flags: Sequence[str], limits: Limits, folder: Path) -> None:
    """Runs the compiler; PlanishError E0803 or E0804 where it makes nothing."""
    finished = run_process([str(compiler.path), *command], limits, environment=_environment())
    if finished.status == "timeout":
        message = f"{compiler.name} did not finish within {limits.seconds:g} s"
        raise PlanishError(Diagnostic("E0804", message, help="raise the time limit, or lower the unrolling"))
    made = Path(command[command.index("-o") + 1])
    if finished.code != 0 or not made.exists():
        raise PlanishError(_refusal(compiler, flags, finished.code, finished.stderr, str(folder)))


def _refusal(compiler: Compiler, flags: Sequence[str], code: int, stderr: str, folder: str) -> Diagnostic:
    said = stderr.replace(folder + "/", "").strip() or "it printed nothing"
    how = f"with exit code {code}" if code > 0 else f"of signal {-code}"
    lacking = missing_header(said)
    advice = f"give the folder of {lacking} with -I DIR" if lacking else ""
    return Diagnostic("E0803", f"{compiler.name} {' '.join(flags)} failed {how}:\n{said}", help=advice)


def missing_header(said: str) -> str:
    """The header that a compiler did not find, by what it printed; "" for none.

    >>> missing_header("k.c:1:10: fatal error: 'x/y.h' file not found"), missing_header("k.c:1:10: error: no")
    ('x/y.h', '')
    """
    found = _MISSING_HEADER.search(said)
    return str(found[1]) if found else ""


def _inputs(sources: Sequence[Path] | str, folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    if isinstance(sources, str):
        text = folder / "kernel.c"
        text.write_text(sources)
        return [text], (sources,)
    files = [Path(source).resolve() for source in sources]
    # Included headers are not read: two builds of one file in one folder replace each other, which is what is wanted.
    return files, tuple(f"{file}\n{file.read_text(errors='replace')}" for file in files)


def _candidates(search: str | None) -> list[tuple[str, Path]]:
    path = os.environ.get("PATH", os.defpath) if search is None else search
    names = {"gcc", "clang", "cc"}
    for directory in path.split(os.pathsep):
        try:
            names.update(entry for entry in os.listdir(directory or ".") if _NAMES.match(entry))
        except OSError:
            continue
    # Plain names first: they are what the user knows the program by.
    ordered = sorted(names, key=lambda name: (name == "cc", "-" in name, name))
    located = ((name, shutil.which(name, path=path)) for name in ordered)
    return [(name, Path(place)) for name, place in located if place]


def _identify(name: str, path: Path) -> Compiler | None:
    try:
        real = path.resolve()
        stat = real.stat()
        finished = run_process([str(path), "--version"], _PROBE_LIMITS, environment=_environment())
    except OSError:
        return None
    head = finished.stdout.splitlines()[0] if finished.stdout else ""
    kind: CompilerKind
    if "clang" in head:
        kind = "clang"
    elif "gcc" in head.lower() or "Free Software Foundation" in finished.stdout:
        kind = "gcc"
    else:
        return None
    versions = re.findall(r"\d+\.\d+(?:\.\d+)?", re.sub(r"\([^)]*\)", "", head))
    if finished.code != 0 or not versions:
        return None
    stamp = key(str(real), stat.st_size, stat.st_mtime_ns, head)[:16]
    return Compiler(name, kind, versions[0], path, stamp)


@lru_cache(maxsize=256)
def _takes(compiler: Compiler, flags: tuple[str, ...], text: str, root: str) -> bool:
    """Whether the compiler makes a library of a text with these flags."""
    cache = Cache(root)
    # -march=native means another thing on another host, hence the host's own features in the address.
    # Without the linker that flags name the answer is no, until it is installed.
    address = key("supports", compiler.stamp, flags, text, host_features(), *_linkers(compiler, flags))
    known = cache.get(address)
    if known is not None:
        return known == b"yes"
    with tempfile.TemporaryDirectory(prefix="planish-probe-") as folder:
        try:
            compile_library(compiler, text, flags, Path(folder), _PROBE_LIMITS)
            answer = True
        except PlanishError as error:
            if error.diagnostic.code != "E0803":
                return False  # not an answer of the compiler, so it is not remembered on disk
            answer = False
    cache.put(address, b"yes" if answer else b"no")
    return answer


def _linkers(compiler: Compiler, flags: tuple[str, ...]) -> list[str]:
    """Where the linkers that flags name are, beside the compiler or on the path; "" for one that is not there."""
    path = os.pathsep.join([str(compiler.path.resolve().parent), os.environ.get("PATH", "")])
    names = [x.removeprefix("-fuse-ld=") for x in flags if x.startswith("-fuse-ld=")]
    return [shutil.which(f"ld.{x}", path=path) or "" for x in names]


@lru_cache(maxsize=1)
def host_features() -> str:
    """The kernel's line of what this processor can do, or the machine's name where it has none."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return os.uname().machine
    return next((line for line in text.splitlines() if line.startswith(("flags", "Features"))), "")


def _environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C"}


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
