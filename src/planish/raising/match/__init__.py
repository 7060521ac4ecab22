"""Matching nests to operations: by syntax, by meaning, by transform matrices."""
