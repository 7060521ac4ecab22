"""Ratios of a run beside their bars, one line each; above them rates, registers, and what failed.

    python bench/gpu_device.py table gpu.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.promises.claim import Claim, at_least, at_most


def main(arguments: list[str]) -> int:
    """Print the table of a results file; 1 where a claim is short."""
    parser = argparse.ArgumentParser(prog="gpu_device.py table")
    parser.add_argument("results", type=Path)
    given = parser.parse_args(arguments)
    content = json.loads(given.results.read_text())
    for line in lines_of(content):
        print(line)
    return 0 if all(x.ok for x in claims_of(content)) else 1


def lines_of(content: Mapping[str, Any]) -> Iterator[str]:
    """Facts, rates, faults and claims of a run."""
    facts = content["facts"]
    yield f"{facts.get('card', 'no card')}; {facts.get('nvcc', '')}; {facts.get('date', '')}; commit {facts['commit']}"
    for name, x in content["compiled"].items():
        spilled = sum(y["spilled"] for y in x.get("usage", {}).values())
        if "error" in x or spilled:
            yield f"{name}: {'not compiled' if 'error' in x else f'{spilled} bytes are spilled'}"
    for name, why in content.get("host", {}).items():
        yield f"{name}: on the host: {why}"
    for name, x in content["items"].items():
        if x.get("rates"):
            rates = "  ".join(f"{y} {z['rate']:.4g}" for y, z in x["rates"].items())
            rounds = min(y["rounds"] for y in x["rates"].values())
            yield f"{name.removeprefix('time ')}: {rates} {x['unit']} ({rounds} rounds, {x['sets']} buffers)"
        for key in ("failed", "skipped"):
            if key in x:
                yield f"{name}: {key}: {x[key]}"
        for y in x.get("refused", {}).items():
            yield f"{name}: anchor {y[0]}: {y[1]}"
        if x.get("wrong"):
            yield f"{name}: WRONG: {x['wrong']}"
    for claim in claims_of(content):
        yield str(claim)


def claims_of(content: Mapping[str, Any]) -> Iterator[Claim]:
    """Each ratio that has a bar on the card of the run, and how many kernels were wrong."""
    card = content["facts"].get("card", "")
    checks = {x: y for x, y in content["items"].items() if x.startswith("check ")}
    failed = sum(bool(x.get("wrong") or "failed" in x) for x in content["items"].values())
    yield at_least("gpu.device.checked", sum("calls" in x for x in checks.values()), len(checks))
    yield at_most("gpu.device.wrong", failed, 0)
    for name, x in content["items"].items():
        for anchor, bar in bars_of(x, card).items():
            rates = x["rates"]
            versions = [z["rate"] for y, z in rates.items() if y == "own" or y.startswith("own-")]
            if anchor in rates and versions:
                program, size = name.removeprefix("time ").split(".", 1)
                yield at_least(f"gpu.device.{program}_{size}_over_{anchor}", max(versions) / rates[anchor]["rate"], bar)


def bars_of(item: Mapping[str, Any], card: str) -> dict[str, float]:
    """The bars of a contest on a card."""
    bars = dict(item.get("bars", {}))
    for name, own in item.get("card_bars", {}).items():
        if name in card:
            bars |= own
    return bars
