"""Kernels as text for other tools: C functions, drop-in replacements of the user's files, headers."""
