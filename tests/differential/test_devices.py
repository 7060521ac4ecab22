"""C files for a GPU: their kernels run in the emulator beside the originals, and planted faults in them are found."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from planish.build import device_checks
from planish.build.device_checks import DeviceBuild, build_for_device
from planish.build.devices import DevicePlan, plan_devices
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.ir.types import Floats
from planish.options import Options
from planish.run.devices.emulator import find_emulating_compiler
from planish.run.devices.nvcc import compile_cubin, find_nvcc
from planish.target.device import load_device

pytestmark = pytest.mark.skipif(find_emulating_compiler() is None, reason="no compiler of C++ is here")

SOURCES = {
    "rows": """
void scale_rows(int rows, int cols, int pitch, double factor, double *m)
{
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++)
      m[r * pitch + c] = m[r * pitch + c] * factor + r - c;
}""",
    "halves": """
void widen(long n, const short *restrict from, long long *restrict to, unsigned char *restrict odd)
{
  for (long i = 0; i < n; i++) {
    to[i] = (long long)from[i] * i;
    odd[i] = (unsigned char)(from[i] & 1);
  }
}""",
    "lower": """
void lower(int n, float a[n][n], const float b[n][n])
{
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      float sum = 0;
      for (int k = 0; k < j; k++)
        sum += b[i][k] * b[j][k];
      a[i][j] = sum;
    }
}""",
    "steps": """
void smooth(int n, int steps, float *a, float *b)
{
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      b[i] = 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1];
    for (int i = 1; i < n - 1; i++)
      a[i] = b[i];
  }
}""",
    "product": """
void product(int n, int m, int l, float alpha, const float *a, int lda, const float *restrict bt, float *restrict c)
{
  for (int row = 0; row < n; row++)
    for (int col = 0; col < m; col++)
      for (int p = 0; p < l; p++)
        c[row * m + col] += alpha * a[row * lda + p] * bt[col * l + p];
}""",
    "sums": """
double total(int rows, int cols, const double *m, int ld, const long *w)
{
  double sum = 3;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++)
      sum += m[i * ld + j];
  long weight = 0;
  for (int i = 0; i < rows; i++)
    weight += w[i] * i;
  return sum + weight;
}
void extremes(int n, const float *restrict x, int m, const unsigned *restrict w, float *restrict s, unsigned *q)
{
  for (int i = 0; i < n; i++)
    if (x[i] > s[1])
      s[1] = x[i];
  for (int i = 0; i < m; i++)
    q[0] ^= w[i];
}""",
    "cube": """
void cross(int a, int b, int c, const int x[a][b][c], int y[c][a][b])
{
  for (int i = 0; i < a; i++)
    for (int j = 0; j < b; j++)
      for (int k = 0; k < c; k++)
        y[k][i][j] = x[i][j][k] > 3 ? x[i][j][k] : -x[i][j][k];
}""",
    "columns": """
void columns(int n, int m, const int a[n][m], int s[m], short q[m], unsigned char parts[m])
{
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      s[j] += a[i][j];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      q[j] += a[i][j] * s[j];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      parts[j] ^= a[i][j];
}""",
    "tables": """
void tables(int n, const int v[64], const short w[4][16], const int *a, int *restrict b)
{
  for (int i = 0; i < n; i++)
    b[i] = v[a[i] & 63] - w[i & 3][a[i] & 15];
}""",
}


DEVICE = replace(load_device("cuda-sm90"), multiprocessors=2)
"""A few tiles are enough for it, so that small matrices are made by large tiles."""


def build(name: str, fp: str = "reassociate", orders: tuple[int, ...] = (0, 1, 2)) -> DeviceBuild:
    options = Options(fp=fp)  # type: ignore[arg-type]
    return build_for_device(Source(f"{name}.c", SOURCES[name]), options, DEVICE, orders=orders)


@cache
def planned(name: str) -> DevicePlan:
    """The kernels of a source, made once for all faults."""
    fp: Floats = "reassociate" if name == "sums" else "strict"
    return plan_devices(Source(f"{name}.c", SOURCES[name]), Options(fp=fp), DEVICE)


@pytest.mark.parametrize("name", SOURCES)
def test_kernels_compute_the_same_in_every_order(name: str) -> None:
    # Sums by trees are in another order.
    orders = (2,) if name in ("sums", "product", "columns", "tables") else (0, 1, 2)
    built = build(name, "reassociate" if name == "sums" else "strict", orders)
    assert built.used and not built.wrong and built.calls >= 10, built.remarks
    assert "__global__" in built.device_text and built.heads
    assert "planish_" in built.file.text and "extern int" in built.file.text


@pytest.mark.skipif(find_nvcc() is None, reason="nvcc is not here")
def test_nvcc_takes_the_kernels_without_spills() -> None:
    built = build("lower", orders=(0,))
    usage = compile_cubin(built.device_text, "sm_80")
    assert usage and all(x.spilled == 0 and x.registers <= 64 for x in usage.values())


FAULTS: dict[str, tuple[str, Callable[[str], str]]] = {
    "a guard lets one thread more run": ("rows", lambda x: x.replace("if (c_t_ <", "if (c_t_ <=", 1)),
    "a guard lets a thread less run": (
        "rows",
        lambda x: re.sub(r"if \(c_t_ < (.*)\) \{", r"if (c_t_ < \1 - 1) {", x, count=1),
    ),
    "a block too few": (
        "steps",
        lambda x: re.sub(r"(ptrdiff_t planish_x = )(.*);", r"\1(\2) - 1;", x, count=1),
    ),
    "threads too few": ("steps", lambda x: x.replace(", 256, 1, 1, stream", ", 255, 1, 1, stream", 1)),
    "another row": (
        "lower",
        lambda x: re.sub(r"\ba\[", "a[1 + ", x.replace("*__restrict__ a", "*__restrict__ a"), count=1),
    ),
    "the arrays come back too short": (
        "cube",
        lambda x: x.replace("Memcpy(y, on_y, bytes_y", "Memcpy(y, on_y, bytes_y - 4", 1),
    ),
    "a wait for copies is missing": ("product", lambda x: x.replace("planish_land();\n", "", 1)),
    "a copy into the place in use": ("product", lambda x: x.replace("(p_b + 1) % 2", "p_b % 2", 1)),
    "a copy of the wrong piece": ("product", lambda x: x.replace("+ 16 * p_b + planish_min(", "+ planish_min(", 1)),
    "no barrier before a copy": ("product", lambda x: x.replace("__syncthreads();", "", 1)),
    "a piece of the sum too few": ("product", lambda x: re.sub(r"p_in < 16;", "p_in < 15;", x, count=1)),
    "a column too many": ("product", lambda x: re.sub(r" < m &&", " <= m &&", x)),
    "a row beyond the edge": (
        "product",
        lambda x: re.sub(r"planish_min\([^,]*, n - 128 \* row_b - 1\)", "127", x, count=1),
    ),
    "no barrier in a tree": ("sums", lambda x: x.replace("__syncthreads();", "")),
    "what is needed is not copied": ("rows", lambda x: re.sub(r"cudaMemcpy\(on_m, m, [^|]*\|\|", "0 ||", x, count=1)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, plant = FAULTS[fault]
    real = device_checks.compile_emulated

    def faulty(text: str, order: int, folder: Path) -> Path:
        planted = plant(text)
        assert planted != text, "the fault is not in the text"
        return real(planted, order, folder)

    monkeypatch.setattr(device_checks, "compile_emulated", faulty)
    monkeypatch.setattr(device_checks, "plan_devices", lambda *_: planned(name))
    built = build(name, "reassociate" if name == "sums" else "strict", (0, 1))
    assert built.wrong and not built.used, fault


def test_a_script_maps_a_nest() -> None:
    script = Source(
        "m.sched",
        """
bounding_box("j")
split("i", 4, ("ib", "it"), tail="short")
map_blocks("ib", "x")
map_threads("it", "x", 4)
""",
    )
    text = "void f(int n, float a[n][n]) { for (int i = 0; i < n; i++) for (int j = i; j < n; j++) a[i][j] *= 2; }"
    source, device = Source("f.c", text), load_device("cuda-sm80")
    built = build_for_device(source, Options(script=script, fp="strict"), device, orders=(2,))
    assert built.used and built.nests[0].version == "script" and "__launch_bounds__(4)" in built.device_text
    wrong = Source("w.sched", 'map_threads("i", "x", 4)')
    with pytest.raises(PlanishError, match="E0611"):
        build_for_device(source, Options(script=wrong), device)


def test_nests_that_stay_on_the_host_say_why() -> None:
    text = "void scan(int n, int *a) { for (int i = 1; i < n; i++) a[i] += a[i - 1]; }"
    built = build_for_device(Source("scan.c", text), Options(), load_device("cuda-sm90"))
    assert not built.used and not built.device_text
    assert any("depend on each other" in x.message for nest in built.nests for x in nest.remarks)
