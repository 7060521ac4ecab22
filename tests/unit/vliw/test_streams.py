"""Nests as streams of operations: they mean what the nests do, as streams and as packets, on machines by files."""

from pathlib import Path

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.poly.canonical.delinearise import delinearise
from planish.schedule.program import Program
from planish.vliw.description import load_machine
from planish.vliw.pack.packing import pack
from planish.vliw.program import Loop
from planish.vliw.streams.lower import lower
from planish.vliw.streams.oracle import check_code, check_stream, draw_values, sizes_for
from planish.vliw.streams.plan import plan, plan_scalar
from planish.vliw.streams.shapes import promote, with_extrema
from planish.vliw.streams.stream import RefusedError
from planish.vliw.streams.tiles import RegisterTile, loops_of, reductions_of, tile

FT = load_machine("ftmatrix")
NARROW = load_machine(str(Path(__file__).parent / "narrow.toml"))

MATMUL = """void f(int m, int n, int k, const float *restrict A, const float *restrict B, float *restrict C) {
  for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) {
    float s = 0; for (int p = 0; p < k; p++) s += A[i * k + p] * B[p * n + j]; C[i * n + j] = s; } }"""
DOT = """void f(int n, const float *x, const float *y, float *restrict s) {
  for (int i = 0; i < n; i++) *s += x[i] * y[i]; }"""
BIQUAD = """void f(int n, const float *c, const float *x, float *restrict y, float *restrict st) {
  float w1 = st[0], w2 = st[1];
  for (int i = 0; i < n; i++) { float w = x[i] - c[3] * w1 - c[4] * w2;
    y[i] = c[0] * w + c[1] * w1 + c[2] * w2; w2 = w1; w1 = w; }
  st[0] = w1; st[1] = w2; }"""
ARGMAX = """void f(int n, const float *x, float *restrict m, int *restrict best) {
  float most = x[0]; int at = 0;
  for (int i = 1; i < n; i++) if (x[i] > most) { most = x[i]; at = i; }
  *m = most; *best = at; }"""
GUARDED = """kernel f(n; x: i32[n], y: i32[n]) { for i in 0 .. n {
  if i > 0 { if x[i - 1] > x[i] { y[i] = x[i - 1] } else { y[i] += -3:i32 } }
  for j in 0 .. i { if x[j] < 2:i32 { y[i] += x[j] * i32(j) } } } }"""
TRIANGLE = """void f(int n, double *restrict A) {
  for (int i = 0; i < n; i++) for (int j = 0; j <= i; j += 2) A[i * n + j] = A[i * n + j] / (1.0 + i) - 2 * j; }"""
BYTES = """void f(int n, const unsigned char *restrict a, unsigned char *restrict b) {
  for (int i = 1; i < n; i++) b[i] = (a[i] + a[i - 1] + 1) >> 1; }"""
TABLE = """void f(int n, const float *restrict a, float *restrict b) {
  for (int i = 0; i < n; i++) { float t[4]; for (int j = 0; j < 4; j++) t[j] = a[i] * j;
    for (int j = 0; j < 4; j++) b[i] += t[3 - j] * t[j]; } }"""


WIDENED = """void f(int n, const signed char *restrict a, const unsigned char *restrict b, int *restrict c) {
  for (int i = 0; i < n; i++) c[i] = a[i] + 256 * b[i]; }"""
NARROW_BITS = """void f(int n, const unsigned char *restrict x, unsigned char *restrict y) {
  for (int i = 1; i < n; i++) y[i] = y[i - 1] ^ (x[i] & 15); }"""
EMPTY_ROWS = """void f(int n, int m, const float *restrict x, float *restrict y) {
  for (int i = 0; i < n; i++) { float s = 1; for (int j = i; j < m; j++) s += x[j]; y[i] = s; } }"""
UNDER = """kernel f(n; x: f32[n], y: f32[n]) { if n > 3 { for i in 0 .. 4 { y[i] = x[i] } } }"""


def kernel_of(text: str) -> Kernel:
    if text.startswith("kernel"):
        return parse_kernel(text)
    (region,) = [x for f in read_c(Source("f.c", text)).functions for x in f.regions]
    return delinearise(region.kernel)


ONE_BY_ONE = [MATMUL, DOT, BIQUAD, ARGMAX, GUARDED, TRIANGLE, BYTES, TABLE, WIDENED, NARROW_BITS, EMPTY_ROWS, UNDER]


@pytest.mark.parametrize("text", ONE_BY_ONE)
def test_scalar_streams_mean_what_the_nest_does(text: str) -> None:
    kernel = kernel_of(text)
    lowered = lower(kernel, FT)
    packed = pack(lowered.program, FT)
    for sizes in sizes_for(kernel, (-3, 0, 1, 2, 5, 9)):
        values = draw_values(kernel, sizes)
        assert check_stream(lowered, kernel, FT, values) == "", sizes
        assert check_code(packed.code, lowered, kernel, FT, values).message == "", sizes


@pytest.mark.parametrize("text", [DOT, BIQUAD])
def test_another_machine_is_its_file(text: str) -> None:
    kernel = kernel_of(text)
    lowered = lower(kernel, NARROW)
    for sizes in sizes_for(kernel, (0, 1, 7)):
        assert check_stream(lowered, kernel, NARROW, draw_values(kernel, sizes)) == ""


def test_addresses_move_on_in_the_accesses() -> None:
    lowered = lower(kernel_of(MATMUL), FT)
    inner = [x for x in lowered.program.body if isinstance(x, Loop)][0]
    while not inner.is_innermost:
        inner = next(x for x in inner.body if isinstance(x, Loop))
    assert [str(x).split()[0] for x in inner.body] == ["SLDW", "SLDW", "SFMULAS32"]


def test_a_refusal_names_what_is_missing_and_where() -> None:
    text = "void f(int n, float *a) { for (int i = 0; i < n; i++) a[i] = __builtin_sinf(a[i]); }"
    with pytest.raises(RefusedError, match=r"no operation computes `sin") as caught:
        lower(kernel_of(text.replace("__builtin_sinf", "sinf").replace("void", "#include <math.h>\nvoid")), FT)
    assert caught.value.remark.span is not None and caught.value.remark.span.line == 2


TILED = {
    "rows of a product": MATMUL,
    "sums in lanes": DOT,
    "neighbours": """void f(int n, int t, const float *restrict x, const float *restrict h, float *restrict y) {
      for (int i = 0; i < n; i++) { float s = 0; for (int k = 0; k < t; k++) s += h[k] * x[i + k]; y[i] = s; } }""",
    "an extremum": """#include <math.h>
    void f(int n, const float *x, float *restrict m) {
      float most = 0; for (int i = 0; i < n; i++) most = fmaxf(most, x[i]); *m = most; }""",
    "sums of no elements": """void f(int n, int k, int m, const float *restrict x, float *restrict y) {
      for (int i = 0; i < n; i++) { float s = 1; for (int j = k; j < m; j++) s += x[j]; y[i] = s; } }""",
    "numbers in memory": """void f(int n, int m, const int *restrict x, int *restrict y) {
      for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i * m + j] += 3 * x[j] - i; }""",
}


@pytest.mark.parametrize("name", TILED)
@pytest.mark.parametrize("shape", [(1, 1), (3, 2)])
def test_tiles_mean_what_the_nest_does(name: str, shape: tuple[int, int]) -> None:
    kernel = kernel_of(TILED[name])
    program = Program.of(promote(with_extrema(kernel)))
    loops = loops_of(program.kernel)
    lane = loops[{"rows of a product": 1, "neighbours": 0}.get(name, -1)]
    around = [x for x in loops if x is not lane and lane in tuple(walk(x))]
    rows = tuple((x.label, shape[0]) for x in around[:1] if shape[0] > 1)
    made = tile(program, RegisterTile(lane.label, 32, shape[1], rows))
    lowered = lower(made.kernel, FT, True, made.sizes, made.plain)
    for sizes in sizes_for(kernel, (-3, 0, 1, 33)):
        assert check_stream(lowered, kernel, FT, draw_values(kernel, sizes)) == "", sizes


LEFT_OVER = {
    "a product": (4, """void f(const float a[restrict 7][5], const float b[restrict 5][40], float c[restrict 7][40]) {
      for (int i = 0; i < 7; i++) for (int j = 0; j < 40; j++) { float s = 0;
        for (int k = 0; k < 5; k++) s += a[i][k] * b[k][j]; c[i][j] = s; } }"""),
    "added to memory": (3, """void f(const int *restrict x, int y[restrict 4][32]) {
      for (int i = 0; i < 4; i++) for (int j = 0; j < 32; j++) y[i][j] += 3 * x[j] - i; }"""),
    "from the second row on": (2, """void f(const double x[restrict 6][20], double y[restrict 6][20]) {
      for (int i = 1; i < 6; i++) for (int j = 0; j < 20; j++) y[i][j] = x[i][j] - x[i - 1][j]; }"""),
}  # fmt: skip


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("name", LEFT_OVER)
def test_rows_left_over_mean_what_the_nest_does(name: str, joined: bool) -> None:
    count, text = LEFT_OVER[name]
    kernel = kernel_of(text)
    program = Program.of(promote(kernel))
    row, lane = loops_of(program.kernel)[:2]
    lanes = 16 if "double" in text else 32
    made = tile(program, RegisterTile(lane.label, lanes, 1, ((row.label, count),), joined=joined))
    lowered = lower(made.kernel, FT, True, made.sizes, made.plain)
    assert check_stream(lowered, kernel, FT, draw_values(kernel, {})) == ""


def test_the_tile_is_chosen_by_the_schedule() -> None:
    text = """void f(const float a[restrict 4][6], const float b[restrict 6][32], float c[restrict 4][32]) {
      for (int i = 0; i < 4; i++) for (int j = 0; j < 32; j++) { float s = 0;
        for (int k = 0; k < 6; k++) s += a[i][k] * b[k][j]; c[i][j] = s; } }"""
    kernel = kernel_of(text)
    values = draw_values(kernel, {})
    found, plain = plan(kernel, FT), plan_scalar(kernel, FT)
    ours, naive = (check_code(x.packed.code, x.lowered, kernel, FT, values) for x in (found, plain))
    assert (ours.message, naive.message) == ("", "")
    assert ours.cycles * 10 < naive.cycles and found.tiles


def test_a_loop_that_carries_a_value_is_not_run_in_lanes() -> None:
    program = Program.of(kernel_of(BIQUAD))
    (loop,) = loops_of(program.kernel)
    assert reductions_of(program, loop.label) is None
    with pytest.raises(RefusedError, match="depend on one another"):
        tile(program, RegisterTile(loop.label, 32))


@pytest.mark.parametrize(("lower_bound", "lies"), [("0", True), ("4", True), ("2", False), ("7", False)])
def test_vectors_lie_where_the_memory_wants_them(lower_bound: str, lies: bool) -> None:
    text = f"""void f(const float x[restrict 32], float y[restrict 8][32]) {{
      for (int i = 0; i < 8; i++) for (int j = {lower_bound}; j < 32; j++) y[i][j] = x[j] * x[j]; }}"""
    kernel = kernel_of(text)
    program = Program.of(kernel)
    lowered = None
    try:
        made = tile(program, RegisterTile(loops_of(program.kernel)[1].label, 4))
        lowered = lower(made.kernel, NARROW, True, made.sizes, made.plain)
    except RefusedError as refused:
        assert "of `" in refused.remark.message and "in RAM" in refused.remark.message
    assert (lowered is not None) == lies
    if lowered is not None:
        assert check_stream(lowered, kernel, NARROW, draw_values(kernel, {})) == ""


def test_nests_inside_of_a_nest_all_run_in_lanes() -> None:
    text = """void f(float a[restrict 2][32], float b[restrict 2][32]) { for (int k = 0; k < 2; k++) {
      for (int s = 0; s < 32; s++) a[k][s] = 2 * a[k][s]; for (int s = 0; s < 32; s++) b[k][s] += a[1 - k][s]; } }"""
    kernel = kernel_of(text)
    found = plan(kernel, FT)
    assert len(found.tiles) == 2
    assert check_code(found.packed.code, found.lowered, kernel, FT, draw_values(kernel, {})).message == ""


def test_addresses_wait_in_other_registers_where_there_are_too_many() -> None:
    names = [f"a{i}" for i in range(16)]
    pairs = zip(names[::2], names[1::2], strict=True)
    loops = "".join(f"for (int i = 0; i < n; i++) {x}[i] += {y}[i];" for x, y in pairs)
    kernel = kernel_of(f"void f(int n, {', '.join(f'float *restrict {x}' for x in names)}) {{ {loops} }}")
    lowered = lower(kernel, FT)
    packed = pack(lowered.program, FT)
    for sizes in sizes_for(kernel, (0, 1, 7)):
        assert check_code(packed.code, lowered, kernel, FT, draw_values(kernel, sizes)).message == "", sizes


def test_conditions_in_conditions_have_registers_of_their_own() -> None:
    text = """void f(const float *restrict x, float *restrict y) {
      for (int i = 0; i < 6; i++) { float s = 0;
        for (int j = 0; j < 3; j++) if (i - j >= 0 && i - j < 4 && j != 1) s += x[i - j];
        y[i] = s; } }"""
    region = read_c(Source("f.c", text)).functions[0].regions[0]
    kernel = delinearise(region.kernel)
    values = draw_values(kernel, {})
    assert check_stream(lower(kernel, FT), kernel, FT, values) == ""
