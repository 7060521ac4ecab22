"""Loops that pack what they keep, `if (…) out[k++] = x[i];`: stream compaction, in C."""
