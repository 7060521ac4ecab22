"""Packets from streams: dependences, list and modulo scheduling, loops unrolled into packets, registers allocated."""

from planish.vliw.pack.packing import LoopReport, Options, Packed, pack

__all__ = ["LoopReport", "Options", "Packed", "pack"]
