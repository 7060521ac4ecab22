"""isl's two file formats for AST generation: a schedule tree (`.st`), or a map with a context and options (`.in`).

>>> text = "# numbers\\n[n] -> { S[i] -> [i] : 0 <= i < n }\\n[n] -> { : n >= 3 }\\n{ [i] -> unroll[0] }"
>>> found = parse_input(text, "numbers.in")
>>> found.kind, list_input(found, {"n": 3})[-1]
('map', ((2,), ('S', (2,))))
>>> generate_input(found).body[0].var
'c0'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Literal

import islpy as isl

from planish.astgen.checking.times import list_times, map_times
from planish.astgen.checking.verify import Instance, list_instances, record
from planish.astgen.generate import UnboundedError, find_context, generate, generate_map
from planish.astgen.options import PLAIN, CodegenSettings
from planish.astgen.place import NO_HOOKS, Hooks
from planish.astgen.state import Instantiate
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import read_input
from planish.core.span import Source
from planish.ir.nest import Block
from planish.poly.isl.affine import CONTEXT, source_name
from planish.poly.isl.schedule_text import parse_schedule
from planish.poly.isl.schedule_tree import Kind, kind_of
from planish.poly.isl.to_list import list_sets

PARAM = isl.dim_type.param
_NAME = re.compile(r"([A-Za-z_][\w']*)\s*\[")
PARTS = ("the schedule map", "the context", "the options")
"""What a `.in` file holds, in this order."""


@dataclass(frozen=True, slots=True)
class CodegenInput:
    """What to generate code for: a `schedule` tree, or a `schedule_map` with `options` (both empty for a tree).

    `parameters` are those of the context and of the instances, `statements` in the order in which the text speaks of
    them first.
    """

    name: str
    source: Source
    kind: Literal["tree", "map"]
    context: isl.Set
    schedule_map: isl.UnionMap
    options: isl.UnionMap
    schedule: isl.Schedule | None = None
    parameters: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()

    def instances(self) -> isl.UnionSet:
        """The instances that are scheduled, for whatever parameters."""
        return self.schedule.get_domain() if self.schedule is not None else self.schedule_map.domain()


def load_input(path: str) -> CodegenInput:
    """The input in a file; PlanishError where the file is unreadable or its content is neither of the formats."""
    source = read_input(path, "a schedule tree (.st) or a schedule map (.in)").source
    return parse_input(source.text, path)


def parse_input(text: str, name: str) -> CodegenInput:
    """The input that a text stands for, a map where the name ends in `.in`; PlanishError E0501, E0510, E0511."""
    source, stem = Source(name, text), PurePath(name).stem
    if PurePath(name).suffix != ".in":
        schedule = _with_parameters(parse_schedule(text, name))
        nothing = isl.UnionMap.empty(schedule.get_domain().get_space())
        return _named(CodegenInput(stem, source, "tree", find_context(schedule), nothing, nothing, schedule))
    parts = list(split_objects(source))
    if len(parts) != len(PARTS):
        raise _refuse_parts(source, parts)
    schedule_map = _read(source, parts, 0, isl.UnionMap.read_from_str)
    context = _read(source, parts, 1, isl.Set.read_from_str)
    options = _read(source, parts, 2, isl.UnionMap.read_from_str)
    if not context.is_params():
        message, advice = "the context is no set of parameters", "write it as in `[n] -> { : n >= 1 }`"
        raise PlanishError(Diagnostic("E0511", message, source.point(parts[1][0]), advice), source)
    return _named(CodegenInput(stem, source, "map", context, schedule_map, options))


def _with_parameters(schedule: isl.Schedule) -> isl.Schedule:
    """The tree whose instances have all parameters that its nodes speak of."""
    space = schedule.get_domain().get_space().params()

    def visit(node: isl.ScheduleNode) -> None:
        nonlocal space
        space = space.align_params(_said(node, schedule).get_space().params())
        for number in range(node.n_children()):
            visit(node.get_child(number))

    visit(schedule.get_root())
    return schedule.align_params(space)


def _said(node: isl.ScheduleNode, schedule: isl.Schedule) -> isl.Set | isl.UnionSet | isl.UnionMap:
    """What a node speaks of; of one that speaks of nothing, the instances of the tree."""
    match kind_of(node):
        case Kind.context:
            return node.context_get_context()
        case Kind.guard:
            return node.guard_get_guard()
        case Kind.filter:
            return node.filter_get_filter()
        case Kind.extension:
            return node.extension_get_extension()
        case Kind.expansion:
            return node.expansion_get_expansion()
        case Kind.band:
            return node.band_get_partial_schedule_union_map()
        case _:
            return schedule.get_domain()


def _named(found: CodegenInput) -> CodegenInput:
    """The input with the names of its parameters and statements."""
    space = found.context.get_space().align_params(found.instances().get_space())
    parameters = tuple(source_name(str(space.get_dim_name(PARAM, i))) for i in range(space.dim(PARAM)))
    known = {str(x.get_tuple_name()) for x in list_sets(found.instances()) if x.has_tuple_name()}
    lines = (line.partition("#")[0] for line in found.source.text.splitlines())
    names = (name for line in lines for name in _NAME.findall(line) if name in known)
    return replace(found, parameters=parameters, statements=tuple(dict.fromkeys(names)))


def split_objects(source: Source) -> Iterator[tuple[int, str]]:
    """The texts of isl's objects, each with the line where it begins; comments are left out."""
    start, depth, text = 0, 0, ""
    for number, line in enumerate(source.text.splitlines(), 1):
        for character in line.partition("#")[0]:
            if not text and character.isspace():
                continue
            start = start if text else number
            text += character
            depth += (character == "{") - (character == "}")
            if character == "}" and depth <= 0:
                yield start, text
                text, depth = "", 0
        text += "\n" if text else ""
    if text:
        yield start, text


def _refuse_parts(source: Source, parts: list[tuple[int, str]]) -> PlanishError:
    advice = "write a schedule map, a context and a map of options: each with its own braces"
    if len(parts) > len(PARTS):
        message, line = "there is something after the options", parts[len(PARTS)][0]
    else:
        message, line = f"{PARTS[len(parts)]} is missing", max(1, len(source.text.splitlines()))
    return PlanishError(Diagnostic("E0510", message, source.point(line), advice), source)


def _read(source: Source, parts: list[tuple[int, str]], number: int, read: Callable[[isl.Context, str], Any]) -> Any:
    line, text = parts[number]
    try:
        return read(CONTEXT, text)
    except isl.Error as error:
        message = f"{PARTS[number]} is not in isl's notation"
        advice = "write it as in `[n] -> { S[i] -> [i] : 0 <= i < n }`"
        raise PlanishError(Diagnostic("E0511", message, source.point(line), advice), source) from error


def generate_input(
    found: CodegenInput,
    instantiate: Instantiate = record,
    taken: frozenset[str] = frozenset(),
    settings: CodegenSettings = PLAIN,
    hooks: Hooks = NO_HOOKS,
) -> Block:
    """The nest for an input; PlanishError E0512 where a loop would have no bound."""
    names = taken.union(found.parameters)
    try:
        if found.schedule is not None:
            return generate(
                found.schedule, instantiate, names, settings=settings, hooks=hooks, names=found.statements
            )
        problem = found.schedule_map, found.context, found.options
        return generate_map(*problem, instantiate, names, settings, hooks, found.statements)
    except UnboundedError as error:
        message = f"a loop of {found.name} has no bound: {error}".removesuffix(": ")
        advice = "bound the instances from below and above"
        raise PlanishError(Diagnostic("E0512", message, found.source.point(1), advice), found.source) from error


def list_input(found: CodegenInput, sizes: dict[str, int]) -> list[tuple[tuple[int, ...], Instance]]:
    """All instances with their times, in order, for parameters that the context allows."""
    if found.schedule is not None:
        return list_instances(found.schedule, sizes)
    return list_times(map_times(found.schedule_map, found.context), sizes)
