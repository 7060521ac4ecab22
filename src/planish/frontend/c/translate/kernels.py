"""From translated statements to a kernel: its parameters, its local cells, and what must be given back.

A cell that is always written before it is read becomes local to the innermost block that holds all its uses.

>>> FinishedKernel(Kernel("empty"), (), (), ("x",)).registers
('x',)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pycparser import c_ast

from planish.core.diagnostic import Remark
from planish.frontend.c.analysis.aliasing import changes, is_alone, is_reached
from planish.frontend.c.analysis.scope import Symbol, is_integer, is_pointer, written
from planish.frontend.c.analysis.trip_counts import ComputedSize
from planish.frontend.c.assumed.guarded_stores import left_unread, stored_conditionally
from planish.frontend.c.assumed.guarded_sums import sum_apart
from planish.frontend.c.idioms.recast_views import element_of_root
from planish.frontend.c.idioms.row_pointers import is_row
from planish.frontend.c.translate.asserted_facts import known_sizes, number_conditions
from planish.frontend.c.translate.constant_tables import constant_values
from planish.frontend.c.translate.data_subscripts import LONG, long_rows, settle_subscripts
from planish.frontend.c.translate.expressions import value_of
from planish.frontend.c.translate.members import ancestors, may_go_on, shares_place
from planish.frontend.c.translate.object_sizes import listed_elements
from planish.frontend.c.translate.state import Address, Again, CTranslation, KnownInteger, LostValue, NotIndex, Refused
from planish.frontend.c.translate.subscripts import index_of
from planish.frontend.c.translation_unit import HeldValue, RecastArray, SpacedRows, Update
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import ADDRESS, CArray, CPointer, CScalar, CType, is_complex_type, scalar_of
from planish.ir.accesses import map_values
from planish.ir.conditional_accesses import read_in_any_case
from planish.ir.expr import Cast, Expr, Load, Var, index
from planish.ir.index.polynomial import mul, names, same, sub
from planish.ir.nest import Array, Assign, Block, For, Kernel, Reduce, Scalar
from planish.ir.passes.declaration_sinking import exposed, forget, sink
from planish.ir.passes.number_ranges import narrow_numbers, number_ranges
from planish.ir.traverse import children, expressions, walk, walk_expr
from planish.ir.types import BF16, F32, INDEX, Type
from planish.poly.canonical.select_splitting import split_choices
from planish.poly.isl.affine import NotAffineError


@dataclass(frozen=True, slots=True)
class FinishedKernel:
    """A kernel with the C arguments of its parameters, what it leaves to be updated, and its sizes that C computes
    from variables. `advances`: what each iteration of its last loop adds to C variables; `products`:
    sizes that are products of others."""

    kernel: Kernel
    names: tuple[tuple[str, str], ...]
    updates: tuple[Update, ...]
    registers: tuple[str, ...]
    quotients: Mapping[str, ComputedSize] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()
    conditional_stores: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    held: tuple[HeldValue, ...] = ()
    views: Mapping[str, str] = field(default_factory=dict)
    advances: tuple[tuple[str, Expr], ...] = ()
    spaced: tuple[SpacedRows, ...] = ()
    recast: tuple[RecastArray, ...] = ()
    in_rows: bool = False
    products: Mapping[str, Expr] = field(default_factory=dict)

    def of(self, kernel: Kernel) -> FinishedKernel:
        """The same for a kernel that needs fewer of the arrays."""
        gone = {x.name for x in self.kernel.arrays} - {x.name for x in kernel.arrays}
        return replace(self, kernel=kernel, names=tuple(x for x in self.names if x[0] not in gone))


def finish(
    name: str, cx: CTranslation, nodes: list[c_ast.Node], entry: dict[Symbol, Address], live: frozenset[Symbol]
) -> FinishedKernel:
    """Make the kernel. `entry` says where pointers stand at its start; `live` is what may be read behind it.

    Raises Refused where values that are read later cannot be given, and Again where a variable must live in memory.
    """
    _check_hidden(cx, nodes)
    updates = _updates(cx, entry, live, nodes)
    body = Block(tuple(cx.out))
    if cx.searches is None:
        body = sum_apart(body, left_unread(cx.guarded), cx.fresh)
    stored = {s.array for s in walk(body) if isinstance(s, (Assign, Reduce))}
    touched = stored | {
        x.array for s in walk(body) for e in expressions(s) for x in walk_expr(e) if isinstance(x, Load)
    }
    behind = [s for s in cx.used if s.key in touched and s not in cx.local]
    arrays: list[Array] = []
    shapes = {s: _shape(s, cx) for s in behind if not isinstance(s.ctype, CScalar)}
    pointers = [s for s in shapes if is_pointer(s) or s.through]
    for symbol in behind:
        if symbol not in shapes:
            # What reads a structure reads its members.
            kept = symbol.lasting or any(x in live for x in (symbol, *ancestors(symbol)))
            if not kept:
                body = forget(symbol.key, cx.element(symbol), body)
            if not kept and not exposed(body, symbol.key):
                body = sink(symbol.key, cx.element(symbol), body)
                continue
            arrays.append(Array(symbol.key, cx.element(symbol), (), not symbol.lasting or not pointers))
        else:
            values = constant_values(symbol, cx, value_of)
            arrays.append(
                Array(symbol.key, cx.element(symbol), shapes[symbol], _distinct(symbol, pointers, cx), values=values)
            )
    for pointer, where in cx.doubtful.items():
        if pointer not in cx.reached:
            raise Refused("scop-struct", f"what {pointer.name} points to is read under conditions alone", where)
    _check_guarded(body, cx)
    _check_views(behind, stored, nodes)
    held = _check_hidden_writes(cx, arrays, stored, nodes)
    loose = [*cx.entered, *cx.assumptions, *(u.value for u in updates)]
    loose += (x for a in arrays for x in a.shape if x is not None)
    sizes, scalars = _values(body, loose, cx)
    body = _scalars_in(body, {s.name: s.type for s in scalars})
    counted = _quotients(body, loose, cx)
    known = (*(s.key for s in sizes), *counted)
    arrays = _with_types_apart(arrays, stored, cx)
    # What is read as a choice between indices may still be read as data.
    untouched = frozenset() if cx.chosen else _untouched(arrays, stored)
    longer = {s.key for s in shapes if is_pointer(s) or s.storage == "parameter" or may_go_on(s, cx)}
    objects = {s.key for s in shapes if isinstance(s.ctype, CArray) and s not in cx.flat} - longer
    body = settle_subscripts(body, arrays, cx.loose, untouched, objects, longer)
    _ask_long_rows(body, touched, cx, nodes)
    facts = [x for x in known_sizes(cx.facts, known) if x not in (*cx.entered, *cx.assumptions)]
    types = {s.name: s.type for s in scalars}
    ranges = number_ranges(cx.facts, types)
    body = narrow_numbers(body, ranges, types)
    kernel = Kernel(name, known, scalars, tuple(arrays), body, (*dict.fromkeys(cx.entered), *cx.assumptions, *facts))
    remarks: tuple[Remark, ...] = ()
    if cx.chosen:
        kernel, remarks = _cut(kernel, nodes)
    by_key = {s.key: s for s in cx.used}
    parameters = [*kernel.sizes, *(s.name for s in scalars), *(a.name for a in arrays)]
    names = tuple((key, counted.get(key) or _argument(by_key[key], cx)) for key in parameters)
    # Where few iterations are left to the loops as they are written, their variables had better stay in registers.
    cells = [(by_key[a.name], a.type) for a in arrays if not a.shape]
    own = {x.key for x, type in cells if _is_own(x) and type != BF16}
    registers = tuple(x.name for x, _ in cells if x.register or x.key in own)
    quotients = {x: cx.quotients[x] for x in counted}
    variables = {s.key: s.name for s in cx.used}
    conditional_stores = tuple(sorted(stored_conditionally(cx.guarded) & stored))
    conditions = (*cx.layouts, *number_conditions(ranges, types, dict(names)))
    views = {a.name: by_key[a.name].name for a in arrays if by_key[a.name].rows}
    rows = [(s, s.apart, s.whole) for a in arrays if (s := by_key[a.name]).apart]
    spaced = tuple(SpacedRows(s.key, apart.key, whole.name, s.name) for s, apart, whole in rows if apart and whole)
    return FinishedKernel(
        kernel, names, updates, registers, quotients, variables, remarks, conditional_stores,
        tuple(sorted({*left_unread(cx.guarded)} & stored)), conditions, held, views,
        tuple((symbol.name, amount) for symbol, amount in cx.advances), spaced, _recast(arrays, by_key),
        cx.in_rows,
    )  # fmt: skip


def _is_own(symbol: Symbol) -> bool:
    """Whether a variable, or the structure that it is in, is one of the function's that nothing else sees. Of others,
    none is stored to that the loops leave as it is."""
    return symbol.storage != "global" and not any(x.lasting for x in (symbol, *ancestors(symbol)))


def _recast(arrays: list[Array], by_key: Mapping[str, Symbol]) -> tuple[RecastArray, ...]:
    """The arrays that are declared to have elements of another type."""
    out: list[RecastArray] = []
    for symbol in (by_key[x.name] for x in arrays):
        if symbol.recast is not None and symbol.whole is not None:
            held = element_of_root(symbol.whole)
            declared = ADDRESS if isinstance(held, CPointer) else scalar_of(symbol.whole.ctype)
            size = 1 if declared is None else declared.type.size  # of a `void *`, in bytes
            out.append(RecastArray(symbol.key, symbol.whole.name, size, symbol.recast))
    return tuple(out)


def _check_hidden(cx: CTranslation, nodes: list[c_ast.Node]) -> None:
    """Raises Refused where a function that is called in the nest uses a variable of the file whose name means something
    else in front of the nest: nothing there can spell it."""
    hidden = cx.bound.hidden.get(id(nodes[0]), frozenset())
    outside = {s for x in cx.used for s in (x, *ancestors(x)) if s.storage == "global" and s.whole is None}
    found = sorted(x.name for x in outside if x.name in hidden)
    if found:
        kind = next("table" if isinstance(x.ctype, CArray) else "variable" for x in outside if x.name == found[0])
        message = f"{found[0]}, a {kind} of the file whose name means something else here, is used by a function"
        raise Refused("scop-name", f"{message} that is called", nodes[0])


def _check_views(behind: Iterable[Symbol], stored: set[str], nodes: list[c_ast.Node]) -> None:
    """Raises Refused where memory that is stored to is seen as elements of two types: these overlap in every call."""
    seen: dict[Symbol, list[Symbol]] = {}
    for symbol in behind:
        root = symbol.whole if symbol.recast is not None and symbol.whole is not None else symbol
        seen.setdefault(root, []).append(symbol)
    for root, views in seen.items():
        if len(views) > 1 and any(x.key in stored for x in views):
            message = f"what {root.name} leads to is stored to, and seen as elements of two types"
            raise Refused("scop-cast", message, nodes[0])


def _check_guarded(body: Block, cx: CTranslation) -> None:
    """Raises Refused where an array that is stored to under a condition only is read in any case as well: which of its
    elements may be read is not known."""
    unread = left_unread(cx.guarded)
    for name in {x.array for x in read_in_any_case(body.body)} & {*unread}:
        message = "a store under a condition that depends on data (a store in every case might be seen by others)"
        raise Refused("scop-condition", message, unread[name])


def _cut(kernel: Kernel, nodes: list[c_ast.Node]) -> tuple[Kernel, tuple[Remark, ...]]:
    """The kernel in parts in which nothing is left to be chosen in subscripts. Raises Refused."""
    try:
        return split_choices(kernel)
    except NotAffineError as error:
        raise Refused("scop-affine", error.reason, nodes[0]) from None


def _updates(
    cx: CTranslation, entry: dict[Symbol, Address], live: frozenset[Symbol], nodes: list[c_ast.Node]
) -> tuple[Update, ...]:
    out = []
    for symbol in sorted(cx.written, key=lambda s: s.key):
        needed = symbol in live or symbol.lasting
        if symbol in cx.local or cx.is_cell(symbol) or not needed or not (is_integer(symbol) or is_pointer(symbol)):
            continue
        match cx.value(symbol):
            case KnownInteger(expr=expr):
                if expr != Var(symbol.key, INDEX):
                    out.append(Update(symbol.name, "set", expr))
            case Address(symbol=array, index=subscripts):
                start = entry.get(symbol, Address(symbol, (index(0),), symbol.ctype))
                if array is not start.symbol or subscripts[:-1] != start.index[:-1]:
                    raise Refused("scop-exit", f"{symbol.name} points into another array afterwards", nodes[-1])
                if not same(subscripts[-1], start.index[-1]):
                    out.append(Update(symbol.name, "advance", sub(subscripts[-1], start.index[-1])))
            case LostValue() if is_integer(symbol) and symbol not in cx.cells:
                raise Again(cell=symbol)
            case LostValue(reason=reason):
                message = f"{symbol.name} is read afterwards, and what it holds then cannot be given: {reason}"
                raise Refused("scop-exit", message, nodes[-1])
    return tuple(out)


def _shape(symbol: Symbol, cx: CTranslation) -> tuple[Expr | None, ...]:
    """The extents of the array behind a symbol, outermost first."""
    ctype = symbol.declared if isinstance(symbol.declared, CArray) else symbol.ctype
    fixed = written(cx.bound.function.body, cx.bound)
    out: list[Expr | None] = []
    moves = symbol in fixed and not isinstance(symbol.ctype, CArray) and not is_complex_type(ctype)
    if isinstance(ctype, CPointer) or moves:
        # A pointer that moves somewhere in the function need not stand at the start of what was declared.
        out.append(None)
        inner: CType = (
            ctype.target if isinstance(ctype, CPointer) else ctype.element if isinstance(ctype, CArray) else ctype
        )
    else:
        inner = ctype
    while isinstance(inner, CArray):
        extent = None
        if inner.extent is not None:
            try:
                mentioned = {cx.bound.symbol(x) for x in walk_tree(inner.extent)}
                if not mentioned & fixed:
                    extent = index_of(inner.extent, cx).expr
            except NotIndex:
                extent = None
        elif inner is ctype and (listed := listed_elements(symbol)) is not None:
            extent = index(listed)
        if extent is None and out:
            raise Refused("scop-array", f"an extent of {symbol.name} is not known")
        out.append(extent)
        inner = inner.element
    if symbol in cx.flat:
        total = out[0]
        for extent in out[1:]:
            total = None if total is None or extent is None else mul(total, extent)
        return (total,)
    return tuple(out)


def _distinct(symbol: Symbol, pointers: list[Symbol], cx: CTranslation) -> bool:
    """Whether C promises that the array overlaps no other of the kernel."""
    if symbol.through:
        return False
    # A pointer variable that was set somewhere may point into anything, and be based on a restrict pointer.
    wandering = [p for p in pointers if p is not symbol and (p.storage != "parameter" or p.reassigned)]
    if is_pointer(symbol):
        return is_alone(symbol) and not wandering
    own = symbol.storage == "local" or (symbol.storage == "parameter" and is_complex_type(symbol.ctype))
    if own and not symbol.static:
        return not wandering
    return all(isinstance(p.ctype, CPointer) and p.ctype.restrict for p in pointers) and not wandering


def _check_hidden_writes(
    cx: CTranslation, arrays: list[Array], stored: set[str], nodes: list[c_ast.Node]
) -> tuple[HeldValue, ...]:
    """A value that others can reach, and a store through a pointer might change, is read from memory each time.

    Raises Again for such a variable; whether it overlaps the array is then a question for the run-time guard. Raises
    Refused for a pointer that the nest names: where it points is asked once. Gives the members that are read where the
    nest begins, and each array of which the run-time guard has to ask whether it overlaps them.
    """
    by_key = {s.key: s for s in cx.used}
    held: dict[HeldValue, None] = {}
    own = {s for s in cx.used if isinstance(s.ctype, CScalar) and not s.lasting}
    anywhere = [s for x in arrays if x.name in stored and (s := by_key[x.name]) not in own and not is_alone(s)]
    through = [by_key[x.name] for x in arrays if x.name in stored and not x.distinct]
    if any(scalar_of(x.ctype) == ADDRESS for x in anywhere) and any(x.apart is not None for x in cx.used):
        raise Refused("scop-pointer", "rows through pointers where addresses are stored", nodes[0])
    parts = [x for node in nodes for x in walk_tree(node)]
    named = {cx.bound.symbol(x) for x in parts}
    called = {x.name.name for x in parts if isinstance(x, c_ast.FuncCall) and isinstance(x.name, c_ast.ID)}
    inlined = any(x in cx.bound.file.functions for x in called)
    for symbol in dict.fromkeys(x for s in cx.used for x in (s, *ancestors(s))):
        number = isinstance(symbol.ctype, CScalar) and not symbol.const and not cx.is_cell(symbol)
        pointer = is_pointer(symbol) and (symbol in named or inlined or symbol.through) and symbol.apart is None
        pointer = pointer and symbol.recast is None and not symbol.rows
        if not (number or pointer) or not is_reached(symbol, cx.bound.file.exposed):
            continue
        for array in anywhere if symbol.through else (x for x in through if is_pointer(x) and not is_alone(x)):
            element = scalar_of(array.ctype)
            if element is None or not (shares_place(symbol) or changes(element, symbol.ctype)):
                continue
            if symbol.through or symbol not in cx.used:
                held[HeldValue(array.key, *_memory_of(symbol))] = None
                continue
            if number:
                raise Again(cell=symbol)
            how = f"{symbol.name} may be changed by a store of characters through {array.name}"
            raise Refused("scop-pointer", f"{how}: copy it into a local pointer in front of the loop", nodes[0])
    return tuple(held)


def _ask_long_rows(body: Block, touched: set[str], cx: CTranslation, nodes: list[c_ast.Node]) -> None:
    """Ask for many iterations where a call gains nothing in few: of the one loop over a row whose address is read from
    memory, of one that looks for the place of an extremum, and of sums over elements that data choose, anywhere. Where
    how many of these there are is read from memory, as in the rows of a sparse matrix, asking in each row takes longer
    than lanes save in short ones."""
    asks = cx.lengthy or any(is_row(s) and s.key in touched for s in cx.used)
    for loop in (x for x in body.body if isinstance(x, For) and asks):
        if not any(isinstance(x, For) for x in walk(loop.body)):
            cx.assume(sub(sub(loop.upper, loop.lower), index(LONG)))
    read = {s.key: s for s in cx.used if s.through}
    for least in long_rows(body) if cx.loose else ():
        cx.in_rows = cx.lengthy = cx.lengthy or bool(names(least) & read.keys())
        cx.assume(least)


def _with_types_apart(arrays: list[Array], stored: set[str], cx: CTranslation) -> list[Array]:
    """The arrays; those of which data choose elements are known to overlap no other where types tell that no store of
    the nest changes them."""
    scalars = {s.key: scalar_of(s.ctype) for s in cx.used}
    changed = [scalars[x.name] for x in arrays if x.name in stored and not x.distinct]

    def is_other(scalar: CScalar | None) -> bool:
        known = scalar is not None and bool(scalar.family)
        return known and all(x is not None and scalar is not None and not changes(x, scalar) for x in changed)

    own = {x.name for x in arrays if x.name in cx.loose and x.name not in stored and is_other(scalars[x.name])}
    return [replace(x, distinct=True) if x.name in own else x for x in arrays]


def _untouched(arrays: list[Array], stored: set[str]) -> frozenset[str]:
    """The arrays of which no store of the nest may change an element, wherever that lies."""
    shared = any(x.name in stored and not x.distinct for x in arrays)
    return frozenset(x.name for x in arrays if x.name not in stored and (x.distinct or not shared))


def _memory_of(symbol: Symbol) -> tuple[str, str]:
    """Where a member lies, and its size, in C; of a bit-field, the structure around it."""
    if not symbol.bitfield or symbol.whole is None:
        return f"&{symbol.name}", f"sizeof({symbol.name})"
    whole = f"(*{symbol.whole.name})" if is_pointer(symbol.whole) else symbol.whole.name
    return f"&{whole}", f"sizeof({whole})"


def _values(body: Block, loose: Iterable[Expr], cx: CTranslation) -> tuple[list[Symbol], tuple[Scalar, ...]]:
    """Which variables are sizes, and which are only read as numbers."""
    bare: set[str] = {x.name for e in loose for x in walk_expr(e) if isinstance(x, Var)}
    seen = set(bare)
    bound = {s.var for s in walk(body) if isinstance(s, For)}

    def visit(expr: Expr) -> None:
        match expr:
            case Cast(operand=Var(name=name, type=type)) if type == INDEX:
                seen.add(name)
            case Var(name=name):
                seen.add(name)
                bare.add(name)
            case _:
                for child in children(expr):
                    visit(child)

    for stmt in walk(body):
        for expr in expressions(stmt):
            visit(expr)
    order = {s: n for n, s in enumerate((*cx.bound.parameters, *cx.used))}
    known = [s for s in sorted(cx.used, key=lambda s: order[s]) if s.key in seen and isinstance(s.ctype, CScalar)]
    sizes = [s for s in known if is_integer(s) and s.key in bare and not cx.is_cell(s) and s.key not in bound]
    scalars = [s for s in known if s not in sizes and not cx.is_cell(s) and s.key not in bound]
    return sizes, tuple(Scalar(s.key, cx.element(s)) for s in scalars)


def _quotients(body: Block, loose: Iterable[Expr], cx: CTranslation) -> dict[str, str]:
    """The sizes that are quotients of others, and how C computes them: of each other, too."""
    within = (e for s in walk(body) for e in expressions(s))
    used = {x.name for e in (*loose, *within) for x in walk_expr(e) if isinstance(x, Var)}
    spelled = {s.key: s.name for s in cx.used}
    for name, quotient in cx.quotients.items():
        spelled[name] = quotient.spell(spelled)
    return {name: spelled[name] for name in cx.quotients if name in used}


def _scalars_in(body: Block, types: dict[str, Type]) -> Block:
    """Read the variables that are no sizes as numbers of their own type."""

    def direct(expr: Expr) -> Expr:
        match expr:
            case Cast(operand=Var(name=name, type=type), type=wanted) if type == INDEX and name in types:
                # Another type is that of a variable that holds the same number, such as an `int` of a parameter.
                own = Var(name, types[name])
                return own if own.type == wanted else Cast(own, wanted)
            case _:
                return expr

    return map_values(direct, body)


def _argument(symbol: Symbol, cx: CTranslation) -> str:
    """The C expression that passes a variable."""
    if isinstance(symbol.ctype, CScalar):
        return f"&{symbol.name}" if cx.is_cell(symbol) else symbol.name
    if is_complex_type(symbol.ctype):
        return f"({'float' if cx.element(symbol) == F32 else 'double'} *)&{symbol.name}"
    if symbol in cx.flat and symbol.apart is None and not symbol.rows:
        ctype = symbol.ctype
        inner = ctype.target if isinstance(ctype, CPointer) else ctype.element if isinstance(ctype, CArray) else ctype
        depth = 1
        while isinstance(inner, CArray):
            inner, depth = inner.element, depth + 1
        return f"&{symbol.name}{'[0]' * depth}"
    return symbol.name
