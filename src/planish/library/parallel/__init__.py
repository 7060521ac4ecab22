"""Threads: parallel chunks of loops, work-sharing, split reductions, wavefronts."""
