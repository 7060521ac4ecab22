"""A C file to kernels: preprocess, parse, bind names, find regions.

>>> from planish.core.span import Source
>>> text = "void zero(int n, float *a) { for (int i = 0; i < n; i++) a[i] = 0; }"
>>> [region.kernel.sizes for region in read_c(Source("zero.c", text)).functions[0].regions]
[('n',)]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from pycparser import c_ast

from planish.core.diagnostic import Diagnostic, PlanishError, Remark
from planish.core.recursion_limit import MOST_NESTED, deep, rarely_collected
from planish.core.span import Source, Span, TextChange, rewrite
from planish.frontend.c.analysis.aliasing import find_exposed
from planish.frontend.c.analysis.conditions import calls_in, conditions_of
from planish.frontend.c.analysis.data_model import names_plain_char
from planish.frontend.c.analysis.derived_integers import computed_from_parameters
from planish.frontend.c.analysis.liveness import live_after
from planish.frontend.c.analysis.scope import BoundNames, FileScope, Symbol, bind_file, bind_function
from planish.frontend.c.analysis.statement_runs import is_loop
from planish.frontend.c.analysis.unobservable import unseen_in
from planish.frontend.c.analysis.variables import Variables
from planish.frontend.c.idioms.ring_buffers.cut_loops import find_ring_loops
from planish.frontend.c.other_files.contents import replaceable_functions
from planish.frontend.c.refusals import HiddenRemark, remark_of
from planish.frontend.c.structures.address_tables import AddressTables
from planish.frontend.c.structures.structure_arguments import StructureArguments
from planish.frontend.c.structures.structure_copies import copy_members
from planish.frontend.c.text.attributes import mark_attributes
from planish.frontend.c.text.expansion import MacroExpansion, MarkedText, lines_of, mark_names, scan_expanded
from planish.frontend.c.text.extent import (
    ColumnMap,
    Item,
    UnreadableText,
    active_tokens,
    columns,
    match_items,
    scan_kept,
)
from planish.frontend.c.text.feature_macros import written_texts
from planish.frontend.c.text.lexer import CToken, Tokens, tokenize
from planish.frontend.c.text.loop_pragmas import asked_as_written, pragmas_in, with_pragmas
from planish.frontend.c.text.old_definitions import declare_parameters, is_promoted
from planish.frontend.c.text.preprocess import SYSTEM, preprocess
from planish.frontend.c.text.syntax import main_lines, parse_c
from planish.frontend.c.text.written_macros import Invocation, hiding_invocations, write_out
from planish.frontend.c.translate.arithmetic import remove_signs
from planish.frontend.c.translate.regions import Search, search
from planish.frontend.c.translate.state import CTranslation, NotIndex
from planish.frontend.c.translate.subscripts import index_of
from planish.frontend.c.translation_unit import CFile, CFunction, CParameter, CutLoop, Region
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar, leaf_of, resolve, text_of
from planish.frontend.c.types.parameter_forms import Forms
from planish.frontend.c.types.prototypes import find_interface
from planish.ir.expr import Expr
from planish.ir.traverse import depth_of
from planish.ir.types import U8, Floats

_WORD = re.compile(r"[A-Za-z_]\w*")
_OWN_NAME = re.compile(r"\bplanish_\w+")
_UNSIGNED = re.compile(r"__CHAR_UNSIGNED__(=|$)")


def read_c(
    source: Source, *, defines: Sequence[str] = (), include_dirs: Sequence[Path] = (), fp: Floats = "reassociate",
    compiler: Sequence[str] = (),
) -> CFile:  # fmt: skip
    """Read a C file, as the preprocessor of a `compiler` with flags makes it, or as that of this machine does. `fp` is
    what the user allows of floating-point sums: strict, contract or reassociate. A plain `char` has a sign, unless the
    macro `__CHAR_UNSIGNED__` is defined, by which compilers say that it has none.

    Raises PlanishError: E0201 syntax error, E0202 preprocessor error, E0203 no function in the file.
    """
    with deep(), rarely_collected():
        read = partial(_read, defines=defines, include_dirs=include_dirs, fp=fp, compiler=compiler)
        first = read(source)
        found = _with_loops_cut(_with_macros_written_out(first, read), read)
        own = first.preprocessed.removesuffix(source.borrowed.text)
        return found if found.source is source and own == first.preprocessed else replace(found, unchanged=own)


def _with_macros_written_out(found: CFile, read: Callable[[Source], CFile]) -> CFile:
    """The file with those macros written out in which nests are found then; as it is where there are none."""
    source = found.source
    if not any(isinstance(x, HiddenRemark) for x in found.remarks):
        return found
    lines = main_lines(found.preprocessed, source.name)
    active = frozenset(number for number, text in lines if text.strip())
    known = [x for f in found.functions for x in f.regions]
    invocations = [
        x for x in hiding_invocations(tokenize(source.text), active)
        if not any(x.start < region.end and region.start < x.end for region in known)
    ]  # fmt: skip
    reasons: dict[int, Remark] | None = None
    while invocations:
        rewritten, extents = _rewritten(source, [(x, (x.start, x.end)) for x in invocations])
        try:
            made = read(rewritten)
        except PlanishError:
            return found
        if reasons is None:
            reasons = {x.place.line: x for x in reversed(made.remarks) if x.kind == "refused" and x.place is not None}
        starts = [x.start for f in made.functions for x in f.regions]
        holds = [any(first <= x < last for x in starts) for first, last in extents]
        if not all(holds):
            invocations = [x for x, held in zip(invocations, holds, strict=True) if held]
            continue
        if _without_spaces(made) != _without_spaces(found):
            return found
        made = _with_reasons(made, reasons)
        places = [source.point(tokenize(source.text).place(x.start)[0]) for x in invocations]
        told = "a macro that holds a nest is written out"
        return replace(made, remarks=(*(Remark("c-macro", "note", told, x) for x in places), *made.remarks))
    return _with_reasons(found, reasons or {})


def _with_reasons(found: CFile, reasons: Mapping[int, Remark]) -> CFile:
    """The file with what is said where macros are written out, by lines, of those that stay, as they hold no nest."""
    remarks = [
        Remark(said.id, x.kind, said.message, x.span, about=x.about)
        if isinstance(x, HiddenRemark) and x.place is not None and (said := reasons.get(x.place.line)) else x
        for x in found.remarks
    ]  # fmt: skip
    return replace(found, remarks=tuple(remarks))


def _with_loops_cut(found: CFile, read: Callable[[Source], CFile]) -> CFile:
    """The file with those loops cut where subscripts go round in which nests are found then."""
    known = [x for f in found.functions for x in f.regions]
    cut = [
        x for x in sorted(found.ring_loops, key=lambda x: x.start)
        if not any(x.start < region.end and region.start < x.end for region in known)
    ]  # fmt: skip
    found, cut = _without_pragmas(found, cut)
    while cut:
        rewritten, extents = _rewritten(found.source, [(y, (x.start, x.end)) for x in cut for y in x.changes])
        try:
            made = read(rewritten)
        except PlanishError:
            return found
        starts = [x.start for f in made.functions for x in f.regions]
        own = iter(extents)
        holds = [any(y[0][0] <= x < y[-1][1] for x in starts) for y in ([next(own) for _ in z.changes] for z in cut)]
        if all(holds):
            told = "a loop over a ring buffer is cut where its subscripts go round"
            places = [found.source.point(tokenize(found.source.text).place(x.start)[0]) for x in cut]
            made = _with_names_of_users(made, found, cut)
            return replace(made, remarks=(*(Remark("c-ring", "note", told, x) for x in places), *made.remarks))
        cut = [x for x, held in zip(cut, holds, strict=True) if held]
    return found


def _without_pragmas(found: CFile, cut: Sequence[CutLoop]) -> tuple[CFile, list[CutLoop]]:
    """The loops to be cut that no pragma asks for, and the file with what is said of the others."""
    tokens = tokenize(found.source.text)
    asked = {id(x): y for x in cut if (y := asked_as_written(tokens, x.start, x.end)) is not None}
    told = "the loop is not cut where its subscripts go round: `{}` asks for it as it is written"
    remarks = [
        Remark("scop-pragma", "refused", told.format(asked[id(x)]), found.source.point(*tokens.place(x.start)))
        for x in cut if id(x) in asked
    ]  # fmt: skip
    return replace(found, remarks=(*found.remarks, *remarks)), [x for x in cut if id(x) not in asked]


def _rewritten(
    source: Source, changes: Sequence[tuple[Invocation, tuple[int, int]]]
) -> tuple[Source, list[tuple[int, int]]]:  # fmt: skip
    """The source with parts of it written otherwise, each for the sake of some extent, and where these are then."""
    text, extents = write_out(source.text, [x for x, _ in changes])
    told = [
        TextChange(x.start, x.end, *place, whole, whole != (x.start, x.end))
        for (x, whole), place in zip(changes, extents, strict=True)
    ]
    return rewrite(source, text, told), extents


def _with_names_of_users(made: CFile, found: CFile, cut: Sequence[CutLoop]) -> CFile:
    """The file with what was said of the loops that are cut where it would name what only the cut loops have."""
    place = tokenize(found.source.text).place
    wholes = [found.source.between(place(x.start), place(x.end)) for x in cut]
    remarks: list[Remark] = []
    for x in made.remarks:
        whole = next((y for y in wholes if x.place is not None and _is_inside(x.place, y)), None)
        if whole is not None and _OWN_NAME.search(x.message):
            said = [y for y in found.remarks if y.kind == x.kind and y.place is not None and _is_inside(y.place, whole)]
            x = said[0] if said else replace(x, message=_OWN_NAME.sub("its place in the ring", x.message), span=whole)
        remarks.append(x)
    return replace(made, remarks=tuple(dict.fromkeys(remarks)))


def _is_inside(place: Span, whole: Span) -> bool:
    return (whole.line, whole.column) <= (place.line, place.column) < (whole.end_line, whole.end_column)


def _without_spaces(file: CFile) -> str:
    """What the preprocessor makes of a file, but for where it stands."""
    return "".join("".join(x.split()) for x in file.preprocessed.split("\n") if not x.startswith("#"))


def _read(
    source: Source, defines: Sequence[str], include_dirs: Sequence[Path], fp: Floats, compiler: Sequence[str]
) -> CFile:
    ready = preprocess(source, defines, include_dirs, compiler)
    places = (Path(source.name).resolve().parent, *include_dirs)
    flags = [*(f"-I{x}" for x in places), *(f"-D{x}" for x in defines)]
    tree = parse_c(ready.text, source, flags, complete=not ready.missing, compiler=compiler)
    mark_attributes(tree.ast, source)
    declare_parameters(tree.ast)
    tokens = tokenize(source.text)
    lines = main_lines(ready.text, source.name)
    active = frozenset(number for number, text in lines if text.strip())
    characters: dict[str, CScalar] = {}
    if any(map(_UNSIGNED.match, defines)):
        remove_signs(tree.ast)
        characters = {"char": CScalar(U8, "", "char")}
    scope = bind_file(tree.ast, characters, find_exposed(ready.text))
    told = "which is declared with `{}`, so that another definition may be called"
    others = replaceable_functions(source, ready.text, defines, include_dirs, compiler)
    scope = replace(
        scope, functions={x: y for x, y in scope.functions.items() if x not in others},
        elsewhere={**dict(source.borrowed.refused), **{x: told.format(y) for x, y in others.items()}},
    )  # fmt: skip
    for function in (x for x in tree.ast.ext if isinstance(x, c_ast.FuncDef)):
        copy_members(function, scope)
    at = columns(tokens, lines)
    remarks = [*(x.remark for x in ready.missing), *tree.remarks]
    if tree.unknown_types:
        listed = ", ".join(tree.unknown_types)
        told = f"no header declares {listed}; nests that need it stay as written"
        first = next((x for x in tokens.tokens if x.text == tree.unknown_types[0]), None)
        span = None if first is None else source.point(*tokens.place(first.start), len(first.text))
        remarks.append(Remark("c-type", "note", told, span))
    forms = Forms(scope.records, scope.typedefs, scope.constants)
    variables = Variables(tree.ast, scope, forms, SYSTEM)
    completion = source.borrowed.completion() + variables.completion()
    calls = calls_in(tree.ast, scope.constants)
    expansion = partial(_expand, source, tokens, active, defines, include_dirs, compiler)
    kept = active_tokens(tokens, active)
    reading = _Reading(scope, source, tokens, at, kept, fp, remarks, forms, variables, MacroExpansion(expansion))
    functions = []
    by_members, by_elements = StructureArguments(scope), AddressTables(scope)
    for node in tree.ast.ext:
        if isinstance(node, c_ast.FuncDef) and node.coord is not None and node.decl.coord.file == source.name:
            by_members.rewrite(node.body)
            by_elements.rewrite(node)
            found = _read_function(node, reading)
            own, outside = variables.of(found.name), variables.outside(found.name)
            tests = conditions_of(node, calls, scope.constants)
            made = replace(found, globals=own, completion=completion, outside=outside, conditions=tests)
            functions.append(made)
    functions = list(_without_names_of_others(functions, reading))
    if names_plain_char(ready.text, (*written_texts(source, ready.text), *defines), SYSTEM):
        sign = "unsigned" if characters else "signed"
        functions = [replace(x, regions=tuple(replace(y, characters=sign) for y in x.regions)) for x in functions]
    if not functions:
        where, advice = source.point(1), "give a file with a kernel"
        raise PlanishError(Diagnostic("E0203", "the file defines no function", where, advice), source)
    interface = find_interface(tree.ast, source, ready.text, scope.constants, scope.typedefs)
    return CFile(
        source, tuple(functions), tuple(remarks), ready.text, interface=interface, missing=ready.missing,
        ring_loops=tuple(reading.ring_loops),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the functions of a file are read by."""

    scope: FileScope
    source: Source
    tokens: Tokens
    places: ColumnMap
    kept: Sequence[CToken]
    fp: Floats
    remarks: list[Remark]
    forms: Forms
    variables: Variables
    expansion: MacroExpansion
    ring_loops: list[CutLoop] = field(default_factory=list)


def _without_names_of_others(functions: Sequence[CFunction], reading: _Reading) -> Iterator[CFunction]:
    """The functions without nests that name what only other files have, and remarks on those that have functions of
    others."""
    borrowed, source = reading.source.borrowed, reading.source
    hidden = {*borrowed.names} - dict(borrowed.tables).keys() - dict(borrowed.functions).keys()
    hidden -= {x.text for x in reading.kept} if hidden else set()  # what is named here is the file's own
    for function in functions:
        kept = []
        for region in function.regions if borrowed.text else ():
            passed = f"{(region.names, region.declared, region.conditions, region.held, region.views, region.spaced)}"
            words = {*_WORD.findall(f"{passed} {region.recast} {region.distances} {region.bases}")}
            if found := sorted(words & hidden):
                message = f"the loop stays as written: it names {found[0]}, which only another file has"
                reading.remarks.append(Remark("scop-name", "refused", message, region.span))
                continue
            kept.append(region)
            called = {*_WORD.findall(source.text[region.start : region.end])}
            for name in sorted(reading.variables.reached(called) & dict(borrowed.functions).keys()):
                message = f"`{name}` of {borrowed.origin(name)} is a part of this nest"
                reading.remarks.append(Remark("c-inline", "note", message, region.span))
        yield replace(function, regions=tuple(kept)) if borrowed.text else function


def _expand(
    source: Source, tokens: Tokens, active: frozenset[int], defines: Sequence[str], include_dirs: Sequence[Path],
    compiler: Sequence[str],
) -> tuple[MarkedText, Tokens]:  # fmt: skip
    """The text with marks, and what the preprocessor makes of it. Raises UnreadableText."""
    marked = mark_names(tokens, active)
    try:
        made = preprocess(Source(source.name, marked.text), defines, include_dirs, compiler).text
    except PlanishError:
        raise UnreadableText("the preprocessor does not take it in parts") from None
    return marked, lines_of(main_lines(made, source.name))


def _find_items(node: c_ast.FuncDef, reading: _Reading) -> tuple[Item, dict[int, Item]]:
    """The body of a function in the user's text, and its statements there: of the text as it stands or, where that has
    another shape, after macros are expanded. Raises UnreadableText."""
    name, line = node.decl.name, node.decl.coord.line
    found: dict[int, Item] = {}
    try:
        body = scan_kept(reading.kept, name, line)
        match_items(node.body, body, reading.tokens, found)
        if all(id(x) in found for x in walk_tree(node.body) if isinstance(x, c_ast.For | c_ast.While | c_ast.DoWhile)):
            return body, found
    except UnreadableText:
        body = None
    expanded: dict[int, Item] = {}
    try:
        whole = scan_expanded(reading.expansion.get(), name, line)
        match_items(node.body, whole, reading.tokens, expanded)
    except UnreadableText:
        if body is None:
            raise
        return body, found
    return (whole, expanded) if body is None or len(expanded) > len(found) else (body, found)


def _read_function(node: c_ast.FuncDef, reading: _Reading) -> CFunction:
    source, tokens, places, remarks = reading.source, reading.tokens, reading.places, reading.remarks
    forms = reading.forms
    reading.scope.forget_members()
    bound = bind_function(node, reading.scope)
    found: dict[int, Item] = {}
    coord = node.decl.coord
    name_span = places.span(source, coord.line, coord.column or 1)
    body: Item | None = None
    try:
        body, found = _find_items(node, reading)
    except UnreadableText as reason:
        remarks.append(remark_of("scop-macro", f"{node.decl.name} stays as written: {reason}", name_span))
    regions = _find_regions(node, bound, found, reading, name_span)
    reading.ring_loops.extend(find_ring_loops(found, bound, tokens))
    result = resolve(node.decl.type.type, bound.typedefs)
    parameters = tuple(_parameter(x, bound, reading.fp, forms) for x in _declared_parameters(node))
    span = _function_span(source, tokens, name_span, body)
    return CFunction(
        node.decl.name,
        "static" in (node.decl.storage or []),
        result.type if isinstance(result, CScalar) else None,
        f"{text_of(node.decl)};",
        parameters,
        regions,
        span,
        body.start if body is not None else 0,
        body.end if body is not None else 0,
        forms.of_result(node.decl.type.type),
        uncallable=_uncallable(node, bound),
        loops=sum(map(is_loop, walk_tree(node.body))),
    )


def _find_regions(
    node: c_ast.FuncDef, bound: BoundNames, items: dict[int, Item], reading: _Reading, span: Span
) -> tuple[Region, ...]:
    """The regions of a function in their order; none where they, or what finds them, are nested too deep."""
    remarks = reading.remarks
    try:
        state = Search(
            bound, reading.source, reading.tokens, reading.places, items, live_after(bound), reading.fp,
            computed_from_parameters(bound),
        )  # fmt: skip
        search(node.body, state)
    except RecursionError:
        message = f"{node.decl.name} is nested too deep to be analysed; it stays as written"
        remarks.append(Remark("analysis-depth", "refused", message, span))
        return ()
    remarks.extend(state.remarks)
    unseen = reading.variables.unseen(node.decl.name)
    ordered: list[Region] = []
    pragmas = [*pragmas_in(node.body, items)] if state.found else []
    for region in sorted(state.found, key=lambda r: r.start):
        if (depth := depth_of(region.kernel.body)) > MOST_NESTED:
            message = f"what this computes is {depth} levels deep, of which {MOST_NESTED} are analysed"
            remarks.append(Remark("analysis-depth", "refused", message, region.span))
        else:
            region = replace(region, unseen=unseen_in(region, bound, unseen))
            made = with_pragmas(region, reading.tokens, pragmas)
            if isinstance(made, Region):
                ordered.append(made)
            else:
                message = f"the loop stays as written: {made}"
                remarks.append(Remark("scop-pragma", "refused", message, region.span))
    return tuple(_numbered(region, n, len(ordered)) for n, region in enumerate(ordered, 1))


def _function_span(source: Source, tokens: Tokens, name: Span, body: Item | None) -> Span:
    if body is None:
        return name
    whole = source.between(tokens.place(body.start), tokens.place(body.end))
    return replace(whole, line=name.line, column=name.column)


def _numbered(region: Region, ordinal: int, count: int) -> Region:
    """One region has the name of the function, several are numbered from 1."""
    name = region.function if count == 1 else f"{region.function}_{ordinal}"
    stages = tuple(replace(x, ordinal=ordinal, kernel=replace(x.kernel, name=name)) for x in region.stages)
    return replace(region, ordinal=ordinal, kernel=replace(region.kernel, name=name), stages=stages)


def _declared_parameters(node: c_ast.FuncDef) -> list[c_ast.Decl]:
    arguments = node.decl.type.args
    return [x for x in (arguments.params if arguments is not None else []) if isinstance(x, c_ast.Decl)]


def _uncallable(node: c_ast.FuncDef, bound: BoundNames) -> str:
    """Why a function cannot be called from outside, or ""."""
    arguments = node.decl.type.args.params if node.decl.type.args is not None else []
    if is_promoted(node, bound.typedefs):
        return "its `short`, `char` or `float` parameters are promoted, as in C before 1989"
    named = (x for x in arguments if isinstance(x, c_ast.Typename))
    if any(not isinstance(x.type.type, c_ast.IdentifierType) or x.type.type.names != ["void"] for x in named):
        return "a parameter has no name"
    return ""


def _parameter(node: c_ast.Decl, bound: BoundNames, fp: Floats, forms: Forms) -> CParameter:
    symbol, seen = bound.symbol(node), forms.seen_as(node, bound.function.body)
    if symbol is None:
        return CParameter(node.name, None, False, (), text_of(node), forms.of_parameter(seen))
    ctype = symbol.ctype if seen is node else resolve(seen, bound.typedefs)
    extents = _extents(symbol, bound, fp) if seen is node else (None,)
    form = forms.naming(bound.function.body, node.name).of_parameter(seen)
    return CParameter(node.name, leaf_of(ctype), isinstance(ctype, CPointer), extents, text_of(node), form)


def _extents(symbol: Symbol, bound: BoundNames, fp: Floats) -> tuple[Expr | None, ...]:
    cx = CTranslation(bound, fp, frozenset(), lambda _: None)
    out: list[Expr | None] = []
    ctype = symbol.declared
    while isinstance(ctype, (CPointer, CArray)):
        extent: Expr | None = None
        if isinstance(ctype, CArray) and ctype.extent is not None:
            try:
                extent = index_of(ctype.extent, cx).expr
            except NotIndex:
                extent = None
        out.append(extent)
        ctype = ctype.element if isinstance(ctype, CArray) else ctype.target
    return tuple(out)
