"""Packets from streams: dependences, list and modulo scheduling, loops unrolled into packets, registers allocated."""

from planish.vliw.pack.packing import pack
from planish.vliw.pack.reports import LoopReport, Packed, PackOptions

__all__ = ["LoopReport", "PackOptions", "Packed", "pack"]
