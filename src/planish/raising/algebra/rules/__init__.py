"""Rewrite rules on operations: im2col, CSE, DCE, matrix chains, TTGT, view forwarding."""
