"""Instructions that do the same but for numbers, found among all architectures."""
