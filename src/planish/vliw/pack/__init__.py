"""Packets from streams: dependences, list and modulo scheduling, loops unrolled into packets, registers allocated."""

from planish.vliw.pack.packing import LoopReport, Packed, PackOptions, pack

__all__ = ["LoopReport", "PackOptions", "Packed", "pack"]
