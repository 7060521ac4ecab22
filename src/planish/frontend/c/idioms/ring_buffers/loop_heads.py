"""The head of a loop that is cut, in the text: it loses its step, and gets a loop over as many turns as there is room.

>>> from planish.frontend.c.text.lexer import tokenize
>>> tokens = [*tokenize("for (int i = 0; i < n; i++) f(i);").tokens]
>>> head = read_head(tokens)
>>> head.bound, head.steps, [x.text for x in tokens[head.end :]][:2]
('n', 'i ++', ['f', '('])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planish.frontend.c.idioms.ring_buffers.places import C_INTEGERS, SteppingLoop
from planish.frontend.c.text.extent import UnreadableText, balanced
from planish.frontend.c.text.lexer import CToken
from planish.frontend.c.text.written_macros import Invocation
from planish.ir.types import Type

WIDE = "unsigned long long"


@dataclass(frozen=True, slots=True)
class LoopHead:
    """The head of a loop: the bound that is asked for before each iteration, and what is done behind each one.
    `step` and `close` are where in the text the last of these starts, and the parenthesis behind it; `end`: the first
    token of the body."""

    bound: str
    steps: str
    step: int
    close: int
    end: int

    def cut(self, loop: SteppingLoop, type: Type, told: Sequence[str]) -> tuple[Invocation, Invocation]:
        """The head without its step, and the loop over turns; `told`: statements that leave as many as there is room
        for. `type`: that in which the loop compares."""
        turns = f"const {C_INTEGERS[type.kind, type.bits]} planish_end = {self.bound}, "
        turns += f"planish_first = {loop.counter.name};"
        turns += f" {WIDE} planish_turns = ({WIDE})planish_end - ({WIDE})planish_first;"
        over = f"for (long long planish_k = 0; planish_k < planish_turns; planish_k++, {self.steps})"
        behind = Invocation(self.close + 1, self.close + 1, f" {{ {turns} {' '.join(told)} {over}")
        return Invocation(self.step, self.close, ""), behind


def read_head(tokens: Sequence[CToken]) -> LoopHead:
    """The head of a loop that begins a text. Raises UnreadableText where that is not as it was read."""
    header = balanced(tokens, 1) if tokens[0].text == "for" and tokens[1].text == "(" else 0
    ends = [n for n in range(header) if tokens[n].text == ";"]
    if len(ends) != 2:
        raise UnreadableText("the head of a loop is not in the text as it was read")
    condition = tokens[ends[0] + 1 : ends[1]]
    places = [n for n, x in enumerate(condition) if x.text == "<"]
    if len(places) != 1:
        raise UnreadableText("the condition of a loop is not in the text as it was read")
    bound, steps = spelled(condition[places[0] + 1 :]), spelled(tokens[ends[1] + 1 : header - 1])
    step, close = tokens[ends[1] + 1].start, tokens[header - 1].start
    return LoopHead(bound, steps, step, close, header)


def spelled(tokens: Sequence[CToken]) -> str:
    """Tokens as a text on one line."""
    return " ".join(x.text for x in tokens)
