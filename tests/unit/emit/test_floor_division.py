"""Division that rounds down: which operator of C it becomes, and that the compiled value is the mathematical one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import call, compile_kernels

from planish.emit.c.context import EmitContext
from planish.emit.c.expression import emit_expr
from planish.emit.c.kernel_text import emit_function
from planish.ir.text.parser import parse_expr, parse_kernel

ANY_SIGN = EmitContext()
ASSUMED = EmitContext(known={"i": (0, 1000)})
LONG = EmitContext(known={"i": (0, 1 << 32)})
POSITIVE = EmitContext(known={"i": (0, (1 << 32) - 1), "n": (1, (1 << 31) - 1)})
SEEN = EmitContext(known={"i": (0, 1000)}, seen={"i": (0, 1000)})
BOUNDED = EmitContext(known={"i": (-1000, 1000)})
FOURTH = EmitContext(residues={"i": (12, 0)})


@pytest.mark.parametrize(
    ("text", "context", "wanted"),
    [
        ("i // 8", ANY_SIGN, "i >> 3"),
        ("i % 8", ANY_SIGN, "i & 7"),
        ("i // 8 + 1", ANY_SIGN, "(i >> 3) + 1"),
        ("i // 1 + i % 1", ANY_SIGN, "i + 0"),
        ("i // 8", ASSUMED, "i >> 3"),
        ("i // 8", SEEN, "i / 8"),
        ("i % 8", SEEN, "i % 8"),
        ("i // 6", ANY_SIGN, "planish_floordiv(i, 6)"),
        ("i % 6", ANY_SIGN, "planish_mod(i, 6)"),
        ("i // 6", ASSUMED, "(int64_t)((uint32_t)i / 6u)"),
        ("i % 6", ASSUMED, "(int64_t)((uint32_t)i % 6u)"),
        ("i // 6", LONG, "(int64_t)((uint64_t)i / 6ull)"),
        ("i % 6", LONG, "(int64_t)((uint64_t)i % 6ull)"),
        ("i % n", POSITIVE, "(int64_t)((uint32_t)i % (uint32_t)n)"),
        ("i32(i // n)", POSITIVE, "(int32_t)((uint32_t)i / (uint32_t)n)"),
        ("(i + n) // 6", POSITIVE, "(int64_t)((uint64_t)(i + n) / 6ull)"),
        ("(i + n) // 8", POSITIVE, "(i + n) >> 3"),
        ("i // 6", SEEN, "i / 6"),
        ("i // 6", FOURTH, "i / 6"),
        ("(i + 1) // 6", FOURTH, "planish_floordiv(i + 1, 6)"),
        ("i // 4", FOURTH, "i >> 2"),
        ("i // n", ASSUMED, "planish_floordiv(i, n)"),
        ("i % 4 == 0", ANY_SIGN, "i % 4 == 0"),
        ("i % 6 != 0", ANY_SIGN, "i % 6 != 0"),
        ("i % 6 == 0", ASSUMED, "(uint32_t)i % 6u == 0u"),
        ("i % 6 == 0", LONG, "(uint64_t)i % 6ull == 0ull"),
        ("i % 6 == 0", SEEN, "i % 6 == 0"),
        ("i % 4 == 3", ANY_SIGN, "(i & 3) == 3"),
        ("i % 6 == 5", ANY_SIGN, "planish_mod(i, 6) == 5"),
        ("i % 6 == 5", BOUNDED, "(i - 5) % 6 == 0"),
        ("i % 6 == 5", ASSUMED, "(uint32_t)i % 6u == 5u"),
        ("i % 6 == 5", LONG, "(uint64_t)i % 6ull == 5ull"),
        ("i % 6 == 7", BOUNDED, "planish_mod(i, 6) == 7"),
        ("i % 6 <= 2", BOUNDED, "planish_mod(i, 6) <= 2"),
        ("x:i32 % 8:i32", ANY_SIGN, "x & 7"),
        ("x:i8 // 4:i8", ANY_SIGN, "x >> 2"),
        ("x:u32 % 6:u32", ANY_SIGN, "x % 6u"),
    ],
)
def test_operators(text: str, context: EmitContext, wanted: str) -> None:
    assert emit_expr(parse_expr(text), context) == wanted


def test_what_loops_and_assumptions_tell() -> None:
    body = "for i in 0 .. n { for j in i - 3 .. n { A[i // 5] = 0 A[n // 5] = 1 A[n % 4] = 2 A[j % 2] = 3 } }"
    text = emit_function(parse_kernel(f"kernel k(n; A: i64[?]) assume n >= 1 {{ {body} }}"), "f")
    for wanted in ("A[i / 5]", "A[(int64_t)((uint64_t)n / 5ull)]", "A[n & 3]", "A[j & 1]"):
        assert wanted in text


DIVISORS = (1, 2, 3, 4, 7, 8, 12, 64)
SMALL = 40


def _statements(variable: str, first: int) -> list[str]:
    out = []
    for divisor in DIVISORS:
        values = [f"{variable} // {divisor}", f"{variable} % {divisor}", f"({variable} - 5) // {divisor}"]
        for right in sorted({0, divisor // 2, divisor - 1}):
            values += [f"select({variable} % {divisor} {op} {right}, 1, 0)" for op in ("==", "!=")]
        out += [f"A[{first + i + len(out)}, {variable} + {SMALL}] = {value}" for i, value in enumerate(values)]
    return out


def _expected(value: int) -> list[int]:
    out: list[int] = []
    for divisor in DIVISORS:
        out += [value // divisor, value % divisor, (value - 5) // divisor]
        for right in sorted({0, divisor // 2, divisor - 1}):
            out += [int(value % divisor == right), int(value % divisor != right)]
    return out


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
@pytest.mark.parametrize("flags", ["-O0", "-O3"])
def test_compiled_values(compiler: str, flags: str, tmp_path: Path, need_compiler: Any) -> None:
    """A loop from 0, one from below, a size that is assumed not to be negative, and one of any sign."""
    need_compiler(compiler)
    rows = len(_expected(0))
    shape = f"A: i64[{rows}, {2 * SMALL}]"
    bodies = {
        f"kernel k(n; {shape})": f"for i in 0 .. n {{ {' '.join(_statements('i', 0))} }}",
        f"kernel k(m, n; {shape})": f"for i in m .. n {{ {' '.join(_statements('i', 0))} }}",
        f"kernel k(n; {shape}) assume n >= 0": " ".join(_statements("n", 0)),
        f"kernel k(n, m; {shape})": " ".join(_statements("n", 0)),
    }
    kernels = [parse_kernel(f"{head} {{ {body} }}") for head, body in bodies.items()]
    functions = compile_kernels(kernels, tmp_path, compiler, (flags,))
    sizes = [[{"n": SMALL - 1}], [{"m": -SMALL, "n": SMALL - 1}]]
    sizes += [[{"n": n} for n in range(SMALL)], [{"n": n, "m": 0} for n in range(-SMALL, SMALL)]]
    for function, kernel, runs in zip(functions, kernels, sizes, strict=True):
        out = np.full((rows, 2 * SMALL), -(10**9))
        for values in runs:
            call(function, kernel, {**values, "A": out})
        ran = [value for value in range(-SMALL, SMALL) if out[0, value + SMALL] != -(10**9)]
        assert len(ran) >= SMALL - 1
        for value in ran:
            assert out[:, value + SMALL].tolist() == _expected(value), (kernel.sizes, value)
