"""Loop coalescing: rows of few columns as one loop, with the operands that recur in every row as whole vectors."""
