"""Schedule trees as text that a person can read and that isl reads back.

>>> tree = parse_schedule('domain: "{ A[i] : 0 <= i < 9 }"\\nchild:\\n  schedule: "[{ A[i] -> [(i)] }]"')
>>> print(print_schedule(tree), end="")
domain: "{ A[i] : 0 <= i <= 8 }"
child:
  schedule: "[{ A[i] -> [(i)] }]"
>>> same_schedule(tree, parse_schedule(print_schedule(tree)))
True
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import islpy as isl

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source, lines_of, place_in
from planish.poly.isl.affine import CONTEXT
from planish.poly.isl.to_list import list_maps

NODE = isl.schedule_node_type
_TOKEN = re.compile(
    r'"?permutable"?\s*:\s*\d+'
    r'|"?coincident"?\s*:\s*(?:\[[^\]]*\]|(?:-\s*\d+\s*)+)'
    r'|"[^"]*"|\#[^\n]*|[A-Za-z_]\w*|(?P<number>\d+)'
)
_WORDS = {NODE.context: "context", NODE.guard: "guard", NODE.extension: "extension"}
"""The kinds of nodes that speak of the dimensions of the bands around them."""


def print_schedule(schedule: isl.Schedule) -> str:
    """The tree in isl's own notation, one node on a line; `parse_schedule` gives an equal tree back."""
    printer = isl.Printer.to_str(CONTEXT).set_yaml_style(isl.yaml_style.BLOCK)
    return f"{str(printer.print_schedule(schedule).get_str()).rstrip()}\n"


def parse_schedule(text: str, name: str = "<text>") -> isl.Schedule:
    """The schedule that the text stands for; PlanishError E0501 for what isl does not read."""
    source = Source(name, text)
    stray = find_stray_number(text)
    if stray is not None:
        place = place_in(lines_of(text), stray)
        message, advice = "no number may stand here", "write sets and functions between quotation marks"
        raise PlanishError(Diagnostic("E0501", message, source.point(*place), advice), source)
    try:
        tree = isl.Schedule.read_from_str(CONTEXT, text)
    except isl.Error as error:
        message, advice = "this text is no schedule tree in isl's notation", "see what `--dump schedule` prints"
        raise PlanishError(Diagnostic("E0501", message, source.point(1), advice), source) from error
    check_dimensions(tree, source)
    return tree


def check_dimensions(tree: isl.Schedule, source: Source) -> None:
    """Raises PlanishError E0501 where a context, a guard or an extension has other dimensions than the bands around it;
    isl reads such a tree and only fails on its use."""
    places = {word: _places_of(word, source.text) for word in _WORDS.values()}

    def visit(node: isl.ScheduleNode) -> bool:
        kind = NODE(node.get_type())
        if kind in _WORDS:
            word = _WORDS[kind]
            at, depth = next(places[word], 0), node.get_schedule_depth()
            if (given := _dimensions(node, kind)) != depth:
                place = place_in(lines_of(source.text), at)
                has = "has no brackets" if given is None else f"has {given} dimension{'s' * (given != 1)}"
                message = f"the {word} {has}, and the bands around it have {depth}"
                names = ", ".join(f"i{x}" for x in range(depth))
                sample = f"{{ [{names}] -> S[…] }}" if kind == NODE.extension else f"{{ [{names}] : … }}"
                advice = f"write it as in `[n] -> {sample}`{', with a name for each dimension' * (depth > 0)}"
                raise PlanishError(Diagnostic("E0501", message, source.point(*place, len(word)), advice), source)
        return all(visit(node.get_child(x)) for x in range(node.n_children()))

    visit(tree.get_root())


def _dimensions(node: isl.ScheduleNode, kind: isl.schedule_node_type) -> int | None:
    """How many dimensions the bands around a node have, as it says itself; None where it speaks of none."""
    if kind == NODE.extension:
        maps = list_maps(node.extension_get_extension())
        return next((x.dim(isl.dim_type.in_) for x in maps), node.get_schedule_depth())
    said = node.context_get_context() if kind == NODE.context else node.guard_get_guard()
    return None if said.is_params() else int(said.dim(isl.dim_type.set))


def _places_of(word: str, text: str) -> Iterator[int]:
    """Where the nodes with a word for their kind begin, in the order of the text, which is that of the tree."""
    return (x.start() for x in _TOKEN.finditer(text) if x.group().strip('"') == word)


def find_stray_number(text: str) -> int | None:
    """Where a number stands that is neither quoted nor a flag of a band: isl's parser would crash there."""
    return next((match.start() for match in _TOKEN.finditer(text) if match.lastgroup == "number"), None)


def same_schedule(a: isl.Schedule, b: isl.Schedule) -> bool:
    """Whether two trees have the same nodes in the same places, with equal sets and functions in them."""
    return _same(a.get_root(), b.get_root())


def _same(a: isl.ScheduleNode, b: isl.ScheduleNode) -> bool:
    # isl's own comparison tells marks apart by their address, so that a tree never equals one that was read.
    if a.get_type() != b.get_type() or a.n_children() != b.n_children() or not _same_node(a, b):
        return False
    return all(_same(a.get_child(i), b.get_child(i)) for i in range(a.n_children()))


def _same_node(a: isl.ScheduleNode, b: isl.ScheduleNode) -> bool:
    kind = NODE(a.get_type())
    if kind == NODE.domain:
        return bool(a.domain_get_domain().is_equal(b.domain_get_domain()))
    if kind == NODE.filter:
        return bool(a.filter_get_filter().is_equal(b.filter_get_filter()))
    if kind == NODE.context:
        return bool(a.context_get_context().is_equal(b.context_get_context()))
    if kind == NODE.guard:
        return bool(a.guard_get_guard().is_equal(b.guard_get_guard()))
    if kind == NODE.extension:
        return bool(a.extension_get_extension().is_equal(b.extension_get_extension()))
    if kind == NODE.mark:
        return bool(a.mark_get_id().get_name() == b.mark_get_id().get_name())
    if kind == NODE.band:
        return _same_band(a, b)
    return True  # a sequence, a set or a leaf holds nothing but its children


def _same_band(a: isl.ScheduleNode, b: isl.ScheduleNode) -> bool:
    members = a.band_n_member()
    if members != b.band_n_member() or bool(a.band_get_permutable()) != bool(b.band_get_permutable()):
        return False
    if any(a.band_member_get_coincident(i) != b.band_member_get_coincident(i) for i in range(members)):
        return False
    options = a.band_get_ast_build_options().is_equal(b.band_get_ast_build_options())
    steps = a.band_get_partial_schedule_union_map().is_equal(b.band_get_partial_schedule_union_map())
    return bool(options and steps)
