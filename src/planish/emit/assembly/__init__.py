"""Packets as functions that C calls, in the assembly of a VLIW machine."""
