"""Options that say how loops are made: those that a generator does not know are refused instead of being overlooked.

>>> from planish.astgen.formats import parse_input
>>> check_options(parse_input("{ S[i] -> [i] : 0 <= i < 9 } { : } { [i] -> separte[0] }", "a.in"))
Traceback (most recent call last):
planish.core.diagnostic.PlanishError: error[E0514]: there is no option `separte`
 --> a.in:1:45
  |
1 | { S[i] -> [i] : 0 <= i < 9 } { : } { [i] -> separte[0] }
  |                                             ^^^^^^^
  = help: did you mean `separate`?
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import replace

import islpy as isl

from planish.astgen.formats import CodegenInput
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source, Span
from planish.poly.isl.affine import CONTEXT
from planish.poly.isl.schedule_tree import Kind, kind_of
from planish.poly.isl.to_list import list_maps, list_sets

SET, OUT = isl.dim_type.set, isl.dim_type.out
OF_MAPS = ("atomic", "separate", "unroll", "separation_class")
OF_BANDS = ("atomic", "separate", "unroll", "isolate")


def check_options(found: CodegenInput) -> None:
    """That every option in an input is one that exists; raises PlanishError E0514."""
    if found.schedule is None:
        _check_names(_map_names(found.options), OF_MAPS, found.source)
        return
    for node in _bands(found.schedule.get_root()):
        _check_names(_band_names(node.band_get_ast_build_options()), OF_BANDS, found.source)


def find_idle_options(found: CodegenInput) -> list[Diagnostic]:
    """Warnings for options of a map which say nothing, since the schedule has another number of dimensions."""
    schedule = {part.dim(OUT) for part in list_maps(found.schedule_map)}
    out = []
    for part in list_maps(found.options):
        dims = part.dim(isl.dim_type.in_)
        if schedule and dims not in schedule:
            name = _name_of(part.range())
            message = f"`{name}` is said of schedules with {dims} dimensions; this one has {max(schedule)}"
            place = find_word(name, found.source)
            out.append(Diagnostic("E0518", message, place, "it has no effect as it stands", "warning"))
    return out


def set_options(found: CodegenInput, text: str) -> CodegenInput:
    """The input with other options: those of a map, or of every band in a tree. Raises PlanishError E0514, E0515."""
    source = Source("--options", text)
    try:
        if found.schedule is None:
            options = isl.UnionMap.read_from_str(CONTEXT, text)
            _check_names(_map_names(options), OF_MAPS, source)
            return replace(found, options=options)
        of_bands = isl.UnionSet.read_from_str(CONTEXT, text)
    except isl.Error as error:
        form = "{ [i, j] -> unroll[1] }" if found.schedule is None else "{ unroll[0] }"
        message = f"`{text}` is no {'map' if found.schedule is None else 'set'} of options"
        raise PlanishError(Diagnostic("E0515", message, help=f"for this file write them as in `{form}`")) from error
    _check_names(_band_names(of_bands), OF_BANDS, source)
    return replace(found, schedule=_set_on_bands(found.schedule.get_root(), of_bands).get_schedule())


def _set_on_bands(node: isl.ScheduleNode, options: isl.UnionSet) -> isl.ScheduleNode:
    """The node with the options on it and on all bands below it."""
    if kind_of(node) == Kind.band:
        node = node.band_set_ast_build_options(options)
    for i in range(node.n_children()):
        node = _set_on_bands(node.get_child(i), options).parent()
    return node


def _bands(node: isl.ScheduleNode) -> Iterator[isl.ScheduleNode]:
    if kind_of(node) == Kind.band:
        yield node
    for i in range(node.n_children()):
        yield from _bands(node.get_child(i))


def _map_names(options: isl.UnionMap) -> list[str]:
    return [_name_of(part.range()) for part in list_maps(options)]


def _band_names(options: isl.UnionSet) -> list[str]:
    return [_name_of(part) for part in list_sets(options)]


def _name_of(option: isl.Set) -> str:
    """The name of an option; one for the isolated part alone is written `[isolate[] -> unroll[x]]`."""
    if option.has_tuple_name():
        return str(option.get_tuple_name())
    if option.is_wrapping():
        inner = option.unwrap()
        outer = inner.domain()
        if outer.has_tuple_name() and outer.get_tuple_name() == "isolate":
            return _name_of(inner.range())
        return str(outer.get_tuple_name()) if outer.has_tuple_name() else ""
    return ""


def _check_names(names: list[str], known: tuple[str, ...], source: Source) -> None:
    for name in names:
        if name in known:
            continue
        near = difflib.get_close_matches(name, known, 1)
        advice = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(f'`{x}`' for x in known)}"
        message = f"there is no option `{name}`" if name else "an option has no name"
        raise PlanishError(Diagnostic("E0514", message, find_word(name, source), advice), source)


def find_word(name: str, source: Source) -> Span:
    """Where the name of an option or a statement stands for the first time, comments left out."""
    for number, line in enumerate(source.text.splitlines(), 1):
        if name and (at := re.search(rf"\b{re.escape(name)}\s*\[", line.partition("#")[0])):
            return source.point(number, at.start() + 1, len(name))
    return source.point(1)
