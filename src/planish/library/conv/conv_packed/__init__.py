"""Convolutions of narrow numbers: channels and weights are woven, so that groups lie together, and summed in place."""
