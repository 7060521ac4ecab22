"""Inputs of loops that iterations may leave: what a loop does for rare elements is done in some of the calls.

    find_calm(COUNT).kept  # (10,): elements that are a line's end, wherever they lie, let no iteration leave
"""

import numpy as np
import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFunction
from planish.ir.types import I8
from planish.run.calls.loaded_library import draw
from planish.run.calls.signature import CallCase, Parameter, Signature
from planish.run.sizes.exit_inputs import CalmInput, calm_inputs

LOOPS = {
    r"int f(const char *s) { int n = 0; while (*s) { if (*s == '\n') n++; s++; } return n; }": (10,),
    r"void f(char *s) { for (; *s; s++) if (*s == '/') *s = '.'; }": (47, 46),
    "int f(char *s, int n) { int i = 0, k = 0; while (i < n && s[i] != 'x') k += s[i++] == 10; return k; }": (10,),
    # 1 lies next to 0, which ends the loop.
    r"int f(const short *s) { int n = 0; while (*s) n += *s++ == 1; return n; }": (),
    "int f(int n, int *a, int *b) { int i = 0, k = 0; while (i < n && a[i] == b[i]) k += a[i++] == 9; return k; }": (),
}


def read(text: str) -> CFunction:
    return read_c(Source("f.c", text)).functions[0]


def find_calm(text: str) -> CalmInput:
    return calm_inputs(read(text))[0]


@pytest.mark.parametrize("text", LOOPS)
def test_named_numbers_that_let_no_iteration_leave(text: str) -> None:
    assert find_calm(text).kept == LOOPS[text]


def test_calm_elements_are_strewn_with_what_the_loop_asks_for() -> None:
    signature = Signature("f", (Parameter("s", I8, "array"),))
    case = CallCase({}, {"s": 400}, calm={"s": (65, 120)}, pool=(10,))
    drawn = draw(signature, case, "uniform").arrays["s"]
    assert 10 < np.count_nonzero(drawn == 10) < 100
    assert set(np.unique(drawn)) <= {9, 10, 11, 65, 120} | set(range(-128, 128))
    assert np.count_nonzero(drawn == 65) > 200
