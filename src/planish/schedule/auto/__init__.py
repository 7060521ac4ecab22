"""Automatic scheduling: the isl scheduler, tiling, vector lanes, registers; every result is checked for legality."""
