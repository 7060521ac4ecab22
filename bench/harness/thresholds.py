"""Bars for figures: how many times as fast something is as others, kept from one race to the next by family.

>>> bar = Bar("fir", {"the best compiler": 2.9, "Polly": 3.3})
>>> merge([bar, Bar("iir", {"Polly": 2.0})], [Bar("fir", {"Polly": 3.0})])
[Bar(name='fir', ratios={'Polly': 3.0}), Bar(name='iir', ratios={'Polly': 2.0})]
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.places import RESULTS

FOLDER = RESULTS / "bars"


@dataclass(frozen=True, slots=True)
class Bar:
    """A function, and how many times as fast it is as others, by their names."""

    name: str
    ratios: Mapping[str, float]


def keep(family: str, bars: Sequence[Bar], folder: Path = FOLDER) -> None:
    """Adds what was measured to what a family has; a race of some functions leaves the others as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = merge(stored(family, folder), bars)
    path = folder / f"{family}.json"
    written = path.with_suffix(".new")
    written.write_text(json.dumps({x.name: dict(x.ratios) for x in whole}, indent=1) + "\n")
    written.replace(path)


def stored(family: str, folder: Path = FOLDER) -> list[Bar]:
    """All that a family has, in the order in which it was first measured."""
    path = folder / f"{family}.json"
    if not path.exists():
        return []
    return [Bar(name, ratios) for name, ratios in json.loads(path.read_text()).items()]


def merge(old: Sequence[Bar], new: Sequence[Bar]) -> list[Bar]:
    """The bars of two races, the later one's where both have one."""
    return list({x.name: x for x in (*old, *new)}.values())
