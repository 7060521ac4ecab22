"""Loops over ring buffers, and subscripts that go around a ring."""
