"""Commands that list what Planish knows: machines, strategies, tactics."""
