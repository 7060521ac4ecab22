"""The matcher: whether a nest equals a definition, by normal forms, unification and recurrence equations."""
