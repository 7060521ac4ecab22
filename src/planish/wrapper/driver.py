"""`planish cc`, the compiler wrapper (launcher): runs the user's compiler, and puts faster objects in place of its own.

What the compiler prints, writes and returns is that of the user's command, whatever happens beside it.

>>> has_loops(b"int f(int *a) { for (int i = 0; i < 9; i++) a[i] = 0; }")
True
>>> has_loops(b"/* for a[1] */ int f(void) { return 1; }")
False
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planish.core.cache import Cache
from planish.ir.types import Floats
from planish.wrapper.command_line import CommandLine, SourceFile, read_command
from planish.wrapper.objects import NM, compile_drop_in, symbols_of
from planish.wrapper.permissions import read_permissions
from planish.wrapper.preprocessing import PreprocessingError, digest_text, own_words, preprocess_by
from planish.wrapper.record import SourceRecord, append_record
from planish.wrapper.request import TranslatedFunction, Translation, TranslationRequest
from planish.wrapper.worker import translate_remembered

SECONDS = 5.0
"""How much longer a source may take than by the compiler alone."""
RESERVE = 0.2
"""The part of these that is kept for compiling what was made."""
_COMMENT = re.compile(rb'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_LOOP = re.compile(rb"\b(?:for|while|do)\b")
_ACCESS = re.compile(rb"\[|\*\s*\(?\s*(?:\+\+|--)?[A-Za-z_]")


@dataclass(frozen=True, slots=True)
class WrapperWishes:
    """What the user asks of the wrapper: the compiler's path; what may happen to floats (None: what its flags permit);
    the seconds for a source (None: any); the record to write; whether to say on stderr what is done; whether a process
    keeps the compiler loaded for the next files."""

    compiler: str
    floats: Floats | None = None
    seconds: float | None = SECONDS
    report: str = ""
    verbose: bool = False
    warm: bool = False

    @property
    def kind(self) -> str:
        """gcc or clang, by the compiler's name."""
        return "clang" if "clang" in Path(os.path.realpath(self.compiler)).name else "gcc"


def has_loops(text: bytes) -> bool:
    """Whether a text may hold a loop over memory: a look that costs nothing."""
    code = _COMMENT.sub(b" ", text)
    return _LOOP.search(code) is not None and _ACCESS.search(code) is not None


def run_compiler(arguments: Sequence[str], wishes: WrapperWishes) -> int:
    """The exit code of the user's command. Where nothing can be gained, this process becomes the compiler and does not
    come back."""
    start = time.monotonic()
    command = read_command(arguments)
    plain = read_permissions(command, wishes.kind).plain
    sources = [] if plain else [x for x in command.sources if _may_gain(x)]
    skipped = [x for x in command.sources if x not in sources]
    for source in skipped:
        _tell(wishes, _record(command, source, wishes, Translation("", plain or "it has no loop over memory"), start))
    if not sources:
        _become(wishes.compiler, arguments)
    with _Compilation([wishes.compiler, *arguments]) as compilation:
        with tempfile.TemporaryDirectory(prefix="planish-") as folder:
            units = [_Unit(x, command, wishes, Path(folder) / str(x.place)) for x in sources]
            found = [(x, *x.translate(compilation)) for x in units]
            code = compilation.finish()
            if code == 0:
                found = _replace(found, command, wishes, Path(folder))
        for unit, translation, known in found:
            _tell(wishes, _record(command, unit.source, wishes, translation, compilation.ended, known))
    return code


def _may_gain(source: SourceFile) -> bool:
    try:
        return has_loops(Path(source.name).read_bytes())
    except OSError:
        return False  # the compiler says so


def _become(compiler: str, arguments: Sequence[str]) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(compiler, [compiler, *arguments])


class _Compilation:
    """The user's command, which runs beside the translation; `ended`: when it was over."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command)
        self.ended = 0.0
        self._watch = threading.Thread(target=self._wait, daemon=True)
        self._watch.start()

    def __enter__(self) -> _Compilation:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()

    def is_wanted(self) -> bool:
        """Whether the source compiles, as far as is known."""
        return not self._process.returncode

    def finish(self) -> int:
        """Its exit code; 128 and the number of the signal that ended it."""
        self._watch.join()
        code = self._process.returncode
        return code if code >= 0 else 128 - code

    def _wait(self) -> None:
        self._process.wait()
        self.ended = time.monotonic()


class _Unit:
    """A source of the command that may gain."""

    def __init__(self, source: SourceFile, command: CommandLine, wishes: WrapperWishes, scratch: Path) -> None:
        self.source, self.command, self.wishes, self.scratch = source, command, wishes, scratch
        self.words: frozenset[str] = frozenset()
        scratch.mkdir()

    def translate(self, compilation: _Compilation) -> tuple[Translation, bool]:
        """The drop-in and whether it was known, or why there is none: also after a fault of ours."""
        try:
            expanded = preprocess_by(self.wishes.compiler, self.command.flags_for_sources(), self.source.name)
            self.words = own_words(expanded, self.source.name)
            wanted = compilation.is_wanted
            return translate_source(self.source, self.command, self.wishes, expanded, self.scratch, wanted)
        except PreprocessingError as error:
            return Translation("", f"the compiler does not preprocess it: {error}"), False
        except Exception as error:
            return Translation("", f"internal error: {type(error).__name__}: {error}"), False

    def compile(self, text: Translation, output: str) -> str:
        """Makes the object of the drop-in; why it could not, or ""."""
        return compile_drop_in(
            text.text.encode(text.encoding, "surrogateescape"), self.wishes.compiler, self.command.flags_for_sources(),
            self.command.flags_for_text(), self.source.name, output, self.scratch,
        )  # fmt: skip


def translate_source(
    source: SourceFile, command: CommandLine, wishes: WrapperWishes, expanded: str, scratch: Path,
    wanted: Callable[[], bool],
) -> tuple[Translation, bool]:  # fmt: skip
    """The drop-in of a source of a command, which is `expanded` by the preprocessor, and whether it was known."""
    compiler, flags = wishes.compiler, command.flags_for_sources()
    request = TranslationRequest(
        source.name, compiler, wishes.kind, flags, _macros(command), _folders(command),
        command.flags_for_text(),
        wishes.floats or read_permissions(command, wishes.kind).floats,
        None if wishes.seconds is None else wishes.seconds * (1 - RESERVE), expanded=digest_text(expanded),
    )  # fmt: skip
    return translate_remembered(request, expanded, Cache(), scratch, wanted, wishes.warm)


def _macros(command: CommandLine) -> tuple[str, ...]:
    """The macros that are defined in the end."""
    found: dict[str, str] = {}
    for part in command.parts:
        if part.kind == "macro":
            name = re.split(r"[=(]", part.value, maxsplit=1)[0]
            found.pop(name, None)
            if part.words[0].startswith("-D"):
                found[name] = part.value
    return tuple(found.values())


def _folders(command: CommandLine) -> tuple[str, ...]:
    found = (_folder(part.words) for part in command.parts if part.kind == "folder")
    return tuple(dict.fromkeys(x for x in found if x))


def _folder(words: Sequence[str]) -> str:
    if len(words) > 1:
        return words[1]
    return re.sub(r"^-(?:I|isystem|iquote|idirafter)", "", words[0])


def _replace(
    found: Sequence[tuple[_Unit, Translation, bool]], command: CommandLine, wishes: WrapperWishes, folder: Path
) -> list[tuple[_Unit, Translation, bool]]:
    """Puts objects, or the whole program, in the place of what the command made, where they do for it."""
    out, objects = [], {}
    for unit, translation, known in found:
        if translation.text:
            made = str(folder / f"{unit.source.place}.o")
            refused = unit.compile(translation, made) or _compare(unit, command, made, folder)
            if refused:
                translation = replace(translation, text="", reason=refused, functions=_untaken(translation))
            else:
                objects[unit.source.place] = made
        out.append((unit, translation, known))
    if command.mode == "object":
        for unit, _, _ in out:
            if unit.source.place in objects:
                _put(objects[unit.source.place], command.output_of(unit.source))
    elif objects and (why := _link(command, wishes, objects)):
        out = [(u, replace(t, text="", reason=why, functions=_untaken(t)) if t.text else t, k) for u, t, k in out]
    return out


def _untaken(translation: Translation) -> tuple[TranslatedFunction, ...]:
    return tuple(replace(x, taken=False) for x in translation.functions)


def _compare(unit: _Unit, command: CommandLine, made: str, folder: Path) -> str:
    """Why the object cannot stand for the one that the command made, or "": it has to define and need the same."""
    original = command.output_of(unit.source)
    if command.mode == "link":
        original = str(folder / f"{unit.source.place}.original.o")
        words = [unit.wishes.compiler, *command.flags_for_sources(), "-w", "-c", "-x", "c", unit.source.name]
        done = subprocess.run([*words, "-o", original], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode:
            return "the source does not compile by itself"
    nm = _lister(unit.wishes.compiler)
    before, after = symbols_of(nm, original), symbols_of(nm, made)
    if before is None or after is None:
        return f"the symbols of the object cannot be listed by {nm}"
    return "" if after.may_replace(before, unit.words) else "the drop-in defines, or needs, other symbols"


def _lister(compiler: str) -> str:
    """What lists symbols: that of the cross compiler, where it is one."""
    found = re.match(r"(.*-)(?:gcc|clang|cc)(?:-[\d.]+)?$", Path(compiler).name)
    return f"{found[1]}{NM}" if found and shutil.which(f"{found[1]}{NM}") else NM


def _put(made: str, output: str) -> None:
    """The file takes the place of another one, with its permissions, at once or not at all."""
    beside = f"{output}.planish-{os.getpid()}"
    try:
        shutil.copyfile(made, beside)
        shutil.copymode(output, beside)
        os.replace(beside, output)
    finally:
        Path(beside).unlink(missing_ok=True)


def _link(command: CommandLine, wishes: WrapperWishes, objects: dict[int, str]) -> str:
    """Links the program anew with some objects; why it could not, or ""."""
    output = command.output or "a.out"
    made = f"{output}.planish-{os.getpid()}"
    words = [wishes.compiler, *command.relinked(objects, made)]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode:
            return "the program does not link with the new objects"
        os.replace(made, output)
    finally:
        Path(made).unlink(missing_ok=True)
    return ""


def _record(
    command: CommandLine, source: SourceFile, wishes: WrapperWishes, translation: Translation, since: float,
    known: bool = False,
) -> SourceRecord:  # fmt: skip
    words = tuple(w for part in command.parts for w in part.words)
    made = command.output_of(source) if command.mode != "link" else (command.output or "a.out")
    return SourceRecord(
        source.name, _current_folder(), (wishes.compiler, *words), made, "taken" if translation.text else "plain",
        translation.reason, round(max(0.0, time.monotonic() - since), 3), translation.functions, known,
        translation.unfinished, wishes.floats,
    )  # fmt: skip


def _current_folder() -> str:
    """The folder that the command runs in; "" where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _tell(wishes: WrapperWishes, record: SourceRecord) -> None:
    if wishes.verbose:
        print(describe_record(record), file=sys.stderr)
    if wishes.report:
        try:
            append_record(wishes.report, record)
        except OSError as error:
            print(f"planish cc: warning: cannot write {wishes.report}: {error.strerror}", file=sys.stderr)


def describe_record(record: SourceRecord) -> str:
    """What became of a source, in one line.

    >>> describe_record(SourceRecord("a.c", "/p", ("gcc",), "a.o", "plain", "no loop", 0.01))
    'planish cc: a.c: as written: no loop'
    """
    if record.outcome == "plain":
        return f"planish cc: {record.source}: as written: {record.reason}"
    names = ", ".join(f"{x.name} ({x.version})" for x in record.functions if x.taken)
    return f"planish cc: {record.source}: {names}"
