"""Kernels made from their definitions by scheduling steps only: GEMM, FFT, convolution, transposition."""
