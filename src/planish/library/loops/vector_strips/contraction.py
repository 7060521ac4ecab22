"""Array contraction: a local array of which each turn of a loop has one element, written before it is read.

What was expanded so that iterations are independent is small again in the nests that stay as they are.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = '''kernel k(n; A: u8[n], B: u8[n]) { alloc t: i32[max(n, 0)] for i in 0 .. n {
...   t[i] = i32(A[i]) + 1:i32 B[i] = u8(t[i] >> 1:i32) } }'''
>>> for x in contract(parse_kernel(text).body).body: print(print_stmt(x), end="")
for i in 0 .. n {
  alloc t: i32[] register
  t[] = i32(A[i]) + 1:i32
  B[i] = u8(t[] >> 1:i32)
}
"""

from __future__ import annotations

from dataclasses import replace

from planish.ir.accesses import accesses
from planish.ir.nest import Alloc, Array, Block, For
from planish.ir.passes.declaration_sinking import exposed
from planish.ir.traverse import arrays_in, loads, variables, walk
from planish.schedule.accesses import use_element


def contract(body: Block) -> Block:
    """A body in which those of its local arrays are scalars of which that is seen."""
    for x in body.body:
        if isinstance(x, Alloc) and x.array.shape:
            made = _contracted(Block(tuple(y for y in body.body if y is not x)), x.array)
            body = body if made is None else made
    return body


def _contracted(block: Block, array: Array, inside: bool = False) -> Block | None:
    """The block with an array as a scalar of the smallest block that has all of its uses; None where it may be none."""
    users = [x for x in block.body if array.name in arrays_in(x)]
    (only,) = users if len(users) == 1 else (None,)
    if isinstance(only, For) and not any(y.array == array.name for e in (only.lower, only.upper) for y in loads(e)):
        made = _contracted(only.body, array, True)
        if made is None:
            return None
        return Block(tuple(replace(x, body=made) if x is only else x for x in block.body))
    places = {y.index for x in users for y in accesses(x) if y.array == array.name}
    counters = {y.var for x in users for y in walk(x) if isinstance(y, For)}
    if not inside or len(places) != 1 or any(counters & variables(x) or loads(x) for x in next(iter(places))):
        return None
    if exposed(block, array.name):
        return None
    scalar = Alloc(Array(array.name, array.type, (), memory="register"))
    return Block((scalar, *use_element(block, array.name, array.name).body))
