"""Strategies for GPUs: nests bound to blocks and threads."""
