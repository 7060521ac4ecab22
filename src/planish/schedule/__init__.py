"""The schedule of a nest: a language of checked rewriting steps, and the automatic schedule where nobody wrote one."""
