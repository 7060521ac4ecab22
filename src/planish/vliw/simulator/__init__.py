"""Running streams of operations and packets: what they mean, and how many cycles they take."""
