"""The commands `tune` and `trials`."""
