"""Launches in the languages of devices, CUDA, HIP and OpenCL, and the host functions that start them."""
