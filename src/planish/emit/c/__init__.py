"""Kernels as C: functions, expressions, local arrays, pragmas, the prologue."""
