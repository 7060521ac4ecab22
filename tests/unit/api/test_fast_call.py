"""Fast calls do what slow ones do: the same results, the same errors, nothing touched before an error."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.arguments import interface_of_c
from planish.run.calls.callable import NativeFunction
from planish.run.calls.fast_call import _extension, make_fast_call
from planish.run.toolchains.toolchain import choose_compiler, compile_library

TEXT = """
#include <stdint.h>
void axpy(int n, float a, const float *x, float *restrict y) { for (int i = 0; i < n; i++) y[i] += a * x[i]; }
double total(int64_t n, int64_t lda, int32_t m, const double *x) {
  double s = 0;
  for (int64_t i = 0; i < n; i++)
    for (int32_t j = 0; j < m; j++)
      s += x[i * lda + j];
  return s;
}
uint8_t widest(uint8_t first, _Bool turned, int16_t n, const uint8_t *x) {
  uint8_t m = first;
  for (int i = 0; i < n; i++)
    m = x[i] > m ? x[i] : m;
  return turned ? 255 - m : m;
}
"""


@pytest.fixture(scope="session")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, NativeFunction]:
    file, out = read_c(Source("f.c", TEXT)), {}
    for function in file.functions:
        interface = interface_of_c(function, TEXT)
        text, folder = TEXT + entry_text(interface.signature), tmp_path_factory.mktemp(function.name)
        library = compile_library(choose_compiler(None), text, ["-O1", "-w"], folder, whole=True)
        out[function.name] = NativeFunction(Path(library).read_bytes(), interface)
    if _extension() is None:
        pytest.skip("no compiler, or Python without headers")
    return out


def both(native: NativeFunction, arguments: Callable[[], tuple[Any, ...]]) -> None:
    """The same value or error of the slow way and, twice, of the fast one, and the same arrays behind it."""
    fast, seen = make_fast_call(native), []
    for call in (lambda *x: native(x, {}), fast, fast):
        given = arguments()
        try:
            value = call(*given)
            outcome = (value, type(value))
        except (TypeError, ValueError, OverflowError) as error:
            outcome = (str(error), type(error))
        seen.append((outcome, [x.tobytes() for x in given if isinstance(x, np.ndarray)]))
    assert seen[0] == seen[1] == seen[2], seen


def ones(*shape: int, dtype: type = np.float32) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


F32 = np.float32
AXPY = {
    "inferred": lambda: (2.0, ones(5), ones(5)),
    "whole": lambda: (5, 2.0, ones(5), ones(5)),
    "an integer for a float": lambda: (3, ones(4), ones(4)),
    "some of it": lambda: (2, 0.5, ones(5), ones(5)),
    "none": lambda: (0, 0.5, ones(0), ones(0)),
    "too long": lambda: (6, 2.0, ones(5), ones(5)),
    "another type": lambda: (2.0, ones(5, dtype=np.float64), ones(5)),
    "other bytes": lambda: (2.0, ones(5).astype(">f4"), ones(5)),
    "columns": lambda: (2.0, ones(5, 2)[:, 0], ones(5)),
    "backwards": lambda: (2.0, ones(5)[::-1], ones(5)),
    "two dimensions": lambda: (2.0, ones(2, 3), ones(6)),
    "not aligned": lambda: (2.0, np.frombuffer(bytes(21), np.uint8)[1:].view(F32), ones(5)),
    "read-only": lambda: (2.0, ones(5), np.frombuffer(bytes(20), F32)),
    "read-only is enough": lambda: (2.0, np.frombuffer(bytes(20), F32), ones(5)),
    "no array": lambda: (2.0, [1.0] * 5, ones(5)),
    "no number": lambda: ("2", ones(5), ones(5)),
    "truth": lambda: (True, ones(5), ones(5)),
    "a scalar of NumPy": lambda: (np.float64(2), ones(5), ones(5)),
    "too large a float": lambda: (10**400, ones(5), ones(5)),
    "too few": lambda: (2.0, ones(5)),
    "too many": lambda: (1, 2, 3, ones(5), ones(5), ones(5)),
    "too large a number": lambda: (2**40, 2.0, ones(5), ones(5)),
    "far too large": lambda: (2**80, 2.0, ones(5), ones(5)),
    "a matrix's class": lambda: (2.0, ones(1, 5).view(np.matrix), ones(5)),
}


@pytest.mark.parametrize("name", AXPY)
def test_arguments(name: str, functions: dict[str, NativeFunction]) -> None:
    both(functions["axpy"], AXPY[name])


def test_overlap_is_found_and_neighbours_are_not(functions: dict[str, NativeFunction]) -> None:
    def halves(step: int) -> tuple[Any, ...]:
        whole = ones(20)
        return 2.0, whole[:8], whole[step : step + 8]

    for step in (0, 4, 7, 8, 12):
        both(functions["axpy"], lambda step=step: halves(step))
    fast = make_fast_call(functions["axpy"])
    with pytest.raises(ValueError, match="overlap"):
        fast(*halves(4))


def test_rows_apart_and_results(functions: dict[str, NativeFunction]) -> None:
    for rows, columns, part in ((3, 4, 4), (3, 9, 4), (1, 9, 4), (0, 3, 3)):
        both(functions["total"], lambda r=rows, c=columns, p=part: (ones(r, c, dtype=np.float64)[:, :p],))
    both(functions["total"], lambda: (3, 4, 5, ones(3, 4, dtype=np.float64)))
    for first, turned in ((0, False), (3, True), (200, True), (256, False), (-1, True)):
        both(functions["widest"], lambda f=first, t=turned: (f, t, 6, ones(6, dtype=np.uint8)))
    both(functions["widest"], lambda: (1, 1, 6, ones(6, dtype=np.uint8)))


def test_names_many_calls_and_no_leak(functions: dict[str, NativeFunction]) -> None:
    fast = make_fast_call(functions["axpy"])
    x, y = ones(5), ones(5)
    fast(a=1.0, x=x, y=y)
    assert y.tolist() == (2 * x).tolist()
    for n in range(1500):  # more than are kept
        z = np.zeros(n % 700, F32)
        fast(1.0, np.ones(n % 700, F32), z)
        assert z.sum() == n % 700
    gone = weakref.ref(z)
    del z
    gc.collect()
    assert gone() is None
    with pytest.raises(TypeError, match="no parameter `b`"):
        fast(1.0, x, y, b=3)
