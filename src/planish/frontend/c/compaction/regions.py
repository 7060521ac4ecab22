"""The region of a loop that packs what it keeps: a kernel that tells what iterations store, and how the loop goes on.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> loop = "for (int i = 0; i < n; i++) if (x[i] > 0) out[k++] = x[i];"
>>> text = "int pack(int n, const int *x, int *out) { int k = 0; %s return k; }" % loop
>>> (region,) = read_c(Source("pack.c", text)).functions[0].regions
>>> [(x.counter, x.stores[0].address) for x in region.packing.packs], region.packing.loop.first
([('k', 'out + k')], 'int i = 0;')
"""

from __future__ import annotations

from collections.abc import Sequence

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_pointer
from planish.frontend.c.compaction.packed_stores import CountedStores, Loop, with_cells
from planish.frontend.c.early_exits.early_exit import changed_in
from planish.frontend.c.early_exits.exit_regions import Attempt, constant_facts, resume, set_always
from planish.frontend.c.text.extent import Item
from planish.frontend.c.text.lexer import Tokens
from planish.frontend.c.translate.kernels import FinishedKernel
from planish.frontend.c.translate.state import Refused
from planish.frontend.c.translation_unit import Compaction, Pack, PackedStore
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import CArray, CScalar
from planish.ir.nest import Alloc, Assign, For, Reduce
from planish.ir.passes.declaration_sinking import exposed
from planish.ir.traverse import walk
from planish.poly.early_exit.exit_condition import NoExitTest
from planish.poly.idioms.compaction import find_compaction


def find_packing(
    loop: Loop, before: Sequence[c_ast.Node], bound: BoundNames, tokens: Tokens, item: Item, attempt: Attempt
) -> tuple[FinishedKernel, Compaction] | Refused | None:
    """The kernel of a loop that packs what it keeps, behind others of its block, and how the loop goes on; why there is
    none, or None where it packs nothing."""
    made = with_cells(loop, bound)
    if made is None:
        return None
    whole, packs = made
    cells = {y for x in packs for y in (x.keeps, *(z.value for z in x.stores))}
    found = attempt([whole], constant_facts(before, bound), frozenset(cells))
    if isinstance(found, Refused):
        return found
    inside = {bound.symbol(x) for x in walk_tree(loop.stmt) if isinstance(x, c_ast.Decl)}
    changed = changed_in(whole, bound) - inside - cells
    moved = {name for name, _ in found.advances}
    kept = {x for x in changed if x.name not in moved}
    if any(x.lasting for x in changed) or any(x is not None and x.static for x in inside):
        return Refused("scop-jump", "what is packed by a loop that sets what others may read", loop)
    if not kept <= set_always(whole.stmt, bound):
        return Refused("scop-data", "what is packed by a loop that leaves something in variables", loop)
    if (reason := _why_not(found, cells, bound)) is not None:
        return Refused("scop-data", reason, loop)
    try:
        find_compaction(found.kernel, tuple(_told(x) for x in packs))
    except NoExitTest as error:
        return Refused("scop-data", f"what is packed by a loop that lanes cannot run: {error.reason}", loop)
    resumed = resume(loop, found, bool(kept), bound, tokens, item)
    return resumed if isinstance(resumed, Refused) else (found, Compaction(tuple(_told(x) for x in packs), resumed))


def _told(pack: CountedStores) -> Pack:
    ctype = pack.counter.ctype
    bits = ctype.type.bits if isinstance(ctype, CScalar) and ctype.type.kind == "uint" else 0
    stores = tuple(
        PackedStore(x.address, x.value.key, x.type.type, x.spread, tuple(sorted(x.later))) for x in pack.stores
    )
    return Pack(pack.counter.name, pack.keeps.key, stores, bits)


def _why_not(found: FinishedKernel, cells: set[Symbol], bound: BoundNames) -> str | None:
    """Why iterations do more than to pack elements, or depend on what these may be stored over."""
    loops = [x for x in found.kernel.body.body if not isinstance(x, Alloc)]
    if len(loops) != 1 or not isinstance(loops[0], For) or any(isinstance(x, For) for x in walk(loops[0].body)):
        return "what is packed by a loop of several parts"
    known = {x.key for x in cells}
    local = {x.array.name for x in walk(found.kernel.body) if isinstance(x, Alloc)}
    own = {x.name for x in found.kernel.arrays if not x.shape} - known
    for stmt in walk(found.kernel.body):
        if isinstance(stmt, Reduce) or (isinstance(stmt, Assign) and stmt.array not in known | local | own):
            return "what is packed by a loop that does more than that"
    if any(exposed(loops[0].body, x) for x in own):
        return "what is packed by a loop whose iterations hand on values"
    # Where an array of the file lies, no store changes.
    plain = {name: x for name, x in bound.file.symbols.items() if isinstance(x.ctype, CArray)}
    plain |= {x.name: x for x in bound.symbols if x.whole is None and x.storage != "global"}
    for name, text in found.names:
        symbol = plain.get(text.lstrip("&"))
        if name in known:
            continue
        if symbol is None or (symbol.lasting and (isinstance(symbol.ctype, CScalar) or is_pointer(symbol))):
            return "what is packed by a loop that depends on variables which its stores may change"
    if found.held or found.spaced or found.recast or found.quotients or found.views:
        return "what is packed by a loop that reads more than rows"
    return None
