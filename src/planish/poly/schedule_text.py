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

import islpy as isl

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.poly.affine import CONTEXT

NODE = isl.schedule_node_type
_TOKEN = re.compile(
    r'"?permutable"?\s*:\s*\d+'
    r'|"?coincident"?\s*:\s*(?:\[[^\]]*\]|(?:-\s*\d+\s*)+)'
    r'|"[^"]*"|\#[^\n]*|[A-Za-z_]\w*|(?P<number>\d+)'
)


def print_schedule(schedule: isl.Schedule) -> str:
    """The tree in isl's own notation, one node on a line; `parse_schedule` gives an equal tree back."""
    printer = isl.Printer.to_str(CONTEXT).set_yaml_style(isl.yaml_style.BLOCK)
    return f"{str(printer.print_schedule(schedule).get_str()).rstrip()}\n"


def parse_schedule(text: str, name: str = "<text>") -> isl.Schedule:
    """The schedule that the text stands for; PlanishError E0501 for what isl does not read."""
    source = Source(name, text)
    stray = find_stray_number(text)
    if stray is not None:
        line, column = text.count("\n", 0, stray) + 1, stray - text.rfind("\n", 0, stray)
        message, advice = "no number may stand here", "write sets and functions between quotation marks"
        raise PlanishError(Diagnostic("E0501", message, source.point(line, column), advice), source)
    try:
        return isl.Schedule.read_from_str(CONTEXT, text)
    except isl.Error as error:
        message, advice = "this text is no schedule tree in isl's notation", "see what `--dump schedule` prints"
        raise PlanishError(Diagnostic("E0501", message, source.point(1), advice), source) from error


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
