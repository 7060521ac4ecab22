"""Whether the operation that stands at a place of the corpus is found there, and if not, why.

    for finding in find_sites(entry, ((region, raise_kernel(region.kernel, operations)),)): print(finding)

>>> family("trsm_left_lower_plain_unit"), family("floyd_warshall")
('trsm', 'floyd-warshall')
>>> same_product((("A", "ac"), ("B", "cb")), "ab", (("B", "kj"), ("A", "ik")), "ij")
True
>>> same_product((("A", "ac"), ("B", "cb")), "ab", (("B", "kj"), ("A", "ki")), "ij")
False
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from bench.harness.places import ROOT
from planish.frontend.c.translation_unit import Region
from planish.ir.expr import Const, Expr, Unary
from planish.ir.nest import Assign, Reduce
from planish.ir.text.printer import print_expr
from planish.ir.traverse import loads, walk
from planish.raising.raised import Apply, Loops, Raised, Repeat, Step, View, walk_steps

sys.path[:0] = [str(ROOT / "tests" / "raising"), str(ROOT / "tests" / "unit" / "frontend_c")]

from corpus import Entry, Site  # noqa: E402  (found from the tests' folder only)

Read = Sequence[tuple[Region, Raised]]
"""The regions of a file with what each was raised to."""

Factors = Sequence[tuple[str, str]]
"""The arrays of a product, each with the letters of its subscripts."""

ALSO: Mapping[str, tuple[str, ...]] = {
    "copy": ("copy_matrix", "permute"),
    "transpose": ("copy_matrix", "copy", "mirror"),
    "sum": ("reduce_sum", "mean", "spread"),
    "stencil": ("stencil_1d", "stencil_2d", "stencil_3d", "stencil_difference", "stencil_curl", "stencil_seidel"),
    "ger": ("ger2",),
    "axpy": ("combine",),
    "elementwise": ("map", "zip", "combine", "add_bias", "bias", "broadcast", "standardise"),
    "argmax": ("arg_max", "iamax"),
    "maxpool": ("pool_max",),
    "minplus": ("product_min",),
    "prefix": ("prefix_sum", "prefix_sum_in_place", "prefix_sum_running"),
    "gemm": ("gemm_batched",),
    "nrm2": ("sumsq", "dot"),
}
"""Other names under which the tactics know the operations of the corpus."""

PRODUCTS = ("gemm", "gemv", "ger", "dot", "contraction", "axpy", "scal", "sum")
"""Operations that their einsum tells completely; of others it says nothing of triangles and the like."""

_VARIANTS = re.compile(
    r"(_(lower|upper|left|right|plain|transposed|unit|nonunit|equal|own|centre|star|box|inclusive|exclusive|valid"
    r"|padded|ncw|nwc|nchw|nhwc|ncdhw|ndhwc|rows|columns|acb|bac|bca|cab|cba|relu|exp|log|tanh|sqrt|abs|plus|minus"
    r"|times|over|grouped|depthwise|image|signal|channels|steps|vectors|matrices|strict|whole|apart))+$"
)
_NUMBER = re.compile(r"(_\d+)+$")


@dataclass(frozen=True, slots=True)
class Finding:
    """A site with the operation and the operands that were found; where `form` is "", `reason` says why none was."""

    line: int
    operation: str
    form: str
    reason: str = ""


def family(name: str) -> str:
    """An operation's name without its variant, with the corpus's dashes."""
    short = _VARIANTS.sub("", name)
    return "floyd-warshall" if short == "floyd_warshall" else short


def find_sites(entry: Entry, read: Read) -> list[Finding]:
    """What was found of each site of an entry."""
    return [_find(site, read) for site in entry.sites]


def _find(site: Site, read: Read) -> Finding:
    reasons: list[str] = []
    for region, raised in read:
        here = _statements_at(site.line, raised)
        for step in walk_steps(raised.steps):
            match step:
                case Apply(statements=statements) if here & {*statements}:
                    differs = what_differs(site, step, region, raised)
                    if not differs:
                        return Finding(site.line, site.operation, spell(step))
                    reasons.append(f"found {spell(step)}: {differs}")
                case Loops():
                    reasons += [reason for name, reason in step.reasons.items() if name in here]
    return Finding(site.line, site.operation, "", "; ".join(dict.fromkeys(reasons)) or "no statement stands there")


def _statements_at(line: int, raised: Raised) -> set[str]:
    """The names of the statements that a line has a part of."""
    statements = [x for x in walk(raised.kernel.body) if isinstance(x, Assign | Reduce)]
    spans = [(f"S{n}", x.span) for n, x in enumerate(statements)]
    return {name for name, span in spans if span is not None and span.line <= line <= span.end_line}


def spell(step: Apply) -> str:
    """An operation with its operands, in a few words."""
    arrays = [step.operands[x].array for x in step.operation.inputs if x in step.operands]
    einsum = f" {step.operation.einsum}" if step.operation.einsum and step.operation.name == "contraction" else ""
    return f"{step.operation.name}{einsum} {' '.join(arrays)} -> {step.operands[step.operation.output].array}"


def what_differs(site: Site, step: Apply, region: Region, raised: Raised) -> str:
    """What an operation has other than a site; "" where it is the same."""
    operation = step.operation
    if site.within and family(operation.name) == site.within:
        return ""
    product = bool(site.einsum and operation.einsum and site.operation in PRODUCTS)
    if not product and not _same_family(site.operation, operation.name):
        return f"`{operation.name}` is not `{site.operation}`"
    names = _Names(region)
    outputs = [names.plain(step.operands[x].array) for x in operation.outputs]
    if not any(site.output in _copied(x, raised, names) for x in outputs):
        return f"it writes `{outputs[0]}`"
    if product:
        if not same_product(_factors(step, names), _letters_of(step, operation.output), *_wanted(site)):
            return "it is another product"
    elif not any(set(site.inputs) <= x for x in _operand_names(step, raised, names)):
        return "its operands are others"
    for name, found in (("alpha", _alpha(step)), ("beta", beta_of(step, raised))):
        wanted = site.scalars.get(name, "")
        alike = product or family(operation.name) == site.operation
        if alike and found is not None and _is_plain(wanted) and found not in (wanted, ""):
            return f"{name} is {found}"
    return ""


def is_taken(site: Site, parameter: str, step: Apply, region: Region, raised: Raised) -> bool:
    """Whether an operation is the site's with a parameter ("beta=0"; "": with all that the site has)."""
    name, _, value = parameter.partition("=")
    if what_differs(site if not name else replace(site, scalars={}), step, region, raised):
        return False
    return not name or {"alpha": _alpha(step), "beta": beta_of(step, raised)}[name] == value


def spell_whole(step: Apply, raised: Raised) -> str:
    """An operation with its views, its scalars and the loops around it: what is the same computes the same."""
    views = [str(step.operands[x.name]) for x in step.operation.definition.arrays]
    scalars = [f"{name}={_number(x)}" for name, x in sorted(step.scalars.items())]
    return " ".join([step.operation.name, *views, *scalars, *_around(step, raised.steps)])


def _around(step: Apply, steps: Sequence[Step]) -> list[str]:
    for x in steps:
        if isinstance(x, Repeat) and any(y is step for y in walk_steps(x.steps)):
            return [f"for {x.var} {print_expr(x.lower)} .. {print_expr(x.upper)} by {x.by}", *_around(step, x.steps)]
    return []


def steps_at(line: int, raised: Raised) -> list[Apply]:
    """The operations that stand for a statement of a line."""
    here = _statements_at(line, raised)
    return [x for x in walk_steps(raised.steps) if isinstance(x, Apply) and here & {*x.statements}]


def _same_family(wanted: str, name: str) -> bool:
    return family(name) == wanted or family(name) in ALSO.get(wanted, ()) or name in ALSO.get(wanted, ())


def _is_plain(text: str) -> bool:
    """Whether a scalar of a site is a number or a name, which can be compared as text."""
    return bool(re.fullmatch(r"-?\w+", text))


@dataclass(frozen=True, slots=True)
class _Names:
    """What arrays of a kernel are called in C."""

    region: Region

    def plain(self, array: str) -> str:
        known = dict(self.region.names).get(array, array)
        found = re.search(r"[A-Za-z_]\w*", known)
        name = found[0] if found is not None else known
        return name if array in dict(self.region.names) else _NUMBER.sub("", name)


def _copied(array: str, raised: Raised, names: _Names) -> set[str]:
    """An array, and those that its elements are copied to."""
    out = {array}
    for step in walk_steps(raised.steps):
        if isinstance(step, Apply) and family(step.operation.name) in ("copy", "copy_matrix", "permute"):
            source = next(step.operands[x].array for x in step.operation.inputs)
            if names.plain(source) in out:
                out.add(names.plain(step.operands[step.operation.output].array))
    return out


def _operand_names(step: Apply, raised: Raised, names: _Names) -> Iterator[set[str]]:
    """The arrays of an operation, and with those that their elements were copied from."""
    used = {names.plain(x.array) for x in step.operands.values()}
    used |= {names.plain(x.array) for value in step.scalars.values() for x in loads(value)}
    yield used
    sources = set()
    for other in walk_steps(raised.steps):
        if isinstance(other, Apply) and family(other.operation.name) in ("copy", "copy_matrix", "permute"):
            if names.plain(other.operands[other.operation.output].array) in used:
                sources |= {names.plain(other.operands[x].array) for x in other.operation.inputs}
    yield used | sources


def _wanted(site: Site) -> tuple[Factors, str]:
    factors, _, output = site.einsum.partition("->")
    letters = factors.split(",")
    return list(zip((*site.inputs, *site.inputs), letters, strict=False)), output


def _factors(step: Apply, names: _Names) -> Factors:
    operation = step.operation
    return [(names.plain(step.operands[x].array), _letters_of(step, x)) for x in operation.inputs if x in step.operands]


def _letters_of(step: Apply, operand: str) -> str:
    """The letters of an operand in the order of its array's subscripts."""
    operation = step.operation
    factors, _, output = operation.einsum.partition("->")
    known = dict(zip(operation.inputs, factors.split(","), strict=False)) | {operation.output: output}
    return ordered_letters(step.operands[operand], known[operand])


def ordered_letters(view: View, letters: str) -> str:
    """The letters of a view's dimensions as the array has them; those that share a subscript, the longest step first.

    >>> from planish.ir.expr import index
    >>> ordered_letters(View("A", (index(0), index(0)), ((0, 1), (1, 0)), (index(4), index(4))), "ik")
    'ki'
    """
    places = []
    for letter, step in zip(letters, view.steps, strict=True):
        places.append((next((d for d, x in enumerate(step) if x), len(step)), -max(map(abs, step), default=0), letter))
    return "".join(letter for _, _, letter in sorted(places, key=lambda x: x[:2]))


def same_product(found: Factors, output: str, wanted: Factors, wanted_output: str) -> bool:
    """Whether two products are the same but for the letters and the order of their factors."""
    goal = _renamed([*(letters for _, letters in wanted), wanted_output])
    return any(
        [name for name, _ in order] == [name for name, _ in wanted]
        and _renamed([*(letters for _, letters in order), output]) == goal
        for order in permutations(found)
    )


def _renamed(words: Sequence[str]) -> list[list[int]]:
    numbers: dict[str, int] = {}
    return [[numbers.setdefault(letter, len(numbers)) for letter in word] for word in words]


def _alpha(step: Apply) -> str | None:
    """What the product is scaled by; None where the operation says nothing of it."""
    if "alpha" in step.scalars:
        return _number(step.scalars["alpha"])
    return "1" if step.operation.einsum else None


def beta_of(step: Apply, raised: Raised) -> str | None:
    """What the output is scaled by before the sum is added, by the operation or by what is run before it.

    None where the operation says nothing of it, "" where what is no operation may have done it.
    """
    if not step.operation.einsum:
        return None
    if "beta" in step.scalars:
        return _number(step.scalars["beta"])
    if not _reads_output(step):
        return "0"
    view = step.operands[step.operation.output]
    if not view.shape:
        return ""  # one element, which may be set anywhere
    return _prepared(view, _steps_before(step, raised))


def _reads_output(step: Apply) -> bool:
    """Whether the definition keeps the old values of what it writes: its first statement on it updates it."""
    operation = step.operation
    stmts = (x for x in walk(operation.definition.body) if isinstance(x, Assign | Reduce))
    first = next(x for x in stmts if x.array == operation.output)
    return isinstance(first, Reduce)


def _steps_before(step: Apply, raised: Raised) -> Iterator[Apply | Loops]:
    """The steps in front of one, the last one first."""
    steps = list(walk_steps(raised.steps))
    at = next(n for n, x in enumerate(steps) if x is step)
    return reversed(steps[:at])


def _prepared(view: View, before: Iterator[Apply | Loops]) -> str:
    for step in before:
        match step:
            case Apply(operation=operation, operands=operands) if operands[operation.output].array == view.array:
                if not _same_elements(operands[operation.output], view):
                    return ""
                if family(operation.name) == "fill":
                    return "0" if _number(step.scalars["alpha"]) == "0" else "1"
                return _number(step.scalars["alpha"]) if operation.name == "scal" else "1"
            case Loops(body=body):
                if any(isinstance(x, Assign | Reduce) and x.array == view.array for x in walk(body)):
                    return ""
    return "1"


def _same_elements(a: View, b: View) -> bool:
    """Whether two views have the same elements, in whatever order of their dimensions."""
    return a.start == b.start and _dimensions(a) == _dimensions(b)


def _dimensions(view: View) -> list[tuple[tuple[int, ...], str]]:
    return sorted((step, print_expr(extent)) for step, extent in zip(view.steps, view.shape, strict=True))


def _number(expr: Expr) -> str:
    match expr:
        case Const(value=value):
            return f"{value:g}" if not isinstance(value, bool) else str(value)
        case Unary(op="neg", operand=Const(value=value)):
            return f"{-value:g}"
        case _:
            return print_expr(expr)
