"""The same kernels in C, Python and MLIR mean the same and take the same strategies: no algorithm is known to one front
end only."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from bench.harness.taken import LANGUAGES, first_versions, read_in, written_kernels
from planish.core.span import Source
from planish.frontend.mlir.reader import read_mlir
from planish.frontend.python.reader import read_python_source
from planish.frontend.python.signature import value_of
from planish.ir.nest import Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.types import BY_NAME, Type
from planish.poly.scop.extents import evaluate_extent

KERNELS = written_kernels()
SIZES = {"n": 16, "count": 16, "bits": 4, "m": 9, "k": 5, "taps": 3, "steps": 2, "rows": 6, "cols": 7, "stages": 3,
         "most": 4, "o": 2, "c": 3, "h": 4, "w": 5, "z": 20}  # fmt: skip
"""What sizes are where a kernel is run; transforms need powers of two, and `m` holds half of the first one."""
HEAD = re.compile(r"^([\w ]+?) (\w+)\(((?:.|\n)*?)\) \{", re.MULTILINE)
"""The head of a function: what it gives back, its name, its parameters."""
C_TYPES = {"unsigned char": ctypes.c_uint8, "short": ctypes.c_int16, "int": ctypes.c_int32, "long": ctypes.c_int64,
           "float": ctypes.c_float, "double": ctypes.c_double}  # fmt: skip
CHOSEN = 5
"""Whole numbers are less, so that they choose elements of the shortest array."""


@pytest.mark.parametrize(
    ("name", "language"), [(name, x) for name, kernel in KERNELS.items() if not kernel.costly for x in LANGUAGES]
)
def test_strategies_are_the_same_from_each_language(name: str, language: str) -> None:
    if language == "mlir":
        pytest.importorskip("xdsl")
    kernel = KERNELS[name]
    assert first_versions(read_in(language, kernel.texts[language])) == [*kernel.versions]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The kernels' texts in C, as they are, as functions of one library."""
    folder, parts = tmp_path_factory.mktemp("kernels"), ["#include <math.h>\n#include <stdlib.h>\n"]
    for number, kernel in enumerate(KERNELS.values()):
        name, text = HEAD.search(kernel.texts["c"])[2], kernel.texts["c"]
        parts.append(f"#define {name} kernel_{number}\n{text}#undef {name}\n")
    (folder / "all.c").write_text("".join(parts))
    subprocess.run(["gcc", "-O1", "-w", "-shared", "-fPIC", "all.c", "-o", "all.so", "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "all.so"))


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_the_same_in_each_language(name: str, library: ctypes.CDLL) -> None:
    pytest.importorskip("xdsl")
    texts = KERNELS[name].texts
    found = read_python_source(texts["python"], "kernel.py")
    random = np.random.default_rng(3)
    values = {
        x.name: _filled(x.name, x.type, tuple(value_of(y, SIZES) for y in x.shape), random)
        for x in found.signature.parameters if x.kind != "size"
    }  # fmt: skip
    wanted = _run_python(texts["python"], found.kernel.name, values)
    _check(_run_c(texts["c"], library[f"kernel_{[*KERNELS].index(name)}"], values), wanted)
    _check(_run_nest(found.kernel, values), wanted)
    _check(_run_nest(read_mlir(Source("kernel.mlir", texts["mlir"]))[0], values), wanted)


def _filled(name: str, type: Type, shape: tuple[int, ...], random: np.random.Generator) -> Any:
    if type.is_float:
        out = random.uniform(0.5, 2.0, shape)
        # What is factorised has a large diagonal.
        out = out + 20 * np.eye(shape[0]) if len(shape) == 2 and shape[0] == shape[1] else out
    else:
        low, high = (0, 256) if type.bits == 8 else (0, CHOSEN)
        out = random.integers(low, high, shape)
    made = np.asarray(out).astype(type.numpy)
    # Where rows start, they do so in their order.
    return (np.sort(made) if name == "start" else made) if shape else made[()]


def _copied(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: x.copy() for name, x in values.items()}


def _check(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for name in found.keys() & wanted.keys():
        tolerance = {"rtol": 1e-4, "atol": 1e-5} if wanted[name].dtype.kind == "f" else {"rtol": 0}
        unsigned = found[name].view(wanted[name].dtype) if found[name].dtype.kind == "i" else found[name]
        np.testing.assert_allclose(unsigned, wanted[name], **tolerance, err_msg=name)


def _run_python(text: str, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the function leaves, as Python runs it."""
    types = {x: getattr(np, y.numpy) for x, y in BY_NAME.items() if y.kind in ("int", "uint", "float")}
    names: dict[str, Any] = {**types, **SIZES}
    exec(compile(f"from __future__ import annotations\n{text}", "kernel.py", "exec"), names)
    out = _copied(values)
    with np.errstate(all="ignore"):
        names[name](**out, **{x: SIZES[x] for x in names[name].__annotations__ if x not in out})
    return out


def _run_nest(kernel: Kernel, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a kernel leaves, as the interpreter runs it."""
    held = _copied(values)
    extents = {f"{x}_{axis}": extent for x, array in held.items() for axis, extent in enumerate(array.shape)}
    sizes = {x: SIZES.get(x, extents.get(x, 0)) for x in kernel.sizes}
    arrays = {
        x.name: held[x.name]
        .view(x.type.numpy)
        .reshape([-1 if y is None else evaluate_extent(y, sizes) for y in x.shape])
        for x in kernel.arrays
    }  # fmt: skip
    run_kernel(kernel, {**sizes, **{x.name: held[x.name].view(x.type.numpy) for x in kernel.scalars}, **arrays})
    return arrays


def _run_c(text: str, symbol: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a function leaves, as the C compiler makes it; what it gives back is in `out`."""
    held, given = _copied(values), list[Any]()
    result, _, parameters = HEAD.search(text).groups()
    for x in re.split(r",\s*(?![^\[(]*[\])])", parameters):
        name = re.search(r"(\w+)\)?(\[[^\]]*\])*$", x)[1]
        if "*" in x or "[" in x:
            given.append(ctypes.c_void_p(held[name].ctypes.data))
        else:
            kind = next(C_TYPES[y] for y in C_TYPES if y in x.removesuffix(name))
            given.append(kind(held[name].item() if name in held else SIZES[name]))
    symbol.restype = C_TYPES.get(result)
    found = symbol(*given)
    return held if found is None else {"out": np.array([found], held["out"].dtype)}
