"""Arm's description of its intrinsics: read, decoded and run on unknown operands."""
