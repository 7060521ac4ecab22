"""The language in which an instruction is defined: whole numbers, bits of registers, and nests over lanes."""
