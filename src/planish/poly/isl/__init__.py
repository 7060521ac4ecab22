"""Thin helpers around isl: conversions to and from the IR, timeouts, operation budgets, samples, pickles."""
