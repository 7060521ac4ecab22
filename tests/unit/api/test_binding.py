"""Calls from Python: which arguments are taken, what follows from their shapes, what is refused with which words."""

import numpy as np
import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.run.calls.arguments import CallInterface, interface_of_c
from planish.run.calls.binding import bind, row_lengths, solve

AXPY = "void axpy(int n, float a, const float *x, float *y) { for (int i = 0; i < n; i++) y[i] += a * x[i]; }"
MATVEC = """void matvec(int m, int n, const double *A, int lda, const double *x, double *y)
{ for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) y[i] += A[i * lda + j] * x[j]; }"""
ROWS = """void rows(int n, double A[n][n + 1], double s[restrict 3], const unsigned char *restrict q)
{ for (int i = 0; i < n; i++) { A[i][i + 1] = q[i]; s[i % 3] += 1.0; } }"""
SHIFT = "void shift(int n, float *x) { for (int i = 0; i < n; i++) x[i] = x[i + 2] + x[2 * i]; }"
BEFORE = "void before(int n, float *x) { for (int i = 0; i < n; i++) x[i] = x[i - 1]; }"
COPY = "void copy(int n, const float *restrict x, float *restrict y) { for (int i = 0; i < n; i++) y[i] = x[i]; }"
CELL = "void total(int n, const float *x, double *out) { for (int i = 0; i < n; i++) *out += x[i]; }"
FLAGS = "#include <stdbool.h>\nvoid flags(int n, bool on, _Bool *x) { for (int i = 0; i < n; i++) x[i] = on; }"


def interface(text: str) -> CallInterface:
    return interface_of_c(read_c(Source("text.c", text)).functions[-1], text)


def single(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def double(*shape: int) -> np.ndarray:
    return np.zeros(shape)


def test_sizes_follow_from_shapes_and_strides() -> None:
    wide = double(7, 20)[:, :5]
    values = bind(interface(MATVEC), (wide, double(5), double(7)), {})
    assert (values["m"], values["n"], values["lda"]) == (7, 5, 20)
    assert values["A"] is wide


def test_sizes_may_be_given_by_place_or_name() -> None:
    face = interface(MATVEC)
    assert bind(face, (7, 5, double(7, 20), 20, double(5), double(7)), {})["n"] == 5
    assert bind(face, (), {"A": double(140), "x": double(5), "y": double(7), "m": 7, "n": 5, "lda": 20})["m"] == 7
    assert bind(face, (double(7, 5), double(5), double(7)), {"m": 3})["m"] == 3


def test_a_flat_array_serves_for_rows_and_rows_for_a_flat_one() -> None:
    assert bind(interface(MATVEC), (2, 3, double(6), 3, double(3), double(2)), {})["lda"] == 3
    assert bind(interface(AXPY), (1.0, single(2, 3), single(6)), {})["n"] == 6


def test_declared_extents_are_solved_for_sizes() -> None:
    assert bind(interface(ROWS), (double(4, 5), double(3), np.zeros(4, np.uint8)), {})["n"] == 4


def test_a_subscript_with_a_factor_tells_the_size_exactly() -> None:
    # x[i + 2] reaches n + 1, x[2 i] reaches 2 n - 2: 9 elements are what n = 5 needs.
    assert bind(interface(SHIFT), (single(9),), {})["n"] == 5
    with pytest.raises(ValueError, match="must have 11 elements with n = 6, but has 10"):
        bind(interface(SHIFT), (6, single(10)), {})


def test_calls_like_earlier_ones_are_checked_as_well() -> None:
    face, seen = interface(MATVEC), {}
    wide = double(7, 20)[:, :5]
    for _ in range(2):
        assert bind(face, (wide, double(5), double(7)), {}, seen)["lda"] == 20
        assert bind(face, (wide.copy(), double(5), double(7)), {}, seen)["lda"] == 5
        with pytest.raises(ValueError, match="`y` must have 7 elements"):
            bind(face, (7, 5, wide, 20, double(5), double(6)), {}, seen)
    assert len(seen) == 2


def test_how_often_something_runs_does_not_follow_from_shapes() -> None:
    loops = "for (int t = 0; t < steps; t++) for (int i = 0; i < n; i++) x[i] += t;"
    text = "void f(int steps, int n, float *x) { " + loops + " }"
    face = interface(text)
    assert face.inferable == {"n"}
    assert bind(face, (2, single(4)), {})["steps"] == 2


def test_a_cell_is_an_array_of_no_dimension() -> None:
    out = np.zeros(())
    assert bind(interface(CELL), (single(3), out), {})["out"] is out
    with pytest.raises(TypeError, match=r"for one value, pass np.zeros\(\(\), 'float64'\)"):
        bind(interface(CELL), (single(3), 0.0), {})


def test_empty_arrays_are_taken() -> None:
    assert bind(interface(AXPY), (1.0, single(0), single(0)), {})["n"] == 0
    assert bind(interface(AXPY), (0, 1.0, single(0), single(5)), {})["n"] == 0
    assert bind(interface(AXPY), (-3, 1.0, single(0), single(5)), {})["n"] == -3


@pytest.mark.parametrize(
    ("text", "arguments", "kind", "words"),
    [
        (AXPY, (5, 1.0, single(4), single(5)), ValueError, "`x` must have 5 elements with n = 5, but has 4"),
        (AXPY, (1.0, single(4), single(5)), ValueError, "`n` would be 4 by `x`, but 5 by `y`"),
        (AXPY, (1.0, double(4), single(4)), TypeError, "`x` must hold float32, but holds float64; convert it: x"),
        (AXPY, (1.0, single(4).astype(">f4"), single(4)), TypeError, "`x` is in the other byte order"),
        (AXPY, (1.0, [1.0], single(4)), TypeError, "`x` must be a NumPy array of float32, but is a list"),
        (AXPY, (1.0, single(8)[::2], single(4)), ValueError, r"`x` must have neighbouring elements in a row, but has"),
        (AXPY, ("1", single(4), single(4)), TypeError, "`a` must be a number"),
        (AXPY, (1j, single(4), single(4)), TypeError, "`a` must be a number"),
        (AXPY, (1.5, 1.0, single(4), single(4)), TypeError, r"`n` must be an integer \(i32\), but is 1.5"),
        (AXPY, (True, 1.0, single(4), single(4)), TypeError, "`n` must be an integer"),
        (AXPY, (np.arange(3), 1.0, single(4), single(4)), TypeError, "`n` must be a single i32"),
        (AXPY, (1 << 31, 1.0, single(4), single(4)), ValueError, "`n` is 2147483648, which does not fit i32"),
        (AXPY, (1, 2, 3, 4, 5), TypeError, "5 arguments for 4 parameters; it is axpy"),
        (AXPY, (1.0,), TypeError, "no value for `x`"),
        (MATVEC, (double(5, 7).T, double(5), double(7)), ValueError, r"`A` .* Fortran order; pass np.ascontiguous"),
        (MATVEC, (7, 5, double(7, 20)[:, :5], 19, double(5), double(7)), ValueError, r"19 elements apart \(lda = 19\)"),
        (MATVEC, (7, 6, double(7, 20)[:, :5], 20, double(6), double(7)), ValueError, "accessed up to 5 in dimension 2"),
        (MATVEC, (7, 5, double(124), 20, double(5), double(7)), ValueError, "`A` must have 125 elements with"),
        (ROWS, (double(4, 4), double(3), np.zeros(4, np.uint8)), ValueError, r"shape \(n, n \+ 1\) with n = 4"),
        (ROWS, (double(5), double(3), np.zeros(4, np.uint8)), ValueError, r"must have shape \(n, n \+ 1\), but has"),
        (ROWS, (double(4, 9)[:, :5], double(3), np.zeros(4, np.uint8)), ValueError, "must be contiguous, row by row"),
        (ROWS, (double(4, 5), double(2), np.zeros(4, np.uint8)), ValueError, r"`s` must have shape \(3,\)"),
        (ROWS, (double(4, 5), double(3), np.zeros(3, np.uint8)), ValueError, "`q` must have 4 elements with n = 4"),
        (BEFORE, (3, single(5)), ValueError, "`x` is accessed 1 elements before its start"),
        (FLAGS, (2, np.zeros(2, np.bool_)), TypeError, "`on` must be True or False"),
        (FLAGS, (True, np.zeros(2, np.uint8)), TypeError, "`x` must hold bool"),
    ],
)
def test_what_is_refused(text: str, arguments: tuple[object, ...], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        bind(interface(text), arguments, {})


def test_names_are_checked() -> None:
    with pytest.raises(TypeError, match="there is no parameter `z`"):
        bind(interface(AXPY), (1.0, single(4), single(4)), {"z": 3})


def test_arrays_that_may_be_written_must_be_writeable() -> None:
    frozen = single(4)
    frozen.flags.writeable = False
    assert bind(interface(AXPY), (1.0, frozen, single(4)), {})["n"] == 4
    with pytest.raises(ValueError, match="`y` may be written by the function, but the array is read-only"):
        bind(interface(AXPY), (1.0, single(4), frozen), {})


def test_unaligned_arrays_are_refused() -> None:
    crooked = np.frombuffer(bytearray(21), np.uint8)[1:].view(np.float32)
    with pytest.raises(ValueError, match="`x` is not aligned to its 4-byte elements"):
        bind(interface(AXPY), (1.0, crooked, single(5)), {})


def test_overlap_is_refused_only_where_c_forbids_it() -> None:
    x = single(8)
    assert bind(interface(AXPY), (1.0, x, x), {})["n"] == 8
    with pytest.raises(ValueError, match="`x` and `y` overlap, which `restrict` forbids"):
        bind(interface(COPY), (x[:6], x[2:]), {})
    assert bind(interface(COPY), (x[:4], x[4:]), {})["n"] == 4


def test_a_python_keyword_gets_an_underscore() -> None:
    face = interface("void neg(int n, const float *in, float *y) { for (int i = 0; i < n; i++) y[i] = -in[i]; }")
    assert bind(face, (), {"in_": single(3), "y": single(3)})["n"] == 3


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (AXPY, ()),
        # A subscript that is read from memory; a pointer and a size that move; a call; a size that is no parameter.
        ("void h(int n, const int *x, int *b) { for (int i = 0; i < n; i++) b[x[i]]++; }", ("x", "b")),
        ("void h(int n, float *x) { x++; for (int i = 0; i < n; i++) x[i] = 0; }", ("x",)),
        ("void h(int n, float *x) { n += 3; for (int i = 0; i < n; i++) x[i] = 0; }", ("x",)),
        ("void g(float *);\nvoid h(int n, float *x) { g(x); for (int i = 0; i < n; i++) x[i] = 0; }", ("x",)),
        ("int g(void);\nvoid h(float *x) { int n = g(); for (int i = 0; i < n; i++) x[i] = 0; }", ("x",)),
        ("void h(int n, float *x) { /* x++ */ for (int i = 0; i < n; i++) x[i] = 0; }", ()),
    ],
)
def test_arrays_whose_use_cannot_be_bounded_are_known(text: str, names: tuple[str, ...]) -> None:
    assert tuple(a.name for a in interface(text).arguments if not a.bounded) == names


def test_unknown_types_have_a_diagnostic() -> None:
    with pytest.raises(PlanishError, match="E0120.*`struct s \\*p` has no type that Planish knows"):
        interface("struct s { int a; };\nvoid f(int n, struct s *p) { for (int i = 0; i < n; i++) p->a += i; }")


def test_row_lengths_are_in_units_of_the_next_dimension() -> None:
    assert row_lengths(np.zeros((2, 3, 4))) == (3, 4)
    assert row_lengths(np.zeros((2, 6, 9))[:, :3, :4]) == (6, 9)
    assert row_lengths(np.zeros((1, 9))[:, :4]) == (4,)
    assert row_lengths(np.zeros(5)) == ()


def test_a_step_is_not_taken_for_a_slope() -> None:
    # 20 rows wherever anything runs at all: this says nothing about k.
    assert solve(lambda s: 20 if s["k"] >= 1 else 0, "k", frozenset("k"), {}, 20) is None
    assert solve(lambda s: 3 * s["k"] + 2, "k", frozenset("k"), {}, 12) is None
    assert solve(lambda s: min(s["k"], 9), "k", frozenset("k"), {}, 4) == 4
