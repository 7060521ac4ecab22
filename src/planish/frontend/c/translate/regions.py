"""Maximal runs of statements that are kernels: found in every compound statement of a function, outermost first.

What cannot be a kernel is left out with a remark, and the loops inside it are tried on their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from pycparser import c_ast

from planish.core.diagnostic import Remark
from planish.core.span import Source, Span
from planish.frontend.c.analysis.array_bases import find_bases
from planish.frontend.c.analysis.callees import Frames
from planish.frontend.c.analysis.dead_out import is_scratch, with_cells_inside
from planish.frontend.c.analysis.derived_integers import given_integers
from planish.frontend.c.analysis.inlined_regions import calls_functions, why_not_affine
from planish.frontend.c.analysis.liveness import Live
from planish.frontend.c.analysis.pointer_facts import pointer_facts
from planish.frontend.c.analysis.row_loops import in_long_rows
from planish.frontend.c.analysis.scope import BoundNames, Symbol, written
from planish.frontend.c.analysis.statement_runs import LOOPS, behind_last, first_inside, has_loop, is_loop, segments
from planish.frontend.c.analysis.steady_reads import computed_from_data, steady_reads
from planish.frontend.c.assumed.address_choices import choose_address
from planish.frontend.c.assumed.product_sizes import computed_sizes, with_product_sizes
from planish.frontend.c.compaction.packed_stores import spreads
from planish.frontend.c.compaction.regions import find_packing
from planish.frontend.c.early_exits.exit_regions import Attempt, Loop, find_early_exit
from planish.frontend.c.idioms.bit_reversal.exchange_loops import find_reversal
from planish.frontend.c.idioms.data_dependent_rows import find_ranges
from planish.frontend.c.idioms.radix_stages import find_stages
from planish.frontend.c.idioms.unrolled_loops import loops_over_tables
from planish.frontend.c.numbers.complex_numbers import complex_part
from planish.frontend.c.refusals import remark_of
from planish.frontend.c.text.extent import ColumnMap, Item, balanced_conditionals
from planish.frontend.c.text.lexer import Tokens
from planish.frontend.c.translate.asserted_facts import Assertion, lasting_assertions, read_assertions
from planish.frontend.c.translate.calls import inline_call
from planish.frontend.c.translate.data_subscripts import data_subscript
from planish.frontend.c.translate.kernels import FinishedKernel, finish
from planish.frontend.c.translate.region_types import declared_types, distances_of, size_types
from planish.frontend.c.translate.state import Address, Again, CTranslation, Refused
from planish.frontend.c.translate.statements import execute, refused_at_once
from planish.frontend.c.translation_unit import Region
from planish.frontend.c.types.constants import walk_tree
from planish.ir.expr import Expr
from planish.ir.index.polynomial import chain, show
from planish.ir.index.ranges import Range
from planish.ir.types import Floats
from planish.poly.idioms.data_dependent import is_known
from planish.poly.isl.op_budget import PASS, OverBudgetError, within

_MOST_RESTARTS = 200


@dataclass(slots=True)
class Search:
    """What the search for regions in one function knows and has found."""

    bound: BoundNames
    source: Source
    tokens: Tokens
    columns: ColumnMap
    items: dict[int, Item]
    live: dict[int, Live]
    fp: Floats
    computed: tuple[tuple[str, Expr], ...]
    found: list[Region] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    spans: dict[tuple[int, int], Span] = field(default_factory=dict)
    finished: dict[int, FinishedKernel] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)
    frames: Frames = field(init=False)
    assertions: tuple[Assertion, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.frames = Frames(self.bound)
        self.assertions = lasting_assertions(self.bound)

    def span_of(self, node: c_ast.Node | None) -> Span | None:
        """Where a node stands in the user's file."""
        if node is None:
            return None
        if (item := self.items.get(id(node))) is not None:
            return self.source.between(self.tokens.place(item.start), self.tokens.place(item.end))
        if node.coord is None or node.coord.file != self.source.name:
            return None
        place = (node.coord.line, node.coord.column or 1)
        if place not in self.spans:
            self.spans[place] = self.columns.span(self.source, *place)
        return self.spans[place]


def search(node: c_ast.Node, s: Search) -> None:
    """Look for regions in a statement and in what is inside it."""
    match node:
        case c_ast.Compound(block_items=items):
            for segment in segments(items or []):
                _search_run(segment, s)
        case c_ast.For() | c_ast.While() | c_ast.DoWhile() | c_ast.Switch() | c_ast.Label():
            _search_body(node.stmt, s)
        case c_ast.If():
            for branch in (node.iftrue, node.iffalse):
                if branch is not None:
                    _search_body(branch, s)
        case c_ast.Case() | c_ast.Default():
            _search_run(list(node.stmts or []), s)
        case _:
            pass


def _search_body(node: c_ast.Node, s: Search) -> None:
    """The body of a loop or branch: a compound statement, or one statement alone."""
    if isinstance(node, c_ast.Compound):
        search(node, s)
    else:
        if id(node) in s.items:
            s.alone.add(s.items[id(node)].start)
        _search_run([node], s)


def _search_run(nodes: list[c_ast.Node], s: Search) -> None:
    """Cut a list of statements into regions and statements that are none."""
    for n, x in enumerate(nodes):
        if isinstance(x, c_ast.For | c_ast.While) and id(x) in s.items and spreads(x, s.bound):
            if isinstance(spread := _packed(x, nodes[:n], s), Region):
                _search_run(nodes[:n], s)
                s.found.append(spread)
                return _search_run(nodes[n + 1 :], s)
    at, end = 0, max((n for n, x in enumerate(nodes, 1) if has_loop(x)), default=0)
    while at < end:
        stop, refusal = _readable(nodes[at:], s)
        run = nodes[at : at + stop]
        if any(has_loop(x) for x in run):
            refusal_at = _take(run, s)
            if refusal_at is None:
                at += stop
                continue
            # Not even a part of the run that starts at its first loop can be a kernel: go past that loop.
            first, refusal = refusal_at
            _refuse(run[first], refusal, s, run[:first])
            at += first + 1
            continue
        if stop and at + stop < len(nodes) and has_loop(nodes[at + stop]):
            # What the statements before it set may be what it cannot be read with: it may be a size as well.
            at += stop
            continue
        if at + stop < len(nodes):
            if refusal is not None and not _taken_alone(nodes[at:], stop, s):
                _refuse(nodes[at + stop], refusal, s, nodes[: at + stop])
            at += stop + 1
        else:
            return


def _taken_alone(nodes: list[c_ast.Node], place: int, s: Search) -> bool:
    """Make a region of the loop at a place if statements behind it change what it reads and does not change itself."""
    loop = nodes[place]
    if not isinstance(loop, LOOPS) or id(loop) not in s.items:
        return False
    behind = {x for node in nodes[place + 1 :] for x in written(node, s.bound)}
    named = {s.bound.symbol(x) for x in walk_tree(loop)}
    if not named & behind - written(loop, s.bound):
        return False
    outcome = _finish([loop], nodes[:place], s)
    if isinstance(outcome, Region):
        s.found.append(outcome)
    return isinstance(outcome, Region)


def _refuse(node: c_ast.Node, refusal: Refused, s: Search, before: list[c_ast.Node]) -> None:
    """Say why a statement, behind others of its block, is no kernel, and look inside it; what came out of a macro is
    not looked into."""
    if isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile) and id(node) in s.items:
        left = _left_early(node, before, s)
        if isinstance(left, Region):
            s.found.append(left)
            return
        left = left or (None if isinstance(node, c_ast.DoWhile) else _packed(node, before, s))
        if isinstance(left, Region):
            s.found.append(left)
            return
        refusal = refusal if left is None else left
    if isinstance(node, c_ast.For | c_ast.While) and id(node) in s.items:
        region = _searched(node, s) or (_reversed(node, s) if isinstance(node, c_ast.For) else None)
        if region is not None:
            s.found.append(region)
            return
    if is_loop(node):
        loop = s.span_of(node)
        where = s.span_of(refusal.node) or loop
        message = f"the loop stays as written: {refusal.message}"
        remark = remark_of(refusal.cause, message, where, loop if refusal.within else None)
        if remark not in s.remarks:
            s.remarks.append(remark)
    if id(node) in s.items or isinstance(node, (c_ast.Case, c_ast.Default, c_ast.Label)):
        known, item = len(s.found), s.items.get(id(node))
        search(node, s)
        if isinstance(node, c_ast.For | c_ast.While) and len(s.found) == known + 1:
            s.found[known] = _with_stages(node, s.found[known], s)
        s.found[known:], refused = in_long_rows(node, s.found[known:], item, s.tokens, s.bound)
        s.remarks += refused


def _left_early(node: Loop, before: list[c_ast.Node], s: Search) -> Region | Refused | None:
    """The region of a loop with early exits, or why there is none; None where it has no such exits."""
    item = s.items[id(node)]
    if not balanced_conditionals(s.tokens, item.start, item.end):
        return None

    found = find_early_exit(node, before, s.bound, s.tokens, item, _attempt_with(node, before, s))
    if found is None or isinstance(found, Refused):
        return found
    return replace(_going_on(node, found[0], s), exits=found[1])


def _packed(node: c_ast.For | c_ast.While, before: list[c_ast.Node], s: Search) -> Region | Refused | None:
    """The region of a loop that packs what it keeps, or why there is none; None where it packs nothing."""
    item = s.items[id(node)]
    if not balanced_conditionals(s.tokens, item.start, item.end):
        return None
    found = find_packing(node, before, s.bound, s.tokens, item, _attempt_with(node, before, s))
    if found is None or isinstance(found, Refused):
        return found
    return replace(_going_on(node, found[0], s), packing=found[1])


def _attempt_with(node: c_ast.Node, before: list[c_ast.Node], s: Search) -> Attempt:
    """How what stands for a loop, behind others of its block, is read."""

    def attempt(nodes: list[c_ast.Node], facts: list[c_ast.Node], live: Live) -> FinishedKernel | Refused:
        live |= s.live.get(id(node), frozenset((*s.bound.symbols, *s.bound.by_node.values())))
        found = _attempt(nodes, [*pointer_facts(before, s.bound), *facts], s, live)
        if isinstance(found, FinishedKernel) and found.spaced:
            return Refused("scop-pointer", "rows through pointers, of which some may not be read", node)
        if isinstance(found, FinishedKernel):
            return found
        return found[1] if found is not None else Refused("scop-loop", "it is not a kernel", node)

    return attempt


def _going_on(node: c_ast.Node, finished: FinishedKernel, s: Search) -> Region:
    """The region of a loop that goes on as it is written."""
    item = s.items[id(node)]
    span = s.span_of(node)
    kernel = replace(finished.kernel, span=span)
    computed = tuple((key, value) for key, value in s.computed if key in kernel.sizes)
    return Region(
        s.bound.function.decl.name, 0, kernel, item.start, item.end, finished.names, registers=finished.registers,
        computed=computed, span=span, conditional_stores=finished.conditional_stores, guarded=finished.guarded,
        alone=item.start in s.alone, declared=declared_types(kernel, s.bound) + size_types(finished, s.bound),
        conditions=finished.conditions, held=finished.held, views=finished.views, distances=distances_of(finished),
    )  # fmt: skip


def _with_stages(loop: c_ast.For | c_ast.While, region: Region, s: Search) -> Region:
    """The region that was found in a loop, with those of several of its iterations, if it is all of the body but for
    what comes before it, and for what advances counters after it."""
    body = loop.stmt.block_items or [] if isinstance(loop.stmt, c_ast.Compound) else [loop.stmt]
    if (
        region.conditional_stores
        or region.bases
        or region.start not in s.finished
        or any(id(x) not in s.items for x in body)
        or s.bound.jumps
    ):
        return region
    before = [x for x in body if s.items[id(x)].end <= region.start]
    after = [x for x in body if s.items[id(x)].start >= region.end]
    own = body[len(before) : len(body) - len(after)]
    # The region of a loop in the body begins later.
    if not own or (s.items[id(own[0])].start, s.items[id(own[-1])].end) != (region.start, region.end):
        return region
    live = s.live.get(id(loop), frozenset((*s.bound.symbols, *s.bound.by_node.values())))
    cx = CTranslation(s.bound, s.fp, frozenset(), s.span_of)
    plain = c_ast.For(None, loop.cond, c_ast.ExprList([*after, *_steps_of(loop)]), c_ast.Compound([*before, *own]))
    stages = find_stages(plain, region, s.finished[region.start], before, cx, live)
    return replace(region, stages=stages)


def _steps_of(loop: c_ast.For | c_ast.While) -> list[c_ast.Node]:
    """What a loop does after its body."""
    if isinstance(loop, c_ast.While) or loop.next is None:
        return []
    return loop.next.exprs if isinstance(loop.next, c_ast.ExprList) else [loop.next]


def _reversed(node: c_ast.For, s: Search) -> Region | None:
    """The region of a loop that exchanges elements whose numbers have the same digits the other way round."""
    live, item = s.live.get(id(node)), s.items[id(node)]
    found = None if live is None else find_reversal(node, s.bound, live)
    if found is None or s.bound.jumps or not balanced_conditionals(s.tokens, item.start, item.end):
        return None
    span = s.span_of(node)
    return Region(
        found.kernel.name, 0, replace(found.kernel, span=span), item.start, item.end, found.names, span=span,
        alone=item.start in s.alone, reversal=found.reversal, declared=declared_types(found.kernel, s.bound),
    )  # fmt: skip


def _searched(node: c_ast.For | c_ast.While, s: Search) -> Region | None:
    """The region of a loop in which rows are chosen by data, or it depends on data whether loops are run, where it is
    known how to do better than to search for the rows and to choose for each element: sums of floats are then made in
    another order."""
    found = _finish([node], [], s, searches={})
    return found if isinstance(found, Region) and is_known(found.kernel, found.scratch, s.fp) else None


def _readable(nodes: list[c_ast.Node], s: Search) -> tuple[int, Refused | None]:
    """How many of the statements can be translated together, and what stops the next one."""
    refusals = ((n, y) for n, x in enumerate(nodes) if (y := refused_at_once(x, s.bound, id(x) in s.items)) is not None)
    count, refusal = next(refusals, (len(nodes), None))
    outcome = _attempt(nodes[:count], [], s, None) if count else None
    return outcome if isinstance(outcome, tuple) else (count, refusal)


def _restart(again: Again, cells: frozenset[Symbol], flat: frozenset[Symbol], node: c_ast.Node) -> Refused | None:
    """A restart that was already made does not help a second time."""
    if again.cell is not None and again.cell in cells:
        return Refused("scop-data", f"{again.cell.name} is computed from data", node)
    if again.flat is not None and again.flat in flat:
        return Refused("scop-pointer", f"a pointer walks through {again.flat.name}", node)
    return None


def _recall(prelude: list[c_ast.Node], cx: CTranslation) -> None:
    """Know where pointers stand that were set right before the region."""
    for node in prelude:
        known = dict(cx.values)
        try:
            with cx.inside():
                execute(node, cx)
        except Refused:
            cx.values = known
    cx.local.clear()


def _take(run: list[c_ast.Node], s: Search) -> tuple[int, Refused] | None:
    """Make a region of the run or of the longest part of it that can be one.

    Gives the position of the first loop and why, where no part that holds this loop can be a kernel.
    """
    first = next(n for n, x in enumerate(run) if has_loop(x))
    refusal: Refused | None = None
    end = len(run)
    while end > first:
        start = first_inside(run[:end], s.bound)
        stop = behind_last(run[:end])
        outcome = _finish(run[start:stop], run[:start], s)
        if isinstance(outcome, Refused) and start < first and calls_functions(run[start:first], s.bound):
            outcome = _finish(run[first:stop], [], s)  # what a call does may be what cannot be read
        if isinstance(outcome, Region):
            s.found.append(outcome)
            rest = run[stop:]
            if any(has_loop(x) for x in rest):
                _search_run(rest, s)
            return None
        refusal = outcome if refusal is None or end == first + 1 else refusal
        end -= 1
    return first, refusal if refusal is not None else Refused("scop-loop", "it is not a counted loop", run[first])


def _finish(
    nodes: list[c_ast.Node], before: list[c_ast.Node], s: Search, searches: Mapping[Symbol, Range] | None = None
) -> Region | Refused:
    first, last = s.items[id(nodes[0])], s.items[id(nodes[-1])]
    if not balanced_conditionals(s.tokens, first.start, last.end):
        return Refused("scop-conditional", "an #if group begins or ends inside it", nodes[0])
    live = s.live.get(id(nodes[-1]), frozenset((*s.bound.symbols, *s.bound.by_node.values())))
    for node in nodes:
        symbol = s.bound.symbol(node) if isinstance(node, c_ast.Decl) else None
        if symbol is not None and symbol in live:
            return Refused("scop-exit", f"{symbol.name} is declared inside and used behind it", node)
    prelude = pointer_facts(before, s.bound)
    finished = _attempt(nodes, prelude, s, live, searches)
    if not isinstance(finished, FinishedKernel):
        return finished[1] if finished is not None else Refused("scop-loop", "it is not a kernel", nodes[0])
    finished = finished.of(with_cells_inside(finished.kernel, nodes, s.bound))
    finished = with_product_sizes(finished, {x.key for x in s.bound.symbols})
    kernel, bases = find_bases(finished, nodes[0], s.bound)
    if (reason := why_not_affine(kernel, calls_functions(nodes, s.bound))) is not None:
        return Refused("scop-affine", reason, nodes[0])
    s.finished[first.start] = finished
    name = s.bound.function.decl.name
    s.remarks += (x for x in finished.remarks if x not in s.remarks)
    span = s.source.between(s.tokens.place(first.start), s.tokens.place(last.end))
    kernel = replace(kernel, span=span)
    by_key = s.bound.by_key()
    scratch = tuple(a.name for a in kernel.arrays if a.shape and is_scratch(by_key[a.name], nodes, live, s.bound))
    computed = computed_sizes(finished, s.computed, given_integers(s.bound) if finished.products else {})
    return Region(
        name, 0, kernel, first.start, last.end, finished.names, finished.updates, finished.registers, scratch,
        computed, span, alone=first.start in s.alone, conditional_stores=finished.conditional_stores,
        guarded=finished.guarded,
        declared=declared_types(kernel, s.bound) + size_types(finished, s.bound), conditions=finished.conditions,
        held=finished.held, views=finished.views,
        distances=distances_of(finished), spaced=finished.spaced, recast=finished.recast, bases=bases,
        in_rows=finished.in_rows, products=finished.products,
    )  # fmt: skip


def _attempt(
    nodes: list[c_ast.Node],
    prelude: list[c_ast.Node],
    s: Search,
    live: Live | None,
    searches: Mapping[Symbol, Range] | None = None,
) -> FinishedKernel | tuple[int, Refused] | None:
    """Translate the statements in one state, and finish the kernel if `live` is given.

    Where integers were read as choices between indices, and that comes to nothing, they are read as data. Gives the
    position of the statement that was refused and why, where there is one. `searches`: as of `_read`.
    """
    try:
        outcome, chosen = within(partial(_read, nodes, prelude, s, live, True, searches), 2 * PASS)
        again = chosen and isinstance(outcome, tuple)
        return within(partial(_read, nodes, prelude, s, live, False, searches), 2 * PASS)[0] if again else outcome
    except OverBudgetError:
        return 0, Refused("analysis-limit", f"it is not read within {2 * PASS:,} operations", nodes[0])


def _read(
    nodes: list[c_ast.Node], prelude: list[c_ast.Node], s: Search, live: Live | None, choosing: bool,
    searches: Mapping[Symbol, Range] | None,
) -> tuple[FinishedKernel | tuple[int, Refused] | None, bool]:  # fmt: skip
    """Translate the statements; and whether an integer was read as a choice.

    What is found to be no symbolic value on the way becomes a cell in memory, and all starts again. `searches`: rows
    may be chosen by data; between which values variables are that choose them is found out in a reading before the one
    that counts.
    """
    steady, addresses = steady_reads(nodes, s.bound)
    cells = computed_from_data(nodes, s.bound, steady=steady)
    flat: frozenset[Symbol] = frozenset()
    folds: dict[int, tuple[Expr, ...]] = {}
    changed = {x for node in nodes for x in written(node, s.bound)}
    chosen, unrolled = False, frozenset[int]()
    for _ in range(_MOST_RESTARTS):
        cx = CTranslation(
            s.bound, s.fp, frozenset(changed), s.span_of, cells, flat, folds, unrolled, searches=searches, live=s.live,
            choosing=choosing, inline=partial(inline_call, frames=s.frames), execute=execute,
            data_subscript=data_subscript, complex_part=complex_part, choose_address=choose_address, steady=steady,
            addresses=addresses,
        )  # fmt: skip
        position = 0
        try:
            cx.facts = read_assertions(s.assertions, cx) if live is not None else ()
            _recall(prelude, cx)
            entry = {x: v for x, v in cx.values.items() if isinstance(v, Address)}
            for node in nodes:
                execute(node, cx)
                position += 1
            if searches is not None and (ranges := find_ranges(cx.out, cells)) != searches:
                searches = ranges
                continue
            if (unknown := cx.choosers - {*(searches or ())}) and searches is not None:
                message = f"a subscript holds {min(x.name for x in unknown)}, which may be anything"
                return (0, Refused("scop-data", message, nodes[0])), chosen
            if live is None:
                return None, chosen
            return finish(s.bound.function.decl.name, cx, nodes, entry, live), chosen
        except Again as again:
            chosen = chosen or cx.chosen
            position = min(position, len(nodes) - 1)
            refusal = _restart(again, cells, flat, nodes[position])
            if refusal is not None:
                return (position, refusal), chosen
            if again.fold is not None:
                loop, divisor = again.fold
                divisors = chain(folds.get(loop, ()), divisor)
                if divisors is None:
                    refusal = Refused("scop-division", f"a division by {show(divisor)}", nodes[position])
                    return (position, refusal), chosen
                folds = {**folds, loop: divisors}
            cells |= {again.cell} if again.cell is not None else set()
            flat |= {again.flat} if again.flat is not None else set()
        except Refused as refused:
            known, (unrolled, elements) = unrolled, loops_over_tables(nodes, s.bound)
            if known or not unrolled or refused.cause != "scop-data" or searches is not None:
                return (min(position, len(nodes) - 1), refused), chosen or cx.chosen
            cells, flat, folds = computed_from_data(nodes, s.bound, steady=steady | elements), frozenset(), {}
    if searches is not None:
        return (0, Refused("scop-data", "what subscripts hold depends on itself", nodes[0])), chosen
    raise AssertionError("a translation that starts again and again")
