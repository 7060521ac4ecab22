"""The command line of gcc and clang, read as far as is needed to compile one of its sources in another form.

>>> line = read_command(["-O3", "-MD", "-MF", "x.d", "-Iinc", "-c", "x.c", "-o", "x.o"])
>>> line.mode, [x.name for x in line.sources], line.output
('object', ['x.c'], 'x.o')
>>> line.flags_for_sources()
('-O3', '-Iinc')
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Mode = Literal["link", "object", "assembly", "preprocess", "nothing"]
"""What a command makes; `nothing`: it prints, or checks alone."""
WordKind = Literal["source", "input", "option", "macro", "folder", "depend", "output", "mode", "language", "warning"]
"""What words of a command are: a C file to compile, another file, an option, one for the preprocessor (a macro, or a
folder of headers), one for a file of dependences, the output and its kind, `-x`, or a warning."""

MOST_RESPONSES = 100
"""Response files within each other, beyond which there must be a circle."""

_SEPARATE = frozenset(
    (
        "-A", "-B", "-D", "-F", "-G", "-I", "-L", "-T", "-U", "-arch", "-aux-info", "-dumpbase", "-dumpbase-ext",
        "-dumpdir", "-e", "-framework", "-h", "-idirafter", "-imacros", "-imultilib", "-include", "-install_name",
        "-iplugindir", "-iprefix", "-iquote", "-isysroot", "-isystem", "-isystem-after", "-iwithprefix",
        "-iwithprefixbefore", "-l", "-mllvm", "-MF", "-MJ", "-MQ", "-MT", "-o", "-rpath", "-soname", "-target", "-u",
        "-undefined", "-wrapper", "-x", "-Xanalyzer", "-Xassembler", "-Xclang", "-Xlinker", "-Xpreprocessor", "-z",
        "--param", "--sysroot", "--include", "--output", "--language",
    )
)  # fmt: skip
"""Options whose argument is the next word, where nothing is written behind them."""
_MACROS = ("-D", "-U", "--define-macro", "--undefine-macro")
_FOLDERS = ("-I", "-isystem", "-iquote", "-idirafter")
_MODES: dict[str, Mode] = {
    "-c": "object", "-S": "assembly", "-E": "preprocess", "-M": "preprocess", "-MM": "preprocess",
    "-fsyntax-only": "nothing", "-###": "nothing", "--version": "nothing", "--help": "nothing",
    "--compile": "object", "--assemble": "assembly", "--preprocess": "preprocess",
}  # fmt: skip
_ORDER: tuple[Mode, ...] = ("nothing", "preprocess", "assembly", "object", "link")
_PRINTS = re.compile(r"-(?:print-|dump(?:machine|version|specs|fullversion)|-(?:help|target-help|print-))")
_RESPONSE = re.compile(r"""(?:"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|\\.|[^\s"'\\])+""", re.DOTALL)
_PART = re.compile(
    r"""\\(?P<escaped>.)|"(?P<double>(?:\\.|[^"\\])*)"?|'(?P<single>(?:\\.|[^'\\])*)'?|(?P<plain>.)""", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class CommandWords:
    """Words of a command that belong together, and what they are; `forced`: of a source, that `-x c` says so."""

    kind: WordKind
    words: tuple[str, ...]
    forced: bool = False

    @property
    def value(self) -> str:
        """What the option is given.

        >>> CommandWords("folder", ("-I", "inc")).value, CommandWords("macro", ("-DN=3",)).value
        ('inc', 'N=3')
        """
        return self.words[1] if len(self.words) > 1 else self.words[0][2:]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A C file that a command compiles, and the place of its word among the parts of the command."""

    name: str
    place: int


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A compiler's command, without the compiler's name; `unreadable`: what there is in it that is not understood."""

    parts: tuple[CommandWords, ...]
    mode: Mode
    unreadable: str = ""

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """The C files that are compiled."""
        return tuple(SourceFile(x.words[0], n) for n, x in enumerate(self.parts) if x.kind == "source")

    @property
    def output(self) -> str | None:
        """The file that the option -o names, the last one counts."""
        named = [x for x in self.parts if x.kind == "output"]
        return (named[-1].words[1] if len(named[-1].words) > 1 else named[-1].words[0][2:]) if named else None

    def output_of(self, source: SourceFile) -> str:
        """What the object, or the assembly text, of a source is called."""
        suffix = ".s" if self.mode == "assembly" else ".o"
        return self.output or Path(source.name).stem + suffix

    def values(self, *names: str) -> tuple[str, ...]:
        """What options of these names are given, in their order.

        >>> read_command(["-DA", "-I", "x", "-DB=1"]).values("-D")
        ('A', 'B=1')
        """
        return tuple(x.value for x in self.parts if x.words[0].startswith(names) and x.kind in ("macro", "folder"))

    @property
    def options(self) -> tuple[str, ...]:
        """All words that are no files, outputs, warnings, dependences and modes, one after the other."""
        return tuple(w for x in self.parts if x.kind in ("option", "macro", "folder") for w in x.words)

    def flags_for_sources(self) -> tuple[str, ...]:
        """What a source is compiled with besides its name: no warnings, dependences and outputs."""
        return self.options

    def flags_for_text(self) -> tuple[str, ...]:
        """The same for a text that the preprocessor has made."""
        return tuple(w for x in self.parts if x.kind == "option" for w in x.words)

    def relinked(self, objects: dict[int, str], output: str) -> tuple[str, ...]:
        """The command with objects in place of some sources, by their places, which makes another output and no files
        of dependences."""
        words: list[str] = []
        for n, part in enumerate(self.parts):
            if n in objects:
                words += ["-x", "none", objects[n], *(["-x", "c"] if part.forced else [])]
            elif part.kind not in ("depend", "output"):
                words += part.words
        return (*words, "-o", output)


def read_command(words: Sequence[str]) -> CommandLine:
    """The parts of a command; what is read from response files stands in their place."""
    try:
        listed = list(_expand(words, MOST_RESPONSES))
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        return CommandLine((), "nothing", f"a response file that cannot be read: {error}")
    parts: list[CommandWords] = []
    modes: list[Mode] = ["link"]
    language = "none"
    rest = iter(listed)
    for word in rest:
        if word == "-" or not word.startswith("-"):
            parts.append(_file(word, language))
            continue
        given = (word, next(rest, "")) if word in _SEPARATE else (word,)
        part = CommandWords(_kind(word), given)
        if part.kind == "language":
            language = part.words[1] if len(part.words) > 1 else part.words[0][2:].removeprefix("language=")
        if part.kind == "mode":
            modes.append(_MODES[word])
        elif _PRINTS.match(word):
            modes.append("nothing")
        parts.append(part)
    return CommandLine(tuple(parts), min(modes, key=_ORDER.index))


def _file(word: str, language: str) -> CommandWords:
    forced = language not in ("none", "")
    c = language == "c" if forced else word.endswith(".c")
    return CommandWords("source" if c else "input", (word,), forced and c)


def _kind(word: str) -> WordKind:
    if word in _MODES:
        return "mode"
    if word in ("-o", "--output") or (word.startswith("-o") and not word.startswith("-object")):
        return "output"
    if word.startswith(("-x", "--language")):
        return "language"
    if word in ("-MD", "-MMD", "-MG", "-MP", "-MV") or word.startswith(("-MF", "-MT", "-MQ", "-MJ")):
        return "depend"
    if (
        word.startswith("-W")
        and not word.startswith(("-Wa,", "-Wl,", "-Wp,"))
        or word.startswith("-pedantic")
        or word == "-w"
    ):
        return "warning"
    if word.startswith(_MACROS):
        return "macro"
    return "folder" if word.startswith(_FOLDERS) else "option"


def _expand(words: Sequence[str], left: int) -> Iterator[str]:
    """The words, with those of response files (`@file`) in their place; a name without a file stays, as gcc has it."""
    for word in words:
        path = Path(word[1:])
        if word.startswith("@") and path.is_file():
            if not left:
                raise RecursionError("response files name one another in a circle")
            yield from _expand(split_response(path.read_text()), left - 1)
        else:
            yield word


def split_response(text: str) -> list[str]:
    r"""The words of a response file: apart by white space, with quotes of both kinds and backslashes.

    >>> split_response('-DNAME="a b" -I\'x y\' c\\ d.c')
    ['-DNAME=a b', '-Ix y', 'c d.c']
    """
    return [_unquote(x[0]) for x in _RESPONSE.finditer(text)]


def _unquote(word: str) -> str:
    out = []
    for part in _PART.finditer(word):
        inner = part["double"] if part["double"] is not None else part["single"]
        if inner is not None:
            out.append(re.sub(r"\\(.)", r"\1", inner, flags=re.DOTALL))
        else:
            out.append(part["escaped"] or part["plain"] or "")
    return "".join(out)
