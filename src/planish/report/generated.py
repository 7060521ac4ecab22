"""Nests generated from isl's file formats: their C, and what they cost beside isl's own.

>>> from planish.astgen.formats import generate_input, parse_input
>>> found = parse_input("[n] -> { S[i] -> [-i] : 0 <= i < n } { : } { }", "backwards.in")
>>> print(print_nest(found, generate_input(found)), end="")
for (int64_t c0 = -n + 1; c0 <= 0; c0 += 1)
  S(-c0);
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table

from planish.astgen.checking.judge import MOST_STEPS, choose_sizes, describe_sizes, find_ranges
from planish.astgen.code_size.effort import EffortLimitError, compile_nest, count_copies, count_lines
from planish.astgen.formats import CodegenInput
from planish.emit.formats.readable import emit_readable
from planish.ir.nest import Block

Sizes = Mapping[str, int]


def print_nest(found: CodegenInput, nest: Block, facts: bool = False) -> str:
    """The nest as C, without a function around it; with `facts`, what is known of the loops beside them."""
    return emit_readable(nest, find_ranges(found), facts)


def compare_nests(found: CodegenInput, ours: Block, theirs: Block, sizes: Sequence[Sizes]) -> Table:
    """What two nests cost: copies of statements and lines, and for each choice of the parameters what is executed."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(found.name)
    for name in ("planish", "isl"):
        table.add_column(name, justify="right")
    for row in _rows(ours, theirs, sizes or choose_sizes(found)):
        table.add_row(*row)
    return table


def _rows(ours: Block, theirs: Block, sizes: Sequence[Sizes]) -> Iterator[tuple[str, ...]]:
    # isl's text has its bounds in the conditions of its loops.
    runs = [compile_nest(ours), compile_nest(theirs, at_each_test=True)]
    yield "lines of C", *(str(count_lines(x)) for x in (ours, theirs))
    yield "copies of statements", *(str(count_copies(x)) for x in (ours, theirs))
    for here in sizes:
        try:
            efforts = [run(here, MOST_STEPS).effort for run in runs]
        except EffortLimitError:
            continue
        told = describe_sizes(here)
        yield f"guards{told}", *(str(x.guards) for x in efforts)
        yield f"loop control{told}", *(str(x.control) for x in efforts)
