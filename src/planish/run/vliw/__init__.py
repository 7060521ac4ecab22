"""Machines with VLIW packets simulated by generated C."""
