"""Modulo scheduling of innermost loops: schedules, exact ones, registers that take turns, expansion into packets."""
