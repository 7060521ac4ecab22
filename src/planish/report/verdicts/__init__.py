"""What a reader is told first: the verdict on a function, and advice after a build."""
