"""Biquad cascades (second-order sections), pipelined across vector lanes."""
