# mypy: ignore-errors
# ruff: noqa: F821
"""The schedules that Exo makes its micro-kernels by, run by its own environment: see bench/rivals/exo_baseline.py.

    bench/results/exo/bin/python -m bench.rivals.exo_schedule neon 8 12    # prints a line of JSON: name, C, seconds

The steps are those of "Tackling the Matrix Multiplication Micro-kernel Generation with Exo" (arXiv:2310.17408).
"""

from __future__ import annotations

import json
import sys
import time

from exo import DRAM, proc
from exo.platforms.neon import Neon, neon_vfmla_4xf32_4xf32, neon_vld_4xf32, neon_vst_4xf32
from exo.platforms.x86 import AVX512, mm512_fmadd_ps, mm512_loadu_ps, mm512_set1_ps, mm512_storeu_ps
from exo.stdlib.scheduling import (
    autofission,
    bind_expr,
    divide_loop,
    expand_dim,
    lift_alloc,
    rename,
    reorder_loops,
    replace,
    set_memory,
    simplify,
    stage_mem,
    unroll_loop,
)


def define_product(name, rows, columns):
    """A tile of C, each column of it in one piece, to which columns of A times rows of B are added."""

    @proc
    def product(MR: size, NR: size, KC: size, A: f32[KC, MR] @ DRAM, B: f32[KC, NR] @ DRAM, C: f32[NR, MR] @ DRAM):
        for k in seq(0, KC):
            for j in seq(0, NR):
                for i in seq(0, MR):
                    C[j, i] += A[k, i] * B[k, j]

    return rename(product.partial_eval(rows, columns), f"exo_{name}_f32_{rows}x{columns}")


def make_neon(rows, columns):
    """Rows of B are loaded as vectors, whose lanes multiply."""
    p = define_product("neon", rows, columns)
    p = divide_loop(p, "i", 4, ["it", "itt"], perfect=True)
    p = divide_loop(p, "j", 4, ["jt", "jtt"], perfect=True)
    p = keep_tile(p, "C[4 * jt + jtt, 4 * it + itt]", [("itt", 4), ("it", rows // 4), ("4 * jt + jtt", columns)], 5)
    p = replace(p, "for itt in _: C_reg[_] = _", neon_vld_4xf32)
    p = replace(p, "for itt in _: C[_] = _", neon_vst_4xf32)
    p = set_memory(p, "C_reg", Neon)
    for name, extent, outer, inner in (("A", rows, "it", "itt"), ("B", columns, "jt", "jtt")):
        p = load_operand(p, name, [(inner, 4), (outer, extent // 4)], 4)
        p = replace(p, f"for {inner} in _: {name}_reg[_] = _", neon_vld_4xf32)
        p = set_memory(p, f"{name}_reg", Neon)
    p = reorder_loops(p, p.find("C_reg[_] += _").parent().parent().parent())
    return unroll_all(multiply_by_lanes(p), ("it", "jtt", "jt"))


def multiply_by_lanes(p):
    """With Neon's multiply-add; tried again until its lane is one of the vector's, RuntimeError if it never is.

    `replace` takes any window and lane that fit its equations, by chance; half of them are no register's: wrong C.
    """
    for _ in range(100):
        tried = replace(p, "for itt in _: C_reg[_] += _", neon_vfmla_4xf32_4xf32)
        if "B_reg[jt+0,0:4],jtt+0)" in "".join(str(tried).split()):
            return tried
    raise RuntimeError("Exo finds no lane of a vector")


def make_avx512(rows, columns):
    """The same with a register for an element of B, since no instruction multiplies by a lane."""
    p = define_product("avx512", rows, columns)
    p = divide_loop(p, "i", 16, ["it", "itt"], perfect=True)
    p = keep_tile(p, "C[j, 16 * it + itt]", [("itt", 16), ("it", rows // 16), ("j", columns)], 4)
    p = replace(p, "for itt in _: C_reg[_] = _", mm512_loadu_ps)
    p = replace(p, "for itt in _: C[_] = _", mm512_storeu_ps)
    p = load_operand(p, "A", [("itt", 16), ("it", rows // 16)], 3)
    p = replace(p, "for itt in _: A_reg[_] = _", mm512_loadu_ps)
    p = load_operand(p, "B", [("itt", 16)], 2)
    p = replace(p, "for itt in _: B_reg[_] = _", mm512_set1_ps)
    p = replace(p, "for itt in _: C_reg[_] += _", mm512_fmadd_ps)
    for name in "ABC":
        p = set_memory(p, f"{name}_reg", AVX512)
    return unroll_all(p, ("it", "j"))


def keep_tile(p, element, dimensions, loops):
    """C in registers from before all loops until after them."""
    p = stage_mem(p, "C[_] += _", element, "C_reg")
    p = expand(p, "C_reg", dimensions)
    p = lift_alloc(p, "C_reg", n_lifts=loops)
    p = autofission(p, p.find("C_reg[_] = _").after(), n_lifts=loops)
    return autofission(p, p.find("C[_] = _").before(), n_lifts=loops)


def load_operand(p, name, dimensions, loops):
    """An operand in registers, which are loaded so many loops further out."""
    p = bind_expr(p, f"{name}[_]", f"{name}_reg")
    p = expand(p, f"{name}_reg", dimensions)
    p = lift_alloc(p, f"{name}_reg", n_lifts=loops)
    return autofission(p, p.find(f"{name}_reg[_] = _").after(), n_lifts=loops)


def expand(p, buffer, dimensions):
    """A buffer with more dimensions, the innermost first."""
    for index, extent in dimensions:
        p = expand_dim(p, buffer, extent, index)
    return p


def unroll_all(p, names):
    """Without any loop of these names."""
    for name in names:
        for loop in p.find_loop(name, many=True):
            p = unroll_loop(p, loop)
    return simplify(p)


def main(extension, rows, columns):
    """Prints what bench/rivals/exo_baseline.py reads."""
    start = time.perf_counter()
    made = {"neon": make_neon, "avx512": make_avx512}[extension](int(rows), int(columns))
    text = made.c_code_str()
    print(json.dumps({"name": made.name(), "text": text, "seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main(*sys.argv[1:])
