"""The rules of algebra one by one: what they make of small kernels, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operations import (
    ADD,
    BIAS,
    CONV,
    COPY,
    CUMULATE,
    DIAGONAL,
    FILL,
    GEMM,
    GEMM_ADD,
    GEMM_BETA,
    GEMM_TURNED,
    GEMV,
    GEMV_ADD,
    GER,
    RELU,
    SCALE,
    SCALED_COPY,
    TRANSPOSE,
    ZERO,
    apply,
    matrix,
    operation,
    raised,
    turned,
)
from written import run

from planish.ir.expr import Compare, Var, index
from planish.ir.nest import Array, Assign, Block, For, Kernel
from planish.ir.text.parser import parse_expr
from planish.ir.types import F32, F64, INDEX, Floats
from planish.raising.algebra.effects import study
from planish.raising.algebra.rewrite import improve
from planish.raising.raised import Apply, Choice, Loops, Raised, Repeat, View, whole
from planish.target.load import load_target

TARGET = load_target("x86-avx512")


def values_of(kernel: Kernel, sizes: dict[str, int], floats: bool = False) -> dict[str, Any]:
    """Small whole numbers for every array; floats that round, where wanted."""
    source = np.random.default_rng(7)
    out: dict[str, Any] = dict(sizes)
    for scalar in kernel.scalars:
        out[scalar.name] = 3.0
    for array in kernel.arrays:
        shape = [sizes[x.name] if isinstance(x, Var) else x.value for x in array.shape]  # type: ignore[union-attr]
        data = source.standard_normal(shape) if floats else source.integers(-3, 4, shape)
        out[array.name] = np.asarray(data, array.type.numpy)
    return out


def check(kernel: Raised, fp: Floats = "reassociate", **sizes: int) -> tuple[Raised, list[str]]:
    """The improved kernel, which computes the same; and the remarks."""
    fresh, remarks = improve(kernel, TARGET, fp)
    names = kernel.kernel.sizes
    tries = [sizes] if sizes else [dict(zip(names, x, strict=False)) for x in ((4, 3, 5, 2, 6, 3), (1,) * 6, (0,) * 6)]
    tries += [] if sizes else [{x: (0 if n == 1 else 3) for n, x in enumerate(names)}]
    for values in tries:
        given = values_of(kernel.kernel, values, floats=fp == "strict")
        want, got = run(kernel, given), run(fresh, given)
        for array in kernel.kernel.arrays:
            np.testing.assert_array_equal(got[array.name], want[array.name])
            assert fp != "strict" or got[array.name].tobytes() == want[array.name].tobytes()
    return fresh, [x.render() for x in remarks]


def names_of(kernel: Raised) -> list[str]:
    return [x.operation.name if isinstance(x, Apply) else type(x).__name__ for x in kernel.steps]


A, B, C, D = (matrix(x, *y) for x, y in zip("ABCD", (("m", "k"), ("k", "n"), ("m", "n"), ("n", "m")), strict=True))
T, U = matrix("T", "m", "n"), matrix("U", "m", "n")


@pytest.mark.parametrize(
    ("what", "scalars", "einsum", "exact"),
    [
        (GEMM, {}, "ac,cb->ab", True),
        (GEMM_ADD, {"alpha": 2.0}, "ab,bc->ac", True),
        (GEMM_BETA, {"alpha": 2.0, "beta": 3.0}, "ab,bc->ac", False),
    ],
)
def test_products_are_read_from_definitions(what: Any, scalars: dict[str, float], einsum: str, exact: bool) -> None:
    kernel = raised([A, B, C], [apply(what, {"A": A, "B": B, "C": C}, **scalars)])
    product = study(kernel).products[0]
    assert product is not None
    assert (product.einsum, product.exact) == (einsum, exact)
    check(kernel)


def test_definitions_that_are_no_products_stay() -> None:
    kernel = raised([C], [apply(CUMULATE, {"A": C})])
    facts = study(kernel)
    assert facts.products == (None,)
    assert facts.reasons == ("`cumulate` is no rectangular nest",)
    assert check(kernel)[0].steps == kernel.steps


def test_a_local_result_that_is_not_read_is_not_computed() -> None:
    kernel = raised([A, B, C], [apply(GEMM, {"A": A, "B": B, "C": T}), apply(ZERO, {"A": C})], [T])
    fresh, remarks = check(kernel)
    assert (names_of(fresh), fresh.locals) == (["zero"], ())
    assert any("nothing reads T" in x for x in remarks)


def test_a_result_that_is_overwritten_is_not_computed() -> None:
    kernel = raised([A, B, C], [apply(GEMM, {"A": A, "B": B, "C": C}), apply(ZERO, {"A": C})])
    assert names_of(check(kernel)[0]) == ["zero"]


def test_what_a_removed_step_asks_of_the_sizes_is_still_asked() -> None:
    asked = Compare("lt", Var("k", INDEX), Var("n", INDEX))
    gone = apply(GEMM, {"A": A, "B": B, "C": T})
    gone = Apply(gone.operation, gone.operands, gone.sizes, gone.scalars, (asked,), ("S0",))
    fresh, _ = improve(raised([A, B, C], [gone, apply(ZERO, {"A": C})], [T]), TARGET, "reassociate")
    (left,) = fresh.steps
    assert isinstance(left, Apply)
    assert asked in left.conditions
    assert "S0" in left.statements


def test_a_sum_begins_with_the_zero_before_it() -> None:
    kernel = raised([A, B, C], [apply(ZERO, {"A": C}), apply(GEMM_ADD, {"A": A, "B": B, "C": C}, alpha=1.0)])
    for fp in ("strict", "reassociate"):
        fresh, _ = check(kernel, fp)
        assert names_of(fresh) == ["gemm"]


def test_a_sum_begins_with_the_multiple_before_it() -> None:
    steps = [apply(SCALE, {"A": C}, beta=2.0), apply(GEMM_ADD, {"A": A, "B": B, "C": C}, alpha=1.0)]
    fresh, _ = check(raised([A, B, C], list(steps)), "strict")
    assert names_of(fresh) == ["gemm"]
    assert list(fresh.steps[0].scalars) == ["beta"]  # type: ignore[union-attr]


def test_a_zero_that_is_read_before_the_sum_stays() -> None:
    steps = [apply(ZERO, {"A": C}), apply(COPY, {"A": C, "B": U}), apply(GEMM_ADD, {"A": A, "B": B, "C": C}, alpha=2.0)]
    fresh, _ = check(raised([A, B, C, U], list(steps)), "strict")
    assert names_of(fresh)[0] == "zero"


def test_transposes_become_views() -> None:
    turn = [apply(TRANSPOSE, {"A": A, "B": matrix("T", "k", "m")})]
    steps = [*turn, apply(GEMM, {"A": turned(matrix("T", "k", "m")), "B": B, "C": C})]
    for fp in ("strict", "reassociate"):
        fresh, _ = check(raised([A, B, C], list(steps), [matrix("T", "k", "m")]), fp)
        assert names_of(fresh) == ["gemm"]
        assert fresh.locals == ()
    last = fresh.steps[0]
    assert isinstance(last, Apply)
    assert str(last.operands["A"]) == "A[0 + x0, 0 + x1 | x0 < m, x1 < k]"


def test_a_transpose_that_is_seen_afterwards_stays() -> None:
    X = matrix("X", "k", "m")
    steps = [apply(TRANSPOSE, {"A": A, "B": X}), apply(GEMM, {"A": turned(X), "B": B, "C": C})]
    assert names_of(check(raised([A, B, C, X], list(steps)))[0]) == ["transpose", "gemm"]


def test_a_transpose_of_what_changes_stays() -> None:
    X = matrix("X", "k", "m")
    steps = [apply(TRANSPOSE, {"A": A, "B": X}), apply(ZERO, {"A": A}), apply(GEMM, {"A": turned(X), "B": B, "C": C})]
    fresh, remarks = check(raised([A, B, C], list(steps), [X]))
    assert names_of(fresh) == ["transpose", "zero", "gemm"]
    assert any("changes before the last use" in x for x in remarks)


def test_a_part_of_a_transpose_becomes_a_part_of_the_original() -> None:
    X, Y = matrix("X", "k", "m"), matrix("Y", 2, "m")
    part = View("X", (index(1), index(0)), ((1, 0), (0, 1)), (index(2), index("m")))
    out = matrix("Z", "m", "m")
    steps = [apply(TRANSPOSE, {"A": A, "B": X}), apply(GEMM, {"A": turned(part), "B": part, "C": out})]
    kernel = raised([A, Y, out], list(steps), [X])
    fresh, _ = check(kernel, m=4, k=3)
    assert "transpose" not in names_of(fresh)


def test_a_multiple_is_read_through_where_sums_may_round_otherwise() -> None:
    X = matrix("X", "m", "k")
    steps = [apply(SCALED_COPY, {"A": A, "B": X}, alpha=2.0), apply(GEMM, {"A": X, "B": B, "C": C})]
    kernel = raised([A, B, C], list(steps), [X])
    fresh, _ = check(kernel)
    assert names_of(fresh) == ["gemm"]
    strict, remarks = check(kernel, "strict")
    assert names_of(strict) == ["scaled_copy", "gemm"]
    assert any("is rounded before" in x for x in remarks)


def test_results_are_stored_where_copies_put_them() -> None:
    for copy, out in ((COPY, C), (TRANSPOSE, D)):
        steps = [apply(GEMM, {"A": A, "B": B, "C": T}), apply(copy, {"A": T, "B": out})]
        for fp in ("strict", "reassociate"):
            fresh, _ = check(raised([A, B, out], list(steps), [T]), fp)
            assert names_of(fresh) == ["gemm"]


def test_sums_apart_are_added_at_once_only_where_they_may_round_otherwise() -> None:
    kernel = raised([A, B, C], [apply(GEMM, {"A": A, "B": B, "C": T}), apply(ADD, {"A": T, "B": C})], [T])
    assert names_of(check(kernel)[0]) == ["gemm"]
    assert len(check(kernel, "strict")[0].steps) == 2


def test_scalars_of_one_and_zero() -> None:
    one = raised([A, B, C], [apply(GEMM_ADD, {"A": A, "B": B, "C": C}, alpha=1.0)])
    assert check(one, "strict")[0].steps[0].scalars == {}  # type: ignore[union-attr]
    zero = raised([A, B, C], [apply(GEMM_ADD, {"A": A, "B": B, "C": C}, alpha=0.0), apply(RELU, {"A": C})])
    assert names_of(check(zero)[0]) == ["relu"]
    kept, remarks = check(zero, "strict")
    assert names_of(kept)[0] != "relu"
    assert any("its scalar is zero: --fp strict keeps" in x for x in remarks)
    beta = raised([A, B, C], [apply(GEMM_BETA, {"A": A, "B": B, "C": C}, alpha=1.0, beta=0.0)])
    assert check(beta)[0].steps[0].scalars == {}  # type: ignore[union-attr]


def test_zero_constant_and_identity_matrices() -> None:
    X = matrix("X", "m", "k")
    zero = raised([B, C], [apply(ZERO, {"A": X}), apply(GEMM_ADD, {"A": X, "B": B, "C": C}, alpha=2.0)], [X])
    assert check(zero)[0].steps == ()
    Y = matrix("Y", "m", "m")
    diagonal = View("Y", (index(0), index(0)), ((1, 1),), (index("m"),))
    ones = [apply(ZERO, {"A": Y}), apply(DIAGONAL, {"x": diagonal})]
    steps = [*ones, apply(GEMM, {"A": Y, "B": C, "C": U})]
    assert names_of(check(raised([C, U], list(steps), [Y]))[0]) == ["copy"]
    corner = View("Y", (index(0), index(0)), ((1, 0), (0, 1)), (index(1), index(1)))
    other = [*ones, apply(FILL, {"A": corner}, alpha=5.0)]
    kernel = raised([C, U], [*other, apply(GEMM, {"A": Y, "B": C, "C": U})], [Y])
    assert names_of(check(kernel, m=3, n=4)[0])[-1] == "gemm"


def test_common_products_are_computed_once() -> None:
    both = [apply(GEMM, {"A": A, "B": B, "C": C}), apply(GEMM, {"A": A, "B": B, "C": U})]
    for fp in ("strict", "reassociate"):
        assert names_of(check(raised([A, B, C, U], list(both)), fp)[0]) == ["gemm", "copy"]
    # (A B)' = B' A'
    turn = [apply(GEMM, {"A": A, "B": B, "C": C}), apply(GEMM, {"A": turned(B), "B": turned(A), "C": D})]
    for fp in ("strict", "reassociate"):
        assert names_of(check(raised([A, B, C, D], list(turn)), fp)[0]) == ["gemm", "transpose"]


def test_products_of_operands_that_change_are_computed_again() -> None:
    steps = [apply(GEMM, {"A": A, "B": B, "C": C}), apply(RELU, {"A": A}), apply(GEMM, {"A": A, "B": B, "C": U})]
    fresh, remarks = check(raised([A, B, C, U], list(steps)))
    assert "copy" not in names_of(fresh)
    assert any("its operands change" in x for x in remarks)


def test_a_matrix_times_its_transpose_is_symmetric() -> None:
    X = matrix("X", "m", "m")
    for steps in (
        [apply(GEMM, {"A": A, "B": turned(A), "C": X})],
        [apply(GEMM_TURNED, {"A": turned(A), "B": A, "C": X})],
    ):
        for fp in ("strict", "reassociate"):
            fresh, _ = check(raised([A, X], list(steps)), fp)
            assert names_of(fresh) == ["syrk", "mirror"]
    kernel = raised([A, X], [apply(GEMM_ADD, {"A": A, "B": turned(A), "C": X}, alpha=1.0)])
    fresh, remarks = check(kernel)
    assert names_of(fresh) == ["gemm"]
    assert any("what need not be symmetric" in x for x in remarks)
    small = raised([matrix("A", 20, 2), matrix("X", 20, 20)], [apply(GEMM, {
        "A": matrix("A", 20, 2), "B": turned(matrix("A", 20, 2)), "C": matrix("X", 20, 20)})])  # fmt: skip
    fresh, remarks = check(small)
    assert names_of(fresh) == ["gemm"]
    assert any("copying a triangle takes longer" in x for x in remarks)


def test_elementwise_steps_become_epilogues() -> None:
    b = matrix("b", "n")
    for fp in ("strict", "reassociate"):
        kernel = raised([A, B, C], [apply(GEMM, {"A": A, "B": B, "C": C}), apply(RELU, {"A": C})])
        fresh, _ = check(kernel, fp)
        assert names_of(fresh) == ["gemm_relu"]
        steps = [apply(GEMM, {"A": A, "B": B, "C": T}), apply(BIAS, {"A": T, "b": b, "D": C}), apply(RELU, {"A": C})]
        fresh, _ = check(raised([A, B, b, C], list(steps), [T]), fp)
        assert (names_of(fresh), fresh.locals) == (["gemm_bias_relu"], ())


def test_epilogues_of_convolutions() -> None:
    window, out = matrix("W", 3, 3), matrix("O", "p", "q")
    picture = Array("I", F64, (parse_expr("p + 2"), parse_expr("q + 2")))
    sizes = {"p": index("p"), "q": index("q"), "r": index(3), "s": index(3)}
    conv = Apply(CONV, {"I": whole(picture), "W": whole(window), "O": whole(out)}, sizes)
    kernel = raised([out, window, picture], [conv, apply(RELU, {"A": out})])
    fresh, _ = improve(kernel, TARGET, "strict")
    assert names_of(fresh) == ["conv_relu"]
    values = {"p": 4, "q": 5, "O": np.zeros((4, 5)), "W": np.eye(3) - 0.3, "I": np.arange(42.0).reshape(6, 7) - 20}
    assert run(kernel, values)["O"].tobytes() == run(fresh, values)["O"].tobytes()


@pytest.mark.parametrize("stride", [1, 2])
def test_convolutions_stay_convolutions(stride: int) -> None:
    picture, window, out = matrix("I", "h", "w"), matrix("W", 3, 3), matrix("O", "p", "q")
    subscripts = f"I[{stride} * i + a, {stride} * j + b]"
    add = operation(f"""kernel add_conv(p, q, r, s; I: f64[p + r, q + s], W: f64[r, s], O: f64[p, q]) {{
        for i in 0 .. p {{ for j in 0 .. q {{ for a in 0 .. r {{ for b in 0 .. s {{
            O[i, j] += {subscripts} * W[a, b]
        }} }} }} }}
    }}""")
    sizes = {"p": index("p"), "q": index("q"), "r": index(3), "s": index(3)}
    conv = Apply(add, {"I": whole(picture), "W": whole(window), "O": whole(out)}, sizes)
    kernel = raised([picture, window, out], [apply(ZERO, {"A": out}), conv])
    fresh, _ = check(kernel, "strict", h=9, w=11, p=4, q=5)
    assert names_of(fresh) == ["convolution"]
    last = fresh.steps[0]
    assert isinstance(last, Apply)
    assert [len(x.steps) for x in last.operands.values()] == [2, 2, 2]
    wanted = {1: "x0 < p + 2, x1 < q + 2", 2: "x0 < 2 * p + 1, x1 < 2 * q + 1"}
    assert wanted[stride] in str(last.operands["A"])


def test_what_is_used_besides_is_no_epilogue() -> None:
    b = matrix("b", "n")
    twice = [apply(BIAS, {"A": T, "b": b, "D": C}), apply(COPY, {"A": T, "B": U})]
    steps = [apply(GEMM, {"A": A, "B": B, "C": T}), *twice]
    fresh, remarks = check(raised([A, B, b, C, U], list(steps), [T]))
    assert names_of(fresh)[:2] == ["gemm", "bias"]
    assert any("T is read more than once" in x for x in remarks)


def test_nests_without_a_name_stand_between() -> None:
    change = For("q", index(0), index("m"), 1, Block((Assign("A", (Var("q", INDEX), index(0)), Var("x", F64)),)))
    both = [apply(GEMM, {"A": A, "B": B, "C": C}), Loops(Block((change,))), apply(GEMM, {"A": A, "B": B, "C": U})]
    fresh, _ = check(raised([A, B, C, U], both, scalars=("x",)), m=3, k=2, n=4)
    assert names_of(fresh) == ["gemm", "Loops", "gemm"]


def test_elements_of_two_types_are_left_alone() -> None:
    X = Array("X", F32, A.shape)
    kernel = raised([X, B, C], [apply(GEMM, {"A": X, "B": B, "C": C})])
    assert "has operands of the types f32, f64" in study(kernel).reasons[0]
    assert improve(kernel, TARGET, "reassociate")[0].steps == kernel.steps


def test_a_product_that_overwrites_its_operand_is_left_alone() -> None:
    X = matrix("X", "m", "m")
    kernel = raised([X], [apply(GEMM, {"A": X, "B": X, "C": X})])
    assert "writes an operand that it reads" in study(kernel).reasons[0]
    assert check(kernel)[0].steps == kernel.steps


def test_vectors_at_the_end_of_a_chain() -> None:
    x, y, t = matrix("x", "n"), matrix("y", "m"), matrix("t", "m", "n")
    steps = [apply(GEMM, {"A": A, "B": B, "C": t}), apply(GEMV, {"A": t, "x": x, "y": y})]
    fresh, remarks = check(raised([A, B, x, y], list(steps), [t]))
    assert names_of(fresh) == ["gemv", "gemv"]
    assert any("A (B x)" in x for x in remarks)
    strict, remarks = check(raised([A, B, x, y], list(steps), [t]), "strict")
    assert names_of(strict) == ["gemm", "gemv"]
    assert any("which --fp strict does not allow" in x for x in remarks)
    seen, remarks = check(raised([A, B, x, y, t], list(steps)))
    assert names_of(seen) == ["gemm", "gemv"]
    assert any("t is seen after the kernel" in x for x in remarks)


def test_outer_products_in_chains() -> None:
    u, v, w, y, t = (matrix(a, b) for a, b in zip("uvwyt", "mnnmm", strict=True))
    outer = matrix("t", "m", "n")
    steps = [apply(GER, {"x": u, "y": v, "A": outer}), apply(GEMV_ADD, {"A": outer, "x": w, "y": y})]
    fresh, _ = check(raised([u, v, w, y], list(steps), [outer]))
    assert "ger" not in names_of(fresh)
    assert t.shape == y.shape


def test_choices_between_orders() -> None:
    E, F, t = matrix("E", "n", "p"), matrix("F", "m", "p"), matrix("t", "m", "n")
    steps = [apply(GEMM, {"A": A, "B": B, "C": t}), apply(GEMM, {"A": t, "B": E, "C": F})]
    fresh, remarks = check(raised([A, B, E, F], list(steps), [t]))
    (choice,) = fresh.steps
    assert isinstance(choice, Choice)
    assert len(choice.cases) == 2
    assert any("A (B E)" in x and "(A B) E" in x for x in remarks)
    for sizes in ((2, 9, 3, 8), (9, 2, 8, 3), (1, 7, 7, 1)):
        check(raised([A, B, E, F], list(steps), [t]), m=sizes[0], k=sizes[1], n=sizes[2], p=sizes[3])


def test_operands_that_change_are_not_multiplied_later() -> None:
    x, y, t = matrix("x", "n"), matrix("y", "m"), matrix("t", "m", "n")
    first, second = apply(GEMM, {"A": A, "B": B, "C": t}), apply(GEMV, {"A": t, "x": x, "y": y})
    fresh, remarks = check(raised([A, B, x, y], [first, apply(RELU, {"A": A}), second], [t]))
    assert names_of(fresh)[0] == "gemm"
    assert any("what t is made of changes before t is used" in x for x in remarks)
    # The product overwrites what its factor is made of.
    square = matrix("A", "m", "m"), matrix("s", "m", "m"), matrix("r", "m", "m")
    steps = [apply(GEMM, {"A": square[0], "B": square[2], "C": square[1]}),
             apply(GEMM, {"A": square[1], "B": square[2], "C": square[0]})]  # fmt: skip
    fresh, remarks = check(raised([square[0], square[2]], list(steps), [square[1]]))
    assert any("is overwritten by what it is used for" in x for x in remarks)


def test_sums_that_are_added_to_twice_are_no_part_of_a_chain() -> None:
    x, y, t, E = matrix("x", "n"), matrix("y", "m"), matrix("t", "m", "n"), matrix("E", "m", "n")
    steps = [apply(COPY, {"A": E, "B": t}), apply(GEMM_ADD, {"A": A, "B": B, "C": t}, alpha=1.0)]
    steps.append(apply(GEMV, {"A": t, "x": x, "y": y}))
    fresh, remarks = check(raised([A, B, E, x, y], list(steps), [t]))
    assert names_of(fresh)[-1] == "gemv"
    assert any("t is added to more than once" in x for x in remarks)


def test_parts_of_arrays_that_are_not_copied_are_read_where_they_are() -> None:
    X, part = matrix("X", "m", "n"), View("X", (index(0), index(0)), ((1, 0), (0, 1)), (index("m"), index(1)))
    other = View("X", (index(0), index(1)), ((1, 0), (0, 1)), (index("m"), index(1)))
    col, x, y = matrix("c", "m", 1), matrix("x", 1), matrix("y", "m")
    steps = [apply(ZERO, {"A": X}), apply(COPY, {"A": col, "B": part}), apply(GEMV, {"A": other, "x": x, "y": y})]
    check(raised([col, x, y], list(steps), [X]), "strict", m=3, n=2)
    steps[2] = apply(GEMV, {"A": part, "x": x, "y": y})
    fresh, _ = check(raised([col, x, y], list(steps), [X]), "strict", m=3, n=2)
    assert names_of(fresh) == ["gemv"]


def test_repeated_steps_are_improved() -> None:
    one = View("X", (index("r"), index(0), index(0)), ((0, 1, 0), (0, 0, 1)), (index("m"), index("k")))
    out = View("Y", (index("r"), index(0), index(0)), ((0, 1, 0), (0, 0, 1)), (index("m"), index("n")))
    X, Y = matrix("X", "q", "m", "k"), matrix("Y", "q", "m", "n")
    steps = (apply(GEMM, {"A": one, "B": B, "C": T}), apply(COPY, {"A": T, "B": out}))
    repeat = Repeat("r", index(0), index("q"), 1, steps)
    fresh, _ = check(raised([X, B, Y], [repeat], [T]), q=3, m=4, k=2, n=5)
    (inside,) = fresh.steps
    assert isinstance(inside, Repeat)
    assert [x.operation.name for x in inside.steps if isinstance(x, Apply)] == ["gemm"]
    assert fresh.locals == ()
    # What an iteration leaves to the next is kept.
    carried = (apply(COPY, {"A": T, "B": out}), apply(GEMM, {"A": one, "B": B, "C": T}))
    start = apply(ZERO, {"A": T})
    kernel = raised([X, B, Y], [start, Repeat("r", index(0), index("q"), 1, carried)], [T])
    fresh, _ = check(kernel, q=3, m=4, k=2, n=5)
    (_, inside) = fresh.steps
    assert isinstance(inside, Repeat)
    assert len(inside.steps) == 2
    alone = raised([X, B, Y], [Repeat("r", index(0), index("q"), 1, (start, *carried))], [T])
    fresh, _ = check(alone, q=3, m=4, k=2, n=5)


def test_repetitions_are_not_left_out_where_they_ask_something() -> None:
    asked = Compare("lt", Var("r", INDEX), Var("n", INDEX))
    zero = apply(ZERO, {"A": T})
    zero = Apply(zero.operation, zero.operands, zero.sizes, zero.scalars, (asked,))
    repeat = Repeat("r", index(0), index("m"), 1, (zero,))
    fresh, remarks = improve(raised([C], [repeat, apply(RELU, {"A": C})], [T]), TARGET, "strict")
    assert len(fresh.steps) == 2
    assert any("stays although its result is dead" in x.message for x in remarks)


def test_copies_that_a_later_sum_adds_to_stay() -> None:
    X = matrix("X", "m", "k")
    steps = [apply(COPY, {"A": A, "B": X}), apply(GEMM, {"A": X, "B": B, "C": C})]
    steps += [apply(ADD, {"A": A, "B": X}), apply(COPY, {"A": X, "B": matrix("Y", "m", "k")})]
    fresh, _ = check(raised([A, B, C, matrix("Y", "m", "k")], list(steps), [X]))
    # A sum that a later iteration would add to: the copy is read by an update.
    update = [apply(COPY, {"A": A, "B": X}), apply(GEMM, {"A": X, "B": B, "C": C}), apply(RELU, {"A": X})]
    update.append(apply(COPY, {"A": X, "B": matrix("Y", "m", "k")}))
    check(raised([A, B, C, matrix("Y", "m", "k")], list(update), [X]))
    assert fresh.kernel.arrays[0] == A


def test_strict_sums_of_one_term_keep_the_sign_of_zero() -> None:
    Y = matrix("Y", "m", "k")
    kernel = raised([A, Y], [apply(ZERO, {"A": Y}), apply(ADD, {"A": A, "B": Y})])
    assert names_of(improve(kernel, TARGET, "reassociate")[0]) == ["copy"]
    fresh, _ = improve(kernel, TARGET, "strict")
    values: dict[str, Any] = {"m": 1, "k": 1, "A": np.full((1, 1), -0.0), "Y": np.ones((1, 1))}
    want, got = run(kernel, values)["Y"], run(fresh, values)["Y"]
    assert want.tobytes() == got.tobytes() == np.zeros(1).tobytes()


def test_results_that_change_are_computed_again() -> None:
    first, second = apply(GEMM, {"A": A, "B": B, "C": C}), apply(GEMM, {"A": A, "B": B, "C": U})
    fresh, remarks = check(raised([A, B, C, U], [first, apply(CUMULATE, {"A": C}), second]))
    assert names_of(fresh).count("gemm") == 2
    assert any("C changes before it" in x for x in remarks)


def test_epilogues_wait_for_operands() -> None:
    first, b = apply(GEMM, {"A": A, "B": B, "C": C}), matrix("b", "n")
    fresh, remarks = check(raised([A, B, C], [first, apply(CUMULATE, {"A": A}), apply(RELU, {"A": C})]))
    assert names_of(fresh) == ["gemm", "cumulate", "relu"]
    assert any("operands of `gemm` change before it" in x for x in remarks)
    # The epilogue stores where the product reads.
    X = matrix("X", "m", "m")
    steps = [apply(GEMM, {"A": X, "B": C, "C": T}), apply(BIAS, {"A": T, "b": b, "D": C})]
    fresh, remarks = check(raised([X, C, b], list(steps), [T]))
    assert names_of(fresh) == ["gemm", "bias"]
    assert any("`gemm` reads C" in x for x in remarks)


def test_small_results_have_no_epilogue() -> None:
    x, y = matrix("x", "k"), matrix("y", "m", 1)
    column = View("y", (index(0), index(0)), ((1, 0),), (index("m"),))
    fresh, remarks = check(raised([A, x, y], [apply(GEMV, {"A": A, "x": x, "y": column}), apply(RELU, {"A": y})]))
    assert names_of(fresh) == ["gemv", "relu"]
    line = operation("kernel clip(m; x: f64[m]) { for i in 0 .. m { x[i] = max(x[i], 0.0) } }")
    z = matrix("z", "m")
    fresh, remarks = check(raised([A, x, z], [apply(GEMV, {"A": A, "x": x, "y": z}), apply(line, {"x": z})]))
    assert names_of(fresh) == ["gemv", "clip"]
    assert any("is little beside what it reads" in x for x in remarks)


def test_arrays_that_are_used_anew_are_told_apart() -> None:
    x, y, z, t = matrix("x", "n"), matrix("y", "m"), matrix("z", "m"), matrix("t", "m", "n")
    steps = []
    for out in (y, z):
        steps += [apply(GEMM, {"A": A, "B": B, "C": t}), apply(GEMV, {"A": t, "x": x, "y": out})]
    steps.insert(2, apply(RELU, {"A": A}))
    fresh, _ = check(raised([A, B, x, y, z], list(steps), [t]))
    # The product of B and x serves both.
    assert names_of(fresh) == ["gemv", "gemv", "relu", "gemv"]
    c = matrix("c", "k", "n")
    copies = [apply(COPY, {"A": B, "B": c}), apply(GEMM, {"A": A, "B": c, "C": C})]
    again = [apply(SCALE, {"A": B}, beta=2.0), copies[0], apply(GEMM, {"A": A, "B": c, "C": U})]
    fresh, _ = check(raised([A, B, C, U], [*copies, *again], [c]), "strict")
    assert names_of(fresh) == ["gemm", "scale", "gemm"]


def test_epilogues_do_not_read_what_they_store_in_another_place() -> None:
    row = View("T", (index(0), index(0)), ((0, 1),), (index("n"),))
    steps = [apply(GEMM, {"A": A, "B": B, "C": T}), apply(BIAS, {"A": T, "b": row, "D": C})]
    fresh, remarks = check(raised([A, B, C], list(steps), [T]), m=3, k=2, n=4)
    assert names_of(fresh) == ["gemm", "bias"]
    assert any("it reads T in two ways" in x for x in remarks)
