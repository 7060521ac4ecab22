"""From loop nests to linear streams of a machine's operations: scalar ones, and ones over lanes in register tiles."""
