"""Instructions for other programs: definitions as C, a portable header, dialects of LLVM and MLIR."""
