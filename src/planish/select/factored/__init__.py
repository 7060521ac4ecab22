"""Instructions factored into lane functions and access maps: how these are found, kept in files and read."""
