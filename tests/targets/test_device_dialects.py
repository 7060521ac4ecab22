"""Kernels in all languages of devices: in the emulator, and on a device of OpenCL where one is here."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from planish.build import device_checks
from planish.build.device_checks import DeviceBuild, build_for_device
from planish.build.devices import plan_devices
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.emit.device.dialect import DIALECTS
from planish.emit.device.files import device_files
from planish.emit.device.host_text import header_text
from planish.ir.types import Floats
from planish.options import Options
from planish.run.devices.emulator import find_emulating_compiler
from planish.run.devices.opencl import compile_for_opencl, find_opencl
from planish.run.devices.usage import has_compiler, usage_of
from planish.run.toolchains.toolchain import find_compilers
from planish.target.device import load_device

pytestmark = pytest.mark.skipif(find_emulating_compiler() is None, reason="no compiler of C++ is here")

SOURCES = {
    # Integers of all widths, truth values, and what -0.0, infinities and NaN make of comparisons.
    "widths": """
#include <stdbool.h>
void widths(long n, const short *s, const unsigned char *u, const unsigned long long *w, const float *x,
            unsigned long long *restrict sum, bool *restrict odd, signed char *restrict low, float *restrict y)
{
  for (long i = 0; i < n; i++) {
    sum[i] = w[i] * 3000000019ull + (unsigned long long)s[i];
    odd[i] = u[i] & 4;
    low[i] = (signed char)(s[i] >> 3);
    y[i] = x[i] < 0.0f ? -0.0f : (x[i] != x[i] ? 1.0f / 0.0f : x[i] * 0.5f);
  }
}""",
    # Tiles in shared memory, with an edge.
    "tiles": """
void tiles(int n, int m, int l, double beta, const double *a, const double *restrict bt, double *restrict c)
{
  for (int row = 0; row < n; row++)
    for (int col = 0; col < m; col++) {
      c[row * m + col] *= beta;
      for (int p = 0; p < l; p++)
        c[row * m + col] += a[row * l + p] * bt[col * l + p];
    }
}""",
    # Functions of two types, and time steps on the host.
    "roots": """
#include <math.h>
void roots(int n, int steps, float *restrict a, double *restrict b)
{
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < n; i++)
      a[i] = sqrtf(fabsf(a[i]) + 1.0f) / 3.0f;
    for (int i = 0; i < n; i++)
      b[i] = sqrt(fabs(b[i])) + floor(a[i]) * t;
  }
}""",
    # Sums of integers that wrap around, beside what they are compared with.
    "wraps": """
void wraps(int n, const int *x, const int *y, const long *z, int *restrict least, long *restrict more)
{
  for (int i = 0; i < n; i++) {
    least[i] = x[i] + y[i] < least[i] ? x[i] + y[i] : least[i];
    more[i] = z[i] * 3 - more[i] > z[i] ? -more[i] : z[i] + i;
  }
}""",
    # Arrays of the device that live between two kernels: parts of a sum.
    "parts": """
long parts(int n, const int *restrict queue, const long *restrict kernel)
{
  long sum = 0;
  for (int i = 0; i < n; i++)
    sum += queue[i] * kernel[i];
  return sum;
}""",
}


needs_opencl = pytest.mark.skipif(find_opencl() is None, reason="no device of OpenCL is here, or no header of it")


def make(name: str, target: str) -> DeviceBuild:
    source, fp = Source(f"{name}.c", SOURCES[name]), "strict"
    return build_for_device(source, Options(fp=fp), load_device(target), orders=(2,), opencl=find_opencl())


build = cache(make)
"""What was built once, and run on a device of OpenCL as well where there is one."""


@pytest.mark.parametrize(
    ("name", "target"), [*((x, "opencl") for x in SOURCES), ("widths", "hip-gfx942"), ("parts", "hip-gfx90a")]
)
def test_kernels_compute_the_same_bits(name: str, target: str) -> None:
    built = build(name, target)
    assert built.used and not built.wrong, built.remarks
    assert built.calls >= (20 if target == "opencl" and find_opencl() is not None else 10)


BFLOAT = """
void mix(int n, float by, const __bf16 *x, const __bf16 *restrict y, float *restrict z)
{
  for (int i = 0; i < n; i++)
    z[i] = (float)x[i] * by - (float)y[n - 1 - i];
}"""


@pytest.mark.skipif(not any(x.kind == "clang" for x in find_compilers()), reason="no clang, which has bf16, is here")
@pytest.mark.parametrize("target", ["cuda-sm90", "hip-gfx942", "opencl"])
def test_arrays_of_bf16_are_converted(target: str) -> None:
    clang = next(x.name for x in find_compilers() if x.kind == "clang")
    options = Options(fp="strict", compiler=clang)
    built = build_for_device(Source("mix.c", BFLOAT), options, load_device(target), orders=(2,), opencl=find_opencl())
    assert built.used and not built.wrong, built.remarks
    assert "planish_from_bf16(x[" in built.device_text
    kind = "cl_mem x" if target == "opencl" else "const uint16_t *x"
    assert kind in header_text("mix", built.heads, DIALECTS[load_device(target).dialect])


@needs_opencl
@pytest.mark.parametrize(
    "fault", [("* 0.5f", "* 0.25f"), ("reqd_work_group_size(256", "reqd_work_group_size(255")]
)
def test_faults_are_found_on_a_device_of_opencl(fault: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(text: str, folder: Path) -> Path:
        assert fault[0] in text
        return compile_for_opencl(text.replace(*fault), folder)

    monkeypatch.setattr(device_checks, "compile_for_opencl", faulty)
    built = make("widths", "opencl")
    assert built.wrong and not built.used


def test_opencl_says_what_a_kernel_needs() -> None:
    tiles, widths, parts = (build(x, "opencl").device_text for x in ("tiles", "widths", "parts"))
    assert "cl_khr_fp64" in tiles and "cl_khr_fp64" not in widths
    assert "reqd_work_group_size(256, 1, 1)" in tiles and "FP_CONTRACT OFF" in tiles
    # Shared arrays stand where a kernel begins, barriers reach all memory.
    assert "\n  __local double" in tiles and "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);" in tiles
    assert "ull" not in widths and "#define _Bool uchar" in widths and "!= 0" in widths
    assert "#define sqrtf sqrt" in build("roots", "opencl").device_text
    assert "planish_in_" in parts and "cl_mem workspace" in build("parts", "opencl").host_text


@pytest.mark.parametrize(
    ("target", "fp", "flag"),
    [("cuda-sm90", "strict", "-fmad=false"), ("cuda-sm90", "reassociate", ""), ("hip-gfx942", "strict", "")],
)
def test_usage_is_that_of_the_flags_that_are_told(
    target: str, fp: Floats, flag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []
    monkeypatch.setattr(device_checks, "usage_of", lambda *x: given.append(x[3]) or {})
    text = "void f(int n, const float *x, float *y) { for (int i = 0; i < n; i++) y[i] += 2 * x[i]; }"
    build_for_device(Source("f.c", text), Options(fp=fp), load_device(target), orders=(0,))
    assert given == [flag]


def test_host_functions_that_are_not_checked_are_no_check(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="return their status"):
        compile_for_opencl("int f(void) { return 0; }", tmp_path)


def test_hip_keeps_products_and_sums_apart_where_bits_count() -> None:
    text = build("parts", "hip-gfx90a").device_text
    assert text.startswith("#pragma clang fp contract(off)\n") and "hipMalloc(" in text and "hipStream_t" in text


@pytest.mark.skipif(not has_compiler("hip"), reason="no clang for AMD's GPUs is here")
def test_clang_takes_kernels_of_hip_without_spills() -> None:
    device = load_device("hip-gfx942")
    for name in ("widths", "wraps", "roots"):
        plan = plan_devices(Source(f"{name}.c", SOURCES[name]), Options(fp="strict"), device)
        files = device_files([x.text for x in plan.nests if x.text is not None], DIALECTS["hip"], True)
        usage = usage_of(files.kernels, "hip", device.architecture)
        assert usage and all(x.spilled == 0 and 0 < x.registers <= 128 for x in usage.values()), usage
    with pytest.raises(PlanishError, match="E0803"):
        usage_of("__global__ void k(int *p) { p[0] = missing; }", "hip", "gfx942")
    # What calls ROCm's library is not asked about.
    assert usage_of("__global__ void k(double *p) { p[0] = pow(p[0], p[1]); }", "hip", "gfx942") == {}
