"""Searches: each suggests points of a space, and hears what came of them."""
