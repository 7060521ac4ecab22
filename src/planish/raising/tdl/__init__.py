"""The Tactics Description Language: what to look for in loop nests, and what to put in its place."""
