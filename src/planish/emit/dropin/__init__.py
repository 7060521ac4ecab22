"""The file around the kernels: the patched source, its header, multiversion dispatch, replacement calls."""
