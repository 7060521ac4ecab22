"""What raising finds in the corpus, whether it computes the same, and what it costs."""
