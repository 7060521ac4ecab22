"""The clock: interleaved, pinned timing of contestants."""
