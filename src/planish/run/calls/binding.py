"""A call from Python, checked before anything is touched: sizes follow from shapes, and every message says what to do.

>>> import numpy as np
>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> from planish.run.calls.arguments import interface_of_c
>>> text = "void axpy(int n, float a, const float *x, float *y) { for (int i = 0; i < n; i++) y[i] += a * x[i]; }"
>>> interface = interface_of_c(read_c(Source("axpy.c", text)).functions[0], text)
>>> x, y = np.ones(5, np.float32), np.ones(5, np.float32)
>>> bind(interface, (2.0, x, y), {})["n"]
5
>>> bind(interface, (6, 2.0, x, y), {})
Traceback (most recent call last):
ValueError: axpy: `x` must have 6 elements with n = 6, but has 5
"""

from __future__ import annotations

import keyword
import numbers
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from math import prod
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from planish.ir.expr import Expr
from planish.ir.index.evaluate import evaluate
from planish.ir.semantics.arithmetic import limits
from planish.ir.text.printer import print_expr
from planish.ir.traverse import variables
from planish.ir.types import Type
from planish.poly.scop.footprint import Box
from planish.run.calls.arguments import Argument, CallInterface
from planish.run.sizes.random_arguments import memory_dtype

AnyArray = npt.NDArray[Any]
Sizes = Mapping[str, int]
_SEEN = 256
_PROBES = (1 << 20, 1, 0)
_OTHERS = ((1 << 22) + 3, (1 << 22) + 17)


Seen = dict[object, dict[str, int]]
"""The sizes that followed from calls which were found good: by their own sizes, shapes and strides."""


def bind(
    interface: CallInterface, given: Sequence[object], named: Mapping[str, object], seen: Seen | None = None
) -> dict[str, Any]:
    """Every argument by name, arrays as they are. Integers that shapes tell may be left out.

    `seen` spares calls like earlier ones most of the work. Raises TypeError (number and types of arguments),
    ValueError (shapes, strides, values that do not fit), and AssertionError where what the function asserts is not so.
    """
    return bind_named(interface, assign(interface, given, named), seen)


def bind_named(interface: CallInterface, raw: Mapping[str, object], seen: Seen | None = None) -> dict[str, Any]:
    """What `bind` gives, of arguments by name."""
    function = interface.signature.function
    values: dict[str, Any] = {}
    for argument in interface.arguments:
        if argument.name in raw:
            check = _checked_array if argument.kind == "array" else _checked_value
            values[argument.name] = check(argument, raw[argument.name], function)
        elif argument.default is not None:
            values[argument.name] = argument.default
    arrays = {a.name: values[a.name] for a in interface.arguments if a.kind == "array"}
    sizes = {a.name: values[a.name] for a in interface.arguments if a.name in values and _is_size(a)}
    like = (tuple(sizes.items()), tuple((x.shape, x.strides) for x in arrays.values()))
    known = seen.get(like) if seen is not None else None
    if known is None:
        known = _complete(interface, arrays, sizes)
        if seen is not None:
            if len(seen) >= _SEEN:
                seen.clear()
            seen[like] = known
    _check_overlap(interface, arrays)
    return values | known


def _complete(interface: CallInterface, arrays: Mapping[str, AnyArray], given: Sizes) -> dict[str, int]:
    """All sizes, with which every array was found to be as the function needs it."""
    function = interface.signature.function
    sizes = {**given, **infer(interface, arrays, given)}
    for argument in interface.arguments:
        if _is_size(argument):
            if argument.name not in sizes:
                hint = "pass it" if not argument.hidden else "the arrays do not agree with their declarations"
                raise ValueError(f"{function}: `{argument.name}` does not follow from the shapes of the arrays; {hint}")
            _fitting(argument, sizes[argument.name], function)
    for condition, text in interface.asserted:
        if not evaluate(condition, sizes):
            raise AssertionError(f"{function}: {text}")
    for argument in interface.arguments:
        if argument.kind == "array":
            check_layout(argument, arrays[argument.name], sizes, function)
    return sizes


def _is_size(argument: Argument) -> bool:
    return argument.kind == "value" and argument.type.is_int


def assign(interface: CallInterface, given: Sequence[object], named: Mapping[str, object]) -> dict[str, object]:
    """The arguments by name, as they were passed; `in_` stands for a parameter `in`, which Python has taken. Raises
    TypeError for those that are missing or too many."""
    function = interface.signature.function
    shown = [a for a in interface.arguments if not a.hidden]
    named = {(x if keyword.iskeyword(x := name.removesuffix("_")) else name): named[name] for name in named}
    for name in named:
        if name not in {a.name for a in interface.arguments}:
            raise TypeError(f"{function}: there is no parameter `{name}`; it is {interface}")
    free = [a for a in shown if a.name not in named]
    needed = [a for a in free if a.name not in interface.inferable and a.default is None]
    if len(given) > len(free):
        count = len(given) + len(named)
        raise TypeError(f"{function}: {count} arguments for {len(shown)} parameters; it is {interface}")
    # Left out are the integers that shapes tell, all of them or none.
    order = free if len(given) > len(needed) else needed
    out = {**named, **{a.name: value for a, value in zip(order, given, strict=False)}}
    for argument in needed:
        if argument.name not in out:
            raise TypeError(f"{function}: no value for `{argument.name}`; it is {interface}")
    return out


def _checked_value(argument: Argument, value: object, function: str) -> int | float | bool:
    where, type = f"{function}: `{argument.name}`", argument.type
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.ndarray):
        raise TypeError(f"{where} must be a single {type}, but is {_kind(value)}")
    if type.kind == "bool":
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{where} must be True or False, but is {_kind(value)}")
        return bool(value)
    if type.is_int:
        if isinstance(value, bool | np.bool_) or not isinstance(value, SupportsIndex):
            raise TypeError(f"{where} must be an integer ({type}), but is {_kind(value)}")
        return _fitting(argument, operator.index(value), function)
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{where} must be a number ({type}), but is {_kind(value)}")
    return float(value)


def _fitting(argument: Argument, value: int, function: str) -> int:
    low, high = limits(argument.type)
    if not low <= value <= high:
        raise ValueError(f"{function}: `{argument.name}` is {value}, which does not fit {argument.type}")
    return value


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    return f"{value!r}" if isinstance(value, int | float | complex | np.generic) else f"a {type(value).__name__}"


def array_dtype(type: Type) -> np.dtype[Any]:
    """NumPy's type of the arrays that a caller passes (bf16: their bits as uint16)."""
    return np.dtype(np.bool_) if type.kind == "bool" else memory_dtype(type)


def _checked_array(argument: Argument, value: object, function: str) -> AnyArray:
    where, wanted = f"{function}: `{argument.name}`", array_dtype(argument.type)
    if not isinstance(value, np.ndarray):
        advice = f"for one value, pass np.zeros((), '{wanted}')" if _is_pointer(argument) else "use np.asarray"
        raise TypeError(f"{where} must be a NumPy array of {wanted}, but is {_kind(value)}; {advice}")
    if value.dtype != wanted:
        if value.dtype.newbyteorder("=") == wanted:
            raise TypeError(f"{where} is in the other byte order; convert it: {argument.name}.astype('{wanted}')")
        advice = f"convert it: {argument.name}.astype('{wanted}')"
        raise TypeError(f"{where} must hold {wanted}, but holds {value.dtype}; {advice}")
    if not value.flags.aligned:
        raise ValueError(f"{where} is not aligned to its {wanted.itemsize}-byte elements; pass a copy of it")
    if argument.written and not value.flags.writeable:
        raise ValueError(f"{where} may be written by the function, but the array is read-only; pass a copy of it")
    if not _is_pointer(argument) and value.ndim != len(argument.extents):
        wanted_shape = _shape_text(argument.extents)
        raise ValueError(f"{where} must have shape {wanted_shape}, but has shape {value.shape}")
    if value.size and value.shape[-1:] > (1,) and value.strides[-1] != value.itemsize:
        raise ValueError(f"{where} must have neighbouring elements in a row, {_found(argument, value)}")
    return value


def _is_pointer(argument: Argument) -> bool:
    return argument.extents == (None,)


def _shape_text(extents: Sequence[Expr | None]) -> str:
    inner = ", ".join("any" if e is None else print_expr(e) for e in extents)
    return f"({inner}{',' if len(extents) == 1 else ''})"


def infer(interface: CallInterface, arrays: Mapping[str, AnyArray], sizes: Sizes) -> dict[str, int]:
    """The integers that were left out, as far as the shapes tell them: declared extents first, then strides, then the
    subscripts that are reached. Raises ValueError where two arrays that decide alone tell different values."""
    wanted = {a.name for a in interface.arguments if _is_size(a)} - set(sizes)
    out: dict[str, int] = {}
    for sources in (_declared, _strides, _reached):
        progress = True
        while progress and wanted - set(out):
            progress = False
            told: dict[str, tuple[int, str]] = {}
            for argument in interface.arguments:
                if argument.kind == "array":
                    for function, names, actual in sources(argument, arrays[argument.name]):
                        for name in sorted(names & (wanted - set(out))):
                            value = solve(function, name, names, {**sizes, **out}, actual)
                            if value is not None:
                                _tell(told, name, value, argument.name, interface, sources is _reached)
            progress = bool(told)
            out |= {name: value for name, (value, _) in told.items()}
    return out


def _tell(
    told: dict[str, tuple[int, str]], name: str, value: int, array: str, interface: CallInterface, strict: bool
) -> None:
    before = told.setdefault(name, (value, array))
    if strict and before[0] != value:
        function, by = interface.signature.function, f"{before[0]} by `{before[1]}`, but {value} by `{array}`"
        raise ValueError(f"{function}: `{name}` would be {by}; pass arrays that agree, or pass `{name}`")


Equation = tuple[Callable[[Sizes], int], frozenset[str], int]
"""A function of sizes, the names it reads, and the value that it has in this call."""


def _equation(expr: Expr, actual: int) -> Equation:
    return partial(evaluate, expr), variables(expr), actual


def _declared(argument: Argument, array: AnyArray) -> Iterator[Equation]:
    for extent, actual in zip(argument.extents, array.shape, strict=False):
        if extent is not None:
            yield _equation(extent, actual)


def _strides(argument: Argument, array: AnyArray) -> Iterator[Equation]:
    for box in argument.boxes:
        if _is_pointer(argument) and len(box.shape) == array.ndim:
            for extent, actual in zip(box.shape[1:], row_lengths(array), strict=True):
                if extent is not None:
                    yield _equation(extent, actual)


def _reached(argument: Argument, array: AnyArray) -> Iterator[Equation]:
    if not _is_pointer(argument) and argument.extents[0] is not None:
        return
    for box in argument.boxes:
        if len(box.shape) == array.ndim:
            for upper, actual in zip(box.upper, array.shape, strict=True):
                yield _equation(upper, actual)
        elif _is_pointer(argument):
            names = frozenset(v for e in (*box.shape, *box.upper) if e is not None for v in variables(e))
            yield partial(_last, box), names, array.size


def _last(box: Box, sizes: Sizes) -> int:
    return span_of(box, sizes)[1]


def solve(
    function: Callable[[Sizes], int], name: str, names: frozenset[str], known: Sizes, actual: int
) -> int | None:
    """The value of `name` with which the function is `actual`; it must not depend on other unknown names.

    >>> solve(lambda s: 2 * s["n"] - s["k"], "n", frozenset("nk"), {"k": 3}, 7)
    5
    >>> solve(lambda s: s["n"] + s["k"], "n", frozenset("nk"), {}, 7) is None
    True
    """
    others = names - {name} - set(known)
    found: set[int | None] = set()
    for other in _OTHERS if others else _OTHERS[:1]:
        found.add(_solve_one(function, name, {**known, **dict.fromkeys(others, other)}, actual))
    return found.pop() if len(found) == 1 else None


def _solve_one(function: Callable[[Sizes], int], name: str, rest: Sizes, actual: int) -> int | None:
    for probe in _PROBES:
        first = function({**rest, name: probe})
        slope = function({**rest, name: probe + 1}) - first
        if slope and (actual - first) % slope == 0:
            value = probe + (actual - first) // slope
            # A step, from sizes with which nothing runs to those with which something does, is no slope.
            if [function({**rest, name: value + d}) for d in (0, 1)] == [actual, actual + slope]:
                return value
    return None


def row_lengths(array: AnyArray) -> tuple[int, ...]:
    """How far apart neighbours of each dimension but the last are, in units of the next dimension (0: not whole).

    >>> row_lengths(np.zeros((3, 9))[:, :4])
    (9,)
    """
    out, inner = [], array.itemsize
    for d in range(array.ndim - 1, 0, -1):
        step = array.strides[d - 1] if array.shape[d - 1] > 1 else array.shape[d] * inner
        out.append(step // inner if inner and step % inner == 0 else 0)
        inner = step
    return tuple(reversed(out))


def span_of(box: Box, sizes: Sizes) -> tuple[int, int]:
    """The first element that is touched, counted from the array's start, and one past the last; (0, 0) for none."""
    upper = [evaluate(e, sizes) for e in box.upper]
    if min(upper, default=1) <= 0:
        return 0, 0
    inner = [1 if e is None else evaluate(e, sizes) for e in box.shape[1:]]
    steps = [prod(inner[d:]) for d in range(len(box.shape))]
    # Steps may be negative (a row length below zero): the corner is then another one.
    lower = [evaluate(e, sizes) for e in box.lower]
    corners = [sorted((low * s, (high - 1) * s)) for low, high, s in zip(lower, upper, steps, strict=True)]
    return min(0, sum(c[0] for c in corners)), max(0, sum(c[1] for c in corners) + 1)


def check_layout(argument: Argument, array: AnyArray, sizes: Sizes, function: str) -> None:
    """Raises ValueError where the array's shape or strides are not those that the function takes."""
    where = f"{function}: `{argument.name}`"
    if not _is_pointer(argument):
        wanted = tuple(None if e is None else evaluate(e, sizes) for e in argument.extents)
        if any(w not in (None, have) for w, have in zip(wanted, array.shape, strict=True)):
            text = _shape_text(argument.extents)
            values = _with(sizes, *(e for e in argument.extents if e is not None))
            raise ValueError(f"{where} must have shape {text}{values}, but has shape {array.shape}")
        if not array.flags.c_contiguous:
            raise ValueError(f"{where} must be contiguous, row by row, {_found(argument, array)}")
    by_rows = [b for b in argument.boxes if len(b.shape) == array.ndim and array.ndim > 1]
    if not array.flags.c_contiguous and (len(by_rows) < max(1, len(argument.boxes)) or not argument.bounded):
        raise ValueError(f"{where} must be contiguous, row by row, {_found(argument, array)}")
    for box in argument.boxes:
        if len(box.shape) == array.ndim and array.ndim > 1:
            _check_rows(box, argument, array, sizes, where)
        else:
            _check_span(box, array, sizes, where)


def _found(argument: Argument, array: AnyArray) -> str:
    if array.ndim > 1 and array.flags.f_contiguous:
        name = argument.name
        return f"but is in Fortran order; pass np.ascontiguousarray({name}), or {name}.T if the function wants columns"
    return f"but has strides {array.strides}; pass np.ascontiguousarray({argument.name})"


def _with(sizes: Sizes, *exprs: Expr) -> str:
    """The values of the sizes in expressions, for a message."""
    names = sorted({v for e in exprs for v in variables(e)})
    return f" with {', '.join(f'{n} = {sizes[n]}' for n in names)}" if names else ""


def _check_span(box: Box, array: AnyArray, sizes: Sizes, where: str) -> None:
    first, last = span_of(box, sizes)
    named = (*box.upper, *(e for e in box.shape if e is not None))
    if first < 0:
        raise ValueError(f"{where} is accessed {-first} elements before its start{_with(sizes, *named, *box.lower)}")
    if last > array.size:
        raise ValueError(f"{where} must have {last} elements{_with(sizes, *named)}, but has {array.size}")


def _check_rows(box: Box, argument: Argument, array: AnyArray, sizes: Sizes, where: str) -> None:
    if span_of(box, sizes) == (0, 0):
        return
    for d, (extent, have) in enumerate(zip(box.shape[1:], row_lengths(array), strict=True)):
        wanted = have if extent is None else evaluate(extent, sizes)
        if wanted != have and array.shape[d] > 1:
            assert extent is not None
            text = f"{print_expr(extent)} = {wanted}"
            raise ValueError(f"{where} must have rows {wanted} elements apart ({text}), but they are {have} apart")
    for d, (lower, upper) in enumerate(zip(box.lower, box.upper, strict=True)):
        low, high = evaluate(lower, sizes), evaluate(upper, sizes)
        if low < 0:
            raise ValueError(f"{where} is accessed at {low} in dimension {d + 1}{_with(sizes, lower)}")
        if high > array.shape[d]:
            reach = f"up to {high - 1} in dimension {d + 1}{_with(sizes, upper)}"
            raise ValueError(f"{where} is accessed {reach}, but has shape {array.shape}")


def _check_overlap(interface: CallInterface, arrays: Mapping[str, AnyArray]) -> None:
    """Arrays that C declares `restrict` must not share elements with others where either is written."""
    kinds = [a for a in interface.arguments if a.kind == "array"]
    for a, b in combinations(kinds, 2):
        if (a.apart or b.apart) and (a.written or b.written):
            x, y = arrays[a.name], arrays[b.name]
            if np.shares_memory(x, y):
                names = f"`{a.name}` and `{b.name}` overlap"
                raise ValueError(f"{interface.signature.function}: {names}, which `restrict` forbids; pass a copy")
