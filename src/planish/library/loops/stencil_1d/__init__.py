"""Repeated 1-D stencil sweeps, lane-segmented (dimension-lifted): each lane has a segment of the line."""
