"""Loops with early exits in C: the iteration that leaves is searched for in lanes."""
