"""Guards against regressions: the planned versions, build time and memory, reported beside measured speedups."""
