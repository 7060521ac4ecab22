"""Hexagon's vector instructions, from the semantics in C that stand in QEMU's source."""
