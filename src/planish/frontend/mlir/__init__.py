"""MLIR text to kernels, with xDSL as the parser."""
