"""Reads Arm's page of Neon intrinsics: for each its C, the instruction, where its operands go, and the operation.

>>> text = '''<div class="intrinsic"><input id="vneg_s8" type="checkbox"><label>int8x8_t <b>vneg_s8</b> (int8x8_t a)
... <span>Negate</span></label><h4>A64 Instruction</h4><pre>NEG Vd.8B,Vn.8B</pre>
... <h4>Argument Preparation</h4><pre>a &rarr; Vn.8B</pre><h4>Operation</h4><pre>V[d] = result;</pre></div>'''
>>> (found,) = read_page(Source("page.html", text)).intrinsics
>>> found.name, found.result, found.parameters, found.instruction, found.preparation
('vneg_s8', 'int8x8_t', (('int8x8_t', 'a'),), 'NEG Vd.8B,Vn.8B', 'a → Vn.8B')
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source

_LONGEST = 100_000
_C = re.compile(r"\s*([\w ]+?[\s*]*)\b(\w+)\s*\(([^)]*)\)")
_ADVICE = "take `arm-intrinsics.html` of Debian's package rust-src"


@dataclass(frozen=True, slots=True)
class ArmIntrinsic:
    """One entry: C's types and names of the result and the parameters, and what the page says in its sections."""

    name: str
    result: str
    parameters: tuple[tuple[str, str], ...]
    instruction: str
    preparation: str
    results: str
    operation: str
    architectures: str
    line: int


@dataclass(frozen=True, slots=True)
class Page:
    """All entries, and when the page says it was made."""

    version: str
    intrinsics: tuple[ArmIntrinsic, ...]


@dataclass(slots=True)
class _Entry:
    line: int
    label: str = ""
    sections: dict[str, str] = field(default_factory=dict)


class _Reader(HTMLParser):
    """Collects the text of labels and of what stands below headings."""

    def __init__(self, source: Source) -> None:
        super().__init__(convert_charrefs=True)
        self.source = source
        self.entries: list[_Entry] = []
        self.text: list[str] = []
        self.section = ""
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "div" and given.get("class") == "intrinsic":
            self.keep()
            self.entries.append(_Entry(self.getpos()[0]))
            self.section = ""
        elif not self.entries:
            return
        elif tag == "label":
            self.keep()
            self.section = "label"
        elif tag == "span" and self.section == "label":
            self.keep()
            self.section = ""
        elif tag == "h4":
            self.keep()
            self.section = "heading"

    def handle_endtag(self, tag: str) -> None:
        if tag == "h4" and self.section == "heading":
            self.section = "".join(self.text).strip()
            self.text.clear()
        elif tag == "article" or (tag == "label" and self.section == "label"):
            self.keep()
            self.section = ""

    def handle_data(self, data: str) -> None:
        if self.section:
            self.text.append(data)

    def keep(self) -> None:
        if self.entries and self.section:
            text = "".join(self.text).replace("\xa0", " ").strip("\n ")
            if len(text) > _LONGEST:
                place = self.source.point(self.entries[-1].line)
                message = f"a section of {len(text)} characters; at most {_LONGEST} are read"
                raise PlanishError(Diagnostic("E0650", message, place, _ADVICE), self.source)
            if self.section == "label":
                self.entries[-1].label = text
            else:
                self.entries[-1].sections.setdefault(self.section, text)
        self.text.clear()


def read_page(source: Source) -> Page:
    """The entries of a page, the first one of each name; PlanishError E0650 where it is no such page."""
    reader = _Reader(source)
    reader.feed(_without_comments(source.text))
    reader.close()
    reader.keep()
    found: dict[str, ArmIntrinsic] = {}
    for entry in reader.entries:
        made = _intrinsic(entry)
        if made is not None:
            found.setdefault(made.name, made)
    if not found:
        message = "no intrinsic stands in this file"
        raise PlanishError(Diagnostic("E0650", message, source.point(1), _ADVICE), source)
    years = re.findall(r"(?:19|20)\d\d", source.text[:4000])
    return Page(max(years, default="?"), tuple(found.values()))


def _without_comments(text: str) -> str:
    """The text, with nothing but its lines where comments are; the parser would look for the end of each open one.

    >>> _without_comments("a<!-- b -->c<!-- d")
    'ac'
    """
    first, *others = text.split("<!--")
    kept = [first]
    for x in others:
        comment, end, after = x.partition("-->")
        kept.append("\n" * comment.count("\n") + after if end else "\n" * comment.count("\n"))
    return "".join(kept)


def _intrinsic(entry: _Entry) -> ArmIntrinsic | None:
    match = _C.match(entry.label)
    if match is None:
        return None
    parameters = []
    for text in match[3].split(","):
        words = text.replace("*", " * ").split()
        if len(words) > 1:
            parameters.append((" ".join(words[:-1]), words[-1]))
    of = entry.sections.get
    instruction = "\n".join(" ".join(x.split()) for x in of("A64 Instruction", "").splitlines() if x.strip())
    preparation = "; ".join(x.strip() for x in of("Argument Preparation", "").splitlines() if x.strip())
    results = "; ".join(x.strip() for x in of("Results", "").splitlines() if x.strip())
    architectures = of("Supported architectures", "").strip()
    result = " ".join(match[1].replace("*", " *").split())
    return ArmIntrinsic(
        match[2], result, tuple(parameters), instruction, preparation, results, of("Operation", ""), architectures,
        entry.line,
    )  # fmt: skip
