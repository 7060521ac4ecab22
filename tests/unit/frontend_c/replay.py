"""Runs a C function as it is, and again with every region replaced by the interpreter working on the same memory."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planish.core.span import Source
from planish.emit.dropin.replacement import passed_names
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFile, CFunction, CParameter
from planish.ir.checker import check_kernel
from planish.ir.expr import Binary, Compare, Const, Expr, Unary, Var
from planish.ir.nest import Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.ir.types import Type

_C_NAMES = {
    "bool": "_Bool", "i8": "signed char", "i16": "short", "i32": "int", "i64": "long", "u8": "unsigned char",
    "u16": "unsigned short", "u32": "unsigned", "u64": "unsigned long", "f32": "float", "f64": "double",
}  # fmt: skip
_OPERATORS = {"add": "+", "sub": "-", "mul": "*"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def c_text(expr: Expr, names: dict[str, str]) -> str:
    """An index expression as C."""
    match expr:
        case Const(value=value):
            return f"{value}L"
        case Var(name=name):
            return f"(long)({names[name]})"
        case Compare(op=op, left=left, right=right):
            return f"({c_text(left, names)} {_COMPARISONS[op]} {c_text(right, names)})"
        case Unary(operand=x):
            return f"(-{c_text(x, names)})"
        case Binary(op="max" | "min" as op, left=left, right=right):
            a, b = c_text(left, names), c_text(right, names)
            return f"({a} {'>' if op == 'max' else '<'} {b} ? {a} : {b})"
        case Binary(op="mod", left=left, right=right):
            a, b = c_text(left, names), c_text(right, names)
            return f"({a} - {b} * floor_div({a}, {b}))"
        case Binary(op="floordiv", left=left, right=right):
            return f"floor_div({c_text(left, names)}, {c_text(right, names)})"
        case Binary(op=op, left=left, right=right):
            return f"({c_text(left, names)} {_OPERATORS[op]} {c_text(right, names)})"
        case _:
            raise AssertionError(expr)


def replaced(file: CFile) -> str:
    """The source with a call of `planish_region_N` in the place of each region."""
    text = file.source.text
    regions = [r for f in file.functions for r in f.regions]
    for number, region in sorted(enumerate(regions), key=lambda x: -x[1].start):
        names = passed_names(region)
        kernel = region.kernel
        arguments = [f"(long[]){{{names[s]}}}" for s in kernel.sizes]
        arguments += [f"({_C_NAMES[str(s.type)]}[]){{{names[s.name]}}}" for s in kernel.scalars]
        arguments += [f"(void *)({names[a.name]})" for a in kernel.arrays]
        before = "".join(f"long planish_u{n} = {c_text(u.value, names)}; " for n, u in enumerate(region.updates))
        after = "".join(
            f"{u.variable} {'=' if u.kind == 'set' else '+='} planish_u{n}; " for n, u in enumerate(region.updates)
        )
        listed = ", ".join([*arguments, "0"])
        call = f"{{ {before}planish_region_{number}((void *[]){{{listed}}}); {after}}}"
        if kernel.assumptions or region.conditions:
            holds = " && ".join([*(c_text(a, names) for a in kernel.assumptions), *region.conditions])
            call = f"{{ if ({holds}) {call} else {{ {text[region.start : region.end]} }} }}"
        text = text[: region.start] + call + text[region.end :]
    pointers = "".join(f"void (*planish_region_{n})(void **);\n" for n in range(len(regions)))
    divide = "static long floor_div(long a, long b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }\n"
    pointers = f"#include <stddef.h>\n#include <stdint.h>\n{pointers}"
    return f'{pointers}{divide}#line 1 "{file.source.name}"\n{text}'


def build(text: str, directory: Path, name: str, include: Path, defines: tuple[str, ...]) -> ctypes.CDLL:
    """Compile C text to a shared library."""
    path = directory / f"{name}.c"
    path.write_text(text)
    flags = ["-O1", "-ffp-contract=off", "-fPIC", "-shared", "-w", "-Dregister=", f"-I{include}"]
    flags += [f"-D{d}" for d in defines]
    library = directory / f"{name}.so"
    subprocess.run(["cc", *flags, str(path), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


@dataclass
class Replay:
    """A file compiled twice; errors of the interpreter are kept in `errors`, `calls` counts its runs."""

    file: CFile
    original: ctypes.CDLL
    replayed: ctypes.CDLL
    buffers: list[np.ndarray[Any, Any]]
    errors: list[BaseException]
    keep: list[Any]
    calls: int = 0


def prepare(
    source: Source,
    directory: Path,
    defines: tuple[str, ...] = (),
    fp: str = "strict",
    include: Path | None = None,
    change: Callable[[Kernel], Kernel] = lambda kernel: kernel,
) -> Replay:
    """Read the file, check its kernels, and compile it as it is and with its regions replaced.

    What is interpreted is what `change` makes of each region's kernel; it has the same parameters.
    """
    file = read_c(source, defines=defines, fp=fp).without_early_exits()
    place = include or directory
    original = build(source.text, directory, "original", place, defines)
    replayed = build(replaced(file), directory, "replayed", place, defines)
    replay = Replay(file, original, replayed, [], [], [])
    prototype = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p))
    for number, region in enumerate(r for f in file.functions for r in f.regions):
        check_kernel(region.kernel, "frontend")
        assert parse_kernel(print_kernel(region.kernel)) == region.kernel
        callback = prototype(_interpret(change(region.kernel), replay))
        replay.keep.append(callback)
        slot = ctypes.c_void_p.in_dll(replayed, f"planish_region_{number}")
        slot.value = ctypes.cast(callback, ctypes.c_void_p).value
    return replay


def _interpret(kernel: Kernel, replay: Replay) -> Any:
    def run(arguments: Any) -> None:
        try:
            replay.calls += 1
            run_kernel(kernel, _values(kernel, arguments, replay))
        except BaseException as error:
            replay.errors.append(error)

    return run


def _values(kernel: Kernel, arguments: Any, replay: Replay) -> dict[str, Any]:
    values: dict[str, Any] = {}
    at = 0
    for size in kernel.sizes:
        values[size] = ctypes.cast(arguments[at], ctypes.POINTER(ctypes.c_long))[0]
        at += 1
    for scalar in kernel.scalars:
        values[scalar.name] = _view(arguments[at], (1,), scalar.type)[0]
        at += 1
    for array in kernel.arrays:
        shape = [None if x is None else _evaluate(x, values) for x in array.shape]
        address = arguments[at]
        if shape and shape[0] is None:
            inner = array.type.size
            for extent in shape[1:]:
                inner *= extent or 1
            ends = [b.ctypes.data + b.nbytes for b in replay.buffers if 0 <= address - b.ctypes.data < b.nbytes]
            shape[0] = (ends[0] - address) // inner if ends else 1
        values[array.name] = _view(address, tuple(x or 0 for x in shape), array.type)
        at += 1
    return values


def _evaluate(expr: Expr, values: dict[str, Any]) -> int:
    match expr:
        case Const(value=value):
            return int(value)
        case Var(name=name):
            return int(values[name])
        case Binary(op=op, left=a, right=b):
            x, y = _evaluate(a, values), _evaluate(b, values)
            return {"add": x + y, "sub": x - y, "mul": x * y}[op]
        case _:
            raise AssertionError(expr)


def _view(address: int, shape: tuple[int, ...], type: Type) -> np.ndarray[Any, Any]:
    count = int(np.prod(shape, dtype=int))
    memory = (ctypes.c_char * (count * type.size)).from_address(address)
    flat: np.ndarray[Any, Any] = np.frombuffer(memoryview(memory), dtype=np.dtype(type.numpy), count=count)
    return flat.reshape(shape)


def arguments_for(
    function: CFunction, sizes: dict[str, int], seed: int, elements: int = 4096
) -> dict[str, int | float | np.ndarray[Any, Any]]:
    """Random arguments: arrays of the declared extents or of `elements` elements."""
    random = np.random.default_rng(seed)
    out: dict[str, Any] = {}
    for parameter in function.parameters:
        assert parameter.type is not None
        if not parameter.pointer:
            given = sizes.get(parameter.name)
            out[parameter.name] = given if given is not None else 1.25 if parameter.type.is_float else 7
            continue
        shape = tuple(_evaluate(x, sizes) if x is not None else elements for x in parameter.extents)
        if parameter.type.is_float:
            array: np.ndarray[Any, Any] = random.uniform(0.5, 1.5, shape)
            if len(shape) == 2 and shape[0] == shape[1]:
                array = array + array.T + 4 * shape[0] * np.eye(shape[0])
        else:
            array = random.integers(0, 4 if parameter.type.bits > 16 else 100, shape)
        out[parameter.name] = array.astype(parameter.type.numpy)
    return out


def call(library: ctypes.CDLL, function: CFunction, arguments: dict[str, Any]) -> Any:
    """Call the function; arrays change in place."""
    passed = []
    for parameter in function.parameters:
        value = arguments[parameter.name]
        passed.append(value.ctypes.data_as(ctypes.c_void_p) if parameter.pointer else _scalar(parameter, value))
    entry = library[function.name]
    entry.restype = _ctype(function.result) if function.result is not None else None
    return entry(*passed)


def _ctype(type: Type) -> Any:
    if type.is_float:
        return {32: ctypes.c_float, 64: ctypes.c_double}[type.bits]
    prefix = "u" if type.kind == "uint" else ""
    return getattr(ctypes, f"c_{prefix}int{type.bits}")


def _scalar(parameter: CParameter, value: Any) -> Any:
    assert parameter.type is not None
    return _ctype(parameter.type)(value)


def compare(replay: Replay, function: CFunction, arguments: dict[str, Any], tolerance: float = 0.0) -> None:
    """Assert that both versions leave the same values behind."""
    ours = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
    theirs = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
    replay.buffers[:] = [v for v in ours.values() if isinstance(v, np.ndarray)]
    expected = call(replay.original, function, theirs)
    result = call(replay.replayed, function, ours)
    if replay.errors:
        raise replay.errors[0]
    assert result == expected or np.isclose(result, expected, rtol=tolerance, equal_nan=True)
    for name, value in theirs.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_allclose(ours[name], value, rtol=tolerance, err_msg=f"{function.name}: {name}")
        assert not isinstance(value, np.ndarray) or value.dtype == ours[name].dtype
