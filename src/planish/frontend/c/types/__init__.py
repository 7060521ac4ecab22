"""C types: declarations, records, type names, prototypes, constants."""
