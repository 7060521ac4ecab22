"""Matrix products: micro-kernels in registers, and the loops around them."""
