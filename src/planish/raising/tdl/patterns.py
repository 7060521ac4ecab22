"""A pattern as an operation: its name, and the kernel that defines it.

>>> from planish.core.span import Source
>>> from planish.ir.text.printer import print_kernel
>>> from planish.raising.tdl.parser import parse_definitions
>>> text = "def gemv { pattern y(i) += alpha * A(i, k) * x(k) where i < m, k < n }"
>>> source = Source("t.tdl", text)
>>> made = operation_of(parse_definitions(source)[0], source)
>>> print(print_kernel(made.definition), end="")
kernel gemv(m, n; alpha: f64; y: f64[m], A: f64[m, n], x: f64[n])
{
  for i in 0 .. m {
    for k in 0 .. n {
      y[i] += alpha * A[i, k] * x[k]
    }
  }
}
>>> made.einsum
'ab,b->a'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.ir.checker import check_kernel
from planish.ir.expr import Compare, Expr, index
from planish.ir.index.polynomial import names
from planish.ir.nest import Array, Assign, Block, Kernel, Reduce, Scalar
from planish.ir.passes.update_idioms import with_updates
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.ir.types import F64, Type
from planish.raising.operation import Operation
from planish.raising.tdl.domain import loops_of
from planish.raising.tdl.scope import scope_of
from planish.raising.tdl.shapes import factors_of, shapes_of
from planish.raising.tdl.syntax import (
    ComparisonChain,
    ElementRef,
    Infix,
    TacticDefinition,
    TdlName,
    TdlStatement,
    Term,
    Verbatim,
)
from planish.raising.tdl.values import TdlScope, accesses, conditions_of, parts

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def scope_in(definition: TacticDefinition, sizes: tuple[str, ...], source: Source) -> TdlScope:
    """What names stand for in a tactic: in one whose pattern is a nest, only its sizes are constants."""
    if isinstance(definition.pattern, Verbatim):
        return TdlScope(source, {}, sizes)
    return scope_of(definition.pattern, definition.guards, source)


def operation_of(definition: TacticDefinition, source: Source) -> Operation:
    """What a tactic looks for.

    PlanishError E0813 for a size that nothing tells, and those of `scope_of`, `shapes_of` and `loops_of`; for a nest
    those of its parser and checker.
    """
    if not isinstance(definition.pattern, Verbatim):
        return define(definition.name, definition.pattern, source, None, definition.guards)
    kernel = _nest(definition, definition.pattern, source)
    scope = scope_in(definition, kernel.sizes, source)
    guards = tuple(x for chain in definition.guards for x in conditions_of(chain, scope, sizes=True))
    assumptions = (*kernel.assumptions, *guards)
    made = Operation(definition.name, replace(kernel, body=with_updates(kernel.body), assumptions=assumptions))
    if not any(isinstance(x, Assign | Reduce) for x in walk(made.definition.body)):
        scope.fail("E0811", "the nest stores nothing", definition.pattern.span)
    return made


def define(
    name: str,
    pattern: Sequence[TdlStatement],
    source: Source,
    element: Type | None = None,
    guards: Sequence[ComparisonChain] = (),
) -> Operation:
    """What statements compute, one after the other; where no type of elements is given, they say it."""
    scope = scope_of(pattern, guards, source)
    scope = replace(scope, element=element or scope.element)
    shapes = shapes_of(pattern, scope)
    arrays = tuple(Array(array, scope.element, shape) for array, shape in shapes.items())
    body = Block(tuple(loops_of(stmt, scope) for stmt in pattern))
    sizes = _sizes(scope)
    _check_told(pattern, sizes, arrays, scope)
    positive = tuple(Compare("ge", index(x), index(1)) for x in factors_of(pattern, scope))
    conditions = tuple(x for chain in guards for x in conditions_of(chain, scope, sizes=True))
    kernel = Kernel(name, sizes, _scalars(pattern, scope), arrays, body, (*positive, *conditions))
    check_kernel(kernel, "the description of tactics")
    return Operation(name, kernel, _einsum(pattern, scope))


def _nest(definition: TacticDefinition, text: Verbatim, source: Source) -> Kernel:
    """A pattern that is given as a nest; its places are those of the file."""
    assert text.span is not None
    # The word that a kernel begins with stands in the lines before the text, or in front of it in the first one.
    line, column = text.span.line, text.span.column
    head = "kernel k" + "\n" * (line - 1) + " " * (column - 1) if line > 1 else "kernel k".rjust(column - 1)
    try:
        kernel = replace(parse_kernel(head + text.text, source.name), name=definition.name)
        check_kernel(kernel, "the description of tactics")
    except PlanishError as error:
        told = error.diagnostic
        message = told.message.removeprefix(f"after the description of tactics, in kernel `{definition.name}`: ")
        raise PlanishError(replace(told, message=message, span=told.span or text.span), source) from error
    return kernel


def _sizes(scope: TdlScope) -> tuple[str, ...]:
    """The sizes of a pattern: those of indices first."""
    own = [x for size in scope.indices.values() for x in sorted(names(size))]
    return tuple(dict.fromkeys((*own, *scope.constants)))


def _check_told(
    pattern: Sequence[TdlStatement], sizes: Sequence[str], arrays: Sequence[Array], scope: TdlScope
) -> None:
    """That each size is a part of an extent or of a subscript, so that a match tells what it is."""
    told = {x for array in arrays for e in array.shape if e is not None for x in names(e)}
    subscripts = [x for stmt in pattern for a in (stmt.target, *accesses(stmt.value)) for x in a.subscripts]
    told |= {x.text for term in subscripts for x in parts(term) if isinstance(x, TdlName)}
    for name in sizes:
        if name not in told:
            span = next((x.span for stmt in pattern for c in stmt.chains for t in (*c.first, *(r for _, r in c.rest))
                         for x in parts(t) if isinstance(x, TdlName) and x.text == name), None)  # fmt: skip
            message, advice = f"nothing tells what the size `{name}` is", "it is the extent of no operand"
            raise PlanishError(Diagnostic("E0813", message, span, advice), scope.source)


def _scalars(pattern: Sequence[TdlStatement], scope: TdlScope) -> tuple[Scalar, ...]:
    """The names in values that are no sizes."""
    out: dict[str, Scalar] = {}
    for stmt in pattern:
        for part in _values(stmt.value):
            if isinstance(part, TdlName) and part.text not in scope.constants:
                out[part.text] = Scalar(part.text, scope.element)
    return tuple(out.values())


def _values(term: Term) -> list[Term]:
    """The parts of a value that are values themselves: no subscripts."""
    skipped = {id(x) for access in accesses(term) for s in access.subscripts for x in parts(s)}
    return [x for x in parts(term) if id(x) not in skipped]


def _einsum(pattern: Sequence[TdlStatement], scope: TdlScope) -> str:
    """The product of a pattern that is one sum of products of different operands, in that notation; "" for others."""
    last = pattern[-1]
    factors = _factors(last.value)
    operands = [x for x in factors if isinstance(x, ElementRef)]
    if last.op != "+=" or scope.element != F64 or last.chains and _narrows(last, scope) or not operands:
        return ""
    if any(
        not isinstance(x, ElementRef | TdlName) or isinstance(x, TdlName) and x.text in scope.constants for x in factors
    ):
        return ""
    if any(accesses(x.value) or x.chains and _narrows(x, scope) for x in pattern[:-1]):
        return ""
    if len({x.array for x in operands}) != len(operands) or last.target.array in {x.array for x in operands}:
        return ""
    letters: dict[str, str] = {}
    texts: list[str] = []
    for access in (last.target, *operands):
        if not all(isinstance(x, TdlName) and x.text in scope.indices for x in access.subscripts):
            return ""
        texts.append("".join(letters.setdefault(str(x), _LETTERS[len(letters)]) for x in access.subscripts))
        if len(set(texts[-1])) != len(texts[-1]):
            return ""
    return f"{','.join(texts[1:])}->{texts[0]}" if set(texts[0]) <= set("".join(texts[1:])) else ""


def _factors(term: Term) -> list[Term]:
    match term:
        case Infix(op="*", left=left, right=right):
            return [*_factors(left), *_factors(right)]
        case _:
            return [term]


def _narrows(stmt: TdlStatement, scope: TdlScope) -> bool:
    """Whether the ranges of a statement leave out a value of an index."""
    box: dict[str, Expr] = dict(scope.indices)
    for chain in stmt.chains:
        for condition in conditions_of(chain, scope):
            size = box.get(next(iter(names(condition.left)), ""))
            if condition.op != "lt" or condition.right != size or condition.left not in map(index, box):
                return True
    return False
