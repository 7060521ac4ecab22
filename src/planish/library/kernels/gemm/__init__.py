"""Matrix products (GEMM): register-tiled micro-kernels and the loops around them."""
