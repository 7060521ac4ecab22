"""Loops that set a place in a ring back, cut before it is: until then, each iteration steps it.

Before: for (i = 0; i < n; i++) { y[i] = line[at]; if (++at == length) at = 0; }
After:  for (i = 0; i < n; ) {
          /* as many turns as are left before `at` is set back, at most n - i */
          for (k = 0; k < turns; k++, i++) y[i] = line[at + k];
          at += turns;
          /* a few iterations as they are written, of which one sets it back */
        }

Where a place lies outside of its ring, or that is short, all iterations are made as they are written.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> loop = "for (int i = 0; i < n; i++) { line[at] += x[i]; if (++at >= m) at = 0; }"
>>> text = "void f(int n, int at, int m, int *restrict x, int *restrict line) { %s }" % loop
>>> print(read_c(Source("f.c", text)).source.text.split("; ")[-9])
planish_k++, i ++) { line[planish_at_1 + planish_k] += x[i]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pycparser import c_ast

from planish.frontend.c.idioms.ring_buffers.loop_heads import WIDE, read_head, spelled
from planish.frontend.c.idioms.ring_buffers.places import C_INTEGERS, SteppingLoop, may_be_seen
from planish.frontend.c.idioms.ring_buffers.set_back import SetBack
from planish.frontend.c.text.extent import Item, UnreadableText
from planish.frontend.c.text.lexer import CToken, tokenize
from planish.frontend.c.text.written_macros import Invocation
from planish.frontend.c.translation_unit import CutLoop
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import text_of
from planish.ir.types import Type

FEW = 16
"""So many iterations are made as they are written between others; fewer turns are not worth a loop."""
_LARGEST = (1 << 62) - 1


def cut_ahead(
    loop: SteppingLoop, found: Sequence[SetBack], inside: Sequence[CToken], items: Mapping[int, Item], type: Type
) -> CutLoop:  # fmt: skip
    """A loop that is cut before places are set back. `inside`: its tokens; `type`: that in which it compares. Raises
    UnreadableText where something that this needs is not in the text as it was read."""
    if any(isinstance(x, c_ast.Decl) and "static" in (x.storage or []) for x in walk_tree(loop.node.stmt)):
        raise UnreadableText("a variable that lasts is declared in the loop")
    head = read_head(inside)
    whole, body = items[id(loop.node)], inside[head.end :]
    spans = [_span_of(x, items) for x in found]
    out: list[Invocation] = []
    told: list[str] = []
    behind = ""
    for n, x in enumerate(found, 1):
        told.append(_room(n, x))
        places = _places(x, loop, body, spans)
        out += _subscripts(n, x, places, spans[n - 1])
        # What only stands in subscripts is stepped once.
        if all(plain for _, _, plain in places) and not may_be_seen(x.place, loop):
            out.append(Invocation(spans[n - 1].start, spans[n - 1].stop, ";"))
            behind += f" {text_of(x.place)} = planish_at_{n} + ({x.amount}) * (long long)planish_turns;"
        else:
            step = f"{text_of(x.place)} {'+' if x.amount > 0 else '-'}= {abs(x.amount)};"
            out.append(Invocation(spans[n - 1].start, spans[n - 1].stop, step))
    told.append(f"if (planish_turns < {FEW}) planish_turns = 0;")
    counter = f"({C_INTEGERS[type.kind, type.bits]}){loop.counter.name}"
    left = f"{behind} {WIDE} planish_left = ({WIDE})planish_end - ({WIDE}){counter};"
    left += f" if (planish_left > {FEW}) planish_left = {FEW};"
    left += f" while (planish_left--) {{ {spelled(body)} {head.steps}; }} }}"
    out += (*head.cut(loop, type, told), Invocation(whole.end, whole.end, left))
    return CutLoop(whole.start, whole.end, tuple(sorted(out, key=lambda y: (y.start, y.end))))


def _room(n: int, found: SetBack) -> str:
    """C that says how many iterations step a place only, and leaves at most as many turns. Numbers are in a range in
    which nothing overflows or goes below zero, neither what is compared nor the step: else there are none."""
    at, by, room, length = (f"planish_{x}_{n}" for x in ("at", "by", "room", "length"))
    forward, step = found.amount > 0, abs(found.amount)
    apart = f"{by} - {at} - ({found.behind})" if forward else f"{at} + ({found.behind}) - {by}"
    apart += " + 1" if found.keeps in ("<=", ">=") else ""
    digits = found.type.bits - (found.type.kind == "int")
    most = min(_LARGEST, (1 << digits) - 1) - step
    known = f"{at} >= 0 && {by} >= 0 && {at} <= {most}LL && {by} <= {most}LL"
    if found.behind:
        known += f" && {at} + ({found.behind}) >= 0 && {at} + ({found.behind}) <= {most}LL"
    steps = f"({f'{most}LL - {at}' if forward else at}) / {step}"
    made = f"const long long {at} = (long long){text_of(found.place)}, {by} = (long long)({text_of(found.end)}), "
    made += f"{length} = {known} ? {apart} : 0;"
    made += f" const {WIDE} {room} = {length} > 0 ? ({WIDE})({length} + {step - 1}) / {step} : 0;"
    made += f" if ({room} < planish_turns) planish_turns = {room};"
    # A step before the place is set back may still lead out of what its type holds.
    return f"{made} if (planish_turns && {steps} < planish_turns) planish_turns = {steps};"


def _span_of(found: SetBack, items: Mapping[int, Item]) -> range:
    """Where what sets a place back is in the text. Raises UnreadableText."""
    first, last = items.get(id(found.statements[0])), items.get(id(found.statements[-1]))
    if first is None or last is None:
        raise UnreadableText("what sets a place back is not in the text as it was read")
    return range(first.start, last.end)


def _places(
    found: SetBack, loop: SteppingLoop, body: Sequence[CToken], spans: Sequence[range]
) -> list[tuple[int, int, bool]]:  # fmt: skip
    """Where a place is read in the text, but for what sets it back, and whether it is a subscript. Raises
    UnreadableText where it is read anywhere else."""
    name, symbol = text_of(found.place), loop.bound.symbol(found.place)
    own = {id(y) for x in found.statements for y in walk_tree(x)}
    read = [x for x in walk_tree(loop.node.stmt) if type(x) is type(found.place) and text_of(x) == name]
    read = [x for x in read if id(x) not in own and loop.bound.symbol(x) is symbol]
    head = [y for x in (loop.node.cond, loop.node.next) for y in walk_tree(x)]
    if any(type(x) is type(found.place) and text_of(x) == name for x in head):
        raise UnreadableText("a place in a ring is read between iterations")
    words = [x.text for x in tokenize(name).tokens]
    out: list[tuple[int, int, bool]] = []
    for m in range(1, len(body) - len(words)):
        if [x.text for x in body[m : m + len(words)]] != words or body[m - 1].text in (".", "->", "&"):
            continue
        if not any(body[m].start in x for x in spans):
            plain = body[m - 1].text == "[" and body[m + len(words)].text == "]"
            out.append((body[m].start, body[m + len(words) - 1].end, plain))
    if len(out) != len(read):
        raise UnreadableText("a place in a ring is not in the text as it was read")
    return out


def _subscripts(
    n: int, found: SetBack, places: Sequence[tuple[int, int, bool]], span: range
) -> Iterator[Invocation]:  # fmt: skip
    """The subscripts that are a place, before it is stepped and after that."""
    turned = "planish_k" if abs(found.amount) == 1 else f"{abs(found.amount)} * planish_k"
    for start, end, plain in places:
        ahead = found.amount if start > span.start else 0
        base = f"planish_at_{n}" + (f" + {ahead}" if ahead > 0 else f" - {-ahead}" if ahead else "")
        if plain:
            yield Invocation(start, end, f"{base} {'+' if found.amount > 0 else '-'} {turned}")
