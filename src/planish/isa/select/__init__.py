"""Instruction selection: nests over lanes become learnt instructions, by the definitions of these alone."""
