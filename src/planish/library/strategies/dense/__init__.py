"""Strategies for linear algebra."""
