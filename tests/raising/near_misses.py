"""Programs that look like an operation and are none: right ones with one change each.

A change is a piece of text and what stands in its place; what the operation at the named place must then not be taken
for is the operation of the right program, or it with one of its parameters ("gemm beta=0": a product may still be
found, but not one that forgets what was there before).

>>> miss = next(iter(near_misses()))
>>> miss.site.operation in miss.never[0]
True
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from changes import CHANGES
from corpus import Entry, Site, corpus


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A changed program: `entry` has its text and no sites, `original` is the right one.

    `site` is the place of the operation that is no longer there, `never` what it must not be taken for: the name of
    an operation on the array that the site writes, which may be followed by a parameter that makes it wrong. For an
    operation "contraction" that is the one with the site's einsum; another contraction may well stand there.
    """

    name: str
    entry: Entry
    original: Entry
    site: Site
    never: tuple[str, ...]
    changed: str


def near_misses() -> tuple[NearMiss, ...]:
    """All of them: the general changes to lines that add products up, and those that are listed one by one."""
    return (*_general(), *_listed())


def _listed() -> Iterator[NearMiss]:
    for place, operation, old, new, *parameter in CHANGES:
        entry, site = _find(place, operation)
        body = entry.text.index("\n{")
        at = entry.text.find(old, body)
        assert at >= 0, f"{place}: no `{old}`"
        text = entry.text[:at] + new + entry.text[at + len(old) :]
        never = " ".join((site.operation, *parameter))
        yield _miss(entry, site, text, f"`{old.strip()}` became `{new.strip()}`", never)


def _find(place: str, operation: str) -> tuple[Entry, Site]:
    """The entry `group/name` and its first site of an operation, or the one that writes an array (`gemv:y`)."""
    name, _, output = operation.partition(":")
    entry = _entries()[place]
    return entry, next(x for x in entry.sites if x.operation == name and output in ("", x.output))


@cache
def _entries() -> dict[str, Entry]:
    return {f"{x.group}/{x.path.stem}": x for x in corpus()}


def _miss(entry: Entry, site: Site, text: str, changed: str, never: str) -> NearMiss:
    name = f"{entry.group}-{entry.path.stem}-{site.line}: {changed}"
    return NearMiss(name, replace(entry, text=text, sites=()), entry, site, (never,), changed)


GENERAL = (
    "gemm/order_ijk", "gemm/order_kij", "gemm/linearised", "gemm/vla", "gemm/tiled", "gemm/transposed_both",
    "gemm/reversed", "gemm/split_init", "darknet/nn", "darknet/tt", "programs/mvt", "programs/conv2d_nchw",
    "programs/contraction_ab_cad_dcb", "programs/contraction_abc_bda_dc", "programs/contraction_abcd_aebf_dfce",
    "operations/ger", "operations/trmv",
)  # fmt: skip
"""Programs in which one line adds a product to an element."""

_LINE = re.compile(r"^(?P<indent> *)(?P<target>.+?) (?P<op>[-+]=) (?P<value>.+?);")
_BETWEEN_FACTORS = re.compile(r" \* (?![^\[]*\])")
_SUBSCRIPTS = re.compile(r"(\[\w+\])(\[\w+\])$")


def _general() -> Iterator[NearMiss]:
    for place in GENERAL:
        entry = _entries()[place]
        site = entry.sites[0]
        lines = entry.text.splitlines(keepends=True)
        found = _LINE.match(lines[site.line - 1])
        assert found is not None, place
        for what, statement in _changed_sums(found["target"], found["op"], _BETWEEN_FACTORS.split(found["value"])):
            changed = found["indent"] + statement + lines[site.line - 1][found.end() :]
            text = "".join((*lines[: site.line - 1], changed, *lines[site.line :]))
            yield _miss(entry, site, text, what, site.operation)


def _changed_sums(target: str, op: str, factors: list[str]) -> Iterator[tuple[str, str]]:
    """What a line `target op product` may become, with what was done."""
    start, last, product = " * ".join(factors[:-1]), factors[-1], " * ".join(factors)
    yield "the last factor is added instead", f"{target} {op} {start} + {last};"
    yield "the last factor divides instead", f"{target} {op} {start} / {last};"
    yield "the last factor stands twice", f"{target} {op} {product} * {last};"
    yield "what is added is also scaled by what is there", f"{target} {op} {product} * {target};"
    if op == "+=":
        yield "each term halves what is there before", f"{target} = 0.5 * {target} + {product};"
        yield "the greatest term is kept", f"{target} = {target} > {product} ? {target} : {product};"
    if (two := _SUBSCRIPTS.search(last)) is not None:
        yield "the last factor is read on its diagonal", f"{target} {op} {start} * {last[: two.start()]}{two[1] * 2};"
