"""The static control part of a kernel: iteration domains, access relations, dependences, footprints."""
