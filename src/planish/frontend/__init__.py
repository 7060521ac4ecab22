"""Readers of source languages: each turns text into kernels."""
