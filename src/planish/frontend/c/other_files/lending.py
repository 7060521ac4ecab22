"""What a file is read with of the project's other files: functions that it calls, with what these need.

Whatever a function's text names has to mean the same where it is read: types that both files know have the same text,
functions and tables that only its own file has come with it under names of their own, and other variables of that file
keep it there.

>>> from planish.core.span import Source
>>> from planish.frontend.c.other_files.contents import read_contents
>>> mine = read_contents(Source("a.c", "int f(int i); int g(int n) { while (n > 9) n = f(n); return n; }"))
>>> other = read_contents(Source("b.c", "static int t(int i) { return i + 1; } int f(int i) { return t(2 * i); }"))
>>> lent = Lending(mine, lambda name: other if name == "f" else "").lend()
>>> print(lent.text, end="")
# 1 "b.c"
static int t_of_b(int i) { return i + 1; }
# 1 "b.c"
int f(int i) { return t_of_b(2 * i); }
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from planish.core.recursion_limit import deep
from planish.core.span import Borrowed
from planish.frontend.c.other_files.contents import Contents
from planish.frontend.c.other_files.tables import table_text
from planish.frontend.c.text.feature_macros import written_texts
from planish.frontend.c.text.preprocess import SYSTEM

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_LOOPS = frozenset({"for", "while", "do"})
_LARGEST, _MOST = 30_000, 300_000
"""Characters of what a function brings with it, and of all that a file has of others."""

Finder = Callable[[str], Contents | str]
"""The file that defines a function; why none is known to, or "" where none does."""


class NotLent(Exception):
    """A function stays where it is; the message says why."""


@dataclass(slots=True)
class _Copied:
    """What is copied for some functions: parts of files, by the files' names and their numbers, and the new names of
    what only these have."""

    parts: dict[tuple[str, int], Contents] = field(default_factory=dict)
    renamed: dict[tuple[str, str], str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)
    length: int = 0
    most: int = _MOST

    def copy(self) -> _Copied:
        """The same, for a function that may bring so much text with it."""
        return _Copied(
            {**self.parts}, {**self.renamed}, {**self.functions}, {**self.tables}, {*self.seen}, self.length,
            min(_MOST, self.length + _LARGEST),
        )  # fmt: skip

    def add(self, lender: Contents, number: int) -> None:
        """Note a part. Raises NotLent where there is too much."""
        if (lender.source.name, number) not in self.parts:
            self.parts[lender.source.name, number] = lender
            self.length += lender.parts[number].end - lender.parts[number].start
            if self.length > self.most:
                raise NotLent("with which too much text would come")


class Lending:
    """The functions that one file may have of others, which `find` knows."""

    def __init__(self, mine: Contents, find: Finder) -> None:
        self.mine, self.find = mine, find
        self._lenders: dict[str, Contents] = {}
        self._kept: dict[str, str] = {}

    @cached_property
    def _words(self) -> set[str]:
        """What the file names, also by macros."""
        written = [*written_texts(self.mine.source, self.mine.text), *self.mine.defines]
        return {x for part in self.mine.parts for x in part.words} | {x for y in written for x in _WORD.findall(y)}

    def wanted(self) -> Iterator[str]:
        """Functions that the file declares and does not define, and that its functions with loops, or what these call,
        name."""
        bodies = [x for x in self.mine.parts if x.body is not None]
        left = [x for x in bodies if not _LOOPS.isdisjoint(x.words)]
        defined = {name: x for x in bodies for name in x.names}
        used = set[str]()
        while left:
            fresh = left.pop().words - used
            used |= fresh
            left += (defined[x] for x in fresh if x in defined)
        for name in sorted(used):
            if self.mine.kinds(name) == {"prototype"} and not self.mine.is_system(name):
                yield name

    def lend(self) -> Borrowed:
        """All that can be had."""
        with deep():
            return self._lend()

    def _lend(self) -> Borrowed:
        refused: dict[str, str] = {}
        copied = _Copied()
        for name in self.wanted():
            found = self.find(name)
            if isinstance(found, str):
                if found:
                    refused[name] = found
                continue
            trial = copied.copy()
            try:
                self._function(name, found, trial)
            except NotLent as reason:
                refused[name] = f"which {found.source.name} defines and {reason}"
            else:
                copied = trial
        return self._written(copied, refused)

    def _function(self, name: str, lender: Contents, to: _Copied) -> None:
        """Copy the definition of a function for all files, with what it needs. Raises NotLent."""
        if name in self._kept:
            raise NotLent(self._kept[name])
        try:
            self._definition(name, lender, to)
        except NotLent as reason:
            self._kept[name] = str(reason)
            raise

    def _definition(self, name: str, lender: Contents, to: _Copied) -> None:
        # A file without its own headers is read, and no compiler takes it.
        if lost := [x for x in lender.missing if x not in self.mine.missing]:
            raise NotLent(f"of which the header {lost[0]} was not found")
        if why := lender.why_not_lent(name):
            raise NotLent(why)
        if self.mine.pragma:
            raise NotLent(f"whose caller's file has a `{self.mine.pragma}`")
        if why := self.mine.why_not_known(name):
            raise NotLent(f"{why} here")
        if self.mine.kinds(name) - {"prototype"}:
            raise NotLent("whose name means something else here")
        to.functions[name] = lender.source.name
        self._copy(name, lender, to, {"function"} | ({"prototype"} if not self.mine.declared(name) else set()))
        self._follow_function(name, lender, to)

    def _called(self, name: str, lender: Contents, to: _Copied) -> None:
        """A function for all files that is called by another one. Raises NotLent."""
        if name not in to.functions:
            try:
                self._function(name, lender, to)
            except NotLent as reason:
                raise NotLent(f"which calls `{name}`, {reason}") from None

    def _follow_function(self, name: str, lender: Contents, to: _Copied) -> None:
        named = lender.names_in_function(name)
        if named is None:
            raise NotLent("which Planish does not read there")
        for x in sorted(named):
            self._need(x, lender, to)

    def _need(self, name: str, lender: Contents, to: _Copied) -> None:
        """See that a name means here what it means in the other file. Raises NotLent."""
        key = (lender.source.name, name)
        if key in to.seen:
            return
        if not lender.declared(name):
            if self.mine.declared(name):
                raise NotLent(f"which needs `{name}`, which is nothing there and something here")
            return
        to.seen.add(key)
        kinds = lender.kinds(name)
        if lender.is_system(name):
            if self.mine.declared(name) and not self.mine.is_system(name):
                raise NotLent(f"which needs `{name}`, another one here")
            if not self.mine.declared(name):
                self._copy(name, lender, to, kinds)
                self._follow_words(name, lender, to)
        elif kinds == {"type"}:
            self._type(name, lender, to)
        elif "type" in kinds:
            raise NotLent(f"which needs `{name}`, a type and something else")
        elif "variable" in kinds:
            self._variable(name, lender, to)
        elif "function" in kinds:
            self._callee(name, lender, to)
        else:
            self._declared_function(name, lender, to)

    def _type(self, name: str, lender: Contents, to: _Copied) -> None:
        own, theirs = self.mine.words_of(name), lender.words_of(name)
        if not own <= theirs:
            raise NotLent(f"which needs `{name}`, another one here")
        if why := lender.why_not_known(name) or self.mine.why_not_known(name):
            raise NotLent(f"which needs `{name}`, {why}")
        self._copy(name, lender, to, {"type"}, own)
        self._follow_words(name, lender, to)

    def _follow_words(self, name: str, lender: Contents, to: _Copied) -> None:
        """The types that the parts which declare a name need: members have names of other things."""
        for x in lender.declared(name):
            for word in sorted(lender.parts[x.part].words):
                if "type" in lender.kinds(word):
                    self._need(word, lender, to)

    def _callee(self, name: str, lender: Contents, to: _Copied) -> None:
        """A function that the other file defines as well."""
        if not lender.is_static(name):
            if self.find(name) is not lender:
                raise NotLent(f"which calls `{name}`, which may be another one")
            self._called(name, lender, to)
            return
        if why := lender.why_not_lent(name):
            raise NotLent(f"which calls `{name}`, {why}")
        if not self._is_shared(name, lender):
            self._rename(name, lender, to)
            self._copy(name, lender, to, {"function", "prototype"})
        self._follow_function(name, lender, to)

    def _declared_function(self, name: str, lender: Contents, to: _Copied) -> None:
        """A function that is only declared where it is called."""
        if self.mine.defines_function(name):
            if why := self.mine.why_not_known(name):
                raise NotLent(f"which calls `{name}`, {why} here")
            return
        if self.mine.kinds(name) - {"prototype"}:
            raise NotLent(f"which calls `{name}`, another one here")
        found = self.find(name)
        if isinstance(found, Contents):
            self._called(name, found, to)
        if not self.mine.declared(name):
            self._copy(name, lender, to, {"prototype"})
            self._follow_words(name, lender, to)

    def _variable(self, name: str, lender: Contents, to: _Copied) -> None:
        own, theirs = self.mine.words_of(name), lender.words_of(name)
        if self._is_shared(name, lender):
            self._follow_words(name, lender, to)
        elif own and own <= theirs and not self.mine.is_static(name) and not lender.is_static(name):
            pass  # the same variable of the project
        elif not lender.why_not_known(name) and (text := self._constant(name, lender)) is not None:
            new = self._rename(name, lender, to)
            if text:
                to.tables[new] = text.replace("@", new)
            self._copy(name, lender, to, {"variable"})
            self._follow_words(name, lender, to)
            for x in lender.declared(name):
                for word in sorted(lender.parts[x.part].words - {name}):
                    if lender.declared(word):
                        self._need(word, lender, to)
        else:
            whose = "a variable of that file alone" if lender.is_static(name) else "which is not declared here"
            raise NotLent(f"which works on `{name}`, {whose}")

    def _constant(self, name: str, lender: Contents) -> str | None:
        """The text of a table of constants, or "" where it cannot stand alone; None for what is no constant."""
        if lender.scope is None or len(lender.declared(name)) > 1 and not lender.is_static(name):
            return None
        symbol = lender.scope.symbols.get(name)
        if symbol is None or any({"volatile", "_Thread_local"} & {*x} for x in lender.words_of(name)):
            return None
        return table_text(symbol, lender.scope)

    def _is_shared(self, name: str, lender: Contents) -> bool:
        """Whether both files have the same of their own, as from a header: the same text, in which all that is named,
        and what that names, is the same in both as well."""
        reached, left = {name}, [name]
        while left:
            named = self._same(left.pop(), lender)
            if named is None:
                return False
            left += named - reached
            reached |= named
        return lender.is_static(name)

    def _same(self, name: str, lender: Contents) -> Set[str] | None:
        """What a name needs to mean the same in both files; None where it means something else."""
        mine, here = self.mine, {x.part for x in lender.declared(name)}
        own, theirs = mine.words_of(name), lender.words_of(name)
        if not own or not theirs:
            return None if own or theirs else frozenset()
        if mine.is_system(name) and lender.is_system(name):
            return frozenset()
        kinds = lender.kinds(name)
        words = {x for n in here for x in lender.parts[n].words} - {name}
        if not (lender.is_static(name) or mine.is_static(name) or "type" in kinds | mine.kinds(name)):
            # One thing of the project.
            return frozenset() if ("variable" in kinds) == ("variable" in mine.kinds(name)) else None
        if own != theirs or mine.why_not_known(name) != lender.why_not_known(name):
            return None
        if kinds == {"type"}:
            return {x for x in words if "type" in lender.kinds(x) or "type" in mine.kinds(x)}
        if kinds == {"variable"}:
            return words if lender.is_constant(name) else None
        # What is only declared so far is known by its definition.
        return lender.names_in_function(name) if "function" in kinds and "variable" not in kinds else None

    def _rename(self, name: str, lender: Contents, to: _Copied) -> str:
        key = (lender.source.name, name)
        if key not in to.renamed:
            stem = re.sub(r"\W", "_", Path(lender.source.name).stem)
            taken = self._words | {*to.renamed.values()} | {x for part in lender.parts for x in part.words}
            wished = f"{name}_of_{stem}"
            to.renamed[key] = next(x for n in range(1, len(taken) + 2)
                                   if (x := wished if n == 1 else f"{wished}_{n}") not in taken)
        return to.renamed[key]

    def _copy(
        self, name: str, lender: Contents, to: _Copied, kinds: Collection[str],
        known: Collection[tuple[str, ...]] = (),
    ) -> None:  # fmt: skip
        """Note the parts that declare a name, but for those that are known here."""
        self._lenders[lender.source.name] = lender
        for x in lender.declared(name):
            if x.kind in kinds and lender.words(x.part) not in known:
                to.add(lender, x.part)

    def _written(self, copied: _Copied, refused: dict[str, str]) -> Borrowed:
        parts: list[str] = []
        names: set[str] = set()
        undefined: dict[str, None] = {}
        done: set[tuple[str, ...]] = set()
        order = {x: n for n, x in enumerate(dict.fromkeys(reversed([lender for lender, _ in copied.parts])))}
        # What is declared is known to all bodies.
        bodies = {x: y.parts[x[1]].body is not None for x, y in copied.parts.items()}
        for lender, number in sorted(copied.parts, key=lambda x: (bodies[x], order[x[0]], x[1])):
            file = self._lenders[lender]
            part, words, here = file.parts[number], file.words(number), file.names_of(number)
            own_alone = part.body is not None or any((lender, x) in copied.renamed for x in here)
            if words in done and not own_alone:
                continue  # of a header of two files
            done.add(words)
            names |= {copied.renamed.get((lender, x), x) for x in here}
            own = part.file.replace("\\", "\\\\").replace('"', '\\"')
            text, plain = self._text_of(file, number, copied, here)
            parts.append(f'# {part.line} "{own}"\n{text}\n')
            undefined |= dict.fromkeys(plain if not part.file.startswith(SYSTEM) else ())
        system = {x for x in undefined if any(y.declared(x) and y.is_system(x) for y in self._lenders.values())}
        system |= {x for x in undefined if self.mine.declared(x) and self.mine.is_system(x)}
        return Borrowed(
            "".join(parts), tuple(copied.functions.items()), tuple(sorted(names)), tuple(copied.tables.items()),
            tuple(x for x in undefined if x not in system), tuple(refused.items()),
            tuple(dict.fromkeys(x for x, _ in copied.parts)),
        )  # fmt: skip

    def _text_of(self, file: Contents, number: int, copied: _Copied, here: set[str]) -> tuple[str, list[str]]:
        """The text of a part with new names, and the words in it."""
        text, out, at = file.text_of(number), [], 0
        words: list[str] = []
        static = "static " if any((file.source.name, x) in copied.renamed for x in here) else ""
        before = ""
        for token in file.tokens(number):
            new = copied.renamed.get((file.source.name, token.text)) if before not in (".", "->") else None
            if new is not None:
                out += [text[at : token.start], new]
                at = token.end
            before = token.text
            if _WORD.fullmatch(token.text):
                words.append(new or token.text)
        made = "".join((*out, text[at:]))
        if static and "static" not in file.words(number):
            made = static + re.sub(r"^\s*extern\b", "", made)
        return made, words
