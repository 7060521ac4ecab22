"""What the statements of a nest wait for, one entry for each earlier statement, array and carrying loop.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> nest = prepare(parse_kernel("kernel scan(n; A: f64[n]) { for i in 2 .. n { A[i] = A[i - 2] } }"))
>>> print(*list_waits(nest), sep="\\n")
itself, through `A` (flow): carried by the loop `i` (line 1), distance (2)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planish.core.span import Span
from planish.ir.nest import For
from planish.ir.traverse import walk
from planish.poly.scop.dependence_levels import Link, list_links
from planish.poly.scop.extraction import Scop, Statement
from planish.schedule.auto.plan import Prepared


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a statement, `sink`, waits for `source`: through which array, by which `kinds` of dependence, and `where`
    these lie; `chain` says which chain of updates they are, if they are one."""

    sink: Statement
    source: Statement
    array: str
    kinds: tuple[str, ...]
    where: str
    chain: str

    def __str__(self) -> str:
        alone = self.source.name == self.sink.name
        who = "itself" if alone else f"{self.source.name}{at_line(self.source.stmt.span)}"
        text = f"{who}, through `{self.array}` ({', '.join(self.kinds)}): {self.where}"
        return f"{text}; {self.chain}" if self.chain else text


def list_waits(prepared: Prepared) -> tuple[Wait, ...]:
    """What each statement waits for, in textual order."""
    scop = prepared.scop
    links = list_links(scop, prepared.dependences)
    lines = spans_of_loops(scop)
    return tuple(x for s in scop.statements for x in _waits([y for y in links if y.sink == s.name], scop, lines))


def _waits(links: list[Link], scop: Scop, lines: dict[int, Span | None]) -> Iterator[Wait]:
    groups: dict[tuple[str, str, int | None], list[Link]] = {}
    for link in links:
        groups.setdefault((link.source, link.array, link.carrier), []).append(link)
    for (name, array, _), group in groups.items():
        # A flow has the shortest distance; the others reach further over the same cells.
        group.sort(key=lambda x: x.kind != "flow")
        sink = scop.statement(group[0].sink)
        kinds = tuple(dict.fromkeys(x.kind for x in group))
        where = _carried(group[0], sink, lines)
        chain = describe_chain(group[0], scop) if all(x.reduction for x in group) else ""
        yield Wait(sink, scop.statement(name), array, kinds, where, chain)


def _carried(link: Link, sink: Statement, lines: dict[int, Span | None]) -> str:
    if not link.distance:
        return "they share no loop"
    if link.carrier is None:
        return "in the same iteration of the loops that they share"
    distance = ", ".join("*" if d is None else str(d) for d in link.distance)
    return f"carried by {describe_carrier(link, sink, lines)}, distance ({distance})"


def spans_of_loops(scop: Scop) -> dict[int, Span | None]:
    """Where each loop of a nest is, by its number."""
    return {i: x.span for i, x in enumerate(x for x in walk(scop.kernel.body) if isinstance(x, For))}


def describe_carrier(link: Link, sink: Statement, lines: dict[int, Span | None]) -> str:
    """The loop that carries a dependence; of one without a place, such as that of a function in line, the statement's.
    """
    assert link.carrier is not None
    return f"the loop `{sink.iterators[link.carrier]}`{at_line(lines[sink.loops[link.carrier]] or sink.stmt.span)}"


def describe_chain(link: Link, scop: Scop) -> str:
    """A chain of updates, and when it has to keep its order: integers come to the same in any."""
    floats = any(x.name == link.array and x.type.is_float for x in (*scop.kernel.arrays, *scop.locals))
    return f"a chain of updates of `{link.array}`{', in order if --fp is strict' if floats else ''}"


def at_line(span: Span | None) -> str:
    """The line of a place in parentheses, after what is there; "" where it is not known."""
    return "" if span is None else f" (line {span.line})"
