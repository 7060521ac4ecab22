"""Raised kernels as calls of a BLAS."""
