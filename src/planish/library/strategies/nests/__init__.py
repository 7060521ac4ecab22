"""Strategies for any nest: schedules, registers, sizes, stores."""
