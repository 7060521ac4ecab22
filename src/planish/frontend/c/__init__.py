"""From a C file to kernels."""
