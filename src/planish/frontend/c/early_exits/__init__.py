"""Loops that an iteration may leave: what is searched for, and how they go on."""
