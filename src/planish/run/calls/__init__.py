"""How a function is called: signature, arguments, ABI wrapper, guarded buffers."""
