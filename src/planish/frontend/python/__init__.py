"""From a Python function of nested loops to a kernel."""
