"""Strategies for convolutions."""
