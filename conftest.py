"""Modules that import an optional package are collected only where it is installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("ortools") else ["src/planish/vliw/pack/modulo/exact_model.py"]
