"""Reads a file of instructions: the kinds of registers that an extension has, and each instruction with its definition.

    header immintrin.h
    memory xmm 128 bits 16 registers: f32 __m128
    text mask (__mmask8)((1u << {n}) - 1u)

    instr sse_add_f32 { {d} = _mm_add_ps({a}, {b}); }
    (d: f32[4] @xmm, a: f32[4] @xmm, b: f32[4] @xmm) { for l in 0 .. 4 { d[l] = a[l] + b[l] } }

A `text` stands in the C of the instructions after it, as `{mask}`; `fused` after a name says that a product and a sum
are rounded once, `reassociates` that sums are made in another order, `immediate k` that the size k has to be a
constant, `finish t` that the text t stands at the end of a function that uses it.

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
from collections.abc import Mapping
from dataclasses import replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.ir.parser import parse_kernel
from planish.ir.types import BY_NAME, Type
from planish.isa.instruction import Catalogue, Instruction, MemoryKind, make_instruction

_HEADER = re.compile(r"header\s+(\S+)\s*")
_MEMORY = re.compile(r"memory\s+(\w+)\s+(\d+)\s+bits\s+(\d+)\s+registers\s*:\s*(.+)")
_TEXT = re.compile(r"text\s+(\w+)\s+(.+)")
_INSTR = re.compile(r"instr\s+(\w+)((?:\s+(?:fused|reassociates|(?:immediate|finish)\s+\w+))*)\s+\{\s(.*)\s\}\s*")


def read_instructions(source: Source) -> Catalogue:
    """The instructions and registers of a file; PlanishError E0630 for what is no such file, E0401 for a definition
    that cannot be read."""
    header = ""
    instructions: dict[str, Instruction] = {}
    memories: dict[str, MemoryKind] = {}
    texts: dict[str, str] = {}
    lines = source.text.splitlines()
    place = 0
    while place < len(lines):
        line = lines[place].partition("#")[0].rstrip()
        place += 1
        if not line.strip():
            continue
        if found := _HEADER.fullmatch(line):
            header = found[1]
        elif found := _MEMORY.fullmatch(line):
            memories[found[1]] = MemoryKind(found[1], int(found[2]), int(found[3]), _types(found[4], source, place))
        elif found := _TEXT.fullmatch(line):
            texts[found[1]] = found[2]
        elif found := _INSTR.fullmatch(_with_texts(line, texts)):
            end = place
            while end < len(lines) and not re.match(r"(header|memory|text|instr|#)", lines[end]):
                end += 1
            made = _instruction(found, lines[place:end], place, header, texts, source)
            instructions[made.name] = made
            place = end
        else:
            raise _wrong("this is no `header`, `memory`, `text` or `instr`", source, place)
    return Catalogue(instructions, memories)


def _with_texts(line: str, texts: Mapping[str, str]) -> str:
    for name, text in texts.items():
        line = line.replace(f"{{{name}}}", text)
    return line


def _instruction(
    found: re.Match[str], body: list[str], place: int, header: str, texts: Mapping[str, str], source: Source
) -> Instruction:
    name, words, template = found[1], found[2].split(), found[3]
    # As many lines before it as there are in the file, so that places in messages are right.
    definition = parse_kernel("\n" * (place - 1) + f"kernel {name}\n" + "\n".join(body), source.name)
    pairs = list(zip(words, words[1:], strict=False))
    immediate = tuple(after for word, after in pairs if word == "immediate")
    finish = next((after for word, after in pairs if word == "finish"), "")
    if finish and finish not in texts:
        raise _wrong(f"there is no `text {finish}` before it", source, place)
    try:
        return make_instruction(
            name, definition, template, fused="fused" in words, reassociates="reassociates" in words,
            immediate=immediate, header=header, finish=texts.get(finish, ""),
        )  # fmt: skip
    except PlanishError as error:
        diagnostic = replace(error.diagnostic, span=error.diagnostic.span or source.point(place))
        raise PlanishError(diagnostic, source) from error


def _types(text: str, source: Source, line: int) -> dict[Type, str]:
    words = text.split()
    if len(words) % 2 or any(x not in BY_NAME for x in words[::2]):
        raise _wrong("the types of a register are pairs such as `f32 __m512`", source, line)
    return {BY_NAME[name]: spelt for name, spelt in zip(words[::2], words[1::2], strict=True)}


def _wrong(message: str, source: Source, line: int) -> PlanishError:
    advice = "write `memory NAME N bits N registers: TYPE C-TYPE …`, or `instr NAME { C }` and its definition below"
    return PlanishError(Diagnostic("E0630", message, source.point(line), advice), source)
