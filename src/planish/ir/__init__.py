"""The loop-nest language: types, expressions, nests and kernels; its text form, checker and interpreter."""
