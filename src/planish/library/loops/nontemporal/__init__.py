"""Results that are written past the caches: rows of memory that nothing reads again."""
