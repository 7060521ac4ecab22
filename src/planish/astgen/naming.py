"""Names for generated loops that recall the user's own: `i`, and `it` for the loop over tiles of i.

>>> import islpy as isl
>>> loop_hint(isl.UnionPwAff("{ S[i, j] -> [(floor((i)/32))] }"))
'it'
"""

from __future__ import annotations

import re

import islpy as isl

from planish.poly.isl.affine import source_name

_WORD = re.compile(r"[A-Za-z_]\w*")


def loop_hint(partial: isl.UnionPwAff) -> str:
    """A name for the loop over the values of one band member: the iterators in it, `t` added for tiles."""
    if partial.domain().is_empty():
        return "c"
    text = str(partial)
    match = re.search(r"\[([^\]]*)\] -> \[\((.*?)\)\](?: :|;| })", text[text.index("{") :])
    if match is None:
        return "c"
    iterators = {x.strip() for x in match.group(1).split(",")}
    used = [w for w in dict.fromkeys(_WORD.findall(match.group(2))) if w in iterators]
    name = "".join(source_name(w) for w in used) or "c"
    return name + "t" if "floor" in match.group(2) else name
