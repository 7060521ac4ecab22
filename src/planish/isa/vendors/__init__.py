"""Readers of the vendors' specifications: x86, Arm, Hexagon's HVX and SVE, each run symbolically."""
