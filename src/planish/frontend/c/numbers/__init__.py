"""Numbers beyond plain arithmetic: complex ones, and what calls of the library give."""
