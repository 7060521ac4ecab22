"""An entry gets its definition, or the reason why it has none.

>>> from planish.isa.entry import IntrinsicSignature
>>> def refuse() -> Definition: raise Unreadable("nobody knows")
>>> with_definition(Entry("_f", "toy", IntrinsicSignature("int", ())), re.compile("_f"), refuse).reason
'nobody knows'
"""

from __future__ import annotations

import re
from collections.abc import Callable

from planish.core.diagnostic import PlanishError
from planish.isa.entry import Entry
from planish.isa.semantics.definition import Definition
from planish.isa.semantics.text import checked_text
from planish.isa.vendors.symbolic_state import Unreadable


def with_definition(entry: Entry, names: re.Pattern[str], make: Callable[[], Definition]) -> Entry:
    """The entry with the definition that `make` gives, not proven; refused with a reason where there is none, or where
    its name, which becomes part of programs, is none of `names`."""
    try:
        return entry.defined(checked_text(entry.name, make(), names))
    except Unreadable as error:
        return entry.judged("refused", str(error))
    except PlanishError as error:
        return entry.judged("refused", error.diagnostic.message)
