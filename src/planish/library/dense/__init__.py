"""Dense linear algebra: GEMV, triangular solves, blocked LU, QR and Gram-Schmidt, in-place transposition."""
