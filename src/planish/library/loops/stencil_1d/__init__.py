"""Repeated sweeps over a line, of which each lane has a segment."""
