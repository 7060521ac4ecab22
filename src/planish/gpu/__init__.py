"""Devices: nests that are mapped to blocks and threads become launches, with barriers where threads need them."""
