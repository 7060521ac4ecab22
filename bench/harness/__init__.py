"""How things are measured: a race of contestants in turns, suites of programs, stored results, progress."""
