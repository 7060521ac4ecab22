"""Implicit im2col: what a convolution window reads at each position, as rows of a matrix that is not stored.

>>> window = Window((3, 3), (2, 2))
>>> window.name, window.seen("0", "i"), window.reach("m", 1)
('3x3s2x2', 'p, 2 * 0 + 1 * r, 2 * i + 1 * s', '2 * m + 1')
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """A convolution window: its extents, its strides, and its dilations; each down, then along."""

    extents: tuple[int, int] = (1, 1)
    steps: tuple[int, int] = (1, 1)
    apart: tuple[int, int] = (1, 1)

    @property
    def name(self) -> str:
        """What the window is called in names of kernels."""
        steps = "" if self.steps == (1, 1) else "s{}x{}".format(*self.steps)
        apart = "" if self.apart == (1, 1) else "d{}x{}".format(*self.apart)
        return "{}x{}".format(*self.extents) + steps + apart

    @property
    def size(self) -> int:
        """How many elements it has."""
        return self.extents[0] * self.extents[1]

    @property
    def element(self) -> str:
        """The number of element r, s."""
        return f"{self.extents[1]} * r + s"

    def place(self, channel: str = "p") -> str:
        """The number of element r, s of a channel."""
        return f"{self.size} * ({channel}) + {self.element}"

    def seen(self, y: str, x: str, channel: str = "p") -> str:
        """The subscripts of what element r, s sees in a channel at a place."""
        return f"{channel}, {self.steps[0]} * {y} + {self.apart[0]} * r, {self.steps[1]} * {x} + {self.apart[1]} * s"

    def reach(self, places: str, along: int) -> str:
        """How many elements are seen from some places in a row, down (0) or along (1)."""
        return f"{self.steps[along]} * {places} + {self.seen_by(0, along)}"

    def seen_by(self, places: int, along: int) -> int:
        """The same for so many places."""
        return self.steps[along] * (places - 1) + self.apart[along] * (self.extents[along] - 1) + 1

    def around(self, update: str) -> str:
        """The loops over k channels and the elements around a statement."""
        rows, columns = self.extents
        return f"for p in 0 .. k {{ for r in 0 .. {rows} {{ for s in 0 .. {columns} {{ {update} }} }} }}"
