"""Algebra on raised operations: matrix chains, transposes, common products, contractions by matrix products."""
