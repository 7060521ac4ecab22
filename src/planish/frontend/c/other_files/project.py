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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planish.core.diagnostic import PlanishError
from planish.core.span import Borrowed, Source
from planish.frontend.c.other_files.contents import Contents, read_contents
from planish.frontend.c.other_files.lending import Lending
from planish.frontend.c.text.preprocess import compiler_command, preprocess
from planish.frontend.c.types.declarations import OWN_TYPES

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
_ERROR = re.compile(r"^(.*?):\d+:(?:\d+:)? (?:fatal )?error: (.*)$", re.M)
_ELSEWHERE = re.compile(r'##|^[ \t]*#[ \t]*include[ \t]*[<"][^<>"\n]*\.(?!h[>"])\w+[>"]', re.M)
"""What may define functions that the text of a file does not name."""
_MARKER = re.compile(r'^# \d+ "((?:[^"\\\n]|\\.)*)"', re.M)
_CLASHING = re.compile(r"conflicting types|redefinition of|redeclared|follows non-static|different kind of symbol")
_MEANING = re.compile(r"-f(?!diagnostics|message|color|PI[CE]|pi[ce]).*|-m.*|-std=.*|-ansi|-Ofast|-O[sgz]")
"""Flags under which a text may mean something else."""
_UNREAD = re.compile(r"-include.*|-imacros.*|-U.*|-undef|-nostdinc|-Xpreprocessor|-Wp,.*|-flto.*")
"""Flags with which files are not read."""
_INTERPOSED = frozenset({"-fPIC", "-fpic"})
_OWN = frozenset({"-fvisibility=hidden", "-fno-semantic-interposition", "-fPIE", "-fpie"})


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
        own, theirs = ({x for x in y.flags if _MEANING.fullmatch(x)} for y in (self, other))
        if unread := next((x for x in (*self.flags, *other.flags) if _UNREAD.fullmatch(x)), ""):
            return f"and `{unread}` may change"
        if self.several or other.several:
            return "and which, or this file, is compiled in several ways"
        if _INTERPOSED & {*other.flags} and not _OWN & {*other.flags}:
            return "and programs may replace (it is compiled with -fPIC)"
        if own != theirs:
            return f"compiled with other flags ({', '.join(sorted(own ^ theirs))})"
        return ""


class Project:
    """Files, of which those are read that may define what another one calls."""

    def __init__(self, units: Sequence[ProjectUnit]) -> None:
        self._units = {x.name: x for x in units}
        self._words = {x.name: frozenset(_WORD.findall(x.source.text)) for x in units}
        self._joins = {x.name for x in units if _ELSEWHERE.search(x.source.text)}
        self._bare: dict[str, str] = {}
        self._contents: dict[str, Contents | None] = {}

    def read_with(self, unit: ProjectUnit) -> Source:
        """The file with all that it may have of others."""
        mine = self._read(unit.name)
        if len(self._units) < 2 or mine is None:
            return unit.source
        lending = Lending(mine, lambda name: self._find(name, unit))
        return replace(unit.source, borrowed=lending.lend(lambda made: _is_taken(unit, made)))

    def _read(self, name: str) -> Contents | None:
        if name not in self._contents:
            unit = self._units[name]
            try:
                found = read_contents(unit.source, unit.defines, unit.include_dirs, unit.compiler)
            except PlanishError:
                found = None
            self._contents[name] = found
        return self._contents[name]

    def _may_define(self, file: str, name: str) -> bool:
        """Whether the text of a file may define a function, also by macros: it names it, and not only in calls and
        declarations."""
        if file in self._joins or name not in self._words[file]:
            return file in self._joins
        if file not in self._bare:
            self._bare[file] = _COMMENT.sub(" ", self._units[file].source.text)
        text = self._bare[file]
        for found in re.finditer(rf"\b{re.escape(name)}\b\s*", text):
            behind = _behind_brackets(text, found.end())
            if behind is None or re.match(r"\s*[{\w#]", text[behind : behind + 200]):
                return True
        return False

    def _find(self, name: str, unit: ProjectUnit) -> Contents | str:
        """The one file that defines a function for this one, or why there is none."""
        known = [x for x in self._words if x != unit.name and self._may_define(x, name)]
        found: list[Contents] = []
        for x in known:
            contents = self._read(x)
            if contents is None and name in self._words[x]:
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


def _is_taken(unit: ProjectUnit, borrowed: Borrowed) -> bool:
    """Whether a compiler takes a file with definitions of others: behind its own text, and where it cannot compile that
    alone, behind what the preprocessor makes of it here."""
    command = compiler_command(unit.compiler)
    if not command:
        return True
    places = [Path(unit.name).resolve().parent, *unit.include_dirs]
    flags = [*(f"-I{x}" for x in places), *(f"-D{x}" for x in unit.defines)]
    text = unit.source.text
    if _compile(command, flags, text) == "":
        return _compile(command, flags, f"{text}\n{borrowed.completion()}") == ""
    whole = preprocess(replace(unit.source, borrowed=borrowed), unit.defines, unit.include_dirs, unit.compiler).text
    said = _compile(command, [f"-D{x}=float" for x in OWN_TYPES], whole)
    theirs = set(_MARKER.findall(borrowed.text)) - {unit.name}
    return not any(x[1] in theirs or _CLASHING.search(x[2]) for x in _ERROR.finditer(said))


def _compile(command: Sequence[str], flags: Sequence[str], text: str) -> str:
    """What a compiler says of a text that it does not take; "" where it does."""
    asked = [*command, "-fsyntax-only", "-w", *flags, "-x", "c", "-"]
    done = subprocess.run(asked, input=text, capture_output=True, text=True, errors="replace", check=False)
    return (done.stderr or "error") if done.returncode else ""
