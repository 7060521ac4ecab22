"""Random schedule trees from a seed: every kind of node, domains with strides and pieces, bands of all shapes.

>>> make_tree(1).schedule.get_root().get_type() == isl.schedule_node_type.domain
True
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import islpy as isl

from planish.poly.isl.to_list import list_sets

LETTERS = "ijk"


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A schedule with the values of n and m that its context allows, and which were picked for it."""

    seed: int
    schedule: isl.Schedule
    sizes: tuple[dict[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Space:
    name: str
    dims: int

    @property
    def tuple(self) -> str:
        return f"{self.name}[{', '.join(LETTERS[: self.dims])}]"


def make_tree(seed: int) -> Tree:
    """The tree of a seed."""
    rng = random.Random(seed)
    spaces = [_Space(name, rng.choice((0, 1, 1, 2, 2, 3))) for name in ("S", "T", "U")[: rng.choice((1, 1, 2, 2, 3))]]
    context = rng.choice(("", "", "n >= 1", "n >= m", "n mod 2 = 0", "n = 4", "m >= 2 and n >= 3"))
    sizes = []
    allowed = isl.Set(f"[n, m] -> {{ : {context or '1 = 1'} }}")
    for n, m in ((0, 0), (1, 2), (4, 1), (5, 3), (4, 6), (8, 2)):
        here = isl.Set(f"[n, m] -> {{ : n = {n} and m = {m} }}")
        if here.is_subset(allowed):
            sizes.append({"n": n, "m": m})
    domain = isl.UnionSet("[n, m] -> { " + "; ".join(_domain(s, rng) for s in spaces) + " }")
    grower = _Grower(rng)
    node = isl.Schedule.from_domain(domain).get_root().get_child(0)
    schedule = grower.grow(node, rng.choice((2, 3, 4))).get_schedule()
    if rng.random() < 0.15 and not domain.is_empty():
        schedule = _expanded(schedule, rng)
    if rng.random() < 0.15:
        schedule = _extended(schedule, rng)
    if context:
        top = schedule.get_root().get_child(0)
        schedule = top.insert_context(isl.Set(f"[n, m] -> {{ [] : {context} }}")).get_schedule()
    rng.shuffle(sizes)
    if rng.random() < 0.4:
        schedule = _isolated(schedule.get_root(), rng).get_schedule()
    return Tree(seed, schedule, tuple(sizes[:3]))


def _domain(space: _Space, rng: random.Random) -> str:
    pieces = [_piece(space, rng) for _ in range(rng.choice((1, 1, 1, 2)))]
    return "; ".join(f"{space.tuple} : {p}" for p in pieces)


def _piece(space: _Space, rng: random.Random) -> str:
    parts = []
    for d in range(space.dims):
        x = LETTERS[d]
        outer = LETTERS[rng.randrange(d)] if d else "0"
        low = rng.choice(("0", "0", "0", "1", "-2", outer, f"{outer} - 1", "m", "n - 4"))
        high = rng.choice(("n", "n", "n + 1", "m", f"{outer} + 2", "5", "7", "n - m", f"min(n, {outer} + 3)", "m + 3"))
        parts.append(f"{low} <= {x} <= {high}")
        roll = rng.random()
        if roll < 0.2:
            parts.append(f"({x} + {rng.randint(0, 2)}) mod {rng.choice((2, 3))} = {rng.choice((0, 1))}")
        elif roll < 0.3:
            parts.append(f"(exists a : {x} + {rng.choice(('n', 'm', outer))} = {rng.choice((2, 3))}*a)")
        elif roll < 0.4:
            parts.append(f"{rng.choice((2, 3))}*{x} <= {rng.choice(('n', 'm + 4', '9'))}")
        elif roll < 0.45:
            parts.append(f"{x} = {rng.choice((outer, 'n', 'm', '2'))}")
        elif roll < 0.5:
            parts.append(f"(exists a : {x} - 1 <= 3*a <= {x})")
        # Every dimension keeps a bound of its own.
        parts.append(f"-3 <= {x} <= 12")
    if rng.random() < 0.2:
        parts.append(rng.choice(("n >= 2", "m >= 1", "n > m", "n mod 2 = 0", "n != m", "m = 2")))
    return " and ".join(parts) or "1 = 1"


class _Grower:
    """Adds nodes below a leaf."""

    __slots__ = ("_rng",)

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def grow(self, node: isl.ScheduleNode, depth: int) -> isl.ScheduleNode:
        """A random subtree in place of a leaf; returns its root."""
        rng = self._rng
        domain = node.get_domain()
        if depth == 0 or domain.is_empty():
            return node
        kinds = ("band", "band", "band", "sequence", "sequence", "set", "mark", "guard")
        match rng.choice(kinds):
            case "band":
                node = node.insert_partial_schedule(self._band(domain))
                for m in range(node.band_n_member()):
                    types = isl.ast_loop_type
                    picks = (types.default, types.default, types.separate, types.atomic, types.unroll)
                    node = node.band_member_set_ast_loop_type(m, rng.choice(picks))
                return self.grow(node.get_child(0), depth - 1).parent()
            case "mark":
                return self.grow(node.insert_mark(isl.Id("note")).get_child(0), depth - 1).parent()
            case "guard":
                outer = node.get_schedule_depth()
                dims = ", ".join(f"c{i}" for i in range(outer))
                tests = ["n >= 2", "m <= 3", "n mod 2 = 0"] + [f"c{i} >= 1" for i in range(outer)]
                node = node.insert_guard(isl.Set(f"[n, m] -> {{ [{dims}] : {rng.choice(tests)} }}"))
                return self.grow(node.get_child(0), depth - 1).parent()
            case _ as kind:
                return self._split(node, domain, kind, depth)

    def _band(self, domain: isl.UnionSet) -> isl.MultiUnionPwAff:
        members = []
        for _ in range(self._rng.choice((1, 1, 2))):
            parts = [self._row(s) for s in list_sets(domain)]
            members.append("{ " + "; ".join(parts) + " }")
        return isl.MultiUnionPwAff("[n, m] -> [" + ", ".join(members) + "]")

    def _row(self, domain: isl.Set) -> str:
        rng = self._rng
        dims = domain.dim(isl.dim_type.set)
        names = list(LETTERS[:dims])
        head = f"{domain.get_tuple_name()}[{', '.join(names)}] -> "
        if not names or rng.random() < 0.1:
            return f"{head}[({rng.choice(('0', '1', 'n', 'm', '2n'))})]"
        text = rng.choice(names)
        roll = rng.random()
        if roll < 0.15:
            text = f"-{text}"
        elif roll < 0.3:
            text = f"2{text}" if rng.random() < 0.5 else f"3{text} + 1"
        if rng.random() < 0.3:
            text += rng.choice((" + ", " - ", " + 2")) + rng.choice(names)
        if rng.random() < 0.2:
            text += rng.choice((" + 1", " - 1", " + n", " - m"))
        roll = rng.random()
        if roll < 0.2:
            size = rng.choice((2, 3, 4))
            text = f"{rng.choice((1, size))}*floor(({text})/{size})"
        elif roll < 0.3:
            text = f"({text}) mod {rng.choice((2, 3))}"
        return f"{head}[({text})]"

    def _split(self, node: isl.ScheduleNode, domain: isl.UnionSet, kind: str, depth: int) -> isl.ScheduleNode:
        """A sequence or set whose filters share out the statements, and sometimes the instances of one."""
        rng = self._rng
        parent: object = node.parent().get_type()
        if parent in (isl.schedule_node_type.sequence, isl.schedule_node_type.set):
            return node
        parts: list[isl.UnionSet] = []
        for s in list_sets(domain):
            whole = isl.UnionSet.from_set(s)
            if s.dim(isl.dim_type.set) and rng.random() < 0.5:
                d = rng.randrange(s.dim(isl.dim_type.set))
                cut = isl.UnionSet.from_set(s.upper_bound_val(isl.dim_type.set, d, isl.Val(rng.randint(0, 3))))
                parts += [x for x in (cut, whole.subtract(cut)) if not x.is_empty()]
            else:
                parts.append(whole)
        rng.shuffle(parts)
        while len(parts) > 3 or (len(parts) > 1 and rng.random() < 0.2):
            parts[0] = parts[0].union(parts.pop())
        filters = isl.UnionSetList.alloc(node.get_ctx(), len(parts))
        for p in parts:
            filters = filters.add(p)
        node = node.insert_sequence(filters) if kind == "sequence" else node.insert_set(filters)
        for i in range(node.n_children()):
            node = self.grow(node.get_child(i).get_child(0), depth - 1).ancestor(2)
        return node


def _expanded(schedule: isl.Schedule, rng: random.Random) -> isl.Schedule:
    """Each instance stands for a group of up to three others of another name, sometimes in an order of their own."""
    maps, rows = [], []
    for s in list_sets(schedule.get_domain()):
        names = list(LETTERS[: s.dim(isl.dim_type.set)])
        old, new = s.get_tuple_name(), "X" + s.get_tuple_name()
        left = f"{new}[{', '.join([*names, 'z'])}]"
        maps.append(f"{left} -> {old}[{', '.join(names)}] : 0 <= z <= {rng.choice((0, 1, 2))}")
        rows.append(f"{left} -> [(-z)]")
    contraction = isl.UnionMap("{ " + "; ".join(maps) + " }").intersect_range(schedule.get_domain())
    function = isl.UnionPwMultiAff("{ " + "; ".join(m.split(" : ")[0] for m in maps) + " }")
    inner = isl.Schedule.from_domain(contraction.domain())
    if rng.random() < 0.5:
        inner = inner.insert_partial_schedule(isl.MultiUnionPwAff("[{ " + "; ".join(rows) + " }]"))
    return schedule.expand(function, inner)


def _isolated(node: isl.ScheduleNode, rng: random.Random) -> isl.ScheduleNode:
    """The tree with a part of some bands isolated: bounded on one side or both, one value, on a stride, or none."""
    kind: object = node.get_type()
    if kind == isl.schedule_node_type.band and rng.random() < 0.6:
        outer = [f"o{i}" for i in range(node.get_schedule_depth())]
        members = [f"x{i}" for i in range(node.band_n_member())]
        tests = [rng.choice(("n >= 3", "m <= 4", "1 = 1", "1 = 1"))]
        for x in members:
            end = rng.choice((*outer, "n", "m", "0", "3", "n - 3", "4"))
            tests += rng.sample((f"{x} >= {end}", f"{x} <= {end} + 2", f"{x} = {end}", f"2{x} <= n", f"{x} >= 1"), 2)
            tests += [f"{x} mod {rng.choice((2, 3))} = 0"] * (rng.random() < 0.2)
        part = f"isolate[[{', '.join(outer)}] -> [{', '.join(members)}]] : {' and '.join(tests)}"
        options = node.band_get_ast_build_options().union(isl.UnionSet(f"[n, m] -> {{ {part} }}"))
        node = node.band_set_ast_build_options(options)
    for i in range(node.n_children()):
        node = _isolated(node.get_child(i), rng).parent()
    return node


def _places(node: isl.ScheduleNode, path: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    types = isl.schedule_node_type
    kind: object = node.get_type()
    out = [path] if kind in (types.band, types.leaf, types.mark) and path else []
    for i in range(node.n_children()):
        out += _places(node.get_child(i), (*path, i))
    return out


def _extended(schedule: isl.Schedule, rng: random.Random) -> isl.Schedule:
    """Instances of a new statement before or after some part of the tree."""
    node = schedule.get_root()
    for i in rng.choice(_places(node)):
        node = node.get_child(i)
    outer = node.get_schedule_depth()
    dims = ", ".join(f"c{i}" for i in range(outer))
    test = rng.choice(("0 <= i <= 2", "0 <= i < n", "i = m"))
    extra = f" and c{outer - 1} >= 1" if outer and rng.random() < 0.3 else ""
    graft = isl.ScheduleNode.from_extension(isl.UnionMap(f"[n, m] -> {{ [{dims}] -> E[i] : {test}{extra} }}"))
    return (node.graft_before(graft) if rng.random() < 0.5 else node.graft_after(graft)).get_schedule()
