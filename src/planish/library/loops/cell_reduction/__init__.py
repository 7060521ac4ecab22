"""Reductions of scalar cells that are more than sums: the place of an extremum, the last match, affine recurrences."""
