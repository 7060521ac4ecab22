"""C as text: preprocessing, tokens, the parser, source extents, attributes."""
