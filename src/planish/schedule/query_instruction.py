"""Queries the instruction set: instructions that do what a C statement says, for each lane.

>>> answers = find_for_statement("uint8_t d, a, b; d = (a + b + 1) >> 1;", "arm")
>>> [(x.registers, x.text, x.needs) for x in answers]
[('neon', 'd = vrhaddq_u8(a, b);', ('v7',))]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source, Span
from planish.frontend.c.reader import read_c
from planish.ir.expr import Const, Expr
from planish.ir.index.interval import Interval, range_of
from planish.ir.nest import Assign, Block, For, Kernel, Reduce, Stmt
from planish.ir.traverse import blocks_of, expressions, flatten, loads
from planish.ir.types import BF16, F16, F32, F64, I8, I16, I32, I64, INDEX, U8, U16, U32, U64, Type
from planish.isa.collection import load_collection
from planish.isa.instruction import MemoryKind
from planish.isa.select.instruction_set import InstructionSet
from planish.isa.select.lane_values import NoCover
from planish.isa.select.selector import FpFlags, RegisterFile
from planish.isa.select.tree_cover import cover
from planish.isa.vendors.x86.features import EXTENSIONS

_DECLARED = re.compile(
    r"\s*((?:(?:unsigned|signed|char|short|int|long|float|double|const|u?int(?:8|16|32|64)_t)\b\s*)+)"
    r"([A-Za-z_][\w\s,\[\]]*);"
)
_LIKE = re.compile(r"\s*[A-Za-z_]\w*\s+[A-Za-z_][\w\s,\[\]]*;")
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\[\s*(\d+)\s*\])?\s*")
_WORD = re.compile(r"\b([A-Za-z_]\w*)\b(\s*\[)?")
_KNOWN = re.compile(r"for|if|else|return|unsigned|signed|char|short|int|long|float|double|size_t|\w+_t|_\w+")
_LANE = "planish_lane"
_MOST_BITS = 2048
_MOST_GROUP = 16
_WHOLES = (I8, U8, I16, U16, I32, U32, I64, U64)


def _whole(name: str, floats: Mapping[Type, str], bits: int, registers: int, kind: str) -> MemoryKind:
    return MemoryKind(name, bits, registers, {**dict.fromkeys(_WHOLES, kind), **floats})


def _neon() -> MemoryKind:
    signs = {"i": "int", "u": "uint", "f": "float", "b": "bfloat"}
    types = (*_WHOLES, F16, BF16, F32, F64)
    return MemoryKind("neon", 128, 32, {x: f"{signs[str(x)[0]]}{x.bits}x{128 // x.bits}_t" for x in types})


_REGISTERS: Mapping[str, tuple[MemoryKind, ...]] = {
    "x86": (_whole("zmm", {F32: "__m512", F64: "__m512d"}, 512, 32, "__m512i"),
            _whole("ymm", {F32: "__m256", F64: "__m256d"}, 256, 16, "__m256i"),
            _whole("xmm", {F32: "__m128", F64: "__m128d"}, 128, 16, "__m128i")),
    "arm": (_neon(),),
    "hvx": (_whole("hvx", {}, 1024, 32, "HVX_Vector"),),
}  # fmt: skip


STATEMENT_ISAS = tuple(_REGISTERS)
"""The architectures whose registers have a known length."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The C for registers of a kind, and the features that its instructions need; `fused` where a product and a sum are
    rounded once."""

    isa: str
    registers: str
    text: str
    needs: tuple[str, ...]
    fused: bool = False


def is_statement(query: str) -> bool:
    """Whether a query is a statement in C behind declarations."""
    return _LIKE.match(query) is not None


def find_for_statement(query: str, isa: str | None = None) -> list[Answer]:
    """What does a statement for all lanes of registers: of one architecture, or of all. The statement assigns to a
    variable, or adds to it; the variables are declared before it. `a[4]` are four neighbours of each lane of the
    result. PlanishError E0658 where it cannot be read, and those of C."""
    asked = _Statement.read(query)
    asked.check()
    found = []
    for name, kinds in _REGISTERS.items():
        if isa in (None, name):
            instruction_set = InstructionSet(name, _features(name))
            found += [x for kind in kinds for x in _answers(asked, instruction_set, kind)]
    return found


def _features(isa: str) -> tuple[str, ...]:
    """All that instructions need, those that most processors have first."""
    collection = load_collection(isa)
    needed = {y for name in collection.records for x in collection.entry(name).features for y in x.split("/")}
    known = [*EXTENSIONS, "v7", "A32", "A64"]
    return tuple(sorted(needed, key=lambda x: (known.index(x) if x in known else len(known), x)))


def _answers(asked: _Statement, instruction_set: InstructionSet, kind: MemoryKind) -> Iterator[Answer]:
    definition = asked.definition(kind)
    if definition is None:
        return
    register_file, collection = RegisterFile(instruction_set, kind), load_collection(instruction_set.isa)
    exact, fused = (_covered(definition, register_file, FpFlags(x)) for x in (False, True))
    for text in dict.fromkeys(x for x in (exact, fused) if x is not None):
        called = (x for x in re.findall(r"\b(\w+)\(", text) if x in collection.records)
        needs = tuple(dict.fromkeys(y for x in called for y in collection.entry(x).features))
        yield Answer(instruction_set.isa, kind.name, re.sub(r"\{(\w+)\}", r"\1", text), needs, text != exact)


def _covered(definition: Kernel, register_file: RegisterFile, fp_flags: FpFlags) -> str | None:
    try:
        return cover(definition, register_file, fp_flags)
    except NoCover:
        return None


@dataclass(frozen=True, slots=True)
class _Statement:
    """`variables`: their types in C, and how many neighbours each lane has of them."""

    source: Source
    variables: Mapping[str, tuple[str, int]]
    body: str

    @classmethod
    def read(cls, query: str) -> _Statement:
        source = Source("query", query)
        variables: dict[str, tuple[str, int]] = {}
        at = 0
        while found := _DECLARED.match(query, at):
            for part in found[2].split(","):
                name = _NAME.fullmatch(part)
                count = int(name[2] or 1) if name else 0
                if name is None or not 1 <= count <= _MOST_GROUP or name[1] == _LANE or name[1] in variables:
                    place = source.point(1, found.start(2) + 1, len(found[2]))
                    raise _refusal(source, place, f"declare names once, as `a`, or as `a[4]` with 1 to {_MOST_GROUP}")
                variables[name[1]] = re.sub(r"\bconst\b", "", found[1]).strip(), count
            at = found.end()
        body = query[at:].strip()
        if _LIKE.match(body) or not variables:
            advice = "types are int8_t to uint64_t, float and double, and what C calls them besides"
            raise _refusal(source, source.point(1, len(query) - len(query[at:].lstrip()) + 1), advice)
        if not body:
            raise _refusal(source, source.point(1, at + 1), "write `TYPE d, a, b; d = EXPRESSION;`")
        return cls(source, variables, body if body.endswith((";", "}")) else body + ";")

    def check(self) -> None:
        """PlanishError E0658 where it cannot be read, has long loops, or goes beyond the neighbours of a lane."""
        kernel = self.kernel(_MOST_BITS)
        sizes = {x.name: _MOST_BITS * self.variables[x.name][1] for x in kernel.arrays}
        for loop, inner in _loops(kernel.body, {}):
            low, high = (range_of(x, inner) for x in (loop.lower, loop.upper))
            if loop.var != _LANE and high[1] - low[0] > _MOST_GROUP:
                raise self.refusal(f"a loop has at most {_MOST_GROUP} steps, for so many neighbours a lane has at most")
            known = inner | {loop.var: (low[0], high[1] - 1)}
            for name, place in _places(loop.body):
                least, most = range_of(place, known)
                if name in sizes and not 0 <= least <= most < sizes[name]:
                    count = self.variables[name][1]
                    raise self.refusal(f"each lane has {count} of `{name}`: declare `{name}[N]` with N elements")

    def refusal(self, advice: str) -> PlanishError:
        """Why the statement is refused."""
        return _refusal(self.source, self.source.point(1, self.source.text.index(self.body.rstrip(";")) + 1), advice)

    def definition(self, kind: MemoryKind) -> Kernel | None:
        """The statement for registers of a kind; None where its operands are no whole ones."""
        kernel = self.kernel(_MOST_BITS)
        written = self.written(kernel)
        lanes = kind.lanes(written) if written in kind.types else 0
        if not lanes:
            return None
        made = self.kernel(lanes)
        arrays = []
        for x in made.arrays:
            count = lanes * self.variables[x.name][1]
            if x.type not in kind.types or count != kind.lanes(x.type):
                return None
            arrays.append(replace(x, shape=(Const(count, INDEX),), memory=kind.name, distinct=False))
        return replace(made, arrays=tuple(arrays))

    def written(self, kernel: Kernel) -> Type:
        """The type of what is assigned to."""
        first = _WORD.search(self.body)
        return next((x.type for x in kernel.arrays if first and x.name == first[1]), kernel.arrays[0].type)

    def kernel(self, lanes: int) -> Kernel:
        """The statement in a loop over so many lanes."""
        parameters = ", ".join(
            f"{kind} {name}[restrict {lanes * count}]" for name, (kind, count) in self.variables.items()
        )
        body = _WORD.sub(self.element, self.body)
        loop = f"for (int {_LANE} = 0; {_LANE} < {lanes}; {_LANE}++) {{ {body} }}"
        text = f"#include <stdint.h>\nvoid asked({parameters})\n{{ {loop} }}\n"
        try:
            regions = [x for function in read_c(Source("query.c", text)).functions for x in function.regions]
        except PlanishError as error:
            raise _refusal(self.source, self.source.point(1), f"it is no C: {error.diagnostic.message}") from error
        if len(regions) != 1:
            unknown = sorted({x for x in _names(self.body) if x not in self.variables})
            if unknown:
                raise self.refusal(f"declare {', '.join(f'`{x}`' for x in unknown)}: nothing is known of that name")
            raise self.refusal("one assignment to a variable, without calls or conditions of its own")
        return regions[0].kernel

    def element(self, found: re.Match[str]) -> str:
        """An element of a variable: the lane's own, or one of its neighbours."""
        if found[1] not in self.variables:
            return found[0]
        count = self.variables[found[1]][1]
        if found[2]:
            return f"{found[1]}[{count} * {_LANE} + "
        return f"{found[1]}[{_LANE}]"


def _loops(stmt: Stmt, known: dict[str, Interval]) -> Iterator[tuple[For, dict[str, Interval]]]:
    """Each loop, with the ranges of the counters around it."""
    for block in blocks_of(stmt):
        inner = known
        if isinstance(stmt, For):
            yield stmt, known
            inner = known | {stmt.var: (range_of(stmt.lower, known)[0], range_of(stmt.upper, known)[1] - 1)}
        for x in block.body:
            yield from _loops(x, inner)


def _places(block: Block) -> Iterator[tuple[str, Expr]]:
    """The elements that are read or written directly in a block: their array, and the place there."""
    for stmt in flatten(block.body):
        if isinstance(stmt, Assign | Reduce):
            yield stmt.array, stmt.index[0]
        yield from ((x.array, x.index[0]) for e in expressions(stmt) for x in loads(e))


def _names(body: str) -> list[str]:
    """The names of variables in statements of C, those apart that it declares itself."""
    own = set(re.findall(r"\b(?:int|long|unsigned|size_t)\s+([A-Za-z_]\w*)", body))
    words = re.findall(r"\b(?<!\.)([A-Za-z_]\w*)\b(?!\s*\()", body)
    return [x for x in words if x not in own and not _KNOWN.fullmatch(x)]


def _refusal(source: Source, place: Span, advice: str) -> PlanishError:
    return PlanishError(Diagnostic("E0658", "this query cannot be read", place, advice), source)
