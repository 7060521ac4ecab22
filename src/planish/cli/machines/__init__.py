"""VLIW machines on the command line: programs packed, run and traced, and C files built for a machine."""
