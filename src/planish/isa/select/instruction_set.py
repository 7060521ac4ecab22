"""The instruction set of a vector extension: learnt instructions, looked up by what they do and by the C types of
operands.

>>> avx512 = InstructionSet("x86", ("SSE", "AVX", "AVX512F"))
>>> add = parse_definition("(x: 512, y: 512) -> r: 512 { for i < 16 { r.u32[i] = fadd.f32(x.u32[i], y.u32[i], 4) } }")
>>> wanted = unroll(add)
>>> operands = [RequiredOperand(x, "__m512") for x in "xy"]
>>> avx512.find(wanted, "__m512", operands).call({"x": "a", "y": "b"})
'_mm512_add_ps(a, b)'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations

from planish.isa.collection import load_collection
from planish.isa.entry import Entry
from planish.isa.select.fp_modulo import loosen
from planish.isa.semantics.node import Node, walk
from planish.isa.semantics.scalarised import Scalarised, unroll
from planish.isa.semantics.text import parse_definition
from planish.isa.vendors.x86.features import wants_round_address

_SAME = {
    "float32_t": "float", "float64_t": "double", "int32_t": "int", "__int64": "long long", "int64_t": "long long",
    "const int": "int", "unsigned int": "uint32_t", "__m512bh": "__m512i", "__m256bh": "__m256i", "__m128bh": "__m128i",
}  # fmt: skip
_CALLED = re.compile(r"\b([a-z]+[a-z0-9_.]*)\(")
POINTER = "*"


@dataclass(frozen=True, slots=True)
class RequiredOperand:
    """An operand: its name in what is wanted, its type in C (`*` for memory), whether it has to be a constant, what
    memory holds there, in C, and the value of a constant that what is wanted has already been made with."""

    name: str
    kind: str
    immediate: bool = False
    element: str = ""
    value: int | None = None


@dataclass(frozen=True, slots=True)
class Spelt:
    """A call of an instruction: its operands in the order of its parameters."""

    entry: Entry
    operands: tuple[RequiredOperand, ...]

    def call(self, texts: Mapping[str, str]) -> str:
        """The text of C, with texts for the operands."""
        given = zip(self.operands, self.entry.signature.parameters, strict=True)
        streams = _is_stream(self.entry)
        return f"{self.entry.name}({', '.join(_as(texts[x.name], kind, x.element, streams) for x, (kind, _) in given)})"


def _as(text: str, kind: str, element: str, streams: bool) -> str:
    """An operand as an instruction wants it: addresses, where it points to something else, and registers of bf16, which
    hold whole numbers elsewhere."""
    if streams and kind == "void *" and element not in ("float", "double"):
        # Compilers declare these for registers of whole numbers, whatever the specification says.
        return f"(void *){text}"
    if kind.endswith("bh"):
        return f"({kind}){text}"
    pointed = kind.removesuffix("*").removesuffix("const ").removeprefix("const ").strip()
    if not kind.endswith("*") or pointed in ("void", element) or _SAME.get(pointed, pointed) == element:
        return text
    return f"({'const ' if 'const' in kind else ''}{pointed} *)({'const ' if 'const' in kind else ''}void *){text}"


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """The instructions of an architecture that need nothing but some features, those that all processors have
    first."""

    isa: str
    features: tuple[str, ...]

    def needs(self, entry: Entry) -> int | None:
        """The place of the last feature that an instruction needs (`A/B` is one of both); None where one is not
        there."""
        last = -1
        for feature in entry.features:
            places = [self.features.index(x) for x in feature.split("/") if x in self.features]
            if not places:
                return None
            last = max(last, min(places))
        return last

    def find(
        self,
        wanted: Scalarised,
        result: str,
        operands: Sequence[RequiredOperand],
        *,
        streams: bool = False,
        loose: bool = False,
    ) -> Spelt | None:
        """A call that leaves what is wanted in a result of that type ("void" where all goes to memory); None where no
        instruction does. Of several that one that most processors have, with a short name. `streams`: one that stores
        non-temporally, at addresses that are multiples of its size; `loose`: one whose loosened definition is that of
        what is wanted."""
        wanted = wanted.changed(loosen) if loose else wanted
        kinds = tuple(sorted(x.kind for x in operands))
        operators = _operators(wanted)
        known = _by_types(self.isa, streams).get((plain_kind(result), kinds), ())
        ranked = [(needs, at) for at, x in enumerate(known) if (needs := self.needs(x)) is not None]
        for _, at in sorted(ranked):
            if not operators <= named_operators(known[at].text):
                continue
            found = _arguments(known[at], wanted, operands, loose)
            if found is not None:
                return Spelt(known[at], found)
        return None


@cache
def _by_types(isa: str, streams: bool) -> Mapping[tuple[str, tuple[str, ...]], list[Entry]]:
    found: dict[tuple[str, tuple[str, ...]], list[Entry]] = {}
    for name, record in load_collection(isa).records.items():
        entry = Entry.parsed(record)
        if _is_stream(entry) if streams else is_word(name, entry):
            kinds = tuple(sorted(plain_kind(kind) for kind, _ in entry.signature.parameters))
            found.setdefault((plain_kind(entry.signature.result), kinds), []).append(entry)
    for entries in found.values():
        entries.sort(key=lambda x: (len(x.name), x.name))
    return found


def is_word(name: str, entry: Entry) -> bool:
    """Whether all compilers know an instruction, and wherever memory lies."""
    return entry.status == "verified" and "with clang" not in entry.reason and not wants_round_address(name)


def _is_stream(entry: Entry) -> bool:
    return entry.status == "verified" and entry.signature.result == "void" and "movnt" in entry.mnemonic


def plain_kind(kind: str) -> str:
    """A type of C, or another one that is the same to a call."""
    if kind.endswith("*"):
        return POINTER
    return _SAME.get(kind, kind)


def _operators(wanted: Scalarised) -> frozenset[str]:
    """Operators that any text of such a definition names."""
    nodes = walk([x.value for x in wanted.places])
    return frozenset(_word(x) for x in nodes if x.op.startswith("f") or x.op in ("min", "max", "abs"))


def _word(x: Node) -> str:
    return f"{x.op}.{x.attr[0]}" if x.op.startswith("f") else x.op


def named_operators(text: str) -> frozenset[str]:
    """The operators that a definition's text names."""
    return frozenset(_CALLED.findall(text))


@cache
def _unrolled(text: str, loose: bool) -> Scalarised | None:
    definition = parse_definition(text)
    return unroll(definition, loosen) if loose else unroll(definition)


def _arguments(
    entry: Entry, wanted: Scalarised, operands: Sequence[RequiredOperand], loose: bool
) -> tuple[RequiredOperand, ...] | None:
    """The operands in the order of an instruction's parameters, where it leaves what is wanted."""
    names = [name for _, name in entry.signature.parameters]
    values = [x.value for x in operands if x.value is not None]
    given = [name for name in names if values and entry.definition.operand(name).role == "immediate"]
    if len(given) != len(values) or any(x not in entry.values.get(given[0], values) for x in values):
        return None
    own = _unrolled(with_value(entry.text, given[0], values[0]) if given else entry.text, loose)
    if own is None or len(own.places) != len(wanted.places):
        return None
    if _marks(own) != _marks(wanted):
        return None
    head = Scalarised(own.places[:1])  # most differ there
    for order in _orders(entry, operands):
        called = dict(zip(names, (x.name for x in order), strict=True))
        if all(_said(x, called, loose) == y for x, y in ((head, Scalarised(wanted.places[:1])), (own, wanted))):
            return order
    return None


def _said(own: Scalarised, names: Mapping[str, str], loose: bool) -> Scalarised:
    made = own.renamed(names)
    return made.changed(loosen) if loose else made


def with_value(text: str, name: str, value: int) -> str:
    """A definition for one value of an immediate, wherever that is read at a known place."""

    def number(found: re.Match[str]) -> str:
        width = int(found[2])
        bits = value >> width * int(found[3]) & ((1 << width) - 1)
        return str(bits - (1 << width) if found[1] == "s" and bits >> (width - 1) else bits)

    return re.sub(rf"\b{name}\.([us])(\d+)\[(\d+)\]", number, text)


def _marks(x: Scalarised) -> tuple[tuple[str, str], ...]:
    """What does not depend on the names of operands, of the first and the last byte."""
    return tuple((y.value.op, y.when.op) for y in (x.places[0], x.places[-1])) if x.places else ()


def _orders(entry: Entry, operands: Sequence[RequiredOperand]) -> Iterator[tuple[RequiredOperand, ...]]:
    kinds = [plain_kind(kind) for kind, _ in entry.signature.parameters]
    roles = [entry.definition.operand(name).role == "immediate" for _, name in entry.signature.parameters]
    for order in permutations(operands):
        if all(x.kind == kind and x.immediate == role for x, kind, role in zip(order, kinds, roles, strict=True)):
            yield order
