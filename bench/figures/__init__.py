"""Figures of stored results, as SVG."""
