"""What races are run against: libraries, other compilers, the same programs as calls of a BLAS."""
