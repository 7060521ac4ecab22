"""Low-precision convolutions with packed (VNNI) operands, accumulated in place."""
