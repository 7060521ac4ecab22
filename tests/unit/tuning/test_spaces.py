"""Search spaces: what strategies state of their arguments, how points are counted and drawn, scripts with holes."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.text.parser import parse_kernel
from planish.ir.types import F32
from planish.library.driver import make_chosen, make_versions
from planish.library.kernels.conv_1d import choose_shape, list_shape_arguments
from planish.library.kernels.gemm.compact import choose_few_blocks
from planish.library.kernels.vectors import find_vectors
from planish.library.registry import STRATEGIES
from planish.library.strategy import Context
from planish.schedule.arguments import Point, TuningArgument, TuningArguments, TuningConstraint
from planish.schedule.script import parse_script
from planish.target.load import load_target
from planish.tuning.spaces.script_space import SCRIPT, read_holes
from planish.tuning.spaces.search_space import MOST_COUNTED, SearchSpace
from planish.tuning.spaces.strategy_space import ONE, find_space

MATVEC = "A: f32[m, n], x: f32[n], y: f32[m]) { for i in 0 .. m { for j in 0 .. n { y[i] += A[i, j] * x[j] } } }"
HISTOGRAM = "void k(int n, const unsigned char x[n], int h[256]) { for (int i = 0; i < n; i++) h[x[i]]++; }"
COPIED = "A: f64[n] distinct, B: f64[n] distinct) { for i in 0 .. n { B[i] = A[i] + 1.0 } }"
STENCIL = (
    "A: f64[n, n], B: f64[n, n]) { for i in 1 .. n - 1 { for j in 1 .. n - 1 {"
    " B[i, j] = A[i, j - 1] + A[i - 1, j] + A[i + 1, j] } } }"
)
ARGMAX = (
    "x: f32[n], b: f32[] distinct, k: i32[] distinct) { for i in 0 .. n {"
    " k[] = select(x[i] > b[], i32(i), k[]) b[] = select(x[i] > b[], x[i], b[]) } }"
)
MEAN = (
    "A: u8[m, n] distinct, B: u8[m, n] distinct) { for i in 1 .. m - 1 { for j in 0 .. n {"
    " B[i, j] = u8(i32(A[i - 1, j]) + i32(A[i, j]) + i32(A[i + 1, j]) >> 2:i32) } } }"
)
LARGEST = (
    "void k(int m, int n, const unsigned char A[restrict m][n], unsigned char B[restrict n])"
    " { for (int c = 0; c < n; c++) { unsigned char s = 7;"
    " for (int i = 0; i < m; i++) s = s > A[i][c] ? s : A[i][c]; B[c] = s; } }"
)
SQUARES = "A: u8[n], s: i32[] distinct) { for i in 0 .. n { s[] += i32(A[i]) * i32(A[i]) } }"
TILE = TuningArgument("tile", (0, 8, 16), 0)
JAM = TuningArgument("jam", (1, 2, 4), 1, only=("tile", (8, 16)))
ROWS = TuningArgument("rows", (1, 2), 2)
SMALL = TuningConstraint(("tile", "jam"), lambda v: int(v["tile"]) * int(v.get("jam", 1)) <= 32, "tile x jam <= 32")


def context(text: str, target: str = "x86-avx512") -> Context:
    if text.startswith("void"):
        return Context.of(read_c(Source("k.c", text)).functions[0].regions[0].kernel, load_target(target))
    sizes = "m, n" if "[m" in text or "m]" in text else "n"
    return Context.of(parse_kernel(f"kernel k({sizes}; {text}"), load_target(target))


def space() -> SearchSpace:
    return SearchSpace({"a": TuningArguments((TILE, JAM, ROWS), (SMALL,)), "b": TuningArguments((ROWS,))})


def test_points_are_counted_as_they_are_listed() -> None:
    listed = [*space().points()]
    assert len(set(listed)) == len(listed) == space().size().points == (1 + 3 + 2) * 2 + 2
    assert listed[0] == space().default == Point.of({"version": "a", "tile": 0, "rows": 2})
    assert all(space().complete(x.as_dict()) == x for x in listed)


def test_what_is_too_large_is_counted_at_most() -> None:
    many = tuple(TuningArgument(f"a{n}", tuple(range(10)), 0) for n in range(6))
    linked = TuningConstraint(tuple(x.name for x in many), lambda v: True, "")
    assert MOST_COUNTED < 10**6
    size = SearchSpace({"a": TuningArguments(many, (linked,))}).size()
    assert str(size) == "at most 1,000,000"
    assert str(SearchSpace({"a": TuningArguments(many)}).size()) == "1,000,000"


def test_what_is_drawn_and_changed_is_in_the_space() -> None:
    rng, found, listed = Random(1), space(), {*space().points()}
    drawn = {found.sample(rng) for _ in range(300)}
    assert drawn == listed
    for first in drawn:
        near = {*found.neighbours(first)}
        assert near <= listed and first not in near
        assert found.mutate(first, rng) in listed - {first}
        assert found.cross(first, found.sample(rng), rng) in listed


def test_what_does_not_fit_is_no_point() -> None:
    assert space().complete({"version": "a", "tile": 16, "jam": 4}) is None
    assert space().complete({"version": "c"}) is None
    assert space().complete({"version": "a", "tile": 7}) is None
    kept = space().complete({"version": "a", "jam": 4, "odd": 3})
    assert kept == space().default, "jam is no argument where tile is 0"


def test_points_of_before_there_were_some_arguments() -> None:
    old = Point.of({"version": "a", "tile": 8})
    assert space().extended(old) == Point.of({"version": "a", "tile": 8, "jam": 1, "rows": 2})
    assert space().extended(old.joined({"odd": 3})) is None and space().extended(old.joined({"tile": 7})) is None


@pytest.mark.parametrize(
    ("text", "version", "names"),
    [
        (MATVEC, "gemv-rows", {"gemv-rows.rows", "gemv-rows.accumulators"}),
        (MEAN, "vector-strips", {"vector-strips.rows"}),
        (LARGEST, "vector-strips", {"vector-strips.unroll"}),
        (SQUARES, "vector-strips", {"vector-strips.accumulators"}),
        (HISTOGRAM, "histogram-private", {"histogram-private.tables", "histogram-private.together"}),
        (ARGMAX, "cell-reduction", {"cell-reduction.block"}),
        (STENCIL, "maxfuse", {"loops.tile.1.1", "loops.tile.1.2", "loops.jam.1.1", "loops.lanes.1"}),
        (COPIED, "maxfuse, nontemporal", {"nontemporal.fetch"}),
    ],
)
def test_strategies_state_their_arguments(text: str, version: str, names: set[str]) -> None:
    cx = context(text)
    makers = [x for x in STRATEGIES if x.makes(version)]
    found = find_space(cx, makers)
    assert names <= {x.name for x in found.arguments(version)}
    default = found.default_of(version)
    made = make_versions(cx, makers)
    plain = next(x for x in made.versions if x.name == version)
    chosen, _ = make_chosen(Context.of(cx.kernel, cx.target), STRATEGIES, version)
    assert chosen is not None and getattr(chosen, "kernel", None) == getattr(plain, "kernel", None)
    same, _ = make_chosen(_at(cx, default), STRATEGIES, version)
    assert same is not None and getattr(same, "kernel", None) == getattr(plain, "kernel", None), (
        "defaults change nothing"
    )


def _at(cx: Context, point: Point) -> Context:
    return Context(cx.kernel, cx.nest, cx.target, point=point)


def test_blocks_of_products_are_parts_of_those_of_the_model() -> None:
    vectors, target = find_vectors("avx512", F32), load_target("x86-avx512")
    plain = choose_few_blocks(vectors, target)
    half = choose_few_blocks(vectors, target, Point.of({"depth": 50, "columns": 200}))
    assert choose_few_blocks(vectors, target, Point.of({"depth": 100})) == plain
    assert half.depth == plain.depth // 2 // 32 * 32 and half.columns == 2 * plain.columns
    assert (half.rows, half.vectors, half.height) == (plain.rows, plain.vectors, plain.height)
    low = choose_few_blocks(vectors, target, Point.of({"tile-rows": 12, "tile-vectors": 2}))
    assert (low.rows, low.vectors) == (12, 2)
    large = choose_few_blocks(vectors, target, Point.of({"tile-rows": 14, "tile-vectors": 4}))
    assert large == plain, "its sums do not fit into the registers"
    gemm = context(f"A: f32[n, n], B: f32[n, n], C: f32[n, n]) {{ {_loops('ijk', 'C[i, j] += A[i, k] * B[k, j]')} }}")
    (operations,) = (x for x in STRATEGIES if x.name == "operations")
    arguments = operations.arguments(gemm, operations.match(gemm)[0], "operations").arguments
    assert [x.name for x in arguments] == ["depth", "columns", "tile-rows", "tile-vectors", "fetch", "pack"]
    packed = TuningArguments(arguments, operations.arguments(gemm, operations.match(gemm)[0], "operations").constraints)
    own = SearchSpace({"operations": packed})
    assert own.complete({"version": "operations", "tile-rows": 14, "tile-vectors": 4}) is None
    assert choose_few_blocks(vectors, target, own.default_of("operations")) == plain


def test_shapes_of_filters_fit_into_registers() -> None:
    for vectors in (find_vectors("avx2", F32), find_vectors("avx512", F32)):
        plain, own = choose_shape(vectors), SearchSpace({"fir": list_shape_arguments(vectors)})
        shapes = {choose_shape(vectors, point=x) for x in own.points()}
        assert len(shapes) == own.size().points and all(x.registers <= vectors.registers for x in shapes)
        assert choose_shape(vectors, point=own.default) == plain
        assert choose_shape(vectors, point=Point.of({"depth": 8, "registers": 20})) == plain


def _loops(names: str, body: str) -> str:
    return "".join(f"for {x} in 0 .. n {{ " for x in names) + body + " }" * len(names)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (MATVEC, {"version": "gemv-rows", "gemv-rows.rows": 4}),
        (MATVEC, {"version": "gemv-rows", "gemv-rows.rows": 6, "gemv-rows.accumulators": 4}),
        (MEAN, {"version": "vector-strips", "vector-strips.rows": 4}),
        (LARGEST, {"version": "vector-strips", "vector-strips.unroll": 2}),
        (SQUARES, {"version": "vector-strips", "vector-strips.accumulators": 1}),
        (HISTOGRAM, {"version": "histogram-private", "histogram-private.together": 4}),
        (ARGMAX, {"version": "cell-reduction", "cell-reduction.block": 512}),
        (STENCIL, {"version": "maxfuse", "loops.tile.1.1": 16, "loops.tile.1.2": 64}),
        (STENCIL, {"version": "maxfuse", "loops.jam.1.1": 4}),
    ],
)
def test_arguments_change_what_is_made(text: str, values: dict[str, int | str]) -> None:
    cx, version = context(text), str(values["version"])
    plain, _ = make_chosen(cx, STRATEGIES, version)
    other, _ = make_chosen(_at(cx, Point.of(values)), STRATEGIES, version)
    assert plain is not None and other is not None
    assert getattr(plain, "kernel", None) != getattr(other, "kernel", None)


def test_a_nest_without_versions_has_one_point() -> None:
    assert [str(x) for x in find_space(context(STENCIL), ()).points()] == [f"version={ONE}"]


def test_holes_of_a_script() -> None:
    text = (
        '# split by ?8|16\nsplit("i", ?t=8|16|-1, ("io", "ii"), tail=?"guard"|"cut")\nsplit("j", ?t, ("jo", "a?1|2"))\n'
    )
    found = read_holes(Source("x.sched", text))
    assert [(x.name, x.values) for x in found.space.arguments(SCRIPT)] == [
        ("t", (8, 16, -1)), ("hole2", ('"guard"', '"cut"')),
    ]  # fmt: skip
    assert found.space.size().points == 6
    for point in islice(found.space.points(), 4):
        filled = found.fill(point)
        assert [len(x) for x in filled.splitlines()] == [len(x) for x in text.splitlines()]
        assert len(parse_script(filled)) == 2
    assert '"a?1|2"' in found.fill(found.space.default)


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ('split("i", ?, ("a", "b"))', "nothing says what", 12),
        ('split("i", ?t, ("a", "b"))', "nothing says what", 12),
        ('split("i", ?t=8, ("a", ?t=9))', "has values already", 24),
    ],
)
def test_what_is_no_hole(text: str, message: str, column: int) -> None:
    with pytest.raises(PlanishError, match=message) as caught:
        read_holes(Source("x.sched", text))
    span = caught.value.diagnostic.span
    assert caught.value.diagnostic.code == "E0926" and span is not None and span.column == column


def test_a_script_that_is_wrong_at_its_first_values_is_told() -> None:
    with pytest.raises(PlanishError, match="E0622"):
        read_holes(Source("x.sched", 'split("i", ?"a"|8, ("io", "ii"))\n'))
