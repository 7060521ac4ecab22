"""All searches by name, and which one is taken where the user names none.

>>> list(SEARCHES)
['exhaustive', 'random', 'evolutionary', 'model', 'tpe']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.tuning.searches.evolutionary import EvolutionarySearch
from planish.tuning.searches.exhaustive import ExhaustiveSearch
from planish.tuning.searches.model_guided import ModelGuidedSearch
from planish.tuning.searches.random_search import RandomSearch
from planish.tuning.searches.search import TuningSearch
from planish.tuning.spaces.search_space import SearchSpace

FEW = 64
"""Points that are all tried."""


def make_tpe(space: SearchSpace, seed: int = 1) -> TuningSearch:
    """The search by tree-structured Parzen estimators of Optuna; PlanishError E0928 where that is not here."""
    try:
        found = import_module("planish.tuning.searches.tpe")
    except ImportError as error:
        if not (error.name or "").startswith("optuna"):
            raise
        raise PlanishError(Diagnostic("E0928", "Optuna is not installed, which the search `tpe` needs")) from error
    made: TuningSearch = found.TpeSearch(space, seed)
    return made


SEARCHES: Mapping[str, Callable[[SearchSpace, int], TuningSearch]] = {
    "exhaustive": ExhaustiveSearch,
    "random": RandomSearch,
    "evolutionary": EvolutionarySearch,
    "model": ModelGuidedSearch,
    "tpe": make_tpe,
}


def make_search(name: str, space: SearchSpace, seed: int) -> TuningSearch:
    """The search of that name; "auto": exhaustive in small spaces, and guided by a model in others."""
    if name == "auto":
        size = space.size()
        name = "exhaustive" if size.points <= FEW else "model"
    return SEARCHES[name](space, seed)
