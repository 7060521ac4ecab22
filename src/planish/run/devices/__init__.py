"""Devices that are not here: kernels run in an emulator, or on a device of OpenCL, and compilers say what they take."""
