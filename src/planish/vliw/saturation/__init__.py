"""Scalar-vector vectorisation of small kernels by equality saturation: an e-graph of scalars and vectors, and its cheapest
schedule."""
