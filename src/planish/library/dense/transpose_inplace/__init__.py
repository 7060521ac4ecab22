"""In-place transposition of square matrices."""
