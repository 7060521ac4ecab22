"""Machines: their descriptions, the loader, and the probe that describes the host."""
