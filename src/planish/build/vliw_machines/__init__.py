"""How streams of VLIW machines are built: strips of nests as packets, and runs of these in the simulator."""
