"""Matrix products: micro-kernels beside the peak, whole products beside the libraries of experts."""
