"""Raised kernels as NumPy and einsum."""
