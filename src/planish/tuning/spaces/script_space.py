"""Scripts with holes: `split("i", ?8|16|32, ("io", "ii"))` is a script for each of the values.

A hole may have a name (`?t=8|16`), by which later ones are the same (`?t`).

>>> found = read_holes(Source("<script>", 'split("i", ?t=8|16, ("io", "ii"))\\nunroll("ii") # ?\\n'))
>>> [(x.name, x.values) for x in found.space.arguments(SCRIPT)]
[('t', (8, 16))]
>>> print(found.fill(found.space.default), end="")
split("i", 8      , ("io", "ii"))
unroll("ii") # ?
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source, Span, lines_of, place_in
from planish.schedule.arguments import Point, TuningArgument, TuningArguments, Value
from planish.schedule.script import read_script
from planish.tuning.spaces.search_space import SearchSpace

SCRIPT = "script"
"""The one version of a script's space."""
_TEXT = r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
_VALUE = rf"-?\d+|True|False|{_TEXT}"
_PIECE = re.compile(
    rf"(?P<skip>{_TEXT}|\#[^\n]*)|\?(?:(?P<name>[A-Za-z_]\w*)(?P<set>=)?)?(?P<values>(?:{_VALUE})(?:\|(?:{_VALUE}))*)?"
)
_ADVICE = 'write the values as in `split("i", ?8|16|32, ("io", "ii"))`'


@dataclass(frozen=True, slots=True)
class Hole:
    """A hole in a script: where it begins and ends, and which argument it has the value of."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class HoledScript:
    """A script with holes, and the space of what may stand in them."""

    source: Source
    holes: tuple[Hole, ...]
    space: SearchSpace

    def fill(self, point: Point) -> str:
        """The script at a point. What stands in a hole is followed by blanks, so that places stay where they are."""
        out, at = [], 0
        for hole in self.holes:
            value = str(point.get(hole.name))
            out += [self.source.text[at : hole.start], value.ljust(hole.end - hole.start)]
            at = hole.end
        return "".join((*out, self.source.text[at:]))


def read_holes(source: Source) -> HoledScript:
    """A script with its holes. PlanishError E0926 for what is no hole, and as of `read_script` with the first value in
    each hole."""
    holes: list[Hole] = []
    arguments: dict[str, TuningArgument] = {}
    for found in _PIECE.finditer(source.text):
        if found["skip"] is not None:
            continue
        name, values, known = found["name"], found["values"], found["name"] in arguments
        if values is None and not known:
            raise _refuse(source, found, f"nothing says what `{found[0]}` may be")
        if values is not None and (known or (name and not found["set"])):
            raise _refuse(source, found, f"`?{name}` has values already" if known else f"`{found[0]}` lacks a `=`")
        name = name or f"hole{len(arguments) + 1}"
        if values is not None:
            choices = tuple(dict.fromkeys(map(_read, re.findall(_VALUE, values))))
            note = f"`{found[0]}` in line {_span(source, found).line}"
            arguments[name] = TuningArgument(name, choices, choices[0], note)
        holes.append(Hole(found.start(), found.end(), name))
    made = HoledScript(source, tuple(holes), SearchSpace({SCRIPT: TuningArguments(tuple(arguments.values()))}))
    read_script(Source(source.name, made.fill(made.space.default)))
    return made


def _read(text: str) -> Value:
    return int(text) if text.lstrip("-").isdigit() else text


def _span(source: Source, found: re.Match[str]) -> Span:
    return source.point(*place_in(lines_of(source.text), found.start()), max(1, found.end() - found.start()))


def _refuse(source: Source, found: re.Match[str], message: str) -> PlanishError:
    return PlanishError(Diagnostic("E0926", message, _span(source, found), _ADVICE), source)
