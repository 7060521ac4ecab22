"""Strategies for several threads."""
