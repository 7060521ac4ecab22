"""What is promised, a module for each group of claims: `python bench/claims.py GROUP` prints it."""
