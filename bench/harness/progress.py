"""One line that says how far a long measurement is: files done, the rate, the time left, what is going on now.

>>> Progress(30, resumed=3, show=False).position()
'3/30'
>>> spell_seconds(4000), spell_seconds(75), spell_seconds(8.25)
('1 h 06 min', '1 min 15 s', '8 s')
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class Progress:
    """Written to stderr: one line that is redrawn on a terminal, a line for each file elsewhere.

    `resumed` files were there at the start; they count as done and not for the rate.
    """

    total: int
    resumed: int = 0
    show: bool = True
    _done: int = 0
    _name: str = ""
    _started: float = field(default_factory=time.monotonic)

    def begin(self, name: str) -> None:
        """A file's turn comes."""
        self._name = name
        self.tell("")

    def tell(self, doing: str) -> None:
        """What is being done for that file; only a terminal shows it."""
        if self.show and sys.stderr.isatty():
            print(f"\r\033[K{self._line()}  {doing}"[:160], end="", file=sys.stderr, flush=True)

    def finish(self, summary: str) -> None:
        """The file is done."""
        self._done += 1
        if self.show:
            print(f"{self._clear()}{self._line()}  {summary}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leaves a clean line for what is printed next."""
        if self.show:
            print(self._clear(), end="", file=sys.stderr, flush=True)

    def position(self) -> str:
        """Files done of all."""
        return f"{self.resumed + self._done}/{self.total}"

    def _line(self) -> str:
        elapsed = time.monotonic() - self._started
        pace = ""
        if self._done:
            each = elapsed / self._done
            left = spell_seconds(each * (self.total - self.resumed - self._done))
            pace = f" {60 / each:.1f}/min, {left} left,"
        return f"[{self.position()}]{pace} {self._name}"

    @staticmethod
    def _clear() -> str:
        return "\r\033[K" if sys.stderr.isatty() else ""


def spell_seconds(seconds: float) -> str:
    """A time for people, rounded."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 60} min {whole % 60:02} s" if whole >= 60 else f"{whole} s"
