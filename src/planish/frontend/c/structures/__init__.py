"""Structures that are copied, and given to functions, as their members; addresses that are elements."""
