"""Strongly connected components of a graph over numbers: what has to stay together, in an order that can be run.

>>> order_components(4, lambda a, b: (a, b) in {(0, 2), (1, 3), (3, 1)})
[[2], [0], [1, 3]]
"""

from __future__ import annotations

from collections.abc import Callable


def order_components(count: int, waits: Callable[[int, int], bool]) -> list[list[int]]:
    """Strongly connected components of `waits(a, b)` (a comes after b), earlier ones first (Tarjan's algorithm);
    one with no later dependence stays in the order of its numbers."""
    edges = [[b for b in range(count) if a != b and waits(a, b)] for a in range(count)]
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    out: list[list[int]] = []

    def visit(a: int) -> None:
        index[a] = low[a] = len(index)
        stack.append(a)
        for b in edges[a]:
            if b not in index:
                visit(b)
                low[a] = min(low[a], low[b])
            elif b in stack:
                low[a] = min(low[a], index[b])
        if low[a] == index[a]:
            members: list[int] = []
            while not members or members[-1] != a:
                members.append(stack.pop())
            out.append(sorted(members))

    for a in range(count):
        if a not in index:
            visit(a)
    return out
