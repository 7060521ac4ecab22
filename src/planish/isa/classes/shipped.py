"""The classes of all instructions that come with Planish.

>>> next(x for x in shipped_classes() if x.name == "add_saturate").isas()["hvx"] > 0
True
"""

from __future__ import annotations

from functools import cache

from planish.isa.classes.operation_classes import Class, find_classes
from planish.isa.collection import collection_names, load_collection


@cache
def shipped_classes() -> tuple[Class, ...]:
    """All of them; it takes some seconds once."""
    return find_classes(x for name in collection_names() for x in load_collection(name))
