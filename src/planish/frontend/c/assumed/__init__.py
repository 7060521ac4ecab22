"""What nests rely on, and what is asked where they begin: the original runs where it does not hold."""
