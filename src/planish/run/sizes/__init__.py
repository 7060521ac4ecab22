"""Which sizes and values a function is called with, to check and to time it."""
