"""One schedule dimension: bounds, ranges, strides, integer divisions, projections."""
