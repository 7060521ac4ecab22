"""Convolutions by few multiplications: tiles of the image and windows are transformed, and multiplied as matrices."""
