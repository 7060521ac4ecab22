"""Several stages of a fast transform at a time."""
