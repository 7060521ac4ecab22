"""Measurements: every number that this project claims is printed by a module of this package."""
