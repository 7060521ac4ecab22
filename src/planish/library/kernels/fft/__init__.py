"""Discrete Fourier transforms in passes over butterflies, which are straight-line code."""
