"""The reference interpreter: what each operation does to a value, and kernels translated to Python."""
