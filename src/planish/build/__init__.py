"""How a file is built: read, plan, lower, emit, verify, time, assemble; a module for each pass."""
