"""Functions of a project's other files: what files define, and what of that another one is read with."""
