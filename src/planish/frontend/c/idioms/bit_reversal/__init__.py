"""Loops that permute elements by their numbers with the digits in reverse order."""
