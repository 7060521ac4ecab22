"""Loops that pack what they keep in C: lanes that are kept are moved together, and stored under a mask."""
