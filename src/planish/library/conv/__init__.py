"""Convolutions: Winograd, packed low-precision (VNNI) and widened operands."""
