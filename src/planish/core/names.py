"""Names that nothing else has.

>>> taken = {"a", "b", "b_2"}
>>> take_name("b", taken), take_name("c", taken), sorted(taken)
('b_3', 'c', ['a', 'b', 'b_2', 'b_3', 'c'])
"""

from __future__ import annotations

from collections.abc import Collection


def free_name(wanted: str, taken: Collection[str]) -> str:
    """The name that is wanted, with the first number from 2 on where it is taken."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def take_name(wanted: str, taken: set[str]) -> str:
    """The same, which is taken from then on."""
    name = free_name(wanted, taken)
    taken.add(name)
    return name
