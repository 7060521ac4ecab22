"""Equality saturation of small kernels: the graph, its rules (all terms of a class are evaluated), and packets on
FT-Matrix and on machines that are made up."""

from __future__ import annotations

from contextlib import chdir
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.unit.vliw.evaluation import check_classes
from tests.unit.vliw.random_straight import random_straight

from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.types import F32
from planish.vliw.description import load_machine
from planish.vliw.machine import VliwMachine
from planish.vliw.pack.effects import Described
from planish.vliw.pack.register_orders import reloaded
from planish.vliw.program import Instr, MemoryAddress, StreamRegister
from planish.vliw.saturation.egraph import EGraph
from planish.vliw.saturation.lanes import lane_moves
from planish.vliw.saturation.plan import saturated
from planish.vliw.saturation.regions import stores_of
from planish.vliw.saturation.rules import RuleSet, Vectoriser
from planish.vliw.saturation.straight import write_out
from planish.vliw.streams.oracle import check_code, check_stream, draw_values
from planish.vliw.streams.stream import RefusedError

HERE = Path(__file__).parent


def product(m: int, k: int, n: int) -> str:
    inner = f"{{ c[i, j] = 0.0:f32 for k in 0 .. {k} {{ c[i, j] += a[i, k] * b[k, j] }} }}"
    loops = f"for i in 0 .. {m} {{ for j in 0 .. {n} {inner} }}"
    return f"kernel mm(a: f32[{m}, {k}], b: f32[{k}, {n}], c: f32[{m}, {n}]) {{ {loops} }}"


def quaternions() -> str:
    rows = ("0 0 - 1 1 - 2 2 - 3 3", "0 1 + 1 0 + 2 3 - 3 2", "0 2 - 1 3 + 2 0 + 3 1", "0 3 + 1 2 - 2 1 + 3 0")
    stores = []
    for n, row in enumerate(rows):
        x = row.split()
        terms = [f" {x[k]} p[{x[k + 1]}] * q[{x[k + 2]}]" for k in (2, 5, 8)]
        stores.append(f"r[{n}] = p[{x[0]}] * q[{x[1]}]{''.join(terms)}")
    return f"kernel qprod(p: f32[4], q: f32[4], r: f32[4]) {{ {' '.join(stores)} }}"


KERNELS = {
    "product": product(3, 3, 3),
    "odd product": product(2, 5, 3),
    "quaternions": quaternions(),
    "correlation": """kernel ac(x: f32[40], r: f32[3]) {
        for k in 0 .. 3 { r[k] = 0.0:f32 for i in 0 .. 32 { r[k] += x[i] * x[i + k] } } }""",
    "convolution": """kernel full(x: f32[4], w: f32[3], y: f32[6]) {
        for i in 0 .. 6 { y[i] = 0.0:f32
          for j in 0 .. 3 { if i - j >= 0 { if i - j < 4 { y[i] += w[j] * x[i - j] } } } } }""",
    "elimination": """kernel lu(a: f32[3, 3]) { for k in 0 .. 3 { for i in k + 1 .. 3 { a[i, k] = a[i, k] / a[k, k]
        for j in k + 1 .. 3 { a[i, j] = a[i, j] - a[i, k] * a[k, j] } } } }""",
    "butterfly": """kernel b(x: f32[8], w: f32[4], y: f32[8], z: f32[8]) {
        for p in 0 .. 4 { y[2 * p] = x[p] + x[p + 4] y[2 * p + 1] = (x[p] - x[p + 4]) * w[p] }
        for p in 0 .. 4 { z[2 * p] = y[p] + y[p + 4] z[2 * p + 1] = (y[p] - y[p + 4]) * w[p] } }""",
    "stencil": "kernel s(x: f32[12], y: f32[10]) { for i in 0 .. 10 { y[i] = x[i] - 2.0:f32 * x[i + 1] + x[i + 2] } }",
}
"""Small kernels of which streams make little."""


@cache
def machine(name: str) -> VliwMachine:
    with chdir(HERE):  # a machine's base lies beside it
        return load_machine("ftmatrix" if name == "ftmatrix" else f"{name}.toml")


def kernel(name: str) -> Kernel:
    return parse_kernel(KERNELS[name])


def test_congruence_goes_up_through_several_terms() -> None:
    graph = EGraph()
    a, b = graph.add("a"), graph.add("b")
    one, two = (graph.add("g", (graph.add("f", (x, x)), a)) for x in (a, b))
    graph.merge(a, b)
    graph.rebuild()
    assert graph.is_same(one, two)
    assert len(graph.nodes(one)) == 1


def test_a_phase_looks_at_terms_that_merges_bring() -> None:
    graph = EGraph()
    old, fresh = graph.add("old"), graph.add("fresh")
    seen = []

    def rule(number: int, node: object):
        seen.append(str(node.op))
        if node.op == "old":
            yield fresh

    graph.saturate([old], rule)
    assert sorted(seen) == ["fresh", "old"]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("of", ["ftmatrix", "shuffling"])
def test_all_terms_of_a_class_are_equal(name: str, of: str) -> None:
    moves = lane_moves(machine(of), F32)
    made = Vectoriser(write_out(kernel(name)), moves)
    made.saturate(stores_of(made, True, True))
    draw = np.random.default_rng(1)
    arrays = {x.name: draw.uniform(-1, 1, 64) for x in kernel(name).arrays}
    assert check_classes(made.graph, arrays, moves.lanes) > 10


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("of", ["ftmatrix", "shuffling", "narrow"])
def test_packets_do_what_the_kernel_does(name: str, of: str) -> None:
    own, there = kernel(name), machine(of)
    try:
        made = saturated(own, there)
    except RefusedError as error:
        # One has no division, no differences, and no shuffles; both have few registers.
        assert of == "narrow" or of == "shuffling" and "registers" in str(error), error
        return
    for seed in range(2):
        values = draw_values(own, {}, seed)
        assert check_stream(made.lowered, own, there, values) == ""
        checked = check_code(made.packed.code, made.lowered, own, there, values)
        assert checked.message == ""
        assert checked.cycles <= made.cycles + 12  # what is under way at the end


@pytest.mark.parametrize("text", [product(3, 5, 7), product(1, 6, 5), product(5, 1, 9)], ids=["357", "165", "519"])
def test_irregular_products(text: str) -> None:
    own, there = parse_kernel(text), machine("ftmatrix")
    made = saturated(own, there)
    assert check_code(made.packed.code, made.lowered, own, there, draw_values(own, {})).message == ""


@pytest.mark.parametrize("seed", range(4))
def test_random_straight_kernels(seed: int) -> None:
    there = machine("ftmatrix")
    own = random_straight(seed)
    made = saturated(own, there)
    values = draw_values(own, {}, seed)
    assert check_stream(made.lowered, own, there, values) == ""
    assert check_code(made.packed.code, made.lowered, own, there, values).message == ""


def test_registers_are_enough_where_all_sums_side_by_side_would_take_too_many() -> None:
    there = machine("ftmatrix")
    own = parse_kernel(wide_sums(90))
    made = saturated(own, there)
    assert made.cycles < 2 * made.extraction.scheduled()
    assert check_code(made.packed.code, made.lowered, own, there, draw_values(own, {})).message == ""


def wide_sums(count: int) -> str:
    """Two passes over as many vectors as there are not registers for."""
    loops = f"for i in 0 .. {32 * count // 6} {{ y[i] = x[i] * x[i + 5] + x[i + 9] }}"
    return f"kernel wide(x: f32[{32 * count}], y: f32[{32 * count // 6}]) {{ {loops} }}"


def test_loads_are_repeated() -> None:
    there = machine("ftmatrix")
    base, result = StreamRegister("AR", "x"), StreamRegister("AR", "y")
    a, b = StreamRegister("V", "a"), StreamRegister("V", "b")
    load = Instr("VLDW", (a, MemoryAddress(base, 0)))
    uses = [Instr("VFMULS32", (b, a, a)), Instr("VSTW", (MemoryAddress(result, 0), b))]
    made = reloaded([load, *uses, *uses, *uses, uses[0]], Described(there), 2)
    assert [x.operation for x in made].count("VLDW") == 1
    made = reloaded([load, *uses, uses[1], uses[1], uses[1], *uses], Described(there), 2)
    assert [x.operation for x in made].count("VLDW") == 2


def test_the_narrow_machine_has_some() -> None:
    own, there = parse_kernel(product(4, 3, 4)), machine("narrow")
    made = saturated(own, there)
    assert check_code(made.packed.code, made.lowered, own, there, draw_values(own, {})).message == ""


def test_a_machine_without_vectors_has_scalars() -> None:
    there = load_machine("c6000")
    own = parse_kernel("kernel s(x: i32[4], y: i32[3]) { for i in 0 .. 3 { y[i] = x[i] + x[i + 1] } }")
    made = saturated(own, there)
    assert check_code(made.packed.code, made.lowered, own, there, draw_values(own, {})).message == ""


def test_fewer_rules_give_no_fewer_cycles() -> None:
    own, there = parse_kernel(product(4, 4, 4)), machine("ftmatrix")
    bare = saturated(own, there, RuleSet(broadcast=False, fold=False, scalars=False))
    assert saturated(own, there).cycles <= bare.cycles


def test_sums_stay_as_they_are_written_where_that_is_asked_for() -> None:
    own, there = kernel("product"), machine("ftmatrix")
    made = saturated(own, there, RuleSet(contract=False), reassociate=False)
    names = {x.operation for x in made.lowered.program.body}
    assert not any("MULA" in x or "MULB" in x or "RED" in x for x in names)
    values = draw_values(own, {})
    assert check_code(made.packed.code, made.lowered, own, there, values).message == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("kernel f(n; a: f32[n]) { for i in 0 .. n { a[i] = 1.0 } }", "`n` is not known"),
        ("kernel f(a: f32[4], p: f32[4]) { for i in 0 .. 4 { a[i64(p[i])] = 1.0 } }", "depends on data"),
        ("kernel f(a: f32[100, 100]) { for i in 0 .. 100 { for j in 0 .. 100 { a[i, j] += 1.0 } } }", "too large"),
        ("kernel f(a: f32[4], p: f64[4]) { for i in 0 .. 4 { a[i] = f32(p[i]) } }", "several types"),
        ("kernel f(a: i8[4]) { for i in 0 .. 4 { a[i] = 1:i8 } }", "i8"),
    ],
)
def test_what_is_not_written_out_says_why(text: str, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        saturated(parse_kernel(text), machine("ftmatrix"))
