"""Reads an instruction file: the registers of an extension, and each instruction with its definition.

    header immintrin.h
    memory xmm 128 bits 16 registers: f32 __m128
    text mask (__mmask8)((1u << {n}) - 1u)

    instr sse_add_f32 { {d} = _mm_add_ps({a}, {b}); }
    (d: f32[4] @xmm, a: f32[4] @xmm, b: f32[4] @xmm) { for l in 0 .. 4 { d[l] = a[l] + b[l] } }

Without `{ … }` its C is found: the learnt instructions whose definitions it equals, of the architecture and the
extensions that a line `from` names, the ones that most processors have first. A `mask` says how the first n lanes are
written.

    from x86: SSE SSE2
    mask 8 lanes __mmask8 (__mmask8)((1u << {n}) - 1u)

A `text` stands in the C of the instructions after it, as `{mask}`; `fused` after a name says that a product and a sum
are rounded once, `reassociates` that sums are made in another order, `flushes` that denormal numbers are taken for
zero, `streams` that it makes non-temporal stores where it can, `immediate k` that the size k has to be a constant,
`finish t` that the text t stands at the end of a function that uses it. `prefetch` says how what lies at `{s}` is
fetched, which the instructions that store nowhere do.

>>> text = '''
... memory xmm 128 bits 16 registers: f32 __m128
... instr add { {d} = _mm_add_ps({a}, {b}); }
... (d: f32[4] @xmm, a: f32[4] @xmm, b: f32[4] @xmm) { for l in 0 .. 4 { d[l] = a[l] + b[l] } }
... '''
>>> found = read_instructions(Source("sse.isa", text))
>>> found.instruction("add").template, found.memories["xmm"].lanes(BY_NAME["f32"])
('{d} = _mm_add_ps({a}, {b});', 4)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache, partial

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.lazy_mapping import LazyMapping
from planish.core.span import Source
from planish.ir.nest import PLAIN_MEMORIES, Kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.types import BY_NAME, Type
from planish.isa.collection import collection_names, load_collection
from planish.isa.instruction import Catalogue, Instruction, MemoryKind, make_instruction
from planish.isa.select.instruction_set import InstructionSet
from planish.isa.select.instruction_text import Hint, InstructionFinder, InstructionText
from planish.isa.select.selector import FpFlags, Mask, RegisterFile

_HEADER = re.compile(r"header\s+(\S+)\s*")
_MEMORY = re.compile(r"memory\s+(\w+)\s+(\d+)\s+bits\s+(\d+)\s+registers\s*:\s*(.+)")
_FROM = re.compile(r"from\s+(\w+)\s*:\s*(.*)")
_MASK = re.compile(r"mask\s+(\d+)\s+lanes\s+(\w+)\s+(.+)")
_TEXT = re.compile(r"text\s+(\w+)\s+(.+)")
_PREFETCH = re.compile(r"prefetch\s+(.+)")
_INSTR = re.compile(
    r"instr\s+(\w+)((?:\s+(?:fused|reassociates|flushes|streams|(?:immediate|finish)\s+\w+))*)(?:\s+\{\s(.*)\s\})?\s*"
)


@dataclass(slots=True)
class _Head:
    """What the lines before an instruction say: its header, registers, texts, and what it may be made of."""

    header: str = ""
    isa: str = ""
    features: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    memories: dict[str, MemoryKind] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    masks: dict[int, Mask] = field(default_factory=dict)
    prefetch: str = ""

    def register_file(self, kind: MemoryKind, features: tuple[str, ...]) -> RegisterFile:
        """What instructions without a text are made of, for registers of a kind."""
        return RegisterFile(InstructionSet(self.isa, features), kind, dict(self.masks))


def read_instructions(source: Source, *, lazy: bool = False) -> Catalogue:
    """The instructions and registers of a file; PlanishError E0630 for what is no such file, or an instruction without
    a text that nothing does, E0401 for a definition that cannot be read. `lazy`: each is read when it is asked for, as
    what comes with Planish is."""
    head = _Head()
    instructions: dict[str, Callable[[], Instruction]] = {}
    lines = source.text.splitlines()
    place = 0
    while place < len(lines):
        line = lines[place].partition("#")[0].rstrip()
        place += 1
        if not line.strip() or _is_head(line, head, source, place, lazy):
            continue
        found = _INSTR.fullmatch(_with_texts(line, head.texts))
        if found is None:
            raise _wrong("this is no `header`, `memory`, `from`, `mask`, `text` or `instr`", source, place)
        end = place
        while end < len(lines) and not re.match(r"(header|memory|from|mask|text|instr|#)", lines[end]):
            end += 1
        if found[1] in instructions:
            raise _wrong(f"`{found[1]}` is there twice", source, place)
        # What stands behind it may change what the head says.
        own = replace(head, memories=dict(head.memories), texts=dict(head.texts), masks=dict(head.masks))
        instructions[found[1]] = cache(partial(_instruction, found, lines[place:end], place, own, source))
        if not lazy:
            _check_text(instructions[found[1]](), source)
        place = end
    # A loop that names no instruction gets what all processors of the extension have: what the first `from` says.
    kinds = head.memories.values() if head.isa else ()
    speakers = {x.name: (InstructionFinder(head.register_file(x, head.first)), head.header) for x in kinds}
    return Catalogue(LazyMapping(instructions), head.memories, speakers)


def _is_head(line: str, head: _Head, source: Source, place: int, lazy: bool) -> bool:
    if found := _HEADER.fullmatch(line):
        head.header = found[1]
    elif found := _MEMORY.fullmatch(line):
        if not int(found[2]) or int(found[2]) % 8:
            raise _wrong(f"no register has {found[2]} bits", source, place)
        head.memories[found[1]] = MemoryKind(found[1], int(found[2]), int(found[3]), _types(found[4], source, place))
    elif found := _FROM.fullmatch(line):
        if found[1] not in collection_names():
            raise _wrong(f"no instructions of '{found[1]}' have been learnt", source, place)
        head.isa, head.features = found[1], tuple(found[2].split())
        head.first = head.first or head.features
        if not lazy:
            _check_features(head, source, place)
    elif found := _MASK.fullmatch(line):
        if not int(found[1]):
            raise _wrong("a mask of no lanes", source, place)
        head.masks[int(found[1])] = Mask(found[2], found[3])
    elif found := _PREFETCH.fullmatch(line):
        head.prefetch = found[1]
    elif found := _TEXT.fullmatch(line):
        head.texts[found[1]] = found[2]
    else:
        return False
    return True


def _check_features(head: _Head, source: Source, place: int) -> None:
    collection = load_collection(head.isa)
    if any(x.is_scalable for x in collection):
        raise _wrong(f"registers of '{head.isa}' have no known length", source, place)
    known = {y for x in collection.records.values() for names in x[4] for y in names.split("/")}
    for feature in head.features:
        if feature not in known:
            close = get_close_matches(feature.upper(), known, 3)
            told = f"; did you mean {', '.join(close)}?" if close else ""
            raise _wrong(f"no instruction of {head.isa} needs an extension `{feature}`{told}", source, place)


def _check_text(made: Instruction, source: Source) -> None:
    try:
        _ = made.template
    except PlanishError as error:
        raise PlanishError(error.diagnostic, source) from error


def _with_texts(line: str, texts: Mapping[str, str]) -> str:
    for name, text in texts.items():
        line = line.replace(f"{{{name}}}", text)
    return line


def _instruction(found: re.Match[str], body: list[str], place: int, head: _Head, source: Source) -> Instruction:
    name, words = found[1], found[2].split()
    # As many lines before it as there are in the file, so that places in messages are right.
    definition = parse_kernel("\n" * (place - 1) + f"kernel {name}\n" + "\n".join(body), source.name)
    pairs = list(zip(words, words[1:], strict=False))
    immediate = tuple(after for word, after in pairs if word == "immediate")
    finish = next((after for word, after in pairs if word == "finish"), "")
    if finish and finish not in head.texts:
        raise _wrong(f"there is no `text {finish}` before it", source, place)
    text = found[3] if found[3] is not None else _prefetch(definition, head)
    spelt = text or _spelling(definition, words, immediate, head, source, place)
    try:
        return make_instruction(
            name, definition, spelt, fused="fused" in words, reassociates="reassociates" in words,
            immediate=immediate, header=head.header, finish=head.texts.get(finish, ""),
        )  # fmt: skip
    except PlanishError as error:
        diagnostic = replace(error.diagnostic, span=error.diagnostic.span or source.point(place))
        raise PlanishError(diagnostic, source) from error


def _spelling(
    definition: Kernel, words: list[str], immediate: tuple[str, ...], head: _Head, source: Source, place: int
) -> InstructionText:
    if not head.isa or not head.memories:
        message = "an instruction without a text needs `from ISA: EXTENSION …` and `memory …` before it"
        raise _wrong(message, source, place)
    used = [x.memory for x in definition.arrays if x.memory not in PLAIN_MEMORIES]
    for name in used:
        if name not in head.memories:
            raise _wrong(f"there is no `memory {name}` before it", source, place)
    kind = head.memories[used[0]] if used else next(iter(head.memories.values()))
    fp_flags = FpFlags(*(x in words for x in ("fused", "reassociates", "flushes", "streams")))
    return InstructionText(definition, head.register_file(kind, head.features), fp_flags, immediate)


def _prefetch(definition: Kernel, head: _Head) -> Hint | None:
    """What fetches the operand of a definition that does nothing else; None for others, or where nothing does it."""
    nowhere = any(x.memory == "nowhere" for x in definition.arrays)
    there = [x.name for x in definition.arrays if x.memory != "nowhere"]
    if not nowhere or len(there) != 1 or not head.prefetch:
        return None
    return Hint(head.prefetch.replace("{s}", f"{{{there[0]}}}"))


def _types(text: str, source: Source, line: int) -> dict[Type, str]:
    words = text.split()
    if len(words) % 2 or any(x not in BY_NAME for x in words[::2]):
        raise _wrong("the types of a register are pairs such as `f32 __m512`", source, line)
    return {BY_NAME[name]: spelt for name, spelt in zip(words[::2], words[1::2], strict=True)}


def _wrong(message: str, source: Source, line: int) -> PlanishError:
    advice = "write `memory NAME N bits N registers: TYPE C-TYPE …`, or `instr NAME { C }` and its definition below"
    return PlanishError(Diagnostic("E0630", message, source.point(line), advice), source)
