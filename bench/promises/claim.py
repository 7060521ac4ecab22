"""One figure that is promised, what was found, and whether that is enough.

>>> print(at_least("polybench.over_compilers", 1.7342, 1.5))
claim polybench.over_compilers value=1.734 bar=1.5 ok
>>> print(below("help.seconds", 0.41, 0.3))
claim help.seconds value=0.41 bar=0.3 short
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """A named value beside its bar."""

    name: str
    value: float
    bar: float
    ok: bool

    def __str__(self) -> str:
        return f"claim {self.name} value={self.value:.4g} bar={self.bar:g} {'ok' if self.ok else 'short'}"


@dataclass(frozen=True, slots=True)
class Note:
    """What a reader has to know of the claims around it."""

    text: str

    def __str__(self) -> str:
        return f"note {self.text}"


def at_least(name: str, value: float, bar: float) -> Claim:
    """A claim that holds from the bar on upwards."""
    return Claim(name, value, bar, value >= bar)


def at_most(name: str, value: float, bar: float) -> Claim:
    """A claim that holds up to the bar."""
    return Claim(name, value, bar, value <= bar)


def below(name: str, value: float, bar: float) -> Claim:
    """A claim that holds below the bar."""
    return Claim(name, value, bar, value < bar)
