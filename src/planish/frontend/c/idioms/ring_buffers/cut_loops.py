"""Loops over ring buffers, cut where a subscript goes round: between two wraps it is a number plus a counter.

Before: for (i = 0; i < n; i++) y[i] = line[(start + i) % length];
After:  for (i = 0; i < n; ) {
          /* at = (start + i) % length, and as many turns as are left before that wraps, at most n - i */
          for (k = 0; k < turns; k++, i++) y[i] = line[at + k];
        }

The cut loop is C that does the same, whatever the numbers are: where it is not known how far the next wrap is away, one
iteration is made at a time. Several of them in a loop are all cut where the first one wraps.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> loop = "for (int i = 0; i < n; i++) line[at++ % m] = x[i];"
>>> text = "void f(int n, int at, int m, int *x, int *line) { %s }" % loop
>>> print(read_c(Source("f.c", text)).source.text.split("; ")[-2])
planish_k++, i ++) line[(at++, planish_at_1 + planish_k)] = x[i]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pycparser import c_ast
from pycparser.c_parser import CParser, ParseError

from planish.frontend.c.analysis.scope import BoundNames
from planish.frontend.c.idioms.ring_buffers.cut_ahead import cut_ahead
from planish.frontend.c.idioms.ring_buffers.loop_heads import WIDE, read_head, spelled
from planish.frontend.c.idioms.ring_buffers.places import (
    C_INTEGERS,
    RingPlace,
    SteppingLoop,
    ctype_in,
    find_rings,
    read_counted,
    stays_in,
    type_in,
)
from planish.frontend.c.idioms.ring_buffers.set_back import find_set_back
from planish.frontend.c.text.extent import Item, UnreadableText, balanced
from planish.frontend.c.text.lexer import CToken, Tokens, tokenize
from planish.frontend.c.text.written_macros import Invocation
from planish.frontend.c.translation_unit import CutLoop
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import CScalar, text_of
from planish.ir.types import Type

_APART = 16
"""Two places in one ring that are at least so far apart: the loop is cut before one of them reaches the other."""


@dataclass(frozen=True, slots=True)
class _Spelled:
    """A place that goes round, in the text: its dividend and divisor, and the array before it."""

    ring: RingPlace
    left: list[CToken]
    right: list[CToken]
    array: list[CToken]


def find_ring_loops(items: dict[int, Item], bound: BoundNames, tokens: Tokens) -> Iterator[CutLoop]:
    """The loops of a function that may be cut at wraps."""
    for node in walk_tree(bound.function.body):
        if isinstance(node, c_ast.For) and id(node) in items and (found := _cut(node, items, bound, tokens)):
            yield found


def _cut(node: c_ast.For, items: dict[int, Item], bound: BoundNames, tokens: Tokens) -> CutLoop | None:
    item = items[id(node)]
    if not any(isinstance(x, c_ast.ArrayRef) for x in walk_tree(node.stmt)):
        return None
    loop = read_counted(node, bound)
    if loop is None or any(item.start <= x.start < item.end for x in tokens.directives):
        return None
    rings, set_back = [*find_rings(loop)], [*find_set_back(loop)]
    type = type_in(node.cond, loop) if rings or set_back else None
    if type is None:
        return None
    inside = [x for x in tokens.tokens if item.start <= x.start < item.end]
    if any("planish" in x.text for x in inside):
        return None
    try:
        return _written(loop, rings, inside, item, type) if rings else cut_ahead(loop, set_back, inside, items, type)
    except UnreadableText:
        return None


def _written(
    loop: SteppingLoop, rings: Sequence[RingPlace], inside: list[CToken], item: Item, type: Type
) -> CutLoop | None:  # fmt: skip
    """A loop that is cut, where all that this needs is in the text as it was read."""
    head = read_head(inside)
    out: list[Invocation] = []
    told: list[str] = []
    known = [*_spelled(inside[head.end :], rings)]
    for n, x in enumerate(known, 1):
        told.append(_room(n, x))
        step = "planish_k" if x.ring.advance == 1 else "-planish_k"
        stepped = f"{text_of(x.ring.stepped)}, " if x.ring.stepped is not None else ""
        element = _element(x, known, loop)
        if element:
            base = f"&{spelled(x.array)}[planish_at_{n}]"
            told.append(f"{element} *const planish_place_{n} = {base};")
            out.append(Invocation(x.array[0].start, x.right[-1].end, f"planish_place_{n}[{stepped}{step}"))
        else:
            at = f"planish_at_{n} {'+' if x.ring.advance == 1 else '-'} planish_k"
            out.append(Invocation(x.left[0].start, x.right[-1].end, f"({stepped}{at})"))
    out += head.cut(loop, type, [*told, *_gaps(known)])
    out.append(Invocation(item.end, item.end, " }"))
    return CutLoop(item.start, item.end, tuple(sorted(out, key=lambda x: (x.start, x.end))))


def _element(place: _Spelled, known: Sequence[_Spelled], loop: SteppingLoop) -> str:
    """The type of the elements of a ring in which a loop has several places, one of which it stores to; "" for another:
    an address of its own for each of them tells that they do not meet."""
    array = place.ring.array
    ctype = None if array is None else ctype_in(array, loop)
    if array is None or not isinstance(ctype, CScalar) or not ctype.family or not place.array:
        return ""
    stays = stays_in(array.name, loop)
    others = [x.ring for x in known if x.ring.array is not None and text_of(x.ring.array.name) == text_of(array.name)]
    stored = any(x.array is y for x in others for y in loop.stores)
    apart = len({text_of(x.node) for x in others}) > 1
    return ctype.spelling or ctype.family if stays and stored and apart else ""


def _room(n: int, place: _Spelled) -> str:
    """C that computes where a place is, and how many turns are left before it wraps, at most those known so far."""
    ring, dividend, divisor = place.ring, _without_step(place.left, place.ring), spelled(place.right)
    type, at, by = C_INTEGERS[ring.type.kind, ring.type.bits], f"planish_at_{n}", f"planish_by_{n}"
    forward, unsigned = ring.advance == 1, ring.type.kind == "uint"
    made = f"const {type} planish_of_{n} = {dividend}, {by} = {divisor}; const long long {at} = "
    if ring.node.op == "&":
        made += f"(long long)(planish_of_{n} & {by});"
        # A mask that is no power of two less one: a turn at a time.
        sure, most = f"({by} & (({WIDE}){by} + 1)) == 0", f"({WIDE}){by} + 1"
        if ring.number is not None:
            sure, most = "", str(ring.number + 1)
    else:
        some = f"{by} != 0" if unsigned else f"{by} > 0 || {by} < -1"
        made += f"{some} ? (long long)(planish_of_{n} % {by}) : 0;"
        sure, most = (f"{by} > 0" if unsigned else f"{by} > 0 && planish_of_{n} >= 0"), f"({WIDE}){by}"
    room = f"{most} - {at}" if forward else f"({WIDE}){at} + 1"
    made += f" const {WIDE} planish_room_{n} = {f'{sure} ? {room} : 1' if sure else room};"
    made += _at_most(f"planish_room_{n}")
    if ring.node.op == "%" and unsigned and forward:
        made += f" const {type} planish_ahead_{n} = 0 - planish_of_{n};{_at_most(f'planish_ahead_{n}')}"
    return made


def _at_most(room: str) -> str:
    """C that leaves as many turns as there is room for; 0 stands for all that a number holds, and more."""
    return f" if ({room} && {room} < planish_turns) planish_turns = {room};"


def _gaps(known: Sequence[_Spelled]) -> Iterator[str]:
    """C that ends the turns where one place would come to where another one in the same array was."""
    rings = [x.ring for x in known]
    for n, a in enumerate(rings, 1):
        for m, b in enumerate(rings[: n - 1], 1):
            alike = a.array is not None and b.array is not None and text_of(a.array.name) == text_of(b.array.name)
            if not alike or a.advance != b.advance or text_of(a.node) == text_of(b.node):
                continue
            gap = f"planish_at_{m} < planish_at_{n} ? planish_at_{n} - planish_at_{m} : planish_at_{m} - planish_at_{n}"
            made = f"const {WIDE} planish_gap_{m}_{n} = {gap};"
            yield f"{made} if (planish_gap_{m}_{n} >= {_APART}){_at_most(f'planish_gap_{m}_{n}')}"


def _spelled(tokens: list[CToken], rings: Iterable[RingPlace]) -> Iterator[_Spelled]:
    """Each place as it is in the text, in the order in which they stand there. Raises UnreadableText where one is not
    found."""
    left = [*rings]
    for at, token in enumerate(tokens):
        if token.text == "[":
            stop = balanced(tokens, at) - 1
        elif token.text == "=":
            stop = next((n for n in range(at, len(tokens)) if tokens[n].text in (";", ",")), len(tokens))
        else:
            continue
        halves = _halves(tokens[at + 1 : stop])
        ring = None if halves is None else next((x for x in left if _is_same(halves, x)), None)
        if halves is not None and ring is not None:
            left.remove(ring)
            yield _Spelled(ring, *halves, _array_before(tokens[:at], ring))
    if left:
        raise UnreadableText("a place that goes round is not in the text as it was read")


def _array_before(tokens: list[CToken], ring: RingPlace) -> list[CToken]:
    """The tokens of the array that a place is in, which end there; none where they are not found."""
    if ring.array is None:
        return []
    name = [x.text for x in tokenize(text_of(ring.array.name)).tokens]
    found = tokens[-len(name) :]
    return found if [x.text for x in found] == name else []


def _halves(tokens: list[CToken]) -> tuple[list[CToken], list[CToken]] | None:
    """The operands of the one operator `%` or `&` that is outside of all parentheses."""
    depth, places = 0, []
    for n, token in enumerate(tokens):
        depth += (token.text in "([") - (token.text in ")]")
        if depth == 0 and token.text in ("%", "&"):
            places.append(n)
    if len(places) != 1 or not 0 < places[0] < len(tokens) - 1:
        return None
    return tokens[: places[0]], tokens[places[0] + 1 :]


def _is_same(halves: tuple[list[CToken], list[CToken]], ring: RingPlace) -> bool:
    """Whether operands in the text are those that were read; a macro may stand for a divisor that is a number."""
    left, right = halves
    made = _parsed(f"({spelled(left)}) {ring.node.op} ({spelled(right)})")
    whole = _parsed(f"{spelled(left)} {ring.node.op} {spelled(right)}")
    if made is None or whole is None or text_of(made) != text_of(whole) or not isinstance(made, c_ast.BinaryOp):
        return False
    named = isinstance(ring.node.right, c_ast.Constant) and isinstance(made.right, c_ast.ID)
    alike = text_of(made.right) == text_of(ring.node.right) or named
    return made.op == ring.node.op and text_of(made.left) == text_of(ring.node.left) and alike


def _parsed(text: str) -> c_ast.Node | None:
    """An expression; None where the text is none by itself."""
    try:
        return CParser().parse(f"void f(void) {{ return {text}; }}").ext[0].body.block_items[0].expr
    except ParseError:
        return None


def _without_step(tokens: list[CToken], ring: RingPlace) -> str:
    """A dividend without the step in it, which comes after its value."""
    return spelled([x for x in tokens if ring.stepped is None or x.text != "++"])
