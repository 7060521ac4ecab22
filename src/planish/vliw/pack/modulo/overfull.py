"""Proof that an interval is not possible: operations that recurrences hold together want more of some rows than is
there.

Wherever an operation is, dependences leave each other one of its recurrences a window of cycles around it. Windows that
lie in the same few rows, whichever period they are in, share what these rows have of a unit, a slot or a port (Hall's
condition, over intervals of rows).

>>> from planish.vliw.machine import Unit, VliwMachine
>>> from planish.vliw.pack.dependence import Edge
>>> from planish.vliw.pack.effects import Effects
>>> from planish.vliw.program import Instr
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("A", "v"),), (), (), ())
>>> node = Effects(Instr("X", ()), "compute", ("A",), 2, 1, (), (), ())
>>> edges = (Edge(0, 1, 4), Edge(1, 0, 1, 1), Edge(1, 2, 1), Edge(2, 1, 4, 1), Edge(0, 2, 5))
>>> [is_overfull(LoopBody(tiny, (node,) * 3, edges, ()), interval) for interval in (5, 6)]
[True, False]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planish.vliw.pack.modulo.iterative import LoopBody
from planish.vliw.pack.modulo.row_resources import RowResources
from planish.vliw.pack.modulo.slack import least_distances

_NONE = -(10**9)
_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Users:
    """The operations that take a resource: from how many rows after their own on, and for how many rows."""

    room: int
    operations: _Numbers
    first: _Numbers
    rows: _Numbers


def is_overfull(body: LoopBody, interval: int) -> bool:
    """Whether it is certain that there is no schedule of that interval."""
    distances = least_distances(len(body.nodes), body.edges, interval)
    if bool((np.diagonal(distances) > 0).any()) or any(x.busy > interval for x in body.nodes):
        return True
    users = list(_users(RowResources.of(body.machine, body.nodes, False)))
    return any(_lacks_room(distances, interval, at, x) for at in range(len(distances)) for x in users)


def _users(resources: RowResources) -> Iterator[_Users]:
    """What takes each resource that not all operations together can have in one row."""
    for resource, room in enumerate(resources.room):
        found: list[tuple[int, int, int]] = []
        for i, (taken,) in enumerate(resources.taken):
            rows = sorted(back for x, back in taken if x == resource)
            if rows and rows == list(range(rows[0], rows[0] + len(rows))):
                found.append((i, rows[0], len(rows)))
        if len(found) > room:
            yield _Users(room, *np.array(found, np.int64).T)


def _lacks_room(distances: _Numbers, interval: int, at: int, users: _Users) -> bool:
    """Whether some rows have less of a resource than is taken of them, for certain, around one operation."""
    low, high = distances[at, users.operations], -distances[users.operations, at]
    ends = high - low + users.rows
    held = (low > _NONE // 2) & (high < -_NONE // 2) & (ends < interval)
    if held.sum() <= users.room:
        return False
    low, ends, rows = (low + users.first)[held], ends[held], users.rows[held]
    starts = np.unique(low % interval)
    # The rows in which each window ends, counted from each row in which one begins.
    lasts = (low[None, :] - starts[:, None]) % interval + ends[None, :]
    order = np.argsort(lasts, axis=1, kind="stable")
    lasts = np.take_along_axis(lasts, order, axis=1)
    taken = np.cumsum(rows[order], axis=1)
    return bool(((taken > users.room * lasts) & (lasts < interval)).any())
