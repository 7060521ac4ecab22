"""What `planish select` shows: the strips of the nests of a file, the instructions for them, their proof and cost.

>>> source = expression_source("(a + b + 1) >> 1", "u8", "u8")
>>> print(*source.text.splitlines()[2:], sep="\\n")
void select(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[i] + b[i] + 1) >> 1;
}
>>> text = select_file(source, Options(target="x86-avx2"))
>>> print("\\n".join(text.splitlines()[:6]))
select, line 5: strips of 32 lanes of x86, 1.5 cycles of throughput, proven
    5 |     for (int i = 0; i < n; i++)
    6 |         out[i] = (a[i] + b[i] + 1) >> 1;
<BLANKLINE>
  instruction      times  cycles
  _mm256_avg_epu8      1     0.5
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from planish.build.plan import plan_region
from planish.build.read import read_file
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.ir.nest import Block
from planish.ir.text.printer import print_kernel
from planish.ir.traverse import walk
from planish.isa.select.lane_values import NoCover
from planish.library.loops.vector_strips.selected_pieces import SelectedNest, select_nests
from planish.options import Options
from planish.select.c_text import DIALECTS, write_statements
from planish.select.instruction import Selected, VectorExtension, cost_of, extension_of
from planish.select.program import in_order
from planish.target.load import load_target

_OWN = ("n", "i", "out", "select")
"""The names that the loop around an expression has."""
_WORDS = ("int", "char", "short", "long", "signed", "unsigned")
TYPES = {f"{sign}{bits}": f"{'u' if sign == 'u' else ''}int{bits}_t" for sign in "ui" for bits in (8, 16, 32)}
"""The types of elements that an expression may have, in C."""


def expression_source(text: str, given: str, result: str) -> Source:
    """A C file of a loop that assigns an expression over its names, which are arrays of one type, to an array of
    another one; PlanishError E0125 for an unknown type, where there are no names, or where one is the loop's own."""
    for x in (given, result):
        if x not in TYPES:
            advice = f"use one of {', '.join(TYPES)}"
            raise PlanishError(Diagnostic("E0125", f"`{x}` is no type of elements", help=advice))
    called = set(re.findall(r"\b([A-Za-z_]\w*)\s*\(", text))
    words = dict.fromkeys(re.findall(r"\b[A-Za-z_]\w*\b", text))
    names = [x for x in words if x not in called and x not in _WORDS and x not in TYPES.values()]
    for x in names:
        if x in _OWN:
            raise PlanishError(Diagnostic("E0125", f"`{x}` is a name of the loop around", help="use another name"))
    if not names:
        raise PlanishError(Diagnostic("E0125", "the expression has no names", help="write it as in '(a + b + 1) >> 1'"))
    body = re.sub(r"\b[A-Za-z_]\w*\b", lambda x: f"{x[0]}[i]" if x[0] in names else x[0], text)
    arrays = "".join(f"const {TYPES[given]} *restrict {x}, " for x in names)
    head = f"void select(int n, {arrays}{TYPES[result]} *restrict out)"
    loop = f"    for (int i = 0; i < n; i++)\n        out[i] = {body};\n"
    return Source("expression.c", f"#include <stdint.h>\n#include <stdlib.h>\n{head}\n{{\n{loop}}}\n")


def select_file(source: Source, options: Options) -> str:
    """The account of the strips of all functions of a file, or of the one that is asked for; PlanishError as of
    `read_file`."""
    target = load_target(options.target)
    try:
        registers = extension_of(target)
    except NoCover as error:
        raise PlanishError(Diagnostic("E0126", str(error), help="planish targets lists the machines")) from error
    parts: list[str] = []
    for function in read_file(source, options).functions:
        for region in function.regions:
            plan = plan_region(region, options, target)
            nest = plan.context.nest
            found = () if nest is None else tuple(select_nests(nest.kernel, registers))
            for x in found:
                parts += _nest(function.name, x, registers, source)
            if not found:
                line = "" if region.span is None else f", line {region.span.line}"
                parts.append(f"{function.name}{line}: no loop of integers that strips are made of\n")
    return "\n".join(parts) if parts else f"{source.name}: no loops\n"


def _nest(function: str, nest: SelectedNest, registers: VectorExtension, source: Source) -> Iterator[str]:
    spans = [x.span for x in walk(nest.stmt) if not isinstance(x, Block) and x.span is not None]
    where = f"{function}, line {spans[0].line}" if spans else function
    for reason in nest.left:
        yield f"{where}: nothing is selected: {reason}\n"
    if not nest.pieces:
        return
    lines = source.text.splitlines()
    shown = range(min(x.line for x in spans), max(x.line for x in spans) + 1) if spans else ()
    cost = sum(x.cost for x in nest.pieces)
    what = f"strips of {nest.lanes} lanes of {registers.isa}, {cost:.3g} cycles of throughput"
    heading = f"{where}: {what}{f' in {len(nest.pieces)} pieces' if len(nest.pieces) > 1 else ''}, proven\n"
    quoted = [f"{at:5} | {lines[at - 1]}" for at in shown]
    text = [y for x in nest.pieces for y in ("", *_table(x, registers), "", *_code(x, registers))]
    yield heading + "\n".join([*quoted, *text]) + "\n"


def _table(found: Selected, registers: VectorExtension) -> Iterator[str]:
    """How often each instruction is there, and what it costs."""
    values = list(in_order([x for x, _, _ in found.stores]))
    counted = Counter(str(x.detail[0]) for x in values if x.kind == "call")
    loads = sum(x.kind == "load" for x in values)
    width = max(len(x) for x in (*counted, "instruction"))
    yield f"  {'instruction':{width}}  times  cycles"
    for name, times in counted.most_common():
        yield f"  {name:{width}}  {times:5}  {times * cost_of(registers, name):6.3g}"
    yield f"  {'(loads)':{width}}  {loads:5}"


def _code(found: Selected, registers: VectorExtension) -> Iterator[str]:
    """The strip as it is meant, and in C."""
    yield from (f"  {x}" for x in print_kernel(found.strip.kernel).rstrip().splitlines())
    yield ""
    kernel = found.strip.kernel
    names = {x: x for x in (*(y.name for y in kernel.arrays), *(y.name for y in kernel.scalars))}
    yield from (
        f"  {x}" for x in write_statements(found.stores, DIALECTS[registers.isa], names, found.strip.body.scalars)
    )
