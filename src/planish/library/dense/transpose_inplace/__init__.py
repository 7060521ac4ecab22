"""Square matrices that are transposed where they are."""
