"""Discrete Fourier transforms as Stockham passes over straight-line butterflies."""
