"""Races of drop-ins against compilers and libraries: PolyBench, DSP functions, dense algebra, streams, transforms."""
