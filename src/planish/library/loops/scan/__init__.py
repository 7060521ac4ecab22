"""Scans in vector lanes: max-plus recurrences, affine gaps, prefix sums."""
