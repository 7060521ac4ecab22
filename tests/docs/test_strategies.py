"""docs/strategies.md is what the registry says; `--bless` writes it anew."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planish.core.former_names import FORMER_VERSIONS
from planish.library.registry import DEVICE_STRATEGIES, STRATEGIES
from planish.library.strategy import Strategy

PAGE = Path(__file__).resolve().parents[2] / "docs" / "strategies.md"
_HEAD = """# Strategies

A strategy is one way to make a nest faster: a name, what it matches, the versions that it makes by steps that are each
proven legal, and what these are expected to cost. A build with the clock makes the versions of all and times them; one
without the clock takes the first one in the order of the expected costs; both go through the same list
(`planish.library.registry`). `planish strategies list` prints it, `planish strategies explain NAME` says more of one.
[extending.md](extending.md) shows how to add one.

Schedules of loops cost what the performance model says (`planish.schedule.auto.cost`): for each innermost loop the
cycles by ports and by the longest cycle of dependences, and those in which lines come from cache to cache, by what
loops touch between two uses; behind the first cache, what comes takes the place of any line. It knows the
[machine](targets.md) and the sizes that are given (`--size`).

A version is called after its strategy, with parameters behind it (`gemv-rows-8`: 8 rows at a time), or after the policy
of its loops; what is done to it further stands behind commas (`maxfuse, nontemporal`).

| strategy | what it does | module |
| --- | --- | --- |
"""
_DEVICES = """
## For GPUs

Tried in this order for `--target cuda-…`, `hip-…` and `opencl`; the version whose nests map best is taken, without a
clock. [gpu.md](gpu.md) says what becomes a kernel.

| strategy | what it does | module |
| --- | --- | --- |
"""
_FORMER = """
## Former names

Understood for one release, with a note; numbers of rows stood behind ` by `.

| former | now |
| --- | --- |
"""


def page() -> Iterator[str]:
    yield _HEAD
    yield from map(_row, STRATEGIES)
    yield _DEVICES
    yield from map(_row, DEVICE_STRATEGIES)
    for x in (y for y in (*STRATEGIES, *DEVICE_STRATEGIES) if y.variants):
        yield f"\n## Versions of `{x.name}`\n\n| version | what it does |\n| --- | --- |\n"
        yield from (f"| `{name}` | {what} |\n" for name, what in x.variants.items())
    yield _FORMER
    yield from (f"| `{former}` | `{name}` |\n" for former, name in FORMER_VERSIONS.items())


def _row(strategy: Strategy[Any]) -> str:
    module = inspect.getmodule(strategy.apply)
    assert module is not None
    return f"| `{strategy.name}` | {strategy.note} | `{module.__name__.removeprefix('planish.')}` |\n"


def test_the_page_is_the_registry(request: pytest.FixtureRequest) -> None:
    text = "".join(page())
    if request.config.getoption("--bless"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "docs/strategies.md is not what the registry says: run this test with --bless"


def test_each_strategy_has_a_name_and_a_module_of_its_own() -> None:
    known = (*STRATEGIES, *DEVICE_STRATEGIES)
    assert len({x.name for x in known}) == len({inspect.getmodule(x.apply) for x in known}) == len(known)
