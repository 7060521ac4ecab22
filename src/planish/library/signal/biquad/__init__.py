"""Cascades: stages through which each sample goes, a stage in each lane."""
