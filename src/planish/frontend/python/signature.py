"""A kernel's parameters as the user declared them, and how a call fills them: sizes follow from the arrays' shapes.

>>> import numpy as np
>>> from planish.frontend.python.reader import read_python_source
>>> text = '''
... def scale(alpha: f32, A: f32["n", "m"]):
...     for i in range(n):
...         for j in range(m):
...             A[i, j] *= alpha
... '''
>>> signature = read_python_source(text, "<text>").signature
>>> print(signature)
(alpha: f32, A: f32[n, m])
>>> values = bind_call(signature, (2.0, np.ones((2, 3), "float32")), {})
>>> values["n"], values["m"]
(2, 3)
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, SupportsIndex, assert_never

import numpy as np

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Binary, Const, Expr, Unary, Var
from planish.ir.semantics.arithmetic import limits
from planish.ir.text.printer import print_expr
from planish.ir.traverse import variables
from planish.ir.types import Type

Argument = int | float | bool | np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class PythonParameter:
    """One declared parameter; `inferred`: a size that a call may leave out, since a shape tells it."""

    name: str
    kind: Literal["size", "scalar", "array"]
    type: Type
    shape: tuple[Expr, ...] = ()
    inferred: bool = False
    default: int | float | bool | None = None

    def __str__(self) -> str:
        match self.kind:
            case "size":
                text = f"{self.name}: size"
            case "scalar":
                text = f"{self.name}: {self.type}"
            case "array":
                text = f"{self.name}: {self.type}[{', '.join(print_expr(x) for x in self.shape)}]"
            case _:
                assert_never(self.kind)
        return text if self.default is None else f"{text} = {self.default}"


@dataclass(frozen=True, slots=True)
class PythonSignature:
    """Declared parameters in order, and the sizes that stand in shapes only (always inferred)."""

    function: str
    parameters: tuple[PythonParameter, ...]
    hidden: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"({', '.join(str(x) for x in self.parameters)})"


def bind_call(
    signature: PythonSignature, arguments: Sequence[object], named: Mapping[str, object]
) -> dict[str, Argument]:
    """Every size, scalar and array of the kernel by name.

    Sizes that a shape tells may be left out; positional arguments then go to the other parameters in order.
    Raises PlanishError E0340 (wrong arguments), E0341 (an argument's type), E0342 (a shape), E0343 (a size that no
    shape tells).
    """
    given = _assign_arguments(signature, arguments, named)
    values: dict[str, Argument] = {}
    for parameter in signature.parameters:
        if parameter.name in given:
            values[parameter.name] = _checked(parameter, given[parameter.name], signature)
        elif parameter.default is not None:
            values[parameter.name] = parameter.default
        elif not parameter.inferred:
            _fail(signature, "E0340", f"no value for `{parameter.name}`")
    return _with_sizes(signature, values)


def _fail(signature: PythonSignature, code: str, message: str) -> NoReturn:
    advice = f"it is {signature.function}{signature}"
    raise PlanishError(Diagnostic(code, f"{signature.function}: {message}", help=advice))


def _assign_arguments(
    signature: PythonSignature, arguments: Sequence[object], named: Mapping[str, object]
) -> dict[str, object]:
    out = dict(named)
    known = {x.name for x in signature.parameters} | set(signature.hidden)
    for name in named:
        if name not in known:
            _fail(signature, "E0340", f"there is no parameter `{name}`")
    free = [x for x in signature.parameters if x.name not in named]
    if len(arguments) < len(free):
        # Left out are first the sizes that shapes tell, then what has a default.
        told = [x for x in free if not x.inferred]
        free = told if len(arguments) <= len(told) else free
    if len(arguments) > len(free):
        _fail(signature, "E0340", f"{len(arguments) + len(named)} arguments for {len(signature.parameters)} parameters")
    for parameter, argument in zip(free, arguments, strict=False):
        out[parameter.name] = argument
    return out


def _checked(parameter: PythonParameter, value: object, signature: PythonSignature) -> Argument:
    name, type = parameter.name, parameter.type
    match parameter.kind:
        case "array":
            if not isinstance(value, np.ndarray):
                _fail(signature, "E0341", f"`{name}` must be a NumPy array, not {value.__class__.__name__}")
            if value.dtype != np.dtype(type.numpy):
                _fail(signature, "E0341", f"`{name}` must hold {np.dtype(type.numpy)}, but holds {value.dtype}")
            if value.ndim != len(parameter.shape):
                _fail(signature, "E0342", f"`{name}` must have {len(parameter.shape)} dimensions, but has {value.ndim}")
            return value
        case "size":
            return _whole(name, value, type, signature)
        case "scalar":
            if type.is_int:
                return _whole(name, value, type, signature)
            if type.kind == "bool":
                if not isinstance(value, bool | np.bool_):
                    _fail(signature, "E0341", f"`{name}` must be True or False")
                return bool(value)
            if not isinstance(value, int | float | np.integer | np.floating):
                _fail(signature, "E0341", f"`{name}` must be a number, not {value.__class__.__name__}")
            return float(value)
        case _:
            assert_never(parameter.kind)


def _whole(name: str, value: object, type: Type, signature: PythonSignature) -> int:
    low, high = limits(type)
    if not isinstance(value, SupportsIndex) or isinstance(value, np.ndarray):
        _fail(signature, "E0341", f"`{name}` must be an integer, not {value.__class__.__name__}")
    number = operator.index(value)
    if not low <= number <= high:
        _fail(signature, "E0341", f"`{name}` is {number}, which does not fit {type}")
    return number


def _with_sizes(signature: PythonSignature, values: dict[str, Argument]) -> dict[str, Argument]:
    """The values with the sizes that follow from the arrays; every extent is compared with its declaration."""
    known: dict[str, int] = {
        x.name: int(values[x.name]) for x in signature.parameters if x.kind == "size" and x.name in values
    }
    extents: list[tuple[str, int, Expr, int]] = []
    for parameter in signature.parameters:
        if parameter.kind == "array":
            array = values[parameter.name]
            assert isinstance(array, np.ndarray)
            for axis, (extent, actual) in enumerate(zip(parameter.shape, array.shape, strict=True)):
                extents.append((parameter.name, axis, extent, actual))
    waiting = sorted(extents, key=lambda x: not isinstance(x[2], Var))
    while True:
        before = len(known)
        for _, _, extent, actual in waiting:
            unknown = variables(extent) - known.keys()
            if len(unknown) == 1:
                name = next(iter(unknown))
                found = solve(extent, name, known, actual)
                if found is not None:
                    known[name] = found
        if len(known) == before:
            break
    for name in (*(x.name for x in signature.parameters if x.kind == "size"), *signature.hidden):
        if name not in known:
            _fail(signature, "E0343", f"the size `{name}` does not follow from the shapes of the arrays")
    for name, axis, extent, actual in extents:
        declared = value_of(extent, known)
        if declared != actual:
            which = f"dimension {axis + 1} of `{name}` has extent {actual}"
            _fail(signature, "E0342", f"{which}, but `{print_expr(extent)}` is {declared}")
    return {**values, **known}


def solve(extent: Expr, name: str, known: Mapping[str, int], actual: int) -> int | None:
    """The value of `name` with which an extent that is affine in it equals `actual`; None where there is no such.

    >>> solve(Binary("add", Var("n", Type("int", 64)), Const(2, Type("int", 64))), "n", {}, 10)
    8
    """
    samples = [value_of(extent, {**known, name: x}) for x in (0, 1, 2, 3)]
    base, slope = samples[0], samples[1] - samples[0]
    if slope == 0 or samples != [base + slope * x for x in range(4)]:
        return None
    found, rest = divmod(actual - base, slope)
    return found if rest == 0 and value_of(extent, {**known, name: found}) == actual else None


def value_of(extent: Expr, sizes: Mapping[str, int]) -> int:
    """The number that an extent is for given sizes."""
    match extent:
        case Const(value=value):
            return int(value)
        case Var(name=name):
            return sizes[name]
        case Unary(op="neg", operand=x):
            return -value_of(x, sizes)
        case Binary(op=op, left=left, right=right):
            a, b = value_of(left, sizes), value_of(right, sizes)
            match op:
                case "add":
                    return a + b
                case "sub":
                    return a - b
                case "mul":
                    return a * b
                case "floordiv":
                    return a // b
                case "mod":
                    return a % b
                case "min":
                    return min(a, b)
                case "max":
                    return max(a, b)
                case _:
                    raise ValueError(f"`{op}` in an extent")
        case _:
            raise ValueError("an extent holds sizes and constants only")
