"""Core pairs: a race has one, or as many as its threads need, to itself, among all processes of this machine.

A pair is what one core's two hardware threads are, or else two neighbours: nothing else of Planish runs on it.

>>> pairs_of([0, 1, 2, 3, 4], {0: (0, 2), 2: (0, 2)})
((0, 2), (1, 3), (4,))
>>> with claimed_cores(1) as cores:
...     1 <= len(cores) <= 2
True
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

_PAUSE = 0.02
"""Seconds between two looks at pairs that are taken."""
_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def pairs_of(cores: Iterable[int], siblings: Mapping[int, tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """The pairs of some cores, of which `siblings` share one; the last may be a single one."""
    left, out = sorted(cores), list[tuple[int, ...]]()
    while left:
        own = tuple(x for x in siblings.get(left[0], ()) if x in left)
        if len(own) < 2:
            alone = [x for x in left if len(siblings.get(x, ())) < 2]
            own = tuple(alone[:2]) if left[0] in alone[:2] else (left[0],)
        out.append(own)
        left = [x for x in left if x not in own]
    return tuple(out)


def usable_pairs() -> tuple[tuple[int, ...], ...]:
    """The pairs of the cores on which this process may run."""
    cores = sorted(os.sched_getaffinity(0))
    return pairs_of(cores, {x: _siblings(x) for x in cores})


@contextmanager
def claimed_cores(count: int) -> Iterator[tuple[int, ...]]:
    """So many cores at least, in whole pairs (all there are where they are fewer), on which this process runs until the
    end of the block; it waits for them. They are given back when the process dies, too."""
    pairs, before = usable_pairs(), os.sched_getaffinity(0)
    with ExitStack() as held:
        taken: list[tuple[int, ...]] = []
        while sum(map(len, taken)) < min(count, len(before)):
            taken = []
            # Whoever needs several takes all at once or none, so that nobody waits for each other.
            with _locked(folder() / "all", wait=True), ExitStack() as tried:
                for pair in reversed(pairs):  # the first cores serve interrupts
                    if sum(map(len, taken)) < count and tried.enter_context(_locked(folder() / f"{pair[0]}")):
                        taken.append(pair)
                if sum(map(len, taken)) >= min(count, len(before)):
                    held.push(tried.pop_all())
            if sum(map(len, taken)) < min(count, len(before)):
                time.sleep(_PAUSE)
        own = tuple(x for pair in taken for x in pair)
        os.sched_setaffinity(0, own)
        try:
            yield own
        finally:
            os.sched_setaffinity(0, before)


def folder() -> Path:
    """Where the locks of this machine lie."""
    # Not $TMPDIR, which may be another one in each process.
    base = Path("/tmp") if Path("/tmp").is_dir() else Path(tempfile.gettempdir())
    made = base / f"planish-cores-{os.getuid()}"
    made.mkdir(mode=0o700, exist_ok=True)
    return made


@contextmanager
def _locked(path: Path, wait: bool = False) -> Iterator[bool]:
    """Whether the lock of a file was got; it is free again when the file is closed, or the process is dead."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(file)


def _siblings(core: int) -> tuple[int, ...]:
    out: list[int] = []
    try:
        text = Path(_SIBLINGS.format(core)).read_text().strip()
    except OSError:
        return ()
    for part in text.split(","):
        first, _, last = part.partition("-")
        out += range(int(first), int(last or first) + 1)
    return tuple(out)
