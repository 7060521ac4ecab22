"""Strategies for signal processing: filters, transforms, permutations."""
