"""Code size against guards: the cost of a nest, isl's nest beside ours, cuts within a size bound."""
