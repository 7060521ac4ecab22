"""Index arithmetic: normal forms, intervals, congruences and value ranges of integer expressions."""
