"""A text of tactics to tactics, checked; and the tactics that come with Planish.

>>> text = "def twice { pattern y(i) = 2 * x(i) example { } counterexample { } }"
>>> read_tactics(Source("t.tdl", text))[0].operation.inputs
('x',)
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.raising.tdl.builders import build
from planish.raising.tdl.parser import parse_definitions
from planish.raising.tdl.patterns import operation_of, scope_in
from planish.raising.tdl.syntax import TacticDefinition
from planish.raising.tdl.tactic import Tactic, count_operations
from planish.raising.tdl.values import conditions_of, size_of


@cache
def load_tactics() -> tuple[Tactic, ...]:
    """The tactics that come with Planish, in the order of their files."""
    folder = files("planish.raising").joinpath("tactics")
    names = sorted(x.name for x in folder.iterdir() if x.name.endswith(".tdl"))
    out: tuple[Tactic, ...] = ()
    for name in names:
        out += read_tactics(Source(name, folder.joinpath(name).read_text("utf-8")), out)
    return out


@cache
def tactics_by_name() -> dict[str, Tactic]:
    """The tactics that come with Planish, each under its name, which is its operation's as well."""
    return {x.name: x for x in load_tactics()}


def read_tactics(source: Source, known: tuple[Tactic, ...] = ()) -> tuple[Tactic, ...]:
    """The tactics of a file, each variant on its own; builders may use those that are `known`, and those before them.

    PlanishError with a place: E0810 and E0811 for what cannot be read, E0812 for a name that is there twice, E0813 to
    E0825 and E0831, E0832 for what means nothing, E0401 to E0416 for a nest.
    """
    out: list[Tactic] = []
    for definition in parse_definitions(source):
        others = {x.name: x for x in (*known, *out)}
        if definition.name in others:
            message, advice = f"the tactic `{definition.name}` is there already", "give it another name"
            raise PlanishError(Diagnostic("E0812", message, definition.span, advice), source)
        out.append(_tactic(definition, others, source))
    return tuple(out)


def _tactic(definition: TacticDefinition, others: Mapping[str, Tactic], source: Source) -> Tactic:
    """One tactic, checked."""
    for what, found in (("example", definition.examples), ("counterexample", definition.counterexamples)):
        if not found:
            message = f"the tactic `{definition.family}` has no {what}"
            advice = f"write `{what} {{ … }}` with a function in C that it " + (
                "applies to" if what == "example" else "must not apply to, although it looks alike"
            )
            raise PlanishError(Diagnostic("E0820", message, definition.span, advice), source)
    operation = operation_of(definition, source)
    operations = {name: x.operation for name, x in others.items()}
    builders = tuple(build(definition, operation, steps, operations, source) for steps in definition.builders)
    scope = scope_in(definition, operation.definition.sizes, source)
    guards = tuple(x for chain in definition.guards for x in conditions_of(chain, scope, sizes=True))
    counted = count_operations(operation.definition.body)
    cost = counted if definition.cost is None else size_of(definition.cost, scope)
    return Tactic(
        definition.name, definition.family, definition.summary, operation, builders, guards, cost,
        definition.examples, definition.counterexamples, definition, source,
    )  # fmt: skip
