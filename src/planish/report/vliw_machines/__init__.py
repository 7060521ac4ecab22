"""VLIW machines as tables: machines, packets over time, studies of parameters."""
