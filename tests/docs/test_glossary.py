"""The glossary leads where it says: each module is there, and the term stands in its text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (?P<terms>[^|]+) \| [^|]+ \| (?P<modules>(?:`[\w/]+\.py`(?:, )?)+) \|$", re.MULTILINE)
ROWS = [(x["terms"], x["modules"]) for x in ROW.finditer((ROOT / "docs" / "glossary.md").read_text())]
ASKED = (
    "bit reversal", "non-temporal", "software pipelining", "loop fission", "scalar replacement", "im2col", "histogram",
    "biquad", "householder", "gram-schmidt", "work-sharing", "induction variable", "cse", "dce",
)  # fmt: skip


def _stem(term: str) -> str:
    """What has to stand in a module: the term without its explanation in brackets, in any form of its last word."""
    plain = re.sub(r" \(.*\)$", "", term).lower()
    return re.sub(r"(isation|ing|ion|e|al|s)$", "", plain) if len(plain) > 4 else plain


@pytest.mark.parametrize(("terms", "modules"), ROWS, ids=[x for x, _ in ROWS])
def test_each_term_stands_in_its_modules(terms: str, modules: str) -> None:
    stems = [_stem(x) for x in terms.split(", ")]
    for module in re.findall(r"`([\w/]+\.py)`", modules):
        text = re.sub(r"[\s_-]+", " ", (ROOT / "src" / "planish" / module).read_text().lower())
        assert any(x.replace("-", " ") in text for x in stems), f"{module} does not speak of {terms}"


def test_what_engineers_search_for_is_there() -> None:
    told = " ".join(terms for terms, _ in ROWS).lower()
    assert [x for x in ASKED if x not in told] == []
    rows = (ROOT / "docs" / "glossary.md").read_text().count("\n| ") - 2 * 5
    assert rows == len(ROWS), "a row of the glossary has another form"
