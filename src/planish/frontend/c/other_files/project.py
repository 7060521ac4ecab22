"""The C files of a project, of which each is read with the functions that it calls of the others.

>>> first = ProjectUnit(Source("a.c", "int f(int i); int g(int n) { while (n > 9) n = f(n); return n; }"))
>>> other = ProjectUnit(Source("b.c", "int f(int i) { return 2 * i; }"))
>>> Project([first, other]).read_with(first).borrowed.functions
(('f', 'b.c'),)
>>> last = ProjectUnit(Source("c.c", "int f(int i) { return 3 * i; }"))
>>> Project([first, other, last]).read_with(first).borrowed.refused
(('f', 'which b.c and c.c define'),)
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planish.core.diagnostic import PlanishError
from planish.core.span import Borrowed, Source
from planish.frontend.c.other_files.contents import Contents, read_contents
from planish.frontend.c.other_files.flags import is_replaceable, meaning_flags, unread_flags
from planish.frontend.c.other_files.lending import Lending
from planish.frontend.c.text.preprocess import SYSTEM, compiler_command, preprocess
from planish.frontend.c.types.declarations import OWN_TYPES

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
_ERROR = re.compile(r"^(.*?):\d+:(?:\d+:)? (?:fatal )?error: (.*)$", re.M)
_INCLUDE = re.compile(r"^[ \t]*(?:#|%:)[ \t]*(?:include|include_next|import)\b(.*)$", re.M)
_INCLUDED = re.compile(r'[<"]([^<>"\n]+)[>"]')
_MARKER = re.compile(r'^# \d+ "((?:[^"\\\n]|\\.)*)"', re.M)
_CLASHING = re.compile(r"conflicting types|redefinition of|redeclared|follows non-static|different kind of symbol")


@dataclass(frozen=True, slots=True)
class ProjectUnit:
    """A file of a project: how it is read, and the `flags` of its command, as far as they are known; `several`: there
    are others, with which it says something else."""

    source: Source
    defines: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    compiler: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    several: bool = False

    @property
    def name(self) -> str:
        """The file's."""
        return self.source.name

    def why_apart(self, other: ProjectUnit) -> str:
        """Why no function may go from another file to this one; "": it may."""
        if unread := [*unread_flags(self.flags), *unread_flags(other.flags)]:
            return f"and `{unread[0]}` may change"
        if self.several or other.several:
            return "and which, or this file, is compiled in several ways"
        if is_replaceable(other.flags):
            return "and programs may replace (it is compiled with -fPIC)"
        own, theirs = meaning_flags(self.flags), meaning_flags(other.flags)
        if own != theirs:
            return f"and which is compiled with other flags ({', '.join(sorted({*own} ^ {*theirs}) or theirs)})"
        return ""


class _Text:
    """The text of a file that is a part of others."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = frozenset(_WORD.findall(text))
        written = [_INCLUDED.search(x[1]) for x in _INCLUDE.finditer(text)]
        self.includes = tuple(dict.fromkeys(x[1] for x in written if x is not None))
        # What it defines may have names that are not in it.
        self.joins = "##" in text or None in written
        self._bare: str | None = None

    def may_define(self, name: str) -> bool:
        """Whether it may define a function, also by macros: it names it, and not only in calls and declarations."""
        if self.joins or name not in self.words:
            return self.joins
        if self._bare is None:
            self._bare = _COMMENT.sub(" ", self.text)
        for found in re.finditer(rf"\b{re.escape(name)}\b\s*", self._bare):
            behind = _behind_brackets(self._bare, found.end())
            if behind is None or re.match(r"\s*[{\w#]", self._bare[behind : behind + 200]):
                return True
        return False


def _is_text(path: Path, known: dict[str, _Text]) -> bool:
    """Whether a path is one of a file, whose text is then known."""
    if str(path) not in known:
        try:
            known[str(path)] = _Text(path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return False
    return True


class Project:
    """Files, of which those are read that may define what another one calls."""

    def __init__(self, units: Sequence[ProjectUnit]) -> None:
        self._units = {x.name: x for x in units}
        self._texts: dict[str, _Text] = {}
        self._named = {x.name: self._all_texts(x) for x in units}
        self._defining: dict[str, frozenset[str]] = {}
        self._contents: dict[str, Contents | None] = {}

    def read_with(self, unit: ProjectUnit) -> Source:
        """The file with all that it may have of others."""
        mine = self._read(unit.name)
        if len(self._units) < 2 or mine is None:
            return unit.source
        made = self._lend(unit, mine, {})
        if made.functions and (said := _refusal(unit, made)):
            made = self._lend_parts(unit, mine, made, said)
        return replace(unit.source, borrowed=made)

    def _lend(self, unit: ProjectUnit, mine: Contents, kept: Mapping[str, str]) -> Borrowed:
        """What a file has of others, but for functions that are kept, for a reason."""
        return Lending(mine, lambda name: kept[name] if name in kept else self._find(name, unit)).lend()

    def _lend_parts(self, unit: ProjectUnit, mine: Contents, whole: Borrowed, said: str) -> Borrowed:
        """What can be had of what is no C here as a whole: halves are tried, and halves of those that are none."""
        files = dict(whole.functions)
        kept = dict.fromkeys(files, "")
        left = [(list(files), said)]
        while left:
            names, said = left.pop()
            if len(names) > 1:
                middle = len(names) // 2
                for half in (names[:middle], names[middle:]):
                    tried = {x: y for x, y in kept.items() if x not in half}
                    if why := _refusal(unit, self._lend(unit, mine, tried)):
                        left.append((half, why))
                    else:
                        kept = tried
            else:
                kept[names[0]] = f"which {files[names[0]]} defines and {said}"
        return self._lend(unit, mine, kept)

    def _read(self, name: str) -> Contents | None:
        if name not in self._contents:
            unit = self._units[name]
            try:
                found = read_contents(unit.source, unit.defines, unit.include_dirs, unit.compiler)
            except PlanishError:
                found = None
            self._contents[name] = found
        return self._contents[name]

    def _all_texts(self, unit: ProjectUnit) -> frozenset[str]:
        """The file and all that it includes of the project's, by their names."""
        found = {unit.name}
        self._texts.setdefault(unit.name, _Text(unit.source.text))
        left = [(unit.name, Path(unit.name).resolve().parent)]
        while left:
            name, beside = left.pop()
            for header in self._texts[name].includes:
                for path in (x / header for x in (beside, *unit.include_dirs)):
                    known = str(path)
                    if known in found or known.startswith(SYSTEM) or not _is_text(path, self._texts):
                        continue
                    found.add(known)
                    left.append((known, path.parent))
        return frozenset(found)

    def _may_define(self, file: str, name: str) -> bool:
        """Whether the text of a file, or of one that it includes, may define a function."""
        if name not in self._defining:
            self._defining[name] = frozenset(x for x, text in self._texts.items() if text.may_define(name))
        return not self._named[file].isdisjoint(self._defining[name])

    def _names(self, file: str, name: str) -> bool:
        return any(name in self._texts[x].words for x in self._named[file])

    def _find(self, name: str, unit: ProjectUnit) -> Contents | str:
        """The one file that defines a function for this one, or why there is none."""
        known = [x for x in self._units if x != unit.name and self._may_define(x, name)]
        found: list[Contents] = []
        for x in known:
            contents = self._read(x)
            if contents is None and self._names(x, name):
                return f"which may be in {x}, which is not read"
            if contents is not None and contents.defines_function(name):
                found.append(contents)
        if not found:
            return ""
        if len(found) > 1:
            return f"which {' and '.join(x.source.name for x in found[:2])} define"
        why = unit.why_apart(self._units[found[0].source.name])
        return f"which {found[0].source.name} defines {why}" if why else found[0]


def _behind_brackets(text: str, at: int) -> int | None:
    """The place behind the arguments that begin at a place; None where there are none."""
    if not text.startswith("(", at):
        return None
    depth = 0
    for found in re.compile(r"[()]").finditer(text, at):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return found.end()
    return None


def _refusal(unit: ProjectUnit, borrowed: Borrowed) -> str:
    """Why no compiler takes a file with definitions of others, "" where one does: they stand behind its own text, and
    where it cannot compile that alone, behind what the preprocessor makes of it here."""
    command = compiler_command(unit.compiler)
    if not command or not borrowed.functions:
        return ""
    places = [Path(unit.name).resolve().parent, *unit.include_dirs]
    flags = [*(f"-I{x}" for x in places), *(f"-D{x}" for x in unit.defines)]
    text = unit.source.text
    if _compile(command, flags, text) == "":
        said = _compile(command, flags, f"{text}\n{borrowed.completion()}")
        found = _ERROR.search(said)
        return _spell_refusal(found[2] if found is not None else said.strip()) if said else ""
    whole = preprocess(replace(unit.source, borrowed=borrowed), unit.defines, unit.include_dirs, unit.compiler).text
    said = _compile(command, [f"-D{x}=float" for x in OWN_TYPES], whole)
    theirs = set(_MARKER.findall(borrowed.text)) - {unit.name}
    wrong = (x[2] for x in _ERROR.finditer(said) if x[1] in theirs or _CLASHING.search(x[2]))
    return next((_spell_refusal(x) for x in wrong), "")


def _spell_refusal(said: str) -> str:
    if _CLASHING.search(said):
        return f"which is declared otherwise here ({said})"
    return f"which the compiler does not take here ({said})"


def _compile(command: Sequence[str], flags: Sequence[str], text: str) -> str:
    """What a compiler says of a text that it does not take; "" where it does."""
    asked = [*command, "-fsyntax-only", "-w", *flags, "-x", "c", "-"]
    done = subprocess.run(asked, input=text, capture_output=True, text=True, errors="replace", check=False)
    return (done.stderr or "error") if done.returncode else ""
