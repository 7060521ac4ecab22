"""Modulo schedules by constraint programming (OR-tools CP-SAT); importing it needs the extra `exact`.

The model: operation i is issued in cycle II * stage + row; each row takes of every union of units as many operations as
it has units (Hall: then there is a choice for each), and those that keep a unit for longer choose one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ortools.sat.python import cp_model

from planish.vliw.pack.bounds import unions
from planish.vliw.pack.modulo.iterative import LoopBody
from planish.vliw.pack.modulo.lifetimes import span
from planish.vliw.pack.modulo.lifetimes import total as sum_of_lifetimes

Outcome = Literal["found", "none", "unknown"]


@dataclass(frozen=True, slots=True)
class ExactSolution:
    """What the solver says of an interval: a schedule with all lifetimes in sum (`least`: no schedule has less), that
    there is none, or that the limit was too short."""

    outcome: Outcome
    cycles: tuple[int, ...] = ()
    lifetimes: int = 0
    least: int = 0


def solve(
    body: LoopBody, interval: int, limit: float, hint: Sequence[int] | None = None, shorten: bool = False
) -> ExactSolution:
    """A schedule of that interval. `limit`: the solver's deterministic seconds; `hint`: a schedule to start from;
    `shorten`: the sum of lifetimes is made small."""
    model = cp_model.CpModel()
    # Shorter lifetimes are looked for among schedules that are hardly longer than the one there is.
    stages = max(hint) // interval + 1 if shorten and hint else _stages(body, interval)
    maker = _Model(body, interval, model, stages)
    maker.dependences()
    maker.units()
    maker.ports()
    total = maker.lifetimes(hint) if shorten else None
    if hint is not None:
        maker.hint(hint)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = limit
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return ExactSolution("none")
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return ExactSolution("unknown")
    cycles = tuple(solver.value(x) for x in maker.cycles)
    if total is None:
        return ExactSolution("found", cycles)
    return ExactSolution("found", cycles, round(solver.objective_value), round(solver.best_objective_bound))


class _Model:
    """The variables of a schedule: `rows[i][r]` is true where operation i is in row r."""

    def __init__(self, body: LoopBody, interval: int, model: cp_model.CpModel, stages: int) -> None:
        self.body, self.interval, self.model = body, interval, model
        self.rows: list[list[cp_model.IntVar]] = []
        self.cycles: list[cp_model.IntVar] = []
        self.stages: list[cp_model.IntVar] = []
        for i in range(len(body.nodes)):
            row = [model.new_bool_var(f"r{i},{r}") for r in range(interval)]
            model.add_exactly_one(row)
            stage = model.new_int_var(0, stages, f"k{i}")
            cycle = model.new_int_var(0, (stages + 1) * interval, f"t{i}")
            model.add(cycle == interval * stage + sum(r * x for r, x in enumerate(row)))
            self.rows.append(row)
            self.cycles.append(cycle)
            self.stages.append(stage)

    def dependences(self) -> None:
        for edge in self.body.edges:
            if edge.first != edge.second:
                first, second = self.cycles[edge.first], self.cycles[edge.second]
                self.model.add(second - first >= edge.delay - self.interval * edge.distance)

    def units(self) -> None:
        nodes, machine = self.body.nodes, self.body.machine
        side = {x.name: x.side for x in machine.units}
        slow = {unit for x in nodes if x.busy > 1 for unit in x.units}
        for group in unions(frozenset(x.units) for x in nodes):
            inside = [i for i, x in enumerate(nodes) if group >= set(x.units)]
            for r in range(self.interval):
                held = [self._row(i, r - back) for i in inside for back in range(nodes[i].busy)]
                self.model.add(sum(held) <= len(group))
        for sides in unions(frozenset(side[y] for y in x.units) for x in nodes):
            inside = [i for i, x in enumerate(nodes) if all(side[y] in sides for y in x.units)]
            for r in range(self.interval):
                slots = sum(machine.sides[x] for x in sides)
                self.model.add(sum(self._row(i, r) for i in inside) <= slots)
        self._choices(slow)

    def _choices(self, slow: set[str]) -> None:
        """Which unit an operation has, where some are kept for longer than a cycle."""
        nodes = self.body.nodes
        held: dict[tuple[str, int], list[cp_model.IntVar]] = {}
        for i, node in enumerate(nodes):
            if not slow & set(node.units):
                continue
            choice = {unit: self.model.new_bool_var(f"u{i},{unit}") for unit in node.units}
            self.model.add_exactly_one(choice.values())
            for unit, chosen in choice.items():
                for r in range(self.interval):
                    both = self.model.new_bool_var(f"z{i},{unit},{r}")
                    self.model.add_bool_or([chosen.negated(), self.rows[i][r].negated(), both])
                    for back in range(node.busy):
                        held.setdefault((unit, (r + back) % self.interval), []).append(both)
        for taken in held.values():
            self.model.add_at_most_one(taken)

    def ports(self) -> None:
        for file in self.body.machine.files:
            for r in range(self.interval):
                read = [self._row(i, r) for i, x in enumerate(self.body.nodes) for y in x.reads if y.file == file.name]
                written = [
                    self._row(i, r - y.latency)
                    for i, x in enumerate(self.body.nodes)
                    for y in x.writes
                    if y.register.file == file.name
                ]
                if file.readers:
                    self.model.add(sum(read) <= file.readers)
                if file.writers:
                    self.model.add(sum(written) <= file.writers)

    def lifetimes(self, hint: Sequence[int] | None) -> cp_model.IntVar:
        """The sum of lifetimes, which is to be small."""
        most = 1 << 20
        spans = []
        for number, value in enumerate(self.body.values):
            start = self.model.new_int_var(0, most, f"s{number}")
            end = self.model.new_int_var(0, most, f"e{number}")
            for i, latency in value.writers:
                self.model.add(start <= self.cycles[i] + latency)
                self.model.add(end >= self.cycles[i] + latency)
            for i, distance in value.readers:
                self.model.add(end >= self.cycles[i] + self.interval * distance)
            if hint is not None:
                first, last = span(value, hint, self.interval)
                self.model.add_hint(start, first)
                self.model.add_hint(end, last)
            spans.append(end - start + 1)
        total = self.model.new_int_var(0, most, "total")
        self.model.add(total == sum(spans))
        if hint is not None:
            self.model.add_hint(total, sum_of_lifetimes(self.body.values, hint, self.interval))
        self.model.minimize(total)
        return total

    def hint(self, cycles: Sequence[int]) -> None:
        for i, cycle in enumerate(cycles):
            self.model.add_hint(self.cycles[i], cycle)
            self.model.add_hint(self.stages[i], cycle // self.interval)
            for r, row in enumerate(self.rows[i]):
                self.model.add_hint(row, r == cycle % self.interval)

    def _row(self, i: int, r: int) -> cp_model.IntVar:
        return self.rows[i][r % self.interval]


def _stages(body: LoopBody, interval: int) -> int:
    """No schedule needs more stages: whatever the rows are, each operation waits for one chain of others."""
    delays = [0] * len(body.nodes)
    for edge in body.edges:
        if edge.first != edge.second:
            delays[edge.first] = max(delays[edge.first], edge.delay)
    return sum(-(-(x + interval - 1) // interval) for x in delays)
