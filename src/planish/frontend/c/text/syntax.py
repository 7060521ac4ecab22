"""Preprocessed C to pycparser's tree, part by part: unknown type names and functions that cannot be parsed cost what
they stand in alone.

>>> tree = parse_c("void f(strange_t *a) { a = 0; }", Source("a.c", ""))
>>> tree.unknown_types
('strange_t',)
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pycparser import c_ast
from pycparser.c_parser import CParser, ParseError

from planish.core.diagnostic import Diagnostic, PlanishError, Remark
from planish.core.recursion_limit import MOST_NESTED, deep
from planish.core.span import Source, Span
from planish.frontend.c.text.external import Part, needed_parts, split_text
from planish.frontend.c.text.gnu_syntax import TYPE_OF, UNREAD, as_plain_c, unread_body, without_words
from planish.frontend.c.text.preprocess import STUBS, compiler_command
from planish.frontend.c.text.type_guesses import likely_types, type_candidates
from planish.frontend.c.types.declarations import OWN_TYPES

UNKNOWN = "planish_unknown_"
"""What the parser takes for a type that no header declares is a structure of a name that begins so."""
_LISTED = "planish_initial_values"
"""What stands for the elements of a long initial value."""
_PLACE = re.compile(r"^(.*?)(?::(\d+))?(?::(\d+))?: (.*)$", re.S)
_MARKER = re.compile(r'^#\s*(?:line\s+)?(\d+)\s+"((?:[^"\\]|\\.)*)"')
_SYNTAX = re.compile(r"^(.*?):(\d+):(\d+): error: (expected .*|.* before .*|.*undeclared.*type.*)$", re.M)
_COMPILER_TYPES = ("__float128", "_Float128", "_Float64x", "_Float32x", "__ibm128")
"""Types of compilers that the parser does not know."""
_MOST_TYPES = 12
"""Names in one part that are taken for types one after the other."""
_MOST_PARSED = 3_000_000
"""Characters that are parsed to find more types, in all parts together: some seconds."""
_MOST_CALLS = 20_000
"""Calls of the parser within each other."""
_PRELUDE = str(STUBS / "planish.h")
STANDARD = {
    x[1]: x[0]
    for name in ("stddef.h", "stdint.h", "stdbool.h")
    for x in re.finditer(r"^typedef [\w ]+?(\w+);$", (STUBS / name).read_text("utf-8"), re.M)
}
"""The types of the C library by their names, which mean nothing else where no header was found that declares them."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The parsed file, the type names that no header declared, and remarks on functions that were left out."""

    ast: c_ast.FileAST
    unknown_types: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True)
class _Failure:
    """A parse error: where it is in the user's terms, and in which line of what was parsed (0: unknown)."""

    span: Span
    physical: int
    column: int
    message: str

    @property
    def position(self) -> tuple[int, int]:
        """How far the parser came."""
        return self.physical, self.column


@dataclass(slots=True)
class _Unit:
    """What is known of a file while its parts are parsed in their order."""

    text: str
    source: Source
    types: set[str] = field(default_factory=set)
    unknown: dict[str, None] = field(default_factory=dict)
    left: int = _MOST_PARSED
    nodes: list[c_ast.Node] = field(default_factory=list)
    failures: list[tuple[Part, _Failure]] = field(default_factory=list)
    stripped: bool = False
    emptied: int = 0

    def read(self, part: Part) -> None:
        """Parse a part: as it stands, with names taken for types, in plain C, without what it does or holds."""
        text = self.text[part.start : part.end]
        if part.long and part.initial is not None:
            text = _without(text, part, part.initial, _LISTED)
        outcome = self.parse(part, text)
        if isinstance(outcome, _Failure):
            first, outcome = outcome, self.mend(part, text, outcome)
            if isinstance(outcome, _Failure):
                self.failures.append((part, first))
                return
        self.keep(part, outcome)

    def mend(self, part: Part, text: str, failure: _Failure) -> list[c_ast.Node] | _Failure:
        """The nodes of a part that is not parsed as it stands."""
        plain = as_plain_c(text)
        outcome: list[c_ast.Node] | _Failure = failure if plain == text else self.parse(part, plain)
        if isinstance(outcome, _Failure):
            outcome = self.guess(part, plain, outcome)
        if isinstance(outcome, _Failure) and (bare := without_words(plain, self.types)) != plain:
            outcome = self.parse(part, bare)
            self.stripped = self.stripped or not isinstance(outcome, _Failure)
        if isinstance(outcome, _Failure) and part.body is not None:
            # What the function does is not known, and neither is what it sets.
            body = unread_body(text[part.body[0] - part.start :], self.types)
            outcome = self.parse(part, _without(text, part, part.body, body))
            if not isinstance(outcome, _Failure):
                self.failures.append((part, failure))
                self.emptied += part.file == self.source.name
        if isinstance(outcome, _Failure) and part.initial is not None:
            outcome = self.parse(part, _without(text, part, part.initial, _LISTED))
        return outcome

    def guess(self, part: Part, text: str, failure: _Failure) -> list[c_ast.Node] | _Failure:
        """See whether names read like types, take them so, and parse again: those near the place where the parser
        stopped, which then comes further, one after the other."""
        found: list[str] = []
        whole = part.body is not None
        likely = [x for x in likely_types(text, whole) if x not in self.types]
        if not whole and likely and not isinstance(nodes := self.parse(part, text, likely), _Failure):
            self.unknown |= dict.fromkeys(likely)
            self.types |= {*likely}
            return nodes
        reached, outcome = failure.position, failure
        for _ in range(_MOST_TYPES):
            candidates = (
                type_candidates(text, outcome.physical, outcome.column, {*found, *self.types})
                if outcome.physical
                else [x for x in likely if x not in found]
            )
            for name in candidates:
                if self.left < 0:
                    return failure
                self.left -= len(text)
                tried = self.parse(part, text, [*found, name])
                if not isinstance(tried, _Failure):
                    self.unknown |= dict.fromkeys((*found, name))
                    self.types |= {*found, name}
                    return tried
                if tried.position > reached or (tried.physical == 0 and outcome.physical):
                    found.append(name)
                    reached, outcome = tried.position, tried
                    break
            else:
                return failure
        return failure

    def parse(self, part: Part, text: str, more: Sequence[str] = ()) -> list[c_ast.Node] | _Failure:
        """The nodes of one part of the text."""
        named = {*part.words, TYPE_OF} if TYPE_OF in text else part.words
        known = sorted((named & self.types) | {*more})
        prelude = f"typedef int {', '.join(known)};" if known else ""
        column = part.start - self.text.rfind("\n", 0, part.start) - 1
        head = f'# 1 "{_PRELUDE}"\n{prelude}\n# {part.line} "{_escaped(part.file)}"\n{" " * column}'
        try:
            with deep(_MOST_CALLS):
                nodes: list[c_ast.Node] = CParser().parse(head + text, part.file).ext[len(known) :]
        except ParseError as error:
            return self.locate(str(error), part, text, column)
        except RecursionError:
            return self.nowhere(part, "what is nested deeper than the C parser goes")
        except (AssertionError, AttributeError, IndexError, TypeError, ValueError) as error:
            # Defects of the parser on unusual input must not look like ours.
            return self.nowhere(part, f"the C parser gave up ({type(error).__name__})")
        for node in nodes:
            # The parser takes a body behind anything.
            if isinstance(node, c_ast.FuncDef) and not isinstance(node.decl.type, c_ast.FuncDecl):
                return self.locate(f"{node.decl.coord}: before: {node.decl.name}", part, text, column)
        return nodes

    def nowhere(self, part: Part, message: str) -> _Failure:
        """A failure of which only the part is known."""
        return _Failure(Span(part.file, part.line, 1, part.line, 2), 0, 0, message)

    def locate(self, message: str, part: Part, text: str, indent: int) -> _Failure:
        """The place of what the parser says; lines and columns of `text`."""
        found = _PLACE.match(message)
        if found is None or found.group(2) is None:
            lines = _lines(part, text)
            last = lines[-1][1]
            return _Failure(Span(part.file, last, 1, last, 2), 0, 0, found.group(4) if found else message)
        file, line, column = found.group(1), int(found.group(2)), int(found.group(3) or 1)
        physical = next((n for n, place in enumerate(_lines(part, text), 1) if place == (file, line)), 0)
        own = column - indent if physical == 1 else column
        return _Failure(Span(file, line, column, line, column + 1), physical, own, _sentence(found.group(4)))

    def keep(self, part: Part, nodes: Sequence[c_ast.Node]) -> None:
        """Add the nodes of a part, and note which names are types."""
        self.nodes += nodes
        if part.typedef:
            self.types |= {x.name for x in nodes if isinstance(x, c_ast.Typedef)}
        elif self.types:
            # A name that was taken for a type is none.
            self.types -= {x.name for x in nodes if isinstance(x, c_ast.Decl) and x.name in self.unknown}


def parse_c(
    text: str, source: Source, flags: Sequence[str] = (), *, complete: bool = True, compiler: Sequence[str] = ()
) -> Tree:
    """Parse preprocessed text. What a compiler takes (`compiler` as of `preprocess`, with these `flags`) and the parser
    does not is left out: what functions do, or whole declarations; so is all that is not parsed where the text is not
    `complete`, as headers are missing. Raises PlanishError E0201 with the place of a syntax error."""
    if not text.startswith("#"):
        text = f'# 1 "{source.name}"\n{text}'
    unit = _Unit(text, source)
    own = [x for x in (*OWN_TYPES, *_COMPILER_TYPES) if x in text]
    own += [TYPE_OF] if "typeof" in text else []
    unit.types |= {*own}
    for part in needed_parts(split_text(text), source.name):
        unit.read(part)
    taken, functions = False, sum(_is_own(x, source) for x in unit.nodes)
    if unit.failures or unit.stripped or not functions:  # what a header begins may have taken all functions with it
        taken = _is_taken(source, flags, compiler)
        wrong = None if taken or not complete else _ask_compiler(text, [*unit.unknown], compiler)
        if wrong is not None:
            raise PlanishError(wrong, _text_of(wrong, source))
    if unit.failures and functions <= unit.emptied:
        raise PlanishError(_tell_unread(unit.failures[0][1], taken), source)
    head = [_declare(x, x if x in OWN_TYPES else f"{UNKNOWN}{x}") for x in own]
    head += [_declare(x, f"{UNKNOWN}{x}") for x in unit.unknown if x not in STANDARD]
    head += [_parsed(STANDARD[x]) for x in unit.unknown if x in STANDARD]
    tree = c_ast.FileAST([*(x for y in head for x in y), *unit.nodes])
    remarks = [_tell_left_out(part) for part, _ in unit.failures]
    unknown = tuple(x for x in unit.unknown if x not in STANDARD)
    return Tree(tree, unknown, (*remarks, *_leave_out_deep(tree)))


def _is_own(node: c_ast.Node, source: Source) -> bool:
    return isinstance(node, c_ast.FuncDef) and node.decl.coord is not None and node.decl.coord.file == source.name


def _declare(name: str, tag: str) -> list[c_ast.Node]:
    return _parsed(f"typedef struct {tag} {name};")


def _parsed(declaration: str) -> list[c_ast.Node]:
    nodes: list[c_ast.Node] = CParser().parse(declaration, _PRELUDE).ext
    return nodes


def _without(text: str, part: Part, extent: tuple[int, int], instead: str) -> str:
    """The text of a part with something else in place of an extent."""
    return text[: extent[0] - part.start] + instead + text[extent[1] - part.start :]


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


def _leave_out_deep(tree: c_ast.FileAST) -> Iterator[Remark]:
    """Takes away the bodies of functions that are nested too deep to be analysed, and tells of each."""
    for node in tree.ext:
        if isinstance(node, c_ast.FuncDef) and (depth := _depth_of(node.body)) > MOST_NESTED:
            named = sorted({x.name for x in _walk(node.body) if isinstance(x, c_ast.ID)})
            arguments = [c_ast.UnaryOp("&", c_ast.ID(x)) for x in named]
            call = c_ast.FuncCall(c_ast.ID(UNREAD), c_ast.ExprList(arguments) if arguments else None)
            node.body = c_ast.Compound([call], node.body.coord)
            at = node.decl.coord
            name = node.decl.name
            message = f"{name} is {depth} levels deep, of which {MOST_NESTED} are analysed; it stays as written"
            span = Span(str(at.file), at.line, at.column or 1, at.line, (at.column or 1) + len(name))
            yield Remark("analysis-depth", "refused", message, span)


def _walk(node: c_ast.Node) -> Iterator[c_ast.Node]:
    left = [node]
    while left:
        part = left.pop()
        yield part
        left += (child for _, child in part.children())


def _depth_of(node: c_ast.Node) -> int:
    """How many statements and expressions are inside of each other."""
    deepest, left = 0, [(node, 1)]
    while left:
        part, depth = left.pop()
        deepest = max(deepest, depth)
        left += ((child, depth + 1) for _, child in part.children())
    return deepest


def _tell_unread(failure: _Failure, taken: bool) -> Diagnostic:
    """A syntax error, or what is none for a compiler."""
    if not taken:
        return Diagnostic("E0201", f"syntax error: {failure.message}", failure.span)
    message = f"syntax that Planish does not read: {failure.message}"
    return Diagnostic("E0201", message, failure.span, "put the nests into a file of their own, in plain C")


def _tell_left_out(part: Part) -> Remark:
    what = "declaration" if part.body is None else "function"
    message = f"this {what} uses syntax that Planish does not read; it stays as written"
    return Remark("scop-syntax", "refused", message, Span(part.file, part.line, 1, part.line, 2))


def _sentence(message: str) -> str:
    if message.startswith("before: "):
        return f"unexpected `{message.removeprefix('before: ')}`"
    return message[:1].lower() + message[1:]


def _lines(part: Part, text: str) -> list[tuple[str, int]]:
    """File and line of each line of the text of a part."""
    return line_map(f'# {part.line} "{_escaped(part.file)}"\n{text}')[1:]


def line_map(text: str) -> list[tuple[str, int]]:
    """File and line of each physical line of the preprocessed text."""
    out: list[tuple[str, int]] = []
    file, line = "", 1
    for physical in text.split("\n"):
        found = _MARKER.match(physical) if physical.startswith("#") else None
        if found:
            out.append((file, line))
            line, file = int(found.group(1)), re.sub(r"\\(.)", r"\1", found.group(2))
        else:
            out.append((file, line))
            line += 1
    return out


def main_lines(text: str, name: str) -> list[tuple[int, str]]:
    """The lines of the preprocessed text that come from the file `name`, with their numbers in it."""
    lines = zip(line_map(text), text.split("\n"), strict=True)
    return [(line, content) for (file, line), content in lines if file == name and not content.startswith("#")]


def _is_taken(source: Source, flags: Sequence[str], compiler: Sequence[str]) -> bool:
    """Whether a compiler takes the file as the user wrote it."""
    if not (found := compiler_command(compiler)):
        return False
    command = [*found, "-fsyntax-only", "-w", *flags, "-x", "c", "-"]
    done = subprocess.run(command, input=source.text, capture_output=True, text=True, errors="replace", check=False)
    return done.returncode == 0


def _text_of(problem: Diagnostic, source: Source) -> Source:
    """The file that a problem is in: the one that is read, or a header."""
    name = source.name if problem.span is None else problem.span.file
    if name == source.name:
        return source
    try:
        return Source(name, Path(name).read_text("utf-8", "replace"))
    except OSError:
        return source  # it has no place of its own, as what is read from a stream


def _ask_compiler(text: str, unknown: list[str], compiler: Sequence[str]) -> Diagnostic | None:
    """A syntax error that a compiler finds as well is the user's; what only our parser rejects is not."""
    if not (asked := compiler_command(compiler)):
        return None
    prelude = "".join(f"typedef int {name}; " for name in unknown)
    own = [f"-D{name}=float" for name in OWN_TYPES]
    command = [*asked, "-fsyntax-only", "-w", *own, "-x", "c", "-"]
    done = subprocess.run(
        command, input=f"{prelude}\n{text}", capture_output=True, text=True, errors="replace", check=False
    )
    found = _SYNTAX.search(done.stderr)
    if found is None:
        return None
    file, line, column, message = found.groups()
    span = Span(file, int(line), int(column), int(line), int(column) + 1)
    return Diagnostic("E0201", f"syntax error: {message}", span)
