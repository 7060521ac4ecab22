"""The trial store: every trial is kept as soon as it is done, in one file of SQLite."""
