"""Small nests inside of loops are shaped however they are written, and compute the very same; what waits for other
lanes, or is not small, is left."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest

from planish.ir.checker import check_kernel
from planish.ir.nest import For, If, Kernel, Let
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import variables, walk
from planish.library.loops.inner_nests.nest_schedules import inside_versions
from planish.library.loops.inner_nests.transposed_locals import turn_layout
from planish.library.loops.inner_nests.transposed_tables import turn_tables
from planish.schedule.auto.plan import Version, prepare
from planish.target.load import load_target


def blocks(*body: str) -> str:
    return "for b in 0 .. n { " + "\n".join(body) + " }"


def sums(target: str, product: str, loops: str = "for i in 0 .. 6 { for u in 0 .. 5 {", terms: int = 4) -> str:
    """A nest with a sum in a local cell."""
    return f"""{loops} alloc s: f[] distinct register
        s[] = 0.0:f
        for k in 0 .. {terms} {{ s[] += {product} }}
        {target} = s[] }} }}"""


ROWS = sums("t[i, u]", "x[b, i, k] * c[6 * u + k]")
COLUMNS = sums("y[b, u, i]", "c[6 * u + k] * t[k, i]", "for u in 0 .. 5 { for i in 0 .. 5 {", 6)
ADDS = "for i in 0 .. 6 { for u in 0 .. 5 { for k in 0 .. 4 { y[b, i, u] += x[b, i, k] * c[6 * u + k] } } }"
TURNED = {
    "rows, then columns": blocks(ROWS, COLUMNS),
    "added to what is there": blocks(ADDS),
    "set before": blocks("for i in 0 .. 6 { for u in 0 .. 5 { y[b, i, u] = 0.0:f } }", ADDS),
    "set in the nest": blocks(
        "for i in 0 .. 6 { for u in 0 .. 5 { y[b, i, u] = x[b, i, u]",
        "for k in 0 .. 4 { y[b, i, u] += x[b, i, k] * c[6 * u + k] } } }",
    ),
    "for each row and column of blocks": "for a in 0 .. 2 { " + blocks(ADDS.replace("y[b, i", "z[a, b, i")) + " }",
    "a table of rows": blocks(sums("y[b, i, u]", "x[b, i, k] * d[u, k]")),
    "lanes outside": blocks(sums("y[b, i, u]", "x[b, i, k] * d[u, k]", "for u in 0 .. 5 { for i in 0 .. 6 {")),
    "from another place on": blocks(
        "for i in 2 .. 6 { for u in 1 .. 5 { for k in 1 .. 6 { y[b, i, u] += x[b, i, k - 1] * d[u, k] } } }"
    ),
    "the least of some": blocks(
        "for i in 0 .. 6 { for u in 0 .. 5 { for k in 0 .. 4 { y[b, i, u] min= x[b, i, k] * d[u, k] } } }"
    ),
}
STRAIGHT = {
    "the table as it lies": blocks(sums("y[b, i, u]", "x[b, i, k] * d[k, u]")),
    "no table": blocks(
        "for i in 0 .. 6 { for u in 0 .. 5 { for k in 0 .. 4 { y[b, i, u] += x[b, i, k] * x[b, k, u] } } }"
    ),
    "along what was made": blocks(
        "for i in 1 .. 6 { for u in 0 .. 5 { for k in 0 .. 4 { y[b, i, u] += y[b, i - 1, u] * d[k, u] } } }"
    ),
}
ACROSS = blocks(
    sums("p[6 * u + i]", "x[b, i, k] * d[u, k]"),
    sums("y[b, u, i]", "p[6 * i + k] * d[u, k]", "for i in 0 .. 5 { for u in 0 .. 6 {", 6),
)
LAYOUTS = {
    "rows of a length": ACROSS,
    "two dimensions": blocks(
        sums("t[u, i]", "x[b, i, k] * d[u, k]"),
        sums("y[b, u, i]", "t[i, k] * d[u, k]", "for i in 0 .. 5 { for u in 0 .. 6 {", 6),
    ),
    "a local array": ACROSS.replace("{", "{ alloc q: f[30] distinct stack", 1).replace("p[", "q["),
}
KEPT = {
    "read before": blocks("y[b, 0, 0] = p[0]") + ACROSS,
    "rows that overlap": ACROSS.replace("p[6 * i + k]", "p[6 * i + k + 1]").replace("5 {", "4 {"),
    "all that is made": ACROSS,
}
MEETING = {
    "what is read may have been stored": "for k in 0 .. 3 { w[u + 4 * b] += x[b, 0, u] * c[k] } y[b, 0, u] = w[u + 4]",
    "what is stored may be so twice": "w[u + 4] = c[u] for k in 0 .. 3 { w[u + 4 * b] += c[k] } y[b, 0, u] = w[u + 4]",
}
LEFT = {
    "no loop around": "for u in 0 .. 5 { for k in 0 .. 4 { y[0, 0, u] += x[0, 0, k] * d[k, u] } }",
    "lanes that wait": blocks(
        "for i in 0 .. 6 { for u in 1 .. 5 { for k in 0 .. 4 { y[b, i, u] += y[b, i, u - 1] * d[k, u] } } }"
    ),
    "sums of any length": blocks(
        "for i in 0 .. 6 { for u in 0 .. 5 { for k in 0 .. n { y[b, i, u] += x[b, i, u] * v[k] } } }"
    ),
    "many terms": blocks("for i in 0 .. 6 { for u in 0 .. 5 { for k in 0 .. 99 { y[b, i, u] += w[k] * d[i, u] } } }"),
    "no sums": blocks("for i in 0 .. 6 { for u in 0 .. 5 { y[b, i, u] = 2.0:f * x[b, i, u] } }"),
    "across rows": blocks(sums("y[b, i, u]", "x[b, u, k] * d[k, u]")),
    "a table that changes": blocks(sums("y[b, i, u]", "x[b, i, k] * d[u, k]"), "d[b, 0] = y[b, 0, 0]"),
}


def kernel_of(body: str, kind: str = "f64") -> Kernel:
    arrays = "c: f[40], d: f[n + 6, 6], v: f[n], w: f[99], t: f[6, 6], p: f[36]"
    arrays += ", x: f[n, 6, 6], y: f[n, 6, 6], z: f[2, n, 6, 6]"
    text = f"kernel k(n; {arrays}) {{ {body} }}".replace(":f", f":{kind}").replace(": f[", f": {kind}[")
    if kind.startswith("i"):
        text = text.replace(f"0.0:{kind}", f"0:{kind}").replace(f"2.0:{kind}", f"2:{kind}")
    return parse_kernel(text)


def versions_of(
    body: str, kind: str = "f64", target: str = "x86-avx512", scratch: Collection[str] = ()
) -> tuple[Kernel, tuple[Version, ...]]:
    kernel = kernel_of(body, kind)
    return kernel, inside_versions(prepare(kernel), load_target(target), scratch=scratch)


def run(kernel: Kernel, n: int, kind: str) -> dict[str, np.ndarray]:
    random = np.random.default_rng(n)
    shapes: dict[str, int | tuple[int, ...]] = {
        "c": 40, "d": (n + 6, 6), "v": n, "w": 99, "t": (6, 6), "p": 36,
        "x": (n, 6, 6), "y": (n, 6, 6), "z": (2, n, 6, 6),
    }  # fmt: skip
    dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[kind]
    values = {x: (random.uniform(-9.0, 9.0, shape)).astype(dtype) for x, shape in shapes.items()}
    run_kernel(kernel, {"n": n, **values})
    return values


@pytest.mark.parametrize(("name", "kind"), [("rows, then columns", "i32"), *((x, "f32") for x in (*TURNED, *STRAIGHT))])
def test_nothing_differs(name: str, kind: str) -> None:
    kernel, made = versions_of({**TURNED, **STRAIGHT}[name], kind)
    assert made and [x.name.endswith("pack-transpose") for x in made] == [name in TURNED] * len(made)
    for n in (0, 1, 3):
        before = run(kernel, n, kind)
        for version in made:
            check_kernel(version.kernel, "inside")
            after = run(version.kernel, n, kind)
            assert all(np.array_equal(before[x], after[x]) for x in before), (version.name, n)


@pytest.mark.parametrize("name", LAYOUTS)
def test_local_arrays_lie_the_other_way(name: str) -> None:
    kernel, made = versions_of(LAYOUTS[name], "f32", scratch=("p", "t"))
    assert made
    for version in made:
        assert sum(x.id == "inner-nest" for x in version.remarks) == 2
        for n in (0, 1, 3):
            before, after = run(kernel, n, "f32"), run(version.kernel, n, "f32")
            assert all(np.array_equal(before[x], after[x]) for x in before if x not in ("p", "t"))


@pytest.mark.parametrize("name", KEPT)
def test_other_arrays_lie_as_they_do(name: str) -> None:
    _, made = versions_of(KEPT[name], scratch=() if name == "all that is made" else ("p",))
    assert not made or all(sum(x.id == "inner-nest" for x in version.remarks) < 2 for version in made)


def test_arrays_without_rows_stay() -> None:
    assert turn_layout(kernel_of(KEPT["rows that overlap"]), "p", ("p",)) is None
    cell = "{ alloc q: f[] distinct stack q[] = 0.0:f y[b, 0, 0] = q[] }"
    assert turn_layout(kernel_of("for b in 0 .. n " + cell), "q") is None
    assert turn_layout(kernel_of(ACROSS), "d", ("d",)) is None


@pytest.mark.parametrize("name", MEETING)
def test_cells_that_may_be_one_have_no_names(name: str) -> None:
    """In the second block, two spellings are of one cell."""
    kernel, made = versions_of(blocks("for u in 0 .. 4 { " + MEETING[name] + " }"))
    assert made
    for version in made:
        before, after = run(kernel, 3, "f64"), run(version.kernel, 3, "f64")
        assert all(np.array_equal(before[x], after[x]) for x in before)


@pytest.mark.parametrize("name", LEFT)
def test_others_are_left(name: str) -> None:
    _, made = versions_of(LEFT[name])
    assert not made


def test_sums_stay_in_names() -> None:
    """All that a lane does is names and stores: sums are not in memory, nor are local arrays for them."""
    _, made = versions_of(TURNED["rows, then columns"])
    lanes = [x for x in walk(made[0].kernel.body) if isinstance(x, For) and x.facts.simd]
    assert len(lanes) == 2
    assert [sum(not isinstance(x, Let) for x in loop.body.body) for loop in lanes] == [6, 5]
    rows = [x for version in made for x in version.remarks if x.id == "inner-nest"]
    assert [x.message.partition(": ")[2] for x in rows] == [
        "lanes along `u`, sums of 4 terms, 6 rows at a time in registers",
        "lanes along `i`, sums of 6 terms, 5 rows at a time in registers",
        "lanes along `u`, sums of 4 terms, 2 rows at a time in registers",
        "lanes along `i`, sums of 6 terms, a row at a time in registers",
    ]


def test_long_rows_are_cut_into_registers() -> None:
    nest = "for i in 0 .. 2 { for u in 0 .. 32 { for k in 0 .. 4 { w[32 * i + u] += x[b, i, k] * c[k] } } }"
    kernel, made = versions_of(blocks(nest))
    loops = [x for x in walk(made[0].kernel.body) if isinstance(x, For)]
    assert [x.step for x in loops] == [1, 8, 1, 1] and loops[-1].facts.simd
    before, after = run(kernel, 3, "f64"), run(made[0].kernel, 3, "f64")
    assert all(np.array_equal(before[x], after[x]) for x in before)


def test_tables_are_read_only_where_loops_run() -> None:
    """Where there are no blocks, there need not be a table."""
    kernel, tables = turn_tables(prepare(kernel_of(TURNED["rows, then columns"])).kernel)
    (copied,) = (x for x in kernel.body.body if isinstance(x, If))
    assert [x.shape for x in tables] == [(4, 5)]
    assert "n" in variables(copied.condition)
    kernel, tables = turn_tables(kernel_of(blocks("if b > 1 { " + ADDS + " }")))
    assert not tables


@pytest.mark.parametrize(("name", "shared"), [("a table of rows", True), ("rows, then columns", False)])
def test_threads_share_the_loop_around(name: str, shared: bool) -> None:
    """Blocks that go through one array in turn are all done by one of them."""
    made, *_ = inside_versions(prepare(kernel_of(TURNED[name])), load_target("x86-avx512"), threads=2)
    parallel = [x.var for x in walk(made.kernel.body) if isinstance(x, For) and x.facts.parallel]
    assert parallel == (["b"] if shared else [])


@pytest.mark.parametrize("target", ["x86-avx2", "aarch64-neon"])
def test_other_machines(target: str) -> None:
    kernel, made = versions_of(TURNED["rows, then columns"], "f32", target)
    assert made
    for version in made:
        before, after = run(kernel, 2, "f32"), run(version.kernel, 2, "f32")
        assert all(np.array_equal(before[x], after[x]) for x in before)
