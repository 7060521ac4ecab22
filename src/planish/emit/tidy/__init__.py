"""Text of functions as people write it: no braces, declarations or names that C does not need."""
