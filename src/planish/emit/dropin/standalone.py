"""Kernels that never were C as a C file of plain functions, for the same way that C files go.

>>> from planish.ir.text.parser import parse_kernel
>>> file = emit_standalone(parse_kernel("kernel zero(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"))
>>> print(file.source.text[file.functions[0].start:], end="")
void zero(ptrdiff_t n, double *x)
{
  for (ptrdiff_t i = 0; i < n; i++)
    x[i] = 0.0;
}
>>> file.functions[0].regions[0].names
(('n', 'n'), ('x', 'x'))
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pycparser.c_parser import CParser

from planish.core.diagnostic import Remark
from planish.core.span import Source, Span
from planish.emit.c.expression import refuse_bf16
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import HELPERS, emit_prologue
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFile, CFunction, CParameter, HeaderInterface, Region
from planish.frontend.c.types.declarations import NAMED_BY_HEADERS
from planish.frontend.c.types.prototypes import find_interface
from planish.ir.expr import PURE_FUNCTIONS, Expr, Var
from planish.ir.nest import Assign, For, If, Kernel, Reduce, Stmt
from planish.ir.traverse import expressions, is_counted, loads, stored_arrays, substitute, walk
from planish.ir.types import I32, INDEX, Floats
from planish.poly.idioms.histogram import search_bins

_TAKEN = frozenset(
    {
        "main", "abs", "labs", "llabs", "div", "ldiv", "lldiv", "exit", "abort", "atexit", "system", "rand", "srand",
        "random", "srandom", "malloc", "calloc", "realloc", "free", "qsort", "bsearch", "select", "index", "rindex",
        "gamma", "lgamma", "tgamma", "erf", "erfc", "j0", "j1", "jn", "y0", "y1", "yn", "exp10", "pow10", "logb",
        "ilogb", "ldexp", "frexp", "modf", "scalbn", "scalbln", "scalb", "significand", "drem", "remainder", "remquo",
        "nan", "nearbyint", "nextafter", "nexttoward", "fdim", "fmaximum", "fminimum", "lround", "llround", "lrint",
        "llrint", "roundeven", "sincos", "isnan", "isinf", "isfinite", "finite", "signbit", "acosh", "asinh", "atanh",
        "register", "double", "float", "int", "long", "short", "char", "void", "auto", "const", "static", "struct",
        "union", "enum", "switch", "case", "default", "goto", "do", "extern", "inline", "restrict", "signed",
        "unsigned", "sizeof", "typedef", "volatile", "bool", "true", "false", "asm", "typeof",
    }
)  # fmt: skip
_NAME = re.compile(r"\(\*(?:restrict )?(\w+)\)|(\w+)(?:\[(?:restrict )?\d+\])?$")


def c_name_of(kernel: Kernel) -> str:
    """The name of the kernel's C function: its own, unless C or its library has that already."""
    plain = {f"{name}{suffix}" for name in PURE_FUNCTIONS for suffix in ("", "f", "l")}
    bad = kernel.name in _TAKEN or kernel.name in plain or kernel.name.startswith(("_", "planish_"))
    return f"kernel_{kernel.name.lstrip('_')}" if bad else kernel.name


def emit_standalone(*kernels: Kernel, origin: Source | None = None, fp: Floats = "reassociate") -> CFile:
    """Each kernel as a function of a C file, all of whose body is one region; of one with loops without a count, or in
    which data choose what is stored to, or what runs, its nests are found as they are in other C. `origin` is the text
    they were read from, `fp` as of `read_c`.

    The parameters are the sizes, the scalars and the arrays, in this order. A function that takes blocks of memory
    returns 0, or 1 where there is none. PlanishError E0710 for bf16.
    """
    for kernel in kernels:
        for type in (*(x.type for x in kernel.scalars), *(x.type for x in kernel.arrays)):
            refuse_bf16(type)
    names = [c_name_of(kernel) for kernel in kernels]
    nests = [_nest_of(kernel, fp) for kernel in kernels]
    texts = [
        emit_function(kernel, name, reserved=names, sized=nest is None).removeprefix("static ")
        for kernel, nest, name in zip(kernels, nests, names, strict=True)
    ]
    # The helpers get names of their own: the replacement's prologue brings the same ones.
    own = re.compile(r"\bplanish_(?=(?:" + "|".join(h.removeprefix("planish_") for h in HELPERS) + r")\b)")
    whole = own.sub("plain_", emit_prologue(texts, settings=None))
    functions: list[CFunction] = []
    remarks: tuple[Remark, ...] = ()
    place = 0
    for kernel, nest, name, text in zip(kernels, nests, names, texts, strict=True):
        text = own.sub("plain_", text)
        start = whole.index(text, place)
        place = start + len(text)
        functions.append(_function(kernel, nest or kernel, name, text, start))
    source = Source(f"{names[0]}.c" if origin is None else f"{Path(origin.name).stem}.c", whole)
    if None in nests:
        read = read_c(source, fp=fp)
        whole_of = zip(kernels, functions, nests, strict=True)
        functions = [_with_nests(f, k, read.function(f.name).regions) if x is None else f for k, f, x in whole_of]
        remarks = tuple(_placed(x, functions, whole) for x in read.remarks)
    return CFile(source, tuple(functions), remarks, whole, origin, _interface([x.prototype for x in functions]))


def _nest_of(kernel: Kernel, fp: Floats) -> Kernel | None:
    """The nest that all of a kernel is: one that counts as searches for what data choose, another one as it stands;
    None where it is no nest, since trip counts are not known or data choose elements of what is stored to.

    >>> from planish.ir.text.parser import parse_kernel
    >>> head = "kernel k(n; x: u8[n], h: i32[256], t: i32[256], y: i32[n])"
    >>> texts = ("h[i64(x[i])] += 1:i32", "y[i] = t[i64(x[i])]", "h[i64(x[i])] = y[i]")
    >>> found = [_nest_of(parse_kernel(f"{head} {{ for i in 0 .. n {{ {x} }} }}"), "strict") for x in texts]
    >>> [None if x is None else len([*walk(x.body)]) for x in found]
    [8, 4, None]
    """
    decided = (loads(e) for x in walk(kernel.body) for e in _decisions(x))
    if not is_counted(kernel) or any(True for x in decided for _ in x):
        return None
    stored = stored_arrays(kernel.body)
    places = [y for x in walk(kernel.body) if isinstance(x, Assign | Reduce) for y in x.index]
    read = (x for stmt in walk(kernel.body) for e in expressions(stmt) for x in loads(e))
    places += (y for x in read if x.array in stored for y in x.index)
    if not any(map(loads, places)):
        return kernel
    floats = any(x.name in stored and x.type.is_float for x in kernel.arrays)
    return None if floats and fp != "reassociate" else search_bins(kernel)


def _decisions(stmt: Stmt) -> tuple[Expr, ...]:
    """What says how often a loop runs, or whether a statement does."""
    match stmt:
        case For(lower=lower, upper=upper):
            return lower, upper
        case If(condition=condition):
            return (condition,)
        case _:
            return ()


def _placed(remark: Remark, functions: Sequence[CFunction], text: str) -> Remark:
    """A remark on the text, where the user wrote the function that it is on."""
    line = 0 if remark.span is None else remark.span.line
    inside = [x for x in functions if text.count("\n", 0, x.start) < line]
    return replace(remark, span=inside[-1].span if inside else None, about=None)


def _interface(prototypes: Sequence[str]) -> HeaderInterface:
    """What a header says of the functions."""
    names = (*NAMED_BY_HEADERS, "_Float16")
    text = "".join(f"typedef int {x};\n" for x in sorted(names))
    text += "\n".join(f"{x.rstrip(';')} {{ }}" for x in prototypes)
    return find_interface(CParser().parse(text, "plain.c"), Source("plain.c", text), "", {}, {})


def _function(kernel: Kernel, nest: Kernel, name: str, text: str, start: int) -> CFunction:
    """The function of a kernel, and of the nest that it is, whose text begins at `start` of the file."""
    head, _, _ = text.partition("\n{\n")
    first, end = start + len(head) + len("\n{\n"), start + text.rindex("}")
    takes_memory = head.startswith("int ")
    if takes_memory:
        # What the function returns when all is done belongs to both versions of its body.
        end = start + text.rindex("return 0;")
    body = text[first - start : end - start]
    first, end = first + len(body) - len(body.lstrip()), first + len(body.rstrip())
    names = tuple(zip(_names(kernel), spelt_names(head), strict=True))
    region = Region(name, 1, nest, first, end, names, span=kernel.span)
    parameters = _parameters(kernel, dict(names), _split(head))
    prototype = " ".join(head.split()).replace("( ", "(") + ";"
    span = kernel.span or Span(f"{name}.c", 1, 1, 1, 2)
    result = I32 if takes_memory else None
    end = start + len(text)
    return CFunction(name, False, result, prototype, parameters, (region,), span, start, end, meaning=kernel)


def _with_nests(function: CFunction, kernel: Kernel, regions: Sequence[Region]) -> CFunction:
    """The function with the nests that were found in its text, which stand where the user wrote the kernel."""

    def placed(region: Region) -> Region:
        inner = replace(region.kernel, span=kernel.span)
        return replace(region, kernel=inner, span=kernel.span, stages=tuple(map(placed, region.stages)))

    return replace(function, regions=tuple(map(placed, regions)))


def _names(kernel: Kernel) -> list[str]:
    return [*kernel.sizes, *(s.name for s in kernel.scalars), *(a.name for a in kernel.arrays)]


def _split(head: str) -> list[str]:
    """The parameters' declarations; commas within parentheses and brackets do not part them."""
    out, depth = [""], 0
    for character in head[head.index("(") + 1 : head.rindex(")")]:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            out.append("")
        else:
            out[-1] += character
    texts = [" ".join(text.split()) for text in out]
    return [] if texts == ["void"] else texts


def spelt_names(head: str) -> list[str]:
    """How C spells the parameters' names."""
    found = (_NAME.search(text) for text in _split(head))
    return [match[1] or match[2] for match in found if match is not None]


def _parameters(kernel: Kernel, spelt: dict[str, str], texts: list[str]) -> tuple[CParameter, ...]:
    fresh: dict[str, Expr] = {name: Var(spelt[name], INDEX) for name in kernel.sizes}
    declared = dict(zip(spelt, texts, strict=True))
    sizes = [CParameter(spelt[n], INDEX, False, (), declared[n]) for n in kernel.sizes]
    scalars = [CParameter(spelt[s.name], s.type, False, (), declared[s.name]) for s in kernel.scalars]
    arrays = [
        CParameter(
            spelt[a.name], a.type, True, tuple(None if e is None else substitute(e, fresh) for e in a.shape),
            declared[a.name],
        )
        for a in kernel.arrays
    ]  # fmt: skip
    return (*sizes, *scalars, *arrays)
