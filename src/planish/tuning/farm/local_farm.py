"""The farm of this machine: so many processes build and verify, and one times, on cores where nothing else runs.

with closing(LocalFarm(4, "native", None)) as farm: ...
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Sequence
from typing import Any

from planish.core.diagnostic import PlanishError
from planish.run.processes.core_pairs import usable_pairs
from planish.run.processes.servant import Servant, ServantDiedError, ServantTimeoutError
from planish.tuning.farm.farm import FarmAnswer, FarmPiece, FarmWorker
from planish.tuning.points.site import describe_machine

ENOUGH_CORES = 4
"""On so many cores the last pair is for timings; on fewer, whatever is built waits while something is timed."""


class LocalFarm:
    """Threads with a servant each. PlanishError where nothing can be built for the target."""

    def __init__(self, jobs: int, target: str, compiler: str | None, threads: int = 1) -> None:
        machine = describe_machine(target, compiler)
        if isinstance(machine, PlanishError):
            raise machine
        self._machine, self._jobs = machine, jobs
        self._building: queue.PriorityQueue[tuple[int, int, FarmPiece | None]] = queue.PriorityQueue()
        self._timing: queue.PriorityQueue[tuple[int, int, FarmPiece | None]] = queue.PriorityQueue()
        self._answers: queue.Queue[FarmAnswer | BaseException] = queue.Queue()
        self._kept: dict[int, Any] = {}
        self._dropped: set[int] = set()
        self._quiet = _Turns()
        self._closed = False
        pairs = usable_pairs()
        apart = len(os.sched_getaffinity(0)) >= max(ENOUGH_CORES, 2 * threads) and threads <= len(pairs[-1])
        cores = tuple(x for pair in pairs[:-1] for x in pair) if apart else ()
        own = pairs[-1] if apart else ()
        self._exclusive = not apart
        lanes = [(f"builder {x + 1}", False, cores) for x in range(jobs)] + [("timer", True, own)]
        self._threads = [threading.Thread(target=self._work, args=x, daemon=True) for x in lanes]
        for thread in self._threads:
            thread.start()

    def workers(self) -> Sequence[FarmWorker]:
        """The builders as one worker, and the timer."""
        return (
            FarmWorker("builders", self._machine, self._jobs),
            FarmWorker("timer", self._machine, 1, timing=True, building=False),
        )

    def submit(self, piece: FarmPiece) -> None:
        """Queues a piece."""
        (self._timing if piece.timing else self._building).put((0, piece.number, piece))

    def wait(self, seconds: float) -> Sequence[FarmAnswer]:
        """The answers that have come."""
        out: list[FarmAnswer] = []
        while True:
            try:
                found = self._answers.get(timeout=0.0 if out else max(0.0, seconds))
            except queue.Empty:
                return out
            if isinstance(found, BaseException):
                raise found
            out.append(found)

    def release(self, number: int) -> None:
        """Drops a result."""
        self._dropped.add(number)
        self._kept.pop(number, None)

    def now(self) -> float:
        """The monotonic clock."""
        return time.monotonic()

    def close(self) -> None:
        """Ends all processes; what they do is lost."""
        self._closed = True
        for lane in (self._building, self._timing):
            for _ in self._threads:
                lane.put((-1, -1, None))

    def _work(self, name: str, timing: bool, cores: tuple[int, ...]) -> None:
        lane = self._timing if timing else self._building
        with Servant(cores) as servant:
            while not self._closed:
                _, _, piece = lane.get()
                if piece is None:
                    return
                if piece.number in self._dropped:
                    continue
                try:
                    with self._quiet.turn(timing and self._exclusive):
                        self._answers.put(self._answer(servant, piece, name))
                except BaseException as error:  # a bug: told by whoever waits
                    self._answers.put(error)
                    return

    def _answer(self, servant: Servant, piece: FarmPiece, name: str) -> FarmAnswer:
        began = time.monotonic()
        needed = tuple(self._kept[x] for x in piece.needs)
        try:
            value = servant.call(piece.function, (*piece.arguments, *needed), piece.seconds)
        except ServantDiedError as error:
            return FarmAnswer(piece.number, "died", None, name, time.monotonic() - began, str(error))
        except ServantTimeoutError as error:
            return FarmAnswer(piece.number, "timeout", None, name, time.monotonic() - began, str(error))
        except PlanishError as error:
            return FarmAnswer(piece.number, "refused", error, name, time.monotonic() - began)
        if piece.summary is not None:
            self._kept[piece.number] = value
            value = piece.summary(value)
        return FarmAnswer(piece.number, "done", value, name, time.monotonic() - began)


class _Turns:
    """Timings run alone: one that waits comes before what has not begun."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running, self._waiting, self._alone = 0, 0, False

    def turn(self, alone: bool) -> _Turn:
        return _Turn(self, alone)

    def begin(self, alone: bool) -> None:
        with self._changed:
            if alone:
                self._waiting += 1
                self._changed.wait_for(lambda: not self._running and not self._alone)
                self._waiting, self._alone = self._waiting - 1, True
            else:
                self._changed.wait_for(lambda: not self._alone and not self._waiting)
                self._running += 1

    def end(self, alone: bool) -> None:
        with self._changed:
            if alone:
                self._alone = False
            else:
                self._running -= 1
            self._changed.notify_all()


class _Turn:
    def __init__(self, turns: _Turns, alone: bool) -> None:
        self._turns, self._alone = turns, alone

    def __enter__(self) -> None:
        self._turns.begin(self._alone)

    def __exit__(self, *error: object) -> None:
        self._turns.end(self._alone)
