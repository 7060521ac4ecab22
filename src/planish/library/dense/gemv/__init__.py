"""Register-blocked matrix-vector products (GEMV): several rows at a time."""
