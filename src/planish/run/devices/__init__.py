"""Devices that are not here: kernels of CUDA run in an emulator, and their compiler where there is one."""
