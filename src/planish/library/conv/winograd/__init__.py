"""Winograd convolutions: transformed tiles and filters, multiplied as matrices."""
