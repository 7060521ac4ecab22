"""One file for each strategy: what it matches, what it makes, what that costs."""
