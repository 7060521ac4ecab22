"""Loops that adapt weights, by blocks of iterations that look ahead to what their updates will add to each other."""
