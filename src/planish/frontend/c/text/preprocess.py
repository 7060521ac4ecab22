"""The C preprocessor: the system compiler's over headers of ours, or pcpp where there is no compiler.

Coordinates stay those of the user's file, because line markers are kept:

>>> from planish.core.span import Source
>>> "a[4]" in preprocess(Source("a.c", "#define N 4\\nfloat a[N];\\n")).text
True
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from pcpp import Action, OutputDirective, Preprocessor

from planish.core.diagnostic import Diagnostic, PlanishError, Remark
from planish.core.span import Source, Span
from planish.frontend.c.text.lexer import tokenize

STUBS = Path(__file__).parent / "stubs"
"""Standard headers reduced to what the parser must know: types and constants."""

_CROSS = tuple(f"/usr/{x}-linux-gnu/include" for x in ("aarch64", "x86_64"))
SYSTEM = tuple(str(x) for x in (STUBS, "/usr/include", "/usr/local/include", *_CROSS))
"""Where the headers of the C library and of the system begin, also those for other processors."""

DIALECT = (
    "__attribute__(x)=", "__declspec(x)=", "__extension__=", "__restrict=restrict", "__restrict__=restrict",
    "__inline=inline", "__inline__=inline", "__const=const", "__volatile=volatile", "__volatile__=volatile",
    "__signed__=signed", "__thread=_Thread_local", "__builtin_assume_aligned(p,...)=(p)", "__builtin_expect(x,y)=(x)",
)  # fmt: skip
"""Spellings of GNU C and others that the parser does not know."""

_COMPILERS = ("cc", "gcc", "clang")
_MISSING = re.compile(
    r"^(.*?):(\d+):(\d+): (?:fatal )?error: '?([^:']+?)'?(?:: No such file or directory| file not found)", re.M
)
_ERROR = re.compile(r"^(.*?):(\d+):(?:(\d+):)? (?:fatal )?error: (.*)$", re.M)
_UNREADABLE = re.compile(r"(?:cannot open file )?'?([^':]+?)'?: (Permission denied|Too many levels.*)$")
_LINE = re.compile(r"[ \t]*#[ \t]*(?:line\b|[0-9])")
"""What says that lines come from elsewhere: places are those of the file that is read."""
_MARKER = re.compile(r'^#(?:line)? \d+ "((?:[^"\\\n]|\\.)*)"', re.MULTILINE)
_MOST_MISSING = 64


@dataclass(frozen=True, slots=True)
class MissingHeader:
    """A header that was not found, and where it is asked for."""

    name: str
    span: Span

    @property
    def remark(self) -> Remark:
        """What it means for the file."""
        what = f"the header {self.name} was not found; what it declares is unknown, and nests that need it stay"
        return Remark("c-include", "note", f"{what} as written", self.span)


@dataclass(frozen=True, slots=True)
class Preprocessed:
    """The text after preprocessing, with line markers, and the headers that were not found."""

    text: str
    missing: tuple[MissingHeader, ...] = ()


def preprocess(
    source: Source, defines: Sequence[str] = (), include_dirs: Sequence[Path] = (), compiler: Sequence[str] = ()
) -> Preprocessed:
    """Run the preprocessor over `source`; `#include "x.h"` is looked for beside the file and in `include_dirs`. The
    `compiler`, with flags, is the one for this machine if none is given. What it borrows stands behind it as it is.

    Raises PlanishError E0202 for an error of the preprocessor. A header that is not found is no error.
    """
    beside = Path(source.name).resolve().parent
    places = tuple(d for d in (beside, *include_dirs) if d.is_dir())
    command = compiler_command(compiler)
    made = (
        _with_compiler(command, source, defines, places) if command else _without_compiler(source, defines, places)
    )  # fmt: skip
    return replace(made, text=made.text + source.borrowed.text) if source.borrowed.text else made


def compiler_command(given: Sequence[str]) -> tuple[str, ...]:
    """A compiler that is given with its flags, or the one for this machine; () where there is none."""
    usual = next((path for name in _COMPILERS if (path := shutil.which(name))), None)
    return (*given,) or (() if usual is None else (usual,))


def included_files(text: str, name: str) -> tuple[str, ...]:
    """The headers, as markers in a preprocessed text name them, that the file of a name includes, but for the system's.

    >>> included_files('# 1 "a.c"\\n# 1 "/usr/include/math.h" 1\\n# 1 "own/b.h" 1\\n# 2 "a.c" 2\\n', "a.c")
    ('own/b.h',)
    """
    found = dict.fromkeys(x.replace('\\"', '"').replace("\\\\", "\\") for x in _MARKER.findall(text))
    return tuple(x for x in found if x != name and not x.startswith(("<", *SYSTEM)))


def _with_compiler(
    compiler: tuple[str, ...], source: Source, defines: Sequence[str], places: Sequence[Path]
) -> Preprocessed:
    name = source.name.replace("\\", "\\\\").replace('"', '\\"')
    text = f'# 1 "{name}"\n{_without_places(source.text)}'
    missing: list[MissingHeader] = []
    with tempfile.TemporaryDirectory(prefix="planish-") as empty:
        command = [*compiler, "-E", "-x", "c", "-nostdinc", "-Wno-all"]
        for place in places:
            command += ["-I", str(place)]
        command += ["-isystem", str(STUBS)]
        command += [y for x in _system_folders(compiler) for y in ("-idirafter", x)]
        command += ["-idirafter", empty]
        command += [f"-D{define}" for define in (*DIALECT, *defines)]
        for _ in range(_MOST_MISSING):
            done = subprocess.run(
                [*command, "-"], input=text, capture_output=True, text=True, errors="replace", check=False
            )
            if done.returncode == 0:
                kept = [line for line in done.stdout.splitlines() if not (line.startswith("#") and empty in line)]
                return Preprocessed("\n".join(kept) + "\n", tuple(missing))
            found = _MISSING.search(done.stderr)
            if found is None:
                raise PlanishError(_complaint(done.stderr, source), source)
            file, line, column, header = found.groups()
            place = Path(empty, header)
            if place.exists() or not place.resolve().is_relative_to(Path(empty).resolve()):
                raise PlanishError(_complaint(done.stderr, source), source)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("")
            span = Span(file, int(line), int(column), int(line), int(column) + len(header))
            missing.append(MissingHeader(header, span))
    raise PlanishError(Diagnostic("E0202", "too many headers were not found", source.point(1)), source)


@cache
def _system_folders(compiler: tuple[str, ...]) -> tuple[str, ...]:
    """Where a compiler looks for headers of the system, but for those of its own dialect."""
    asked = subprocess.run([*compiler, "-E", "-v", "-x", "c", os.devnull], capture_output=True, text=True, check=False)
    folders = [os.path.normpath(x.strip()) for x in asked.stderr.splitlines() if x.startswith(" /")]
    return tuple(x for x in folders if x.startswith(SYSTEM))


def _without_places(text: str) -> str:
    """The text without the directives that say where lines come from; its lines stay as they are.

    >>> _without_places('#line 3 \\\\\\n "x.c"\\nint a; /*\\n#line 4 */\\n# 5 "y.c"\\n')
    '\\n\\nint a; /*\\n#line 4 */\\n\\n'
    """
    out, done = [], 0
    for directive in tokenize(text).directives:
        if _LINE.match(directive.text):
            out += [text[done : directive.start], "\n" * directive.text.count("\n")]
            done = directive.start + len(directive.text)
    return "".join((*out, text[done:]))


def _complaint(stderr: str, source: Source) -> Diagnostic:
    found = _ERROR.search(stderr)
    if found is None:
        last = stderr.strip().splitlines()[-1] if stderr.strip() else "no message"
        return Diagnostic("E0202", f"the preprocessor failed: {last}", source.point(1))
    file, line, column, message = found.groups()
    number, start = int(line), int(column or 1)
    span = Span(file, number, start, number, start + 1)
    locked = _UNREADABLE.match(message)
    if locked is not None:
        what = f"the header {locked[1]} cannot be read: {locked[2][:1].lower()}{locked[2][1:]}"
        return Diagnostic("E0202", what, span, "check its permissions, or give the folder of another one with -I DIR")
    return Diagnostic("E0202", f"the preprocessor says: {message}", span)


def _without_compiler(source: Source, defines: Sequence[str], places: Sequence[Path]) -> Preprocessed:
    engine = Preprocessor()
    failures: list[Diagnostic] = []
    missing: list[MissingHeader] = []

    def on_error(file: str, line: int, message: str) -> None:
        span = Span(file, line, 1, line, 2)
        failures.append(Diagnostic("E0202", f"the preprocessor says: {message}", span))

    def on_include_not_found(malformed: bool, system: bool, directory: str, header: str) -> None:
        number = next((n for n, x in enumerate(source.text.splitlines(), 1) if "include" in x and header in x), 1)
        missing.append(MissingHeader(header, source.point(number)))
        raise OutputDirective(Action.IgnoreAndRemove)

    engine.on_error, engine.on_include_not_found = on_error, on_include_not_found
    engine.rewrite_paths = []
    for place in (*places, STUBS):
        engine.add_path(str(place))
    for define in (*DIALECT, "__GNUC__=4", "__x86_64__=1", "__LP64__=1", *defines):
        engine.define(define.replace("=", " ", 1) if "=" in define else f"{define} 1")
    engine.parse(_without_places(source.text), source.name)
    out = io.StringIO()
    engine.write(out)
    if failures:
        raise PlanishError(failures[0], source)
    own = Path(source.name).resolve()

    def named(found: re.Match[str]) -> str:
        # pcpp writes paths in its own way; the user's file keeps the name that it was given.
        return f'{found[1]}"{source.name}"' if Path(found[2]).resolve() == own else found[0]

    text = re.sub(r'^(#line \d+ )"([^"]*)"', named, out.getvalue(), flags=re.M)
    return Preprocessed(text, tuple(missing))
