"""An e-graph: terms that are known to be equal share a class, and equal operands make equal terms.

>>> graph = EGraph()
>>> a, b = graph.add("a"), graph.add("b")
>>> left, right = graph.add("f", (a,)), graph.add("f", (b,))
>>> graph.is_same(left, right), graph.merge(a, b), graph.rebuild(), graph.is_same(left, right)
(False, True, None, True)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, KeysView
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ENode:
    """An operator over classes of terms."""

    op: Hashable
    children: tuple[int, ...] = ()
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.op, self.children)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(slots=True)
class EGraph:
    """Classes of equal terms: hash-consed nodes over a union-find. After `merge`, `rebuild` restores congruence.
    `most`: a phase of `saturate` adds no more nodes. `opaque`: operators that say what a term is, and not how it is
    made: `saturate` and `reached` do not look at their operands."""

    most: int = 30_000
    opaque: tuple[type, ...] = ()
    _parent: list[int] = field(default_factory=list)
    _classes: dict[int, dict[ENode, None]] = field(default_factory=dict)
    _users: dict[int, list[tuple[ENode, int]]] = field(default_factory=dict)
    _known: dict[ENode, int] = field(default_factory=dict)
    _dirty: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self._known)

    def find(self, number: int) -> int:
        """The representative of a class."""
        while self._parent[number] != number:
            self._parent[number] = self._parent[self._parent[number]]
            number = self._parent[number]
        return number

    def is_same(self, a: int, b: int) -> bool:
        """Whether two classes are one."""
        return self.find(a) == self.find(b)

    def classes(self) -> list[int]:
        """The representatives of all classes, in the order in which they were made."""
        return sorted(self._classes)

    def nodes(self, number: int) -> tuple[ENode, ...]:
        """The nodes of a class, in the order in which they were added."""
        return tuple(self._classes[self.find(number)])

    def view(self, number: int) -> KeysView[ENode]:
        """The same without a copy, for those who change nothing meanwhile."""
        return self._classes[self.find(number)].keys()

    def add(self, op: Hashable, children: Iterable[int] = ()) -> int:
        """The class of a term."""
        node = self._canonical(ENode(op, tuple(children)))
        known = self._known.get(node)
        if known is not None:
            return self.find(known)
        number = len(self._parent)
        self._parent.append(number)
        self._classes[number] = {node: None}
        self._known[node] = number
        for child in dict.fromkeys(node.children):
            self._users.setdefault(child, []).append((node, number))
        return number

    def merge(self, a: int, b: int) -> bool:
        """Note that two classes are equal; False where that was known."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        first, second = min(a, b), max(a, b)
        self._parent[second] = first
        self._classes[first].update(self._classes.pop(second))
        self._users.setdefault(first, []).extend(self._users.pop(second, ()))
        self._dirty.append(first)
        return True

    def rebuild(self) -> None:
        """Merge terms whose operands have become equal."""
        while self._dirty:
            number = self.find(self._dirty.pop())
            users, self._users[number] = self._users.get(number, []), []
            kept: dict[ENode, int] = {}
            for node, home in users:
                self._known.pop(node, None)
                home = self.find(home)
                self._classes[home].pop(node, None)
                fresh = self._canonical(node)
                other = self._known.get(fresh, kept.get(fresh))
                self._classes[home][fresh] = None
                self._known[fresh] = kept[fresh] = home
                if other is not None:
                    self.merge(home, other)
            own = self._users.setdefault(self.find(number), [])
            own += [(node, self.find(home)) for node, home in kept.items()]

    def saturate(self, roots: Iterable[int], rule: Callable[[int, ENode], Iterator[int]], most: int = 0) -> None:
        """Apply a phase of rules to all nodes that are reached from `roots`, new ones too, until nothing is new: a rule
        tells the classes that are equal to the one of a node. Stops where the graph has got `most` more nodes."""
        done: set[ENode] = set()
        waiting = [self.find(x) for x in reversed(list(roots))]
        limit = len(self) + min(most or self.most, self.most)
        while waiting and len(self) < limit:
            number = self.find(waiting.pop())
            fresh = [x for x in self.nodes(number) if x not in done]
            if not fresh:
                continue
            done.update(fresh)
            for node in fresh:
                for other in list(rule(number, node)):
                    self.merge(number, other)
            self.rebuild()
            number = self.find(number)
            waiting.append(number)  # what has become equal to it may be new
            waiting += [self.find(y) for x in reversed(self.nodes(number)) for y in reversed(self.operands(x))]

    def operands(self, node: ENode) -> tuple[int, ...]:
        """The classes that are made before a node."""
        return () if isinstance(node.op, self.opaque) else node.children

    def reached(self, roots: Iterable[int]) -> list[int]:
        """All classes that terms of some classes use, those too, each after what it uses where there is no circle."""
        done: dict[int, None] = {}
        opened: set[int] = set()
        waiting = [(self.find(x), False) for x in reversed(list(roots))]
        while waiting:
            number, closes = waiting.pop()
            if closes:
                done[number] = None
                continue
            if number in opened:
                continue
            opened.add(number)
            waiting.append((number, True))
            waiting += [(self.find(y), False) for x in reversed(self.nodes(number)) for y in reversed(self.operands(x))]
        return list(done)

    def _canonical(self, node: ENode) -> ENode:
        parent = self._parent
        if all(parent[x] == x for x in node.children):
            return node
        return ENode(node.op, tuple([self.find(x) for x in node.children]))
