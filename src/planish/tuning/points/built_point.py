"""What travels between the process that makes and verifies a point and the one that times it.

>>> BuiltPoint("maxfuse", "0f", b"ELF").digest == BuiltPoint("maxfuse", "0f", b"ELF").digest
True
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.core.cache import key
from planish.run.calls.signature import CallCase, Signature
from planish.tuning.points.feedback import Feedback


@dataclass(frozen=True, slots=True)
class BuiltPoint:
    """A point that computes the same as the original: the version's `label`, the digest of its C text (`code`), the
    `library` that is timed, the `script` of a space of scripts; `calls` verified it, with `worst` the largest relative
    difference."""

    label: str
    code: str
    library: bytes
    script: str = ""
    calls: int = 0
    worst: float = 0.0

    @property
    def digest(self) -> str:
        """The address of the library."""
        return key("library", self.library)


@dataclass(frozen=True, slots=True)
class RaceSetup:
    """How points of a nest are measured: what is called, the calls that may be timed (the first that works is), the
    cores, the seconds for a race, and what points are compared by, the first of which decides."""

    signature: Signature
    clocks: tuple[CallCase, ...]
    threads: int = 1
    seconds: float = 0.5
    feedback: tuple[Feedback, ...] = ("time",)
