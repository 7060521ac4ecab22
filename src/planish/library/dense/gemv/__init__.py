"""Sums of products along the rows of a matrix: several rows at a time, in registers."""
