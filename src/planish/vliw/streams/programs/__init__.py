"""Loops over lanes by programs of selected instructions."""
