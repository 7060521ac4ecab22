"""Equivalence classes of instructions across ISAs: operations with parameters."""
