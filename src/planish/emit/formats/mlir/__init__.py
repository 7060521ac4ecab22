"""Raised kernels as MLIR: linalg, affine and arith operations."""
