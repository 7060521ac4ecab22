"""Tiles for memories: what of arrays is brought near by block transfers, and when."""
