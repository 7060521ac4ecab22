"""Loops with early exits: whether an iteration leaves, as one condition that is tested in lanes."""
