"""The command `planish`.

>>> main(["--version"])
planish 0.1.0
0
"""

from planish.cli.entry import main

__all__ = ["main"]
