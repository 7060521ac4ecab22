"""The farm of a Dask cluster: pieces are tasks, results that others need stay on the workers.

with closing(DaskFarm("tcp://host:8786", "native", None)) as farm: ...

Dask itself gives the tasks of lost workers to others, and makes results anew that were lost with them. Each thread of a
worker has a servant, so that its heartbeat goes on whatever a piece does. Where the scheduler is gone, its address is
tried again for some minutes, and what was under way is sent anew. It is imported only where a cluster is asked for.
"""

from __future__ import annotations

import logging
import pickle
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from distributed import Client, get_worker

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.progress import Progress, keep_quiet
from planish.run.processes.servant import Servant, ServantDiedError, ServantTimeoutError
from planish.run.processes.workers import tell_no_cluster
from planish.tuning.farm.farm import FarmAnswer, FarmPiece, FarmWorker
from planish.tuning.points.site import BuildMachine, TuningSite, describe_machine

PATIENCE = 4
"""Seconds that a scheduler has to answer."""
RETURN = 600.0
"""Seconds in which a scheduler that is gone may come back."""
LOOK = 2.0
"""Seconds between looks at which workers there are."""
LOSSES = 3
"""So often a result may be lost on its way from a worker."""
TIMING = "timing"
"""The resource that quiet workers declare."""


class DaskFarm:
    """A cluster by the address of its scheduler. PlanishError E0662 where nothing answers there in some seconds."""

    def __init__(self, address: str, target: str, compiler: str | None, tell: Progress = keep_quiet) -> None:
        self._address, self._wish, self._tell = address, (target, compiler), tell
        self._pieces: dict[int, FarmPiece] = {}
        self._futures: dict[int, Any] = {}
        self._asked: dict[int, Any] = {}
        self._answered: set[int] = set()
        self._lost: Counter[int] = Counter()
        self._allowed: dict[int, frozenset[str]] = {}
        self._sites: dict[bytes, Any] = {}
        self._done: queue.Queue[tuple[int, Any]] = queue.Queue()
        self._machines: dict[str, BuildMachine | PlanishError] = {}
        self._describing: dict[str, Any] = {}
        self._workers: tuple[FarmWorker, ...] = ()
        self._looked = 0.0
        # What it says of lost lines, this farm says itself.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        self._client = self._connect()

    def workers(self) -> Sequence[FarmWorker]:
        """Those that have said what machine they are. What is timed on quiet workers is built on others, if there are
        others of that kind."""
        if time.monotonic() - self._looked > LOOK:
            self._looked = time.monotonic()
            self._look()
            self._send_what_nobody_may_do()
        return self._workers

    def refusals(self) -> tuple[PlanishError, ...]:
        """Why workers cannot build for the target."""
        return tuple(x for x in self._machines.values() if isinstance(x, PlanishError))

    def submit(self, piece: FarmPiece) -> None:
        """Makes a task of a piece; another one that had its number is forgotten."""
        self.release(piece.number)
        self._pieces[piece.number] = piece
        self._send(piece)

    def wait(self, seconds: float) -> Sequence[FarmAnswer]:
        """The answers that have come."""
        out: list[FarmAnswer] = []
        deadline = time.monotonic() + seconds
        while True:
            if self._client.status != "running":
                self._return()
            self.workers()
            left = 0.0 if out else min(0.2, deadline - time.monotonic())
            try:
                number, future = self._done.get(timeout=left) if left > 0 else self._done.get_nowait()
            except queue.Empty:
                if out or time.monotonic() >= deadline:
                    return out
                continue
            answer = self._answer(number, future)
            if answer is not None:
                self._answered.add(number)
                out.append(answer)

    def release(self, number: int) -> None:
        """Forgets a task and its result."""
        self._pieces.pop(number, None)
        self._answered.discard(number)
        self._allowed.pop(number, None)
        self._lost.pop(number, None)
        for kept in (self._futures, self._asked):
            future = kept.pop(number, None)
            if future is not None:
                future.cancel()

    def now(self) -> float:
        """The monotonic clock."""
        return time.monotonic()

    def close(self) -> None:
        """Leaves the cluster, which goes on."""
        self._client.cancel(list(self._futures.values()))
        self._client.close(timeout=PATIENCE)

    def _connect(self) -> Client:
        try:
            return Client(self._address, timeout=PATIENCE, set_as_default=False, name="planish-tune")
        except (OSError, ValueError, TimeoutError) as error:
            raise PlanishError(tell_no_cluster(self._address, str(error) or "it does not answer")) from error

    def _look(self) -> None:
        found = self._client.scheduler_info(n_workers=-1)["workers"]
        for name in set(self._machines) - set(found):
            del self._machines[name]
        for name in found:
            if name not in self._machines and name not in self._describing:
                self._describing[name] = self._client.submit(
                    describe_machine, *self._wish, workers=[name], allow_other_workers=False, pure=False, priority=100
                )  # fmt: skip
        for name, future in list(self._describing.items()):
            if future.status == "finished":
                self._machines[name] = future.result()
            if future.status != "pending":
                del self._describing[name]
        made = []
        for name, machine in self._machines.items():
            if not isinstance(machine, PlanishError):
                info = found[name]
                quiet = info.get("resources", {}).get(TIMING, 0) > 0
                made.append(FarmWorker(name, machine, info["nthreads"], quiet, not quiet))
        loud = {x.machine.kind for x in made if x.building}
        workers = tuple(replace(x, building=x.building or x.machine.kind not in loud) for x in made)
        if workers != self._workers:
            self._workers = workers

    def _are_quiet(self) -> bool:
        return any(x.timing for x in self._workers)

    def _send(self, piece: FarmPiece) -> None:
        able = [
            x for x in self._workers
            if (x.timing if piece.timing else x.building) and piece.kind in (None, x.machine.kind)
        ]  # fmt: skip
        preferred = [x.name for x in able if x.name not in piece.avoid] or [x.name for x in able]
        needed = [self._futures[x] for x in piece.needs]
        arguments = [self._shared(x) if isinstance(x, TuningSite) else x for x in piece.arguments]
        future = self._client.submit(
            serve, piece.function, piece.seconds, len(arguments), *arguments, *needed, pure=False,
            workers=preferred or None, allow_other_workers=False, priority=10 if piece.timing else 0,
            resources={TIMING: 1} if piece.timing else None,
        )  # fmt: skip
        self._futures[piece.number] = future
        self._allowed[piece.number] = frozenset(preferred)
        self._listen(piece.number, future)

    def _send_what_nobody_may_do(self) -> None:
        """A piece whose workers are all gone is for others; so is one whose workers were not known yet."""
        names = {x.name for x in self._workers}
        for number, allowed in list(self._allowed.items()):
            future = self._futures[number]
            if names and not allowed & names and number not in self._answered and future.status == "pending":
                self._send(self._pieces[number])
                future.cancel()

    def _listen(self, number: int, future: Any) -> None:
        future.add_done_callback(lambda done: self._done.put((number, done)))

    def _shared(self, site: TuningSite) -> Any:
        """A site that travels to the scheduler once, and once to each worker."""
        data = pickle.dumps(site)
        if data not in self._sites:
            self._sites[data] = self._client.submit(pickle.loads, data)
        return self._sites[data]

    def _answer(self, number: int, future: Any) -> FarmAnswer | None:
        """What a future says; None where nobody asks any more, or the answer comes another way."""
        piece = self._pieces.get(number)
        current: Any = self._asked.get(number) or self._futures.get(number)
        if piece is None or number in self._answered or future is not current:
            return None
        if future.status in ("cancelled", "lost"):
            if self._client.status == "running":
                self._send(piece)  # as after a short break of the line
            return None
        if future.status == "error":
            error = future.exception()
            return FarmAnswer(number, "died", message=f"{type(error).__name__}: {error}".splitlines()[0])
        if piece.summary is not None and number not in self._asked:
            self._asked[number] = self._client.submit(
                _summarise, piece.summary, future, pure=False, priority=20
            )  # fmt: skip
            self._listen(number, self._asked[number])
            return None
        try:
            found: FarmAnswer = future.result(timeout=PATIENCE)
        except Exception as error:
            self._asked.pop(number, None)
            self._lost[number] += 1
            if self._lost[number] >= LOSSES:
                message = f"its result does not arrive: {type(error).__name__}: {error}"
                return FarmAnswer(number, "died", message=message.splitlines()[0])
            self._send(piece)  # it was lost on the way
            return None
        return replace(found, number=number)

    def _return(self) -> None:
        """The scheduler is gone: waits for it, and sends what is under way anew, and what that needs."""
        self._tell(f"the cluster at {self._address} is gone; waiting for it")
        self._client.close(timeout=1)
        deadline = time.monotonic() + RETURN
        while True:
            try:
                self._client = self._connect()
                break
            except PlanishError as error:
                if time.monotonic() >= deadline:
                    message = f"the cluster at {self._address} has not come back within {RETURN:g} s"
                    raise PlanishError(
                        Diagnostic("E0662", message, help="what was found is kept: go on with it")
                    ) from error
                time.sleep(0.5)
        self._futures, self._asked, self._sites, self._machines, self._describing = {}, {}, {}, {}, {}
        self._workers = ()
        while not self._are_quiet() and time.monotonic() < deadline:
            self._look()
            time.sleep(0.2)
        self._tell(f"the cluster at {self._address} is back")
        for number in sorted(self._pieces):
            self._send(self._pieces[number])


class _Servants(threading.local):
    """A servant for each thread of this worker."""

    def __init__(self) -> None:
        self.servant = Servant()


_SERVANTS = _Servants()


def serve(function: Callable[..., Any], seconds: float, count: int, *arguments: Any) -> FarmAnswer:
    """Runs on a worker: the answer of a piece, whose last arguments are the answers of others."""
    worker, began = str(get_worker().address), time.monotonic()
    own = (*arguments[:count], *(x.value for x in arguments[count:]))

    def end(status: Any, value: Any = None, message: str = "") -> FarmAnswer:
        return FarmAnswer(0, status, value, worker, time.monotonic() - began, message)

    try:
        return end("done", _SERVANTS.servant.call(function, own, seconds))
    except ServantDiedError as error:
        return end("died", message=str(error))
    except ServantTimeoutError as error:
        return end("timeout", message=str(error))
    except PlanishError as error:
        return end("refused", error)


def _summarise(summary: Callable[[Any], Any], answer: FarmAnswer) -> FarmAnswer:
    return replace(answer, value=summary(answer.value)) if answer.status == "done" else answer
