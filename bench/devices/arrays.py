"""Arrays of a call on a device: random inputs, poisoned outputs, and cells around each that nothing may store.

made = make_values(torch, program, sizes, "cuda", seed=1)
made.values["a"]; made.overrun()  # names of arrays beside which something was stored
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.devices.programs import Program, Tensor

FRINGE = 64
"""Elements before and behind each array: 256 bytes of floats, so that arrays are aligned as the allocator does it."""
MARK = -12345.0


@dataclass(frozen=True, slots=True)
class Made:
    """Sizes, scalars and tensors by name, and the memory in which tensors lie."""

    program: Program
    values: dict[str, Any]
    whole: dict[str, Any]

    def overrun(self) -> list[str]:
        """Arrays beside which something was stored."""
        return [
            x for x, y in self.whole.items()
            if not (bool((y[:FRINGE] == MARK).all()) and bool((y[-FRINGE:] == MARK).all()))
        ]  # fmt: skip

    def changed(self) -> list[str]:
        """Arrays that the program may change."""
        return [x for x, y in self.program.tensors.items() if y.role != "in"]

    def bytes(self) -> int:
        """Of all arrays."""
        return sum(x.numel() * x.element_size() for x in self.whole.values())


def shape_of(tensor: Tensor, sizes: dict[str, int]) -> tuple[int, ...]:
    """The shape of an array at sizes."""
    return tuple(int(x) if x.isdigit() else sizes[x] for x in tensor.shape)


def make_values(torch: Any, program: Program, sizes: dict[str, int], place: str, seed: int) -> Made:
    """All arguments of a call."""
    generator = torch.Generator(device=place).manual_seed(seed)
    values: dict[str, Any] = {**sizes, **program.scalars}
    whole: dict[str, Any] = {}
    for name, x in program.tensors.items():
        shape = shape_of(x, sizes)
        count = 1
        for extent in shape:
            count *= extent
        memory = torch.full((count + 2 * FRINGE,), MARK, dtype=getattr(torch, x.type), device=place)
        inside = memory[FRINGE : FRINGE + count]
        if x.role == "out":
            inside.fill_(float("nan"))
        elif x.role == "sum":
            inside.zero_()
        else:
            inside.uniform_(-0.5, 1.0, generator=generator)
        whole[name] = memory
        values[name] = inside.reshape(shape) if shape else inside
    return Made(program, values, whole)


def difference(torch: Any, ours: Any, wanted: Any) -> float:
    """The largest difference beside the largest value; cells that are to stay poisoned have to; inf where not so."""
    if ours.numel() == 0:
        return 0.0
    a, b = ours.double(), wanted.double()
    if not bool((a.isnan() == b.isnan()).all()):
        return float("inf")
    a, b = a.nan_to_num(), b.nan_to_num()
    scale = float(b.abs().max()) or 1.0
    return float((a - b).abs().max()) / scale
