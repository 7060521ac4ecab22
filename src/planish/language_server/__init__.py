"""A language server: editors show what Planish says of loops while they are written."""
