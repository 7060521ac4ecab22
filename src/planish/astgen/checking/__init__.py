"""Whether a generated nest runs exactly its schedule: proof for all sizes, or comparison for given ones."""
