"""Loops cut into strips of vectors, several rows at a time, whose instructions are selected."""
