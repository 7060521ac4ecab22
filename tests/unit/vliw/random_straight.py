"""Random small kernels of fixed sizes: sums, products and differences of elements, some of which are read back.

>>> random_straight(3).name
'random'
"""

from __future__ import annotations

from random import Random

from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel

READ = ("a", "b")


def random_straight(seed: int) -> Kernel:
    """A kernel that stores 1 to 12 elements, each an expression over elements of three arrays."""
    draw = Random(seed)
    size = draw.randint(2, 9)
    lines = []
    stored: list[int] = []
    for place in draw.sample(range(12), draw.randint(1, 12)):
        lines.append(f"c[{place}] = {_value(draw, size, stored, draw.randint(1, 3))}")
        stored.append(place)
    arrays = ", ".join(f"{x}: f32[{size}]" for x in READ)
    return parse_kernel(f"kernel random({arrays}, c: f32[12]) {{ {' '.join(lines)} }}")


def _value(draw: Random, size: int, stored: list[int], depth: int) -> str:
    if not depth or draw.random() < 0.15:
        if stored and draw.random() < 0.2:
            return f"c[{draw.choice(stored)}]"
        if draw.random() < 0.1:
            return draw.choice(("2.0:f32", "-1.0:f32", "0.0:f32", "0.5:f32"))
        return f"{draw.choice(READ)}[{draw.randrange(size)}]"
    parts = [_value(draw, size, stored, depth - 1) for _ in range(draw.choice((2, 2, 3)))]
    operator = draw.choice("++-**")
    return "(" + f" {operator} ".join(parts) + ")"
