"""Small rewrites of nests: reduction and update idioms, value numbering (CSE), loop-invariant bounds, vector loops."""
