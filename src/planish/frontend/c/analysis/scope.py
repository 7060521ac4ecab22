"""Names to objects: every identifier of a function is bound to the one symbol that it means.

>>> from pycparser.c_parser import CParser
>>> tree = CParser().parse("void f(int n) { { int n = 2; } n = 3; }")
>>> bound = bind_function(tree.ext[0], FileScope({}, {}, {}, frozenset()))
>>> [s.key for s in bound.symbols]
['n', 'n_2']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from pycparser import c_ast

from planish.frontend.c.analysis.escape import called_name, keeps_address
from planish.frontend.c.text.preprocess import STUBS
from planish.frontend.c.types.constants import define_enumerations, fold, walk_tree
from planish.frontend.c.types.declaration_order import DeclarationOrder, order_of
from planish.frontend.c.types.declarations import CPointer, CScalar, CType, CUnknown, as_parameter, renamed, resolve
from planish.frontend.c.types.records import Records

_Node = TypeVar("_Node", bound=c_ast.Node)
LEAST_BITS = 32
"""A narrower integer is computed with in `int`, and cut off when it is stored."""


@dataclass(eq=False, slots=True)
class Symbol:
    """An object: `key` is unique within the function, `name` is what the user calls it.

    A number in a structure is one as well (`by.x`, whose key is `by_x`); `whole` is then the structure, and `bitfield`
    says whether it may hold less than its type, `overlaid` whether it lies where others do, in a union. So is any
    member behind an address or of a variable of the file (`p->x`, a number, an address or an array): it is `through`
    what others may reach; and all members of one type in an array of structures, as `rows` of them; and rows through
    pointers that lie so many elements apart as the symbol `apart` says, which is found out where a nest begins; and
    what lies so many bytes (`recast`) behind an address as elements of another type. `members`: those of this one.
    """

    name: str
    key: str
    ctype: CType
    storage: Literal["parameter", "local", "global"]
    static: bool = False
    register: bool = False
    const: bool = False
    declared: CType | None = None
    init: c_ast.Node | None = None
    address_taken: bool = False
    reassigned: bool = False
    whole: Symbol | None = None
    bitfield: bool = False
    overlaid: bool = False
    through: bool = False
    rows: bool = False
    apart: Symbol | None = None
    recast: int | None = None
    members: dict[str, Symbol] = field(default_factory=dict)

    @property
    def lasting(self) -> bool:
        """Whether its value outlives the function or may be read through an address."""
        return self.storage == "global" or self.static or self.address_taken


@dataclass(frozen=True, slots=True)
class FileScope:
    """What the file declares: type names, objects, enumeration constants, and the functions that it defines.

    `exposed`: names among those of its text of which an address may be taken. `steered`, `storing`: what is found out
    of its functions, once: which arguments steer them, and whether they write to what is not their own. `elsewhere`:
    functions that other files define, and why they stay there. `order`: which names it gives behind others.
    """

    typedefs: dict[str, CType]
    symbols: dict[str, Symbol]
    constants: dict[str, int]
    defined: frozenset[str]
    functions: dict[str, c_ast.FuncDef] = field(default_factory=dict)
    records: Records = field(default_factory=Records)
    exposed: frozenset[str] = frozenset()
    steered: dict[str, frozenset[int]] = field(default_factory=dict)
    storing: dict[str, bool] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    order: DeclarationOrder = field(default_factory=DeclarationOrder)

    def tell_of(self, function: str) -> str:
        """What is said of a function that it does not define: its name, and why another file keeps it."""
        why = self.elsewhere.get(function)
        return f"{function}, {why}" if why else function

    def forget_members(self) -> None:
        """Members of its variables are symbols of the function that uses them, with keys of that function."""
        for symbol in self.symbols.values():
            symbol.members.clear()


ElementRead = tuple[int, int, frozenset[Symbol]]
"""The id of a node that reads an element, what keeps it from being steady, and the variables in it."""
StatementReads = tuple[frozenset[Symbol | None], frozenset[Symbol | None], tuple[ElementRead, ...]]


@dataclass(slots=True)
class BoundNames:
    """The names of one function: symbols, and values of enumerators, by the id of the ID and Decl nodes that mean them
    (None: an enumerator of the function whose value is not known).

    `hidden`: variables of the file whose names mean something else where a statement begins, by the id of its node;
    `inlined`: the function is a part of another one, which may use variables of the file that have its names; `set_in`:
    what statements set, by the ids of their nodes, as far as it was asked for; `reads_in`: what they read, likewise;
    `early`: IDs whose names the file gives a meaning only behind the function; `announced`: functions that are declared
    in its body.
    """

    function: c_ast.FuncDef
    file: FileScope
    symbols: list[Symbol] = field(default_factory=list)
    parameters: list[Symbol] = field(default_factory=list)
    by_node: dict[int, Symbol] = field(default_factory=dict)
    constants: dict[int, int | None] = field(default_factory=dict)
    typedefs: dict[str, CType] = field(default_factory=dict)
    hidden: dict[int, frozenset[str]] = field(default_factory=dict)
    inlined: bool = False
    jumps: bool = False
    kept: list[c_ast.Node] = field(default_factory=list)
    set_in: dict[int, tuple[c_ast.Node, tuple[tuple[Symbol, c_ast.Node], ...]]] = field(default_factory=dict)
    reads_in: dict[int, tuple[c_ast.Node, StatementReads]] = field(default_factory=dict)
    early: set[int] = field(default_factory=set)
    announced: set[str] = field(default_factory=set)

    def symbol(self, node: c_ast.Node) -> Symbol | None:
        """The symbol that an ID or Decl node means."""
        return self.by_node.get(id(node))

    def keep(self, node: _Node) -> _Node:
        """A new node with all below it, whose identities stay their own."""
        self.kept.append(node)
        return node

    def mention(self, symbol: Symbol, coord: object = None) -> c_ast.ID:
        """A new node that means a symbol."""
        node = self.keep(c_ast.ID(symbol.name, coord))
        self.by_node[id(node)] = symbol
        return node

    def by_key(self) -> dict[str, Symbol]:
        """The symbols that a nest of the function may use; what only an inlined function names is of the file."""
        return {x.key: x for x in (*self.file.symbols.values(), *self.symbols, *self.by_node.values())}

    def enumerator(self, node: c_ast.ID) -> int | None:
        """The value of the enumerator that an ID node means; None where it means none, or the value is not known."""
        if id(node) in self.constants or id(node) in self.by_node or id(node) in self.early:
            return self.constants.get(id(node))
        # Expressions at file scope are not bound; only enumerators can stand in them.
        return self.file.constants.get(node.name)

    def tell_undeclared(self, node: c_ast.ID) -> str:
        """What is said of a name that means nothing there."""
        return f"is declared only behind {self.function.decl.name}" if id(node) in self.early else "is not declared"

    def value(self, node: c_ast.Node) -> int | None:
        """The value of an integer constant expression; None where it is none that is known."""
        return fold(node, self.enumerator, self.typedefs)


def bind_file(
    tree: c_ast.FileAST, types: Mapping[str, CType] | None = None, exposed: frozenset[str] = frozenset()
) -> FileScope:
    """Collect the declarations at file scope; `types` are there before it; `exposed`: as of a FileScope."""
    defined = frozenset(x.decl.name for x in tree.ext if isinstance(x, c_ast.FuncDef))
    order = order_of(tree)
    scope = FileScope(dict(types or {}), {}, {}, defined, records=Records(tree), exposed=exposed, order=order)
    for node in tree.ext:
        match node:
            case c_ast.Typedef():
                define_enumerations(node, scope.typedefs, scope.constants)
                ctype = resolve(node.type, scope.typedefs)
                scope.typedefs[node.name] = renamed(ctype, node.name) if _is_standard(node) else ctype
            case c_ast.Decl():
                define_enumerations(node, scope.typedefs, scope.constants)
                if node.name is not None and not isinstance(node.type, c_ast.FuncDecl):
                    scope.symbols[node.name] = _symbol(node, node.name, "global", scope.typedefs)
            case c_ast.FuncDef():
                scope.functions[node.decl.name] = node
            case _:
                pass
    return scope


def _is_standard(node: c_ast.Typedef) -> bool:
    """Whether one of C's own headers gives the name."""
    return node.coord is not None and str(node.coord.file).startswith(str(STUBS))


def _symbol(
    node: c_ast.Decl, key: str, storage: Literal["parameter", "local", "global"], typedefs: Mapping[str, CType]
) -> Symbol:
    ctype = resolve(node.type, typedefs)
    if "volatile" in (node.quals or ()):
        ctype = CUnknown("volatile")
    shown = ctype
    if storage == "parameter":
        ctype = as_parameter(ctype, node)
    words = node.storage or []
    const = "const" in (node.quals or ())
    static = "static" in words or (storage == "local" and "extern" in words)
    return Symbol(node.name, key, ctype, storage, static, "register" in words, const, shown, node.init)


_SIGNS = re.compile(r"\W+")
_STATEMENTS = (
    c_ast.Compound, c_ast.For, c_ast.While, c_ast.DoWhile, c_ast.If, c_ast.Switch, c_ast.Decl, c_ast.Assignment,
    c_ast.UnaryOp, c_ast.FuncCall,
)  # fmt: skip
"""What loop nests may begin with."""
_BODIES = (c_ast.Compound, c_ast.For, c_ast.While, c_ast.DoWhile, c_ast.If, c_ast.Switch)
"""Statements of which it is kept what they set."""
_Scopes = list[dict[str, Symbol | int | None]]
"""What names mean, the innermost block last; None: an enumerator whose value is not known, a type or a function."""


def bind_function(function: c_ast.FuncDef, file: FileScope, symbols: list[Symbol] | None = None) -> BoundNames:
    """Bind every identifier of a function definition. Its symbols are added to `symbols`, from which their keys differ,
    where these are given: it is then a part of another function."""
    bound = BoundNames(
        function, file, [] if symbols is None else symbols, typedefs=dict(file.typedefs), inlined=symbols is not None
    )
    scopes: _Scopes = [{}]
    arguments = function.decl.type.args
    for node in arguments.params if arguments is not None else []:
        if isinstance(node, c_ast.Decl):
            symbol = _declare(node, "parameter", bound, scopes)
            bound.parameters.append(symbol)
            _bind(node.type, bound, scopes)
    _bind(function.body, bound, scopes)
    _bind_members(bound)
    return bound


def _bind_members(bound: BoundNames) -> None:
    """Bind what reads a number in a structure of the function. The address of a structure is taken where it is not
    known what is read."""
    references: list[c_ast.StructRef] = []
    declarations: dict[Symbol, c_ast.Decl] = {}
    for x in walk_tree(bound.function):
        if isinstance(x, c_ast.StructRef):
            references.append(x)
        elif isinstance(x, c_ast.Decl) and (symbol := bound.symbol(x)):
            declarations[symbol] = x
    members: dict[str, Symbol] = {}
    for node in references:
        whole, path = bound.symbol(root := root_of(node)), _path(node)
        if whole is None or root is node or whole not in declarations or not isinstance(whole.ctype, CUnknown):
            continue
        found: c_ast.Decl | None = declarations[whole]
        for name in path:
            found = None if found is None else bound.file.records.member(found, name)
        ctype = None if found is None else bound.file.records.number(found, bound.typedefs, bound.file.constants)
        if found is not None and ctype is not None:
            name = ".".join((whole.key, *path))
            if name not in members:
                members[name] = _member(whole, path, ctype, bound, found.bitsize is not None)
            bound.by_node[id(node)] = members[name]
        elif found is None or not (bound.file.records.members(found) or isinstance(found.type, c_ast.PtrDecl)):
            whole.address_taken = True


def _member(whole: Symbol, path: tuple[str, ...], ctype: CScalar, bound: BoundNames, bitfield: bool) -> Symbol:
    key = _fresh("_".join((whole.key, *path)), {s.key for s in bound.symbols} | set(bound.file.symbols))
    name = ".".join((whole.name, *path))
    symbol = Symbol(name, key, ctype, whole.storage, whole.static, whole=whole, bitfield=bitfield)
    bound.symbols.append(symbol)
    return symbol


def root_of(node: c_ast.Node) -> c_ast.Node:
    """What a member is one of, in the end: `a` of `a.b.c`; the node itself where it is no member."""
    while isinstance(node, c_ast.StructRef) and node.type == ".":
        node = node.name
    return node


def _path(node: c_ast.Node) -> tuple[str, ...]:
    return (*_path(node.name), node.field.name) if isinstance(node, c_ast.StructRef) and node.type == "." else ()


def _fresh(stem: str, used: set[str]) -> str:
    name, n = stem, 2
    while name in used:
        name, n = f"{stem}_{n}", n + 1
    return name


def _declare(node: c_ast.Decl, storage: Literal["parameter", "local"], bound: BoundNames, scopes: _Scopes) -> Symbol:
    used = {s.key for s in bound.symbols}
    if storage == "local" or node.name in used or bound.inlined:
        used |= {*bound.file.symbols}
    key = _fresh(node.name if node.name.isidentifier() else _SIGNS.sub("_", node.name).rstrip("_"), used)
    symbol = _symbol(node, key, storage, bound.typedefs)
    bound.symbols.append(symbol)
    bound.by_node[id(node)] = symbol
    scopes[-1][node.name] = symbol
    return symbol


def _visible(name: str, scopes: _Scopes) -> Symbol | int | None:
    """What a name means in the blocks of a function."""
    return next((scope[name] for scope in reversed(scopes) if name in scope), None)


def _bind(node: c_ast.Node, bound: BoundNames, scopes: _Scopes) -> None:
    if isinstance(node, _STATEMENTS) and (hidden := bound.file.symbols.keys() & {x for y in scopes for x in y}):
        bound.hidden[id(node)] = frozenset(hidden)
    match node:
        case c_ast.ID(name=name):
            inside = next((scope for scope in reversed(scopes) if name in scope), None)
            found = bound.file.symbols.get(name, bound.file.constants.get(name)) if inside is None else inside[name]
            if inside is None and bound.file.order.is_behind(name, bound.function.decl.name):
                bound.early.add(id(node))
                found = None
            if isinstance(found, Symbol):
                bound.by_node[id(node)] = found
            elif found is not None or inside is not None:
                bound.constants[id(node)] = found
        case c_ast.Compound() | c_ast.For() | c_ast.While() | c_ast.DoWhile() | c_ast.If() | c_ast.Switch():
            scopes.append({})
            for _, child in node.children():
                _bind(child, bound, scopes)
            scopes.pop()
        case c_ast.Typedef():
            _bind(node.type, bound, scopes)
            bound.typedefs[node.name] = resolve(node.type, bound.typedefs)
            scopes[-1][node.name] = None
        case c_ast.Enum():
            constants: dict[str, int] = {}
            visible = {**bound.file.constants, **{name: x for scope in scopes for name, x in scope.items()}}
            known = {name: x for name, x in visible.items() if isinstance(x, int)}
            unknown = define_enumerations(node, bound.typedefs, constants, known)
            scopes[-1].update(constants)
            scopes[-1].update(dict.fromkeys(unknown))
        case c_ast.Struct() | c_ast.Union():
            # Members are no variables.
            for part in (x for x in walk_tree(node) if isinstance(x, c_ast.Enum)):
                _bind(part, bound, scopes)
        case c_ast.Decl() if node.name is not None and not isinstance(node.type, c_ast.FuncDecl):
            _bind(node.type, bound, scopes)
            _declare(node, "local", bound, scopes)
            if node.init is not None:
                _bind(node.init, bound, scopes)
        case c_ast.Decl():
            if not isinstance(node.type, c_ast.FuncDecl):
                _bind(node.type, bound, scopes)
            elif node.name is not None:
                scopes[-1][node.name] = None
                bound.announced.add(node.name)
        case c_ast.StructRef():
            _bind(node.name, bound, scopes)
        case c_ast.FuncCall():
            if isinstance(node.name, c_ast.ID) and isinstance(_visible(node.name.name, scopes), Symbol):
                # What a variable holds is called, whatever function of the file has its name.
                node.name = c_ast.UnaryOp("*", node.name, node.name.coord)
            if not isinstance(node.name, c_ast.ID):
                _bind(node.name, bound, scopes)
            for position, argument in enumerate(node.args.exprs if node.args is not None else []):
                _bind(lent if (lent := _lent(node, position, bound)) is not None else argument, bound, scopes)
        case c_ast.Goto() | c_ast.Label():
            bound.jumps = True
            for _, child in node.children():
                _bind(child, bound, scopes)
        case _:
            for _, child in node.children():
                _bind(child, bound, scopes)
            _note_uses(node, bound)


def _lent(call: c_ast.FuncCall, position: int, bound: BoundNames) -> c_ast.Node | None:
    """The variable whose address a call passes to a function of the file that does not keep it; None: there is none."""
    match call.args.exprs[position]:
        case c_ast.UnaryOp(op="&", expr=c_ast.ID() as target) if not keeps_address(
            called_name(call), position, bound.file.functions
        ):
            return target
        case _:
            return None


def _note_uses(node: c_ast.Node, bound: BoundNames) -> None:
    match node:
        case c_ast.UnaryOp(op="&", expr=target):
            if (symbol := bound.symbol(root_of(target))) is not None:
                symbol.address_taken = True
        case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target):
            if (symbol := bound.symbol(target)) is not None:
                symbol.reassigned = True
        case _:
            pass


def step_of(node: c_ast.Node | None, bound: BoundNames) -> tuple[Symbol, int] | None:
    """The variable that a statement adds a number to, and that number; None for another statement.

    >>> from pycparser.c_parser import CParser
    >>> text = "void f(int k, int *p) { k++; --p; k += 2u; p = 3 + p; k = k - 1; k = 1 - k; k *= 2; }"
    >>> bound = bind_function(CParser().parse(text).ext[0], FileScope({}, {}, {}, frozenset()))
    >>> found = [step_of(x, bound) for x in bound.function.body.block_items]
    >>> [x and (x[0].name, x[1]) for x in found]
    [('k', 1), ('p', -1), ('k', 2), ('p', 3), ('k', -1), None, None]
    """
    match node:
        case c_ast.UnaryOp(op="++" | "p++" | "--" | "p--" as op, expr=c_ast.ID() as target):
            added: int | None = 1
        case c_ast.Assignment(op="+=" | "-=" as op, lvalue=c_ast.ID() as target, rvalue=amount):
            added = bound.value(amount)
        case c_ast.Assignment(
            op="=", lvalue=c_ast.ID() as target, rvalue=c_ast.BinaryOp(op="+" | "-" as op, left=left, right=right)
        ):
            if op == "+" and bound.symbol(left) is not bound.symbol(target):
                left, right = right, left
            added = bound.value(right) if bound.symbol(left) is bound.symbol(target) else None
        case _:
            return None
    symbol = bound.symbol(target)
    return None if symbol is None or added is None else (symbol, -added if "-" in op else added)


def settings(node: c_ast.Node, bound: BoundNames) -> tuple[tuple[Symbol, c_ast.Node], ...]:
    """Each place below `node` that sets a variable, and what to; for one that changes it, that place itself. What
    sets a member sets the structure."""
    if (known := bound.set_in.get(id(node))) is not None:
        return known[1]
    out: list[tuple[Symbol, c_ast.Node]] = []
    left = [node]
    while left:
        part = left.pop()
        if part is not node and isinstance(part, _BODIES):
            out += settings(part, bound)
            continue
        out += _set_at(part, bound)
        if inner := [*part]:
            inner.reverse()
            left += inner
    bound.set_in[id(node)] = node, tuple(out)
    return bound.set_in[id(node)][1]


def _set_at(part: c_ast.Node, bound: BoundNames) -> Iterator[tuple[Symbol, c_ast.Node]]:
    """What a node sets by itself."""
    match part:
        case c_ast.ID() | c_ast.Constant():
            return
        case c_ast.Assignment(op="=", lvalue=target, rvalue=value):
            pass
        case c_ast.Decl(init=value) if value is not None:
            target = part
        case c_ast.Assignment(lvalue=target) | c_ast.UnaryOp(op="++" | "--" | "p++" | "p--", expr=target):
            value = part
        case c_ast.FuncCall(args=c_ast.ExprList(exprs=arguments)):
            # What is called sets what it is passed the address of.
            passed = (x.expr for x in arguments if isinstance(x, c_ast.UnaryOp) and x.op == "&")
            yield from ((s, part) for x in passed if (s := bound.symbol(root_of(x))) is not None)
            return
        case _:
            return
    if (symbol := bound.symbol(root_of(target))) is not None:
        yield symbol, value


def written(node: c_ast.Node, bound: BoundNames) -> set[Symbol]:
    """Symbols that statements below `node` assign, step or declare with an initial value; all members of what is."""
    found = {symbol for symbol, _ in settings(node, bound)}
    return found | {x for x in bound.symbols if x.whole in found and not x.through}


def is_integer(symbol: Symbol) -> bool:
    """Whether it is a scalar integer variable."""
    return isinstance(symbol.ctype, CScalar) and symbol.ctype.type.is_int


def is_constant(symbol: Symbol) -> bool:
    """Whether it is a number that keeps its initial value: where it is static, that is one in each call."""
    return symbol.const and symbol.init is not None and isinstance(symbol.ctype, CScalar)


def is_plain(symbol: Symbol) -> bool:
    """Whether a variable is an integer that nothing else reaches, as wide as it is computed with."""
    return is_integer(symbol) and bits_of(symbol) >= LEAST_BITS and not symbol.lasting


def bits_of(symbol: Symbol) -> int:
    """How wide a number is that a variable holds; 0 where it holds none."""
    return symbol.ctype.type.bits if isinstance(symbol.ctype, CScalar) else 0


def is_pointer(symbol: Symbol) -> bool:
    """Whether it is a pointer variable."""
    return isinstance(symbol.ctype, CPointer)
