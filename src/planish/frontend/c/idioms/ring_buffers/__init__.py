"""Loops over ring buffers."""
