"""LMS adaptive filters by blocks: look-ahead over several weight updates."""
