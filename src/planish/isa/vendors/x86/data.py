"""Reads the file that lists Intel's intrinsics: names, operands, features, and the text of each operation.

>>> text = '''<intrinsics_list version="3.5.3">
... <intrinsic tech="AVX2" name="_mm256_abs_epi8"><CPUID>AVX2</CPUID><category>Special</category>
... <return type="__m256i" varname="dst" etype="UI8"/><parameter type="__m256i" varname="a" etype="SI8"/>
... <operation>dst := a</operation><instruction name="VPABSB" form="ymm, ymm"/></intrinsic></intrinsics_list>'''
>>> listing = read_listing(Source("data.xml", text))
>>> listing.version, [(x.name, x.features, x.parameters[0].element, x.line) for x in listing.intrinsics]
('3.5.3', [('_mm256_abs_epi8', ('AVX2',), 'SI8', 4)])
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source

_DEEPEST = 20
_LONGEST = 200_000


@dataclass(frozen=True, slots=True)
class IntelParameter:
    """An operand in C: its type, its name, what its elements are ("SI16", "FP32", "MASK", "IMM" …), and for a pointer
    the bits behind it (0 where the data does not say); `role` is the kind of immediate that it is."""

    type: str
    name: str
    element: str
    memory_bits: int = 0
    role: str = ""


@dataclass(frozen=True, slots=True)
class IntelIntrinsic:
    """One entry: `operation` is its pseudocode, which begins in `line` of the file. `sequence`: more than one
    instruction does it."""

    name: str
    technology: str
    features: tuple[str, ...]
    category: str
    result: IntelParameter
    parameters: tuple[IntelParameter, ...]
    operation: str
    line: int
    instruction: str = ""
    header: str = ""
    sequence: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """All entries of a file, and the version that it says it is."""

    version: str
    intrinsics: tuple[IntelIntrinsic, ...]


@dataclass(slots=True)
class _Entry:
    attributes: dict[str, str]
    features: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    result: IntelParameter = IntelParameter("void", "", "")
    parameters: list[IntelParameter] = field(default_factory=list)
    instruction: str = ""
    line: int = 0


class _Reader:
    """What the parser of XML calls."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.version = ""
        self.depth = 0
        self.entry: _Entry | None = None
        self.text: list[str] = []
        self.found: dict[str, IntelIntrinsic] = {}
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text.append
        self.parser.EntityDeclHandler = self.refuse_entity

    def refuse_entity(self, *_: object) -> None:
        raise self.wrong("a list of intrinsics declares no entities", "take the file as the vendor gives it")

    def wrong(self, message: str, advice: str) -> PlanishError:
        line = max(self.parser.CurrentLineNumber, 1)
        return PlanishError(Diagnostic("E0650", message, self.source.point(line), advice), self.source)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.wrong(f"elements lie more than {_DEEPEST} deep in one another", "this is no list of intrinsics")
        self.text.clear()
        match tag:
            case "intrinsics_list":
                self.version = attributes.get("version", "")
            case "intrinsic":
                self.entry = _Entry(attributes)
            case "parameter" if self.entry and attributes.get("type", "void") != "void":
                self.entry.parameters.append(self.parameter(attributes))
            case "return" if self.entry:
                self.entry.result = self.parameter(attributes)
            case "instruction" if self.entry and not self.entry.instruction:
                self.entry.instruction = attributes.get("name", "")
            case "operation" if self.entry:
                self.entry.line = self.parser.CurrentLineNumber

    def parameter(self, attributes: dict[str, str]) -> IntelParameter:
        bits = attributes.get("memwidth", "0")
        if not (bits.isascii() and bits.isdecimal()) or len(bits) > 6:
            raise self.wrong(f"`{bits[:20]}` is no number of bits", "give the bits behind the pointer")
        kind = " ".join(attributes.get("type", "void").replace("*", " *").split())
        role = attributes.get("immtype", "")
        return IntelParameter(kind, attributes.get("varname", ""), attributes.get("etype", ""), int(bits), role)

    def end(self, tag: str) -> None:
        self.depth -= 1
        text = "".join(self.text)
        self.text.clear()
        if self.entry is None:
            return
        match tag:
            case "CPUID":
                self.entry.features.append(text.strip())
            case "category" | "header":
                self.entry.texts[tag] = text.strip()
            case "operation":
                if len(text) > _LONGEST:
                    raise self.wrong(f"an operation of {len(text)} characters", f"at most {_LONGEST} are read")
                self.entry.texts[tag] = text
            case "intrinsic":
                self.finish(self.entry)
                self.entry = None

    def finish(self, entry: _Entry) -> None:
        name = entry.attributes.get("name", "")
        if not name:
            raise self.wrong("an intrinsic without a name", 'write `<intrinsic name="…">`')
        made = IntelIntrinsic(
            name, entry.attributes.get("tech", ""), tuple(entry.features), entry.texts.get("category", ""),
            entry.result, tuple(entry.parameters), entry.texts.get("operation", ""), entry.line, entry.instruction,
            entry.texts.get("header", ""), entry.attributes.get("sequence", "") == "TRUE",
        )  # fmt: skip
        if name not in self.found or self.found[name].technology == "KNC":
            self.found[name] = made


def read_listing(source: Source) -> Listing:
    """The entries of a file, the first one of each name (of KNC only where there is no other); PlanishError E0650 where
    it is no such file."""
    reader = _Reader(source)
    try:
        reader.parser.Parse(source.text.encode("utf-8"), True)
    except expat.ExpatError as error:
        message = f"this is no XML: {expat.ErrorString(error.code)}"
        place = source.point(error.lineno, error.offset + 1)
        advice = "take `x86-intel.xml` of Debian's package rust-src, or Intel's own download"
        raise PlanishError(Diagnostic("E0650", message, place, advice), source) from error
    if not reader.found:
        advice = "take `x86-intel.xml` of Debian's package rust-src, or Intel's own download"
        raise PlanishError(Diagnostic("E0650", "no intrinsic stands in this file", source.point(1), advice), source)
    return Listing(reader.version, tuple(reader.found.values()))
