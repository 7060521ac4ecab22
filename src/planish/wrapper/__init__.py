"""The compiler wrapper: the user's compiler runs as given, and objects with faster nests take its results' place."""
