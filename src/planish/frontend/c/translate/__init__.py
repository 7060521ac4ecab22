"""C statements, expressions and loops become nests: induction variables, trip counts, subscripts."""
