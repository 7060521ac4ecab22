"""Workers for a server: requests wait for a free one, and one that takes too long is ended and replaced.

    pool = WorkerPool(2)
    result = await pool.ask({"do": "analyse", "name": "f.c", "text": text}, seconds=30)
    await pool.close()
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from typing import Any

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.service.failures import describe_error

ANSWER_BYTES = 32 << 20
"""Of one answer, at most."""
REQUESTS_EACH = 200
"""What a worker does before another one takes its place: isl and caches keep some memory."""
_COMMAND = (sys.executable, "-m", "planish.service.worker")


class RequestError(PlanishError):
    """What a worker answered, or why it did not: E0129 it took too long, E0130 it ended; `fields` as the worker told
    them."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__(Diagnostic(str(fields["code"]), str(fields["message"]), help=str(fields.get("help", ""))))
        self.fields = dict(fields)


class _Worker:
    """One process, started when it is first asked."""

    def __init__(self) -> None:
        self.process: Process | None = None
        self.done = 0

    async def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The answer; RequestError where there is none."""
        if self.process is None or self.process.returncode is not None or self.done >= REQUESTS_EACH:
            await self.end()
            self.process = await asyncio.create_subprocess_exec(
                *_COMMAND, stdin=PIPE, stdout=PIPE, limit=ANSWER_BYTES, start_new_session=True
            )
            self.done = 0
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        self.done += 1
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            await process.stdin.drain()
            line = await asyncio.wait_for(process.stdout.readline(), seconds)
        except TimeoutError:
            await self.end()
            raise _failure("E0129", f"it took more than {seconds:g} s") from None
        except (ConnectionError, ValueError) as error:
            await self.end()
            raise _failure("E0130", f"the process that did it ended: {error}") from error
        except asyncio.CancelledError:
            await self.end()
            raise
        if not line.endswith(b"\n"):
            # Of a process that is killed while it answers, a part of the line is all there is.
            await self.end()
            raise _failure("E0130", "the process that did it ended")
        told: dict[str, Any] = json.loads(line)
        if "error" in told:
            raise RequestError(told["error"])
        result: dict[str, Any] = told["result"]
        return result

    def kill(self) -> Process | None:
        """Kills the process with all that it started, and gives it."""
        process, self.process = self.process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        return process

    async def end(self) -> None:
        """Ends the process with all that it started."""
        process = self.kill()
        if process is not None:
            await process.wait()


class WorkerPool:
    """So many workers; requests are done in the order in which they came."""

    def __init__(self, count: int) -> None:
        self._all = [_Worker() for _ in range(count)]
        self._free: asyncio.Queue[_Worker] = asyncio.Queue()
        for worker in self._all:
            self._free.put_nowait(worker)

    async def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The result of a request, which may take so long once it is begun; RequestError where there is none."""
        worker = await self._free.get()
        try:
            return await worker.ask(request, seconds)
        finally:
            self._free.put_nowait(worker)

    async def close(self) -> None:
        """Ends all workers."""
        for worker in self._all:
            await worker.end()

    def kill(self) -> None:
        """Kills all workers, where nothing can be waited for any more."""
        for worker in self._all:
            worker.kill()


def _failure(code: str, message: str) -> RequestError:
    return RequestError(describe_error(Diagnostic(code, message)))
