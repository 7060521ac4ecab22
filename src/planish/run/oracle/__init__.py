"""The oracle: candidate and reference run side by side, and all that they leave is compared."""
