"""Scalar-vector vectorisation of small kernels by equality saturation: an e-graph of scalars and vectors, and what of
it takes the fewest cycles."""
