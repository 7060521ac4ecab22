"""Loops of which each thread has a portion."""
