"""Instruction selection by synthesis: the lanes of a scheduled nest covered with instructions of the learnt library."""
