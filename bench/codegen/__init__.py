"""AST generation beside isl's own: what the nests execute, their text, code size, generation time."""
