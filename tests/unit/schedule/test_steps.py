"""Steps of the scheduling language: what each makes, that it means the same, and that what would not is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from planish.astgen.checking.verify import evaluate
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.ir.nest import Assign, Reduce
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.schedule import legality
from planish.schedule.combine import attempt, autofission, tile, unroll_and_jam, vectorise_reduction
from planish.schedule.program import Program, Step
from planish.schedule.script import print_script, run_script
from planish.schedule.steps.bands import Reorder, Skew
from planish.schedule.steps.buffers import BindExpr, LiftAlloc, StageMem
from planish.schedule.steps.control import Hoist, Specialise
from planish.schedule.steps.facts import Parallelise, Vectorise
from planish.schedule.steps.kernels import Assume, PartialEval, Rename, RenameLoop, Simplify
from planish.schedule.steps.loops import Fission, Fuse, Peel, Reverse, Shift, Split, Tail, Unroll
from planish.schedule.steps.storage import ReorderDims, ReuseBuffer, SetMemory, SplitDim
from planish.schedule.steps.values import SetPrecision

GEMM = """
kernel gemm(m, n, k; A: f32[m, k], B: f32[k, n], C: f32[m, n]) {
  for i in 0 .. m { for j in 0 .. n { for p in 0 .. k { C[i, j] += A[i, p] * B[p, j] } } }
}
"""
LU = """
kernel lu(n; A: f32[n, n]) {
  for i in 0 .. n {
    for j in 0 .. i {
      for k in 0 .. j { A[i, j] = A[i, j] - A[i, k] * A[k, j] }
      A[i, j] = A[i, j] / A[j, j]
    }
    for j in i .. n { for k in 0 .. i { A[i, j] = A[i, j] - A[i, k] * A[k, j] } }
  }
}
"""
SEIDEL = """
kernel seidel(t, n; A: f32[n, n]) {
  for s in 0 .. t { for i in 1 .. n - 1 { for j in 1 .. n - 1 {
    A[i, j] = A[i - 1, j] + A[i, j - 1] + A[i, j] + A[i + 1, j] + A[i, j + 1]
  } } }
}
"""
JACOBI = """
kernel jacobi(t, n; A: f32[n], B: f32[n]) {
  for s in 0 .. t {
    for i in 1 .. n - 1 { B[i] = A[i - 1] + A[i] + A[i + 1] }
    for i in 1 .. n - 1 { A[i] = B[i] }
  }
}
"""
SCAN = "kernel scan(n; A: f32[n], B: f32[n]) { for i in 1 .. n { A[i] = A[i - 1] + B[i] } }"
TRMV = """
kernel trmv(n; L: f32[n, n], x: f32[n], y: f32[n]) {
  for i in 0 .. n { for j in 0 .. i + 1 { y[i] += L[i, j] * x[j] } }
}
"""
TEXTS = {"gemm": GEMM, "lu": LU, "seidel": SEIDEL, "jacobi": JACOBI, "scan": SCAN, "trmv": TRMV}
SIZES = ({"m": 5, "n": 7, "k": 6, "t": 3}, {"m": 1, "n": 1, "k": 1, "t": 1}, {"m": 8, "n": 8, "k": 4, "t": 2})


def program(name: str, reassociate: bool = True) -> Program:
    """One of the kernels."""
    return Program.of(parse_kernel(TEXTS[name]), "reassociate" if reassociate else "contract")


def run(changed: Program, sizes: dict[str, int]) -> str:
    """The arrays after a run with powers of two, for which floats are exact as long as they are few."""
    rng = np.random.default_rng(7)
    kernel = changed.kernel
    values: dict[str, Any] = {name: sizes[name] for name in kernel.sizes}
    for array in kernel.arrays:
        extents = [evaluate(x, sizes) for x in array.shape if x is not None]
        values[array.name] = rng.integers(1, 3, extents).astype(array.type.numpy)
    run_kernel(kernel, values)
    # As text, so that what is not a number is equal to itself.
    return str({array.name: np.asarray(values[array.name]).tolist() for array in kernel.arrays})


def check(name: str, *steps: Step, sizes: Sequence[dict[str, int]] = SIZES) -> Program:
    """The program after legal steps, which computes the same."""
    before = program(name)
    after = before.apply(*steps)
    for some in sizes:
        assert run(after, some) == run(before, some), after.show()
    return after


def refuse(name: str, code: str, message: str, *steps: Step, reassociate: bool = True) -> None:
    """The last step is refused, with a reason."""
    ready = program(name, reassociate).apply(*steps[:-1])
    with pytest.raises(PlanishError) as error:
        ready.apply(steps[-1])
    assert error.value.diagnostic.code == code
    assert message in error.value.diagnostic.message


TAILS: tuple[Tail, ...] = ("cut", "guard", "short")


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("factor", [1, 3, 8])
def test_split(tail: Tail, factor: int) -> None:
    check("gemm", Split("j", factor, ("jo", "ji"), tail))
    check("scan", Split("i", factor, ("io", "ii"), tail))
    check("trmv", Split("j", factor, ("jo", "ji"), tail))


def test_split_of_fixed_sizes_leaves_nothing_over() -> None:
    made = check("gemm", PartialEval("m", 8), Split("i", 4, ("io", "ii"), "perfect"), sizes=SIZES[2:])
    assert made.show().count("for") == 4 and "if" not in made.show() and "min" not in made.show()


def test_reorder() -> None:
    check("gemm", Reorder("i", ("p", "i", "j")))
    check("gemm", Reorder("i", ("j", "p", "i")), Split("i", 4, ("io", "ii"), "short"), Reorder("p", ("io", "p")))
    check("trmv", Reorder("i", ("j", "i")))
    check("seidel", Skew("i", 1), Skew("s", 1), Reorder("s", ("i", "s")))


def test_a_loop_that_runs_once_leaves_its_names_in_a_block() -> None:
    first, second = "let j = i + 1 A[j] = 0.0:f32", "let j = i A[j] = 1.0:f32"
    text = f"kernel f(A: f32[8]) {{ for i in 1 .. 2 {{ {first} }} for i in 2 .. 5 {{ {second} }} }}"
    made = Program.of(parse_kernel(text)).apply(Reorder("i", ("i",)))
    expected, found = np.zeros(8, np.float32), np.zeros(8, np.float32)
    run_kernel(parse_kernel(text), {"A": expected})
    run_kernel(made.kernel, {"A": found})
    assert (expected == found).all() and found[2:5].all()
    # Steps see the names that are bound in such a block.
    staged = made.apply(StageMem("A[_] = _", "A", "a"))
    found = np.zeros(8, np.float32)
    run_kernel(staged.kernel, {"A": found})
    assert (expected == found).all()


def test_a_version_for_the_value_of_a_scalar() -> None:
    text = "kernel f(n; x: f32, y: f32; A: f32[n]) { for i in 0 .. n { A[i] = x * A[i] + y } }"
    made = Program.of(parse_kernel(text)).apply(Specialise("i", "x:f32 == 1.0:f32"))
    assert "A[i] = A[i] + y" in made.show() and "A[i] = x * A[i] + y" in made.show()
    for x in (1.0, 2.0):
        expected, found = np.arange(4, dtype=np.float32), np.arange(4, dtype=np.float32)
        values = {"n": 4, "x": np.float32(x), "y": np.float32(3)}
        run_kernel(parse_kernel(text), {**values, "A": expected})
        run_kernel(made.kernel, {**values, "A": found})
        assert (expected == found).all()


@pytest.mark.parametrize("condition", ["x:f32 < 1.0:f32", "x:f32 == 0.0:f32", "x:f32 == y:f32", "z:f32 == 1.0:f32"])
def test_versions_for_other_conditions_on_data_are_refused(condition: str) -> None:
    made = Program.of(parse_kernel("kernel f(n; x: f32, y: f32; A: f32[n]) { for i in 0 .. n { A[i] = x } }"))
    with pytest.raises(PlanishError, match="E0605"):
        made.apply(Specialise("i", condition))


def test_loops_are_written_out_and_joined() -> None:
    check("gemm", PartialEval("m", 5), Unroll("i"), sizes=SIZES[:1])
    check("gemm", Unroll("p", 4), Unroll("i", 2))
    check("jacobi", Peel("i", 1), Peel("i #2", -1))
    check("trmv", Fission("y[_] += _", 1), Shift("i", 3), Reverse("j"))
    made = check("lu", Split("k #2", 2, ("ko", "ki")), Fission("A[_] = _ #2", 1), RenameLoop("j", "column"))
    assert "column" in made.show()


def test_fission_and_fusion_undo_each_other() -> None:
    two = Program.of(parse_kernel(TWO))
    apart = two.apply(Fission("A[_] = _"))
    assert apart.show().count("for") == 2
    assert apart.apply(Fuse("i")).kernel == two.kernel


TWO = "kernel two(n; A: f32[n], B: f32[n]) { for i in 0 .. n { A[i] = 1.0:f32 B[i] = A[i] } }"


def test_buffers() -> None:
    tile = (PartialEval("m", 4), PartialEval("n", 8), Reorder("i", ("p", "i", "j")))
    sizes = [{"m": 4, "n": 8, "k": k} for k in (0, 1, 5)]
    check("gemm", *tile, StageMem("p", "C", "c"), sizes=sizes)
    made = check("gemm", *tile, StageMem("p", "C", "c", accumulate=True), SplitDim("c: _", 1, 4), sizes=sizes)
    assert "alloc c: f32[4, 2, 4] stack" in made.show()
    steps = (BindExpr("C[_] += _", "A", "a"), LiftAlloc("a: _", 2), ReorderDims("a: _", (1, 0)))
    check("gemm", *tile, *steps, sizes=sizes)
    check("gemm", *tile, BindExpr("C[_] += _", "B", "b"), LiftAlloc("b: _", 1, expand=False), sizes=sizes)
    check("gemm", *tile, StageMem("i", "B", "b", "register"), SetMemory("b: _", "stack"), sizes=sizes)


def test_what_takes_too_long_to_decide_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legality, "OPERATIONS", 200)
    refuse("lu", "E0612", "was not found out in time", Reverse("k"))
    monkeypatch.undo()
    refuse("lu", "E0610", "would no longer run before", Reverse("k"))


def test_a_block_beside_a_loop_is_no_place() -> None:
    text = "kernel f(n; A: f32[n]) { for i in 0 .. n { A[i] = 0.0:f32 } { alloc t: f32[] t[] = A[0] A[1] = t[] } }"
    with pytest.raises(PlanishError) as error:
        Program.of(parse_kernel(text)).apply(Fuse("i"))
    assert error.value.diagnostic.code == "E0602" and "block with names" in error.value.diagnostic.message


def test_what_is_not_affine_is_refused() -> None:
    gather = parse_kernel("kernel g(n; i: i32[n], A: f32[n]) { for k in 0 .. n { A[index(i[k])] = 0.0:f32 } }")
    with pytest.raises(PlanishError) as error:
        Program.of(gather).apply(Reverse("k"))
    assert error.value.diagnostic.code == "E0612" and "for `index(i[k])`" in error.value.diagnostic.message


def test_names_for_indices_are_seen_through() -> None:
    text = """
    kernel named(n; A: f32[n, n])
    {
      for i in 0 .. n {
        let h = i // 2
        for j in h .. n { A[i, j] = A[i, j] + 1.0:f32 }
      }
    }
    """
    before = Program.of(parse_kernel(text))
    for steps in ((Split("j", 2, ("jo", "ji")),), (Shift("j", 1), Peel("j", 1)), (Reverse("i"), Vectorise("j"))):
        after = before.apply(*steps)
        for n in (0, 1, 6):
            assert run(after, {"n": n}) == run(before, {"n": n})
    with pytest.raises(PlanishError) as error:
        before.apply(Reorder("i", ("j", "i")))
    assert error.value.diagnostic.code == "E0604"


def test_buffers_of_another_form() -> None:
    wide = (Assume("k >= 1"), StageMem("p", "C", "c", accumulate=True), SetPrecision("c: _", "f64"))
    assert "c[] += f64(A[i, p] * B[p, j])" in check("gemm", *wide).show()
    before = Program.of(parse_kernel(SWAP))
    after = before.apply(ReuseBuffer("t: _", "s: _"))
    for n in (0, 1, 4):
        assert run(after, {"n": n}) == run(before, {"n": n})
    assert "alloc t" not in after.show()
    with pytest.raises(PlanishError) as error:
        before.apply(ReuseBuffer("u: _", "s: _"))
    assert error.value.diagnostic.code == "E0616"


TWO_ARRAYS = """
kernel two_arrays(n; A: f32[n], B: f32[n])
{
  for i in 1 .. n { A[i] = 1.0:f32 }
  for j in 1 .. n { B[j] = A[j - 1] }
}
"""
SWAP = """
kernel swap(n; A: f32[n], B: f32[n])
{
  for i in 0 .. n {
    alloc s: f32[]
    alloc t: f32[]
    alloc u: f32[]
    s[] = A[i]
    B[i] = s[] + B[i]
    t[] = B[i]
    u[] = A[i]
    A[i] = t[] + u[] + t[]
    s[] = A[i]
    u[] = B[i]
    B[i] = s[] + u[]
  }
}
"""


PAIRS = """
kernel pairs(n; A: f32[n], B: f32[n])
  assume n >= 8
{
  alloc s: f32[8]
  alloc t: f32[8]
  for a in 0 .. 8 { t[a] = A[a] }
  for i in 0 .. 7 { s[i] = t[i + 1] }
  for b in 0 .. 7 { B[b] = s[b] }
}
"""
APART = "kernel apart(n; A: f32[n]) assume n >= 10 { for i in 0 .. 2 { for j in 0 .. 2 { A[i + 2 * j] = 1.0:f32 } } }"


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (PAIRS, (Parallelise("i"), ReuseBuffer("t: _", "s: _"))),
        (APART, (Parallelise("i"), StageMem("j", "A", "part"))),
        (TWO_ARRAYS, (Vectorise("j"), Vectorise("i"), Fuse("i"))),
    ],
)
def test_loops_lose_their_threads_where_a_step_lets_iterations_share(text: str, steps: tuple[Step, ...]) -> None:
    before = Program.of(parse_kernel(text))
    after = before.apply(*steps)
    assert "parallel" not in after.show() and "simd" not in after.show()
    for n in (10, 12):
        assert run(after, {"n": n}) == run(before, {"n": n})


def test_a_value_that_is_named_is_read_too() -> None:
    text = "kernel f(n; A: f32[4]) { for i in 0 .. 4 { let x = A[0]  A[1] += x } }"
    with pytest.raises(PlanishError) as error:
        Program.of(parse_kernel(text)).apply(StageMem("i", "A", "a", accumulate=True))
    assert error.value.diagnostic.code == "E0606" and "only added to" in error.value.diagnostic.message


def test_lanes_and_threads() -> None:
    made = check("gemm", Parallelise("i"), Vectorise("j"), Split("j", 4, ("jo", "ji")), Fission("C[_] += _"))
    assert "for i in 0 .. m parallel" in made.show() and "for jo in 0 .. max(n, 0) // 4 simd" in made.show()
    sums = (Assume("k >= 1"), StageMem("p", "C", "sum", accumulate=True), Vectorise("p"))
    made = check("gemm", *sums, Simplify())
    assert "for p in 0 .. k simd reduce(add: sum)" in made.show()
    apart = check("gemm", *sums, LiftAlloc("sum: _"))
    assert "sum[j] += " in apart.show() and "simd" not in apart.show()


def test_versions_and_what_is_taken_out() -> None:
    fitting = (Specialise("i", "m % 4 == 0"), Split("i", 4, ("io", "ii"), "perfect"))
    made = check("gemm", *fitting, Reorder("ii", ("j", "ii")))
    assert made.show().count("for j") == 2 and "} else {" in made.show()
    inner = (Assume("n >= 1"), Reorder("i", ("i", "p", "j")), BindExpr("C[_] += _", "A", "a"))
    made = check("gemm", *inner, LiftAlloc("a: _", 1, expand=False), Hoist("a = _"))
    assert made.show().index("a[] = A[i, p]") < made.show().index("for j")


def test_schedules_are_functions() -> None:
    for some in (lambda x: tile(x, ("i", "j"), (2, 3)), lambda x: unroll_and_jam(x, "i", 2)):
        made = some(program("gemm"))
        for sizes in SIZES:
            assert run(made, sizes) == run(program("gemm"), sizes)
        assert run_script(program("gemm"), Source("x", print_script(made.steps))).kernel == made.kernel
    backwards = attempt(program("scan"), lambda x: x.apply(Reverse("i")), lambda x: x.apply(Shift("i", 1)))
    assert [type(step) for step in backwards.steps] == [Shift]
    assert attempt(program("scan"), lambda x: x.apply(Reverse("i"))).steps == ()


def test_a_sum_in_lanes() -> None:
    kernel = parse_kernel("kernel dot(n; x: f32[n], y: f32[n], s: f32[1]) { for i in 0 .. n { s[0] += x[i] * y[i] } }")
    before = Program.of(kernel)
    made = vectorise_reduction(before, "i", "s", "t", 4)
    assert made.show().count(" simd {") == 2
    for n in (0, 1, 3, 4, 5, 17):
        values = [{"x": np.arange(n, dtype="f4"), "y": np.full(n, 2, "f4"), "s": np.ones(1, "f4")} for _ in range(2)]
        run_kernel(kernel, {"n": n, **values[0]})
        run_kernel(made.kernel, {"n": n, **values[1]})
        assert values[0]["s"] == values[1]["s"] == 1 + n * (n - 1)
    with pytest.raises(PlanishError, match="E0610"):
        vectorise_reduction(Program.of(kernel, "strict"), "i", "s", "t", 4)


def test_fission_goes_as_far_as_it_is_legal() -> None:
    def steps(last: str) -> list[tuple[str, int]]:
        nest = "A[i, j] = B[j] for p in 0 .. 4 { A[i, j] += D[p] } " + last
        head = "kernel k(A: f32[4, 4], B: f32[5], C: f32[4], D: f32[4])"
        kernel = parse_kernel(f"{head} {{ for i in 0 .. 4 {{ for j in 0 .. 4 {{ {nest} }} }} }}")
        return [(x.after, x.loops) for x in autofission(Program.of(kernel), "A[_] = _").steps if isinstance(x, Fission)]

    assert steps("C[j] = A[i, j]") == [("A[_] = _", 2)]
    # Rows wait for what the row before has made.
    assert steps("B[j] = A[i, j]") == [("A[_] = _", 1)]
    assert steps("B[j + 1] = 1.0:f32").count(("A[_] = _", 2)) == 0


def test_kernels() -> None:
    made = program("gemm").apply(Rename("mm"), Assume("n % 4 == 0"), Split("j", 4, ("jo", "ji"), "perfect"), Simplify())
    assert made.kernel.name == "mm" and "assume n % 4 == 0" in made.show()


ORDER = [
    ("seidel", (Reorder("i", ("j", "i")), Reverse("j"))),
    ("seidel", (Reorder("s", ("i", "s", "j")),)),
    ("seidel", (Reverse("i"),)),
    ("jacobi", (Fission("B[_] = _", 2),)),
    ("jacobi", (Reverse("s"),)),
    ("jacobi", (Fuse("i"),)),
    ("scan", (Reverse("i"),)),
    ("scan", (Split("i", 4, ("io", "ii"), "guard"), Reorder("io", ("ii", "io")))),
    ("lu", (Reverse("k"),)),
    ("lu", (Reverse("i"),)),
    ("lu", (Fission("A[_] = _ #2", 2),)),
    ("lu", (Reverse("j"),)),
]


@pytest.mark.parametrize(("name", "steps"), ORDER)
def test_what_would_change_a_value_is_refused(name: str, steps: tuple[Step, ...]) -> None:
    refuse(name, "E0610", "would no longer run before", *steps)


@pytest.mark.parametrize("step", [Reverse("p"), Reorder("i", ("p", "i", "j"))])
def test_sums_keep_their_order_where_that_is_asked(step: Step) -> None:
    check("gemm", step)
    if isinstance(step, Reverse):
        refuse("gemm", "E0610", "`C[i, j] += A[i, p] * B[p, j]`", step, reassociate=False)
    else:
        program("gemm", reassociate=False).apply(step)


BOUND = (BindExpr("C[_] += _", "A", "a"), LiftAlloc("a: _", 1, expand=False))
FIRST = (
    PartialEval("n", 4), Unroll("i"), Unroll("i"), BindExpr("B[_] = _", "A", "f"), LiftAlloc("f: _", 1, expand=False),
)  # fmt: skip
STRUCTURE = [
    ("gemm", "E0604", "does not always divide", (Split("i", 4, ("io", "ii"), "perfect"),)),
    ("gemm", "E0604", "not split by 0", (Split("i", 0, ("io", "ii")),)),
    ("gemm", "E0603", "the name `j` is taken", (Split("i", 4, ("j", "ii")),)),
    ("gemm", "E0603", "the name `C` is taken", (RenameLoop("i", "C"),)),
    ("gemm", "E0603", "is no name", (RenameLoop("i", "2x"),)),
    ("gemm", "E0604", "not a constant", (Unroll("i"),)),
    ("gemm", "E0604", "cannot be unrolled -1 times", (Unroll("i", -1),)),
    ("gemm", "E0604", "cannot be unrolled 100000 times", (Unroll("i", 100_000),)),
    ("gemm", "E0604", "the loops here are i, j", (Reorder("i", ("i", "p")),)),
    ("gemm", "E0604", "only 3 loops", (Reorder("i", ("i", "j", "p", "q")),)),
    ("gemm", "E0602", "beside it", (Fuse("i"),)),
    ("jacobi", "E0604", "not directly in 3 loops", (Fission("B[_] = _", 3),)),
    ("jacobi", "E0604", "none with the same bounds", (Peel("i", 1), Fuse("i"))),
    ("gemm", "E0602", "fits nothing", (Unroll("q"),)),
    ("gemm", "E0602", "no loop", (Unroll("C[_] += _"),)),
    ("gemm", "E0601", "is no pattern", (Unroll("for for"),)),
    ("gemm", "E0605", "is no size", (PartialEval("x", 4),)),
    ("gemm", "E0605", "against an assumption", (Assume("n >= 8"), PartialEval("n", 4))),
    ("gemm", "E0605", "is no size", (Assume("i >= 8"),)),
    ("gemm", "E0605", "is no condition over sizes", (Assume("n + 8"),)),
    ("gemm", "E0603", "the name `x` is taken", (Split("i", 4, ("x", "x")),)),
    ("gemm", "E0602", "`C[_] *= _` fits nothing", (Fission("C[_] *= _"),)),
    ("gemm", "E0606", "no constant extent", (StageMem("i", "C", "c"),)),
    ("gemm", "E0606", "is not used there", (StageMem("i", "D", "c"),)),
    ("gemm", "E0603", "the name `A` is taken", (StageMem("p", "C", "A"),)),
    ("scan", "E0606", "not only added to", (PartialEval("n", 8), StageMem("i", "A", "a", accumulate=True))),
    ("gemm", "E0606", "does not read `C`", (BindExpr("C[_] += _", "C", "c"),)),
    ("gemm", "E0606", "no buffer in 4 loops", (BindExpr("C[_] += _", "A", "a"), LiftAlloc("a: _", 4))),
    ("gemm", "E0606", "none with number 0", (BindExpr("C[_] += _", "A", "a"), SplitDim("a: _", 0, 2))),
    ("gemm", "E0602", "no buffer", (SetMemory("i", "stack"),)),
    ("gemm", "E0605", "`p` is no size and no loop around", (Specialise("i", "p < 3"),)),
    ("gemm", "E0605", "is no condition over sizes", (Specialise("i", "m + 1"),)),
    ("gemm", "E0606", "may reach outside", (Split("j", 8, ("jo", "ji"), "short"), StageMem("ji", "C", "c"))),
    ("gemm", "E0606", "registers are not counted", (*BOUND, LiftAlloc("a: _", 1), SetMemory("a: _", "register"))),
    ("gemm", "E0606", "not two buffers", (*BOUND, ReuseBuffer("a: _", "a: _"))),
    ("gemm", "E0615", "holds less than f32", (*BOUND, SetPrecision("a: _", "f16"))),
    ("gemm", "E0615", "does not become `i64`", (*BOUND, SetPrecision("a: _", "i64"))),
    ("gemm", "E0615", "does not become `f31`", (*BOUND, SetPrecision("a: _", "f31"))),
    ("gemm", "E0604", "would not reach", (BindExpr("C[_] += _", "A", "a"), Specialise("a: _", "m > 1"))),
    ("gemm", "E0604", "no assignment that comes first", (Hoist("C[_] += _"),)),
    ("gemm", "E0604", "may have no iteration", (*BOUND, Hoist("a = _"))),
    ("gemm", "E0614", "it depends on `p`", (Assume("k >= 1"), *BOUND, Hoist("a = _"))),
    ("jacobi", "E0614", "`A`, which it reads, changes in the loop", (Assume("t >= 1"), *FIRST, Hoist("f = _"))),
    ("gemm", "E0613", "use the same cell of `C`", (Parallelise("p"),)),
    ("gemm", "E0613", "use the same cell of `C`", (Vectorise("p"),)),
    ("scan", "E0613", "for i = 1 and `A[i] = A[i - 1] + B[i]` for i = 2", (Vectorise("i"),)),
    ("seidel", "E0613", "use the same cell of `A`", (Parallelise("i"),)),
    ("jacobi", "E0613", "use the same cell of `A`", (Parallelise("s"),)),
    ("lu", "E0613", "use the same cell of `A`", (Parallelise("j"),)),
    ("trmv", "E0613", "use the same cell of `y`", (Reorder("i", ("j", "i")), Parallelise("j"))),
]


@pytest.mark.parametrize(("name", "code", "message", "steps"), STRUCTURE)
def test_what_does_not_apply_is_refused(name: str, code: str, message: str, steps: tuple[Step, ...]) -> None:
    refuse(name, code, message, *steps)


def test_precision_stays_where_bits_count() -> None:
    refuse("gemm", "E0615", "rounded otherwise", *BOUND, SetPrecision("a: _", "f64"), reassociate=False)


def test_a_sum_is_not_staged_apart_where_its_order_counts() -> None:
    steps = (PartialEval("m", 4), PartialEval("n", 4), StageMem("i", "C", "c", accumulate=True))
    refuse("gemm", "E0606", "made in another order", *steps, reassociate=False)


def test_what_an_iteration_leaves_is_not_lost() -> None:
    text = "kernel carry(n; A: f32[n]) { for i in 0 .. n { alloc t: f32[2] stack t[0] = A[i] A[i] = t[0] } }"
    shared = Program.of(parse_kernel(text)).apply(LiftAlloc("t: _", 1, expand=False))
    assert shared.show().index("alloc") < shared.show().index("for")


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_cursors_stay_where_they_point(name: str) -> None:
    before = program(name)
    loop, store = before.find("for _ in _: _"), before.find("_ += _" if name in ("gemm", "trmv") else "_ = _")
    after = before.apply(Split(loop, 4, ("outer", "inner"), "guard"))
    assert after.cursor(loop).node.var == "outer"  # type: ignore[union-attr]
    found = after.cursor(store).node
    assert isinstance(found, Assign | Reduce) and isinstance(store.node, Assign | Reduce)
    assert found.array == store.node.array and "outer" in str(after.path(store)[0])
