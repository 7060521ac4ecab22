"""What there is to say of each strategy of the registry: a table of all, and a text on one.

>>> print(explain_strategy("gemv-rows").splitlines()[0])
gemv-rows: register-blocked matrix-vector product: unroll-and-jam over rows
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from rich.table import Table

from planish.core.former_names import current_code, current_version, tell_former
from planish.library.registry import DEVICE_STRATEGIES, STRATEGIES, find_strategy
from planish.library.strategy import Strategy


def strategies_table() -> Table:
    """A row for each strategy: its name, what it rewrites, and what it does."""
    table = Table(box=None, pad_edge=False, header_style="")
    for column in ("strategy", "rewrites", "what it does"):
        table.add_column(column, overflow="fold")
    for x in (*STRATEGIES, *DEVICE_STRATEGIES):
        table.add_row(x.name, _rewrites(x), x.note)
    return table


def explain_strategy(name: str) -> str:
    """A text on the strategy of that name, with a note where that is a former name; PlanishError as of
    `find_strategy`."""
    found = find_strategy(name)
    current = next((x for x in (current_version(name), current_code(name)) if x != name), name)
    notes = [f"note: {tell_former(name, current)}"] if current != name else []
    return "\n".join((*notes, *_lines(found))) + "\n"


def _lines(strategy: Strategy[Any]) -> Iterator[str]:
    module = inspect.getmodule(strategy.apply)
    assert module is not None
    yield f"{strategy.name}: {strategy.note}"
    yield (module.__doc__ or "").splitlines()[0]
    yield f"rewrites {_rewrites(strategy)}; written in {module.__name__}"
    for name, what in strategy.variants.items():
        yield f"  {name}: {what}"


def _rewrites(strategy: Strategy[Any]) -> str:
    if strategy.loop:
        return "the loop around a nest"
    if strategy in DEVICE_STRATEGIES:
        return "a nest, for GPUs"
    return "a nest, by calls of kernels" if strategy.kernels else "a nest"
