"""Choices that are made by measuring them on this machine."""
