"""Modules that import an optional package are collected only where it is installed."""

from importlib.util import find_spec

_OPTIONAL = {"ortools": "src/planish/vliw/pack/modulo/exact_model.py", "optuna": "src/planish/tuning/searches/tpe.py"}

collect_ignore = [module for package, module in _OPTIONAL.items() if find_spec(package) is None]
