"""Recognised idioms: factorisations, rank-one updates, histograms."""
