"""Kernels become code for a device, by NVRTC or nvcc where one is here; arrays of the device are only looked at."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import planish
from planish.run.devices.arrays import SeenArray, UnseenArrayError, see, stream_of
from planish.run.devices.driver import find_driver
from planish.run.devices.nvcc import find_nvcc
from planish.run.devices.nvrtc import HEADERS, _read, compile_kernels, find_nvrtc

TEXT = """#include <math.h>
#include <stdint.h>
extern "C" __global__ void __launch_bounds__(64) roots(int n, float *__restrict__ a)
{
  const int64_t i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) a[i] = a[i] < INFINITY ? sqrtf(a[i]) * 2.0f + 1.0f : NAN;
}
"""


@pytest.mark.skipif(find_nvrtc() is None and find_nvcc() is None, reason="neither NVRTC nor nvcc is here")
def test_kernels_are_compiled_and_errors_are_told() -> None:
    code = compile_kernels(TEXT, "sm_90", exact=False)
    assert code.startswith(b"\x7fELF") and b"roots" in code
    assert compile_kernels(TEXT, "sm_90", exact=True) != code
    with pytest.raises(planish.PlanishError, match="E0803"):
        compile_kernels(TEXT.replace("sqrtf(", "no_such("), "sm_90", exact=False)


@pytest.mark.parametrize("errors", [(5, 0), (0, 7)])
def test_code_that_cannot_be_read_is_an_error(errors: tuple[int, int]) -> None:
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    size_of, read = (function(lambda *given, x=x: x) for x in errors)
    with pytest.raises(planish.PlanishError, match=f"E0803.*error {max(errors)}"):
        _read(size_of, read, ctypes.c_void_p())


@pytest.mark.skipif(find_nvrtc() is None, reason="NVRTC is not here: pip install 'planish[cuda]'")
def test_nvrtc_has_the_headers_that_kernels_name() -> None:
    text = "".join(f"#include <{x}>\n" for x in HEADERS) + TEXT.replace("int64_t", "ptrdiff_t")
    assert compile_kernels(text, "sm_80", exact=False)


@pytest.mark.skipif(find_driver() is not None, reason="a driver of CUDA is here")
def test_without_a_gpu_the_message_says_what_to_do() -> None:
    text = "void f(int n, float *x) { for (int i = 0; i < n; i++) x[i] = 0; }"
    with pytest.raises(planish.PlanishError, match="(?s)E0851.*emulate=True"):
        planish.compile(text, target="cuda")
    with pytest.raises(ValueError, match="emulate=True is for kernels of GPUs"):
        planish.compile(text, emulate=True)


def test_arrays_are_looked_at_and_streams_found() -> None:
    class Given:
        __cuda_array_interface__ = {"shape": (4,), "typestr": "<f8", "data": (4096, True), "mask": None, "version": 3}

    seen = see(Given())
    assert isinstance(seen, SeenArray) and seen.on_device and not seen.view.flags.writeable
    assert see(np.zeros(3)) is not None and see([1.0]) is None
    Given.__cuda_array_interface__ |= {"mask": object()}
    with pytest.raises(UnseenArrayError):
        see(Given())
    assert stream_of(None, None) == 0 and stream_of(4096, seen) == 4096
    with pytest.raises(TypeError, match="stream must be"):
        stream_of("fast", seen)
