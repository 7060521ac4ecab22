"""A raised kernel as text that other tools read: NumPy, einsum, calls of a BLAS, MLIR, JSON."""
