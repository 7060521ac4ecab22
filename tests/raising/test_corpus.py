"""The corpus is what it says: as many programs as counted, marks at statements, einsums that fit their arrays."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from contractions import SPECIFICATIONS
from corpus import Entry, corpus

from planish.core.span import Source
from planish.frontend.c.reader import read_c

ENTRIES = corpus()


def test_as_many_as_counted() -> None:
    found = Counter(x.group for x in ENTRIES)
    written = {"gemm": 24, "darknet": 4, "programs": 16, "operations": 18, "styles": 11}
    assert found == {**written, "contractions": 148, "polybench": 30}
    assert len({(x.group, x.path) for x in ENTRIES}) == len(ENTRIES)
    assert all(x.sites for x in ENTRIES if x.name not in ("adi", "nussinov"))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda x: f"{x.group}-{x.path.stem}")
def test_sites_stand_at_statements_that_write_what_they_say(entry: Entry) -> None:
    lines = entry.text.splitlines()
    for site in entry.sites:
        here = lines[site.line - 1]
        assert "=" in here or here.lstrip().startswith("*"), f"{entry.path}:{site.line} is no statement: {here}"
        for name in (*site.inputs, site.output):
            assert re.search(rf"\b{name}\b", entry.text), f"{entry.path}:{site.line} has no {name}"
        if site.einsum:
            factors, _, output = site.einsum.partition("->")
            assert len(factors.split(",")) in (len(site.inputs), 2)
            assert set(output) <= set(factors)


@pytest.mark.parametrize("spec", SPECIFICATIONS)
def test_a_specification_is_a_contraction(spec: str) -> None:
    output, left, right = spec.split("-")
    assert all(len(set(x)) == len(x) for x in (output, left, right))
    assert set(output) <= set(left + right) and (set(left) & set(right)) - set(output)
    assert 2 <= len(output) <= 4 and 1 <= len({*left, *right} - {*output}) <= 3


def refusals(entry: Entry) -> list[str]:
    source = Source(str(entry.path), entry.text)
    file = read_c(source, defines=entry.defines, include_dirs=entry.include_dirs)
    return [x.render(source) for x in file.remarks if x.kind == "refused"]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda x: f"{x.group}-{x.path.stem}")
def test_all_of_it_is_read(entry: Entry) -> None:
    assert not refusals(entry)
