"""What a farm is: it takes pieces of work, does them somewhere, and gives answers in the order in which they come.

>>> FarmPiece(1, abs, (-3,)).timing
False
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from planish.tuning.points.site import BuildMachine

BUILD_SECONDS, TIME_SECONDS = 900.0, 1200.0
"""Seconds after which a piece is no longer waited for where it runs; what runs inside has tighter bounds of its own."""
FarmAnswerStatus = Literal["done", "died", "timeout", "refused"]


@dataclass(frozen=True, slots=True)
class FarmPiece:
    """A function of a module with arguments, behind which the results of the pieces come that it `needs`. A `timing` is
    done by workers that are quiet. `kind`: of machines that may do it (None: any). `summary`: the result stays where it
    is for the pieces that need it, and this is made of it for the answer. Workers to `avoid` are taken last."""

    number: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    needs: tuple[int, ...] = ()
    timing: bool = False
    kind: str | None = None
    summary: Callable[[Any], Any] | None = None
    avoid: frozenset[str] = frozenset()

    @property
    def seconds(self) -> float:
        """How long it may take."""
        return TIME_SECONDS if self.timing else BUILD_SECONDS


@dataclass(frozen=True, slots=True)
class FarmAnswer:
    """What came of a piece: its `value`, by which worker, in how many seconds there; or that the process died that
    worked on it, or was too slow; or it was refused, the value being a PlanishError."""

    number: int
    status: FarmAnswerStatus
    value: Any = None
    worker: str = ""
    seconds: float = 0.0
    message: str = ""


@dataclass(frozen=True, slots=True)
class FarmWorker:
    """A worker: its machine, how many pieces it does at a time, and whether it is quiet enough for timings."""

    name: str
    machine: BuildMachine
    slots: int = 1
    timing: bool = False
    building: bool = True


class Farm(Protocol):
    """Does pieces of work. `close` leaves what is under way."""

    def workers(self) -> Sequence[FarmWorker]:
        """Those that there are now."""

    def submit(self, piece: FarmPiece) -> None:
        """Takes a piece, which is done when it is its turn."""

    def wait(self, seconds: float) -> Sequence[FarmAnswer]:
        """The answers that have come, at least one of them where one comes within some seconds."""

    def release(self, number: int) -> None:
        """Nobody needs the result of a piece any more, or the piece itself: it need not be done."""

    def now(self) -> float:
        """Seconds on the farm's clock."""

    def close(self) -> None:
        """Ends it."""
