"""One point of a nest: made and verified in one step, timed in another, in any process that has the file's text."""
