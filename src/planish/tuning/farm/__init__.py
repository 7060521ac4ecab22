"""Tuning on many processes and machines: one coordinator, and farms that do its pieces of work."""
