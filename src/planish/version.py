"""The version of Planish, in one place.

>>> VERSION.count(".")
2
"""

VERSION = "0.1.0"
