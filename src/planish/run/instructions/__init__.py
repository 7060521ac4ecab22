"""Instructions run on the machine, or on an emulator, beside their definitions."""
