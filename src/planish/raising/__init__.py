"""Raising: nests are named by what they compute, improved as algebra, and lowered again."""
