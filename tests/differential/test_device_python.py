"""Functions for GPUs from Python, on a driver whose device is this processor: arrays that stay, copies, fallbacks."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planish
from bench.devices.python_texts import AXPY, CONV, DOT, HEAT
from planish import device_library
from planish.build import device_checks
from planish.build.device_checks import build_for_device
from planish.build.read import read_file
from planish.core.span import Source
from planish.device_library import DeviceLibrary
from planish.emit.device.dialect import DIALECTS
from planish.emit.device.resident import kernels_text
from planish.options import Options
from planish.run.calls import binding, device_function, torch_operator
from planish.run.calls.arguments import CallInterface, interface_of_c
from planish.run.calls.device_function import DeviceFunction, PlanishDeviceWarning
from planish.run.devices.driver import KEPT_BYTES, Driver
from planish.run.devices.emulator import HEADERS, find_emulating_compiler
from planish.run.processes.process import Limits, run_process
from planish.target.device import load_device

pytestmark = pytest.mark.skipif(find_emulating_compiler() is None, reason="no compiler of C++ is here")

SHOWN = """void shown(int n, float *x) {
  for (int i = 0; i < n; i++) x[i] = 2 * x[i];
  while (x[n - 1] > 5) x[n - 1] -= 5;
}
"""
SERIAL = """void serial(int n, float *x)
{
  for (int i = 1; i < n; i++)
    x[i] = x[i - 1] * x[i] + 1;
}
"""


@dataclass
class OnDevice:
    """An array as a library of GPUs shows it."""

    memory: np.ndarray[Any, Any]
    fixed: bool = False

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        shown = self.memory.__array_interface__
        return {**shown, "data": (shown["data"][0], self.fixed), "version": 3}


@dataclass
class Fake:
    """A function on the fake device, and its counters."""

    call: Callable[..., Any]
    library: ctypes.CDLL

    def counter(self, name: str) -> ctypes.c_int:
        return ctypes.c_int.in_dll(self.library, f"fake_{name}")

    def counted(self, name: str) -> int:
        return self.counter(name).value


@dataclass(frozen=True)
class Built:
    """A function as it is built, and the fake driver with its kernels."""

    library: DeviceLibrary
    interface: CallInterface
    driver: Path


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Built]]:
    """Builds each function once; nothing compiles its kernels for a device."""
    known: dict[str, Built] = {}

    def make(text: str) -> Built:
        if text not in known:
            known[text] = built(text, tmp_path_factory.mktemp("fake"))
        return known[text]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(device_library, "compile_kernels", lambda *given: b"code")
        patched.setattr(device_checks, "usage_of", lambda *given: {})
        yield make


def built(text: str, folder: Path) -> Built:
    device, source, options = load_device("cuda-sm90"), Source("f.c", text), Options(target="generic", measure=False)
    made, file = build_for_device(source, options, device, orders=(0,)), read_file(source, options)
    function = file.functions[0]
    interface = interface_of_c(function, text)
    library = device_library.build_device_code(made, file, function, interface.signature, options, device)
    parts = [x.text for x in made.nests if x.text is not None and x.region.start in made.used]
    kernels = kernels_text(parts, DIALECTS["cuda"]).replace("#define PLANISH_LAUNCH\n", "")
    kernels = kernels.replace('extern "C" __global__', "static __global__")
    names = "".join(f" X({x})" for x in library.code.names)
    kernels += f'\n#define FAKE_KERNELS(X){names}\n#include "{Path(__file__).with_name("fake_driver.h")}"\n'
    (folder / "fake.cpp").write_text(kernels)
    compiler = find_emulating_compiler()
    assert compiler is not None
    flags = ["-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-ffp-contract=off"]
    included = [y for x in HEADERS for y in ("-include", str(x))]
    command = [compiler, *flags, *included, str(folder / "fake.cpp"), "-o", str(folder / "fake.so")]
    finished = run_process(command, Limits(60.0))
    assert finished.code == 0, finished.stderr
    return Built(library, interface, folder / "fake.so")


@pytest.fixture
def fake(build: Callable[[str], Built]) -> Callable[[str], Fake]:
    """A function on the fake device."""

    def make(text: str) -> Fake:
        made = build(text)
        loaded = ctypes.CDLL(str(made.driver))
        function = DeviceFunction(made.library.code, made.interface, Driver(loaded))
        out = Fake(lambda *given, **named: function(given, named), loaded)
        for name in ("fails", "lost", "launches", "copies", "held"):
            out.counter(name).value = 0
        out.counter("pools").value = 1
        return out

    return make


def convolved(image: np.ndarray[Any, Any], k: np.ndarray[Any, Any], w: int) -> np.ndarray[Any, Any]:
    h = image.shape[0]
    out = np.zeros((h - 2, w - 2), np.float32)
    for i in range(3):
        for j in range(3):
            out = out + image[i : i + h - 2, j : j + w - 2] * k[i, j]
    return out


def test_arrays_of_the_device_stay_there_in_the_order_of_the_caller(fake: Callable[[str], Fake]) -> None:
    conv = fake(CONV)
    random = np.random.default_rng(0)
    image, k = random.random((20, 40), np.float32), random.random((3, 3), np.float32)
    out = np.zeros((18, 32), np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        conv.call(20, 34, 40, OnDevice(image), OnDevice(k), OnDevice(out), stream=4096)
    np.testing.assert_array_equal(out, convolved(image, k, 34))
    assert (conv.counted("launches"), conv.counted("copies"), conv.counted("held")) == (1, 0, 0)
    assert ctypes.c_void_p.in_dll(conv.library, "fake_stream").value == 4096
    # The row length follows from strides, the size of the result from its shape.
    again = np.zeros_like(out)
    conv.call(OnDevice(image[:, :34]), OnDevice(k), OnDevice(again))
    np.testing.assert_array_equal(again, out)


def test_arrays_of_the_host_are_copied_and_that_is_said(fake: Callable[[str], Fake]) -> None:
    axpy = fake(AXPY)
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    with pytest.warns(PlanishDeviceWarning, match="axpy: arrays of the host are copied to the GPU and back"):
        axpy.call(2.0, x, y)
    np.testing.assert_array_equal(y, 1 + 2 * x)
    assert (axpy.counted("launches"), axpy.counted("copies"), axpy.counted("held")) == (1, 3, 0)


def test_one_array_of_the_host_beside_others(fake: Callable[[str], Fake]) -> None:
    conv = fake(CONV)
    random = np.random.default_rng(1)
    image, k = random.random((9, 9), np.float32), random.random((3, 3), np.float32)
    out = np.zeros((7, 7), np.float32)
    conv.call(9, 9, 9, OnDevice(image), k, OnDevice(out))
    np.testing.assert_array_equal(out, convolved(image, k, 9))
    assert (conv.counted("launches"), conv.counted("copies"), conv.counted("held")) == (1, 1, 0)


def test_the_pool_keeps_a_bounded_amount(fake: Callable[[str], Fake]) -> None:
    dot = fake(DOT)
    dot.call(OnDevice(np.ones(3)), OnDevice(np.ones(3)))
    assert ctypes.c_uint64.in_dll(dot.library, "fake_kept").value == KEPT_BYTES <= 1 << 30


def test_later_calls_are_checked_once(fake: Callable[[str], Fake], monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of the same shapes: sizes are inferred once, arguments and bounds are made once for each call."""
    counted = {"_complete": 0, "bounds_of": 0, "LaunchCall": 0}
    for module, name in ((binding, "_complete"), (device_function, "bounds_of"), (device_function, "LaunchCall")):
        monkeypatch.setattr(module, name, counting(getattr(module, name), name, counted))
    axpy, emulated = fake(AXPY), planish.compile(AXPY, target="cuda-sm90", emulate=True)
    x, y = np.ones(4, np.float32), np.ones(4, np.float32)
    for _ in range(3):
        axpy.call(2.0, OnDevice(x), OnDevice(y))
    assert counted == {"_complete": 1, "bounds_of": 6, "LaunchCall": 3} and y.tolist() == [7] * 4
    for _ in range(3):
        emulated(2.0, x, y)
    assert counted["_complete"] == 2 and y.tolist() == [13] * 4


def test_an_operator_describes_itself_once(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not here")
    counted = {"without": 0, "_complete": 0}
    for module, name in ((torch_operator, "without"), (binding, "_complete")):
        monkeypatch.setattr(module, name, counting(getattr(module, name), name, counted))
    conv = planish.compile(CONV, target="cuda-sm90", emulate=True)
    operator = conv.as_torch_op("planish_test::conv")
    image, k = torch.rand(9, 9), torch.rand(3, 3)
    for _ in range(3):
        np.testing.assert_array_equal(operator(image, k), convolved(image.numpy(), k.numpy(), 9))
    # Sizes follow once for the operator and once for the function.
    assert counted == {"without": 1, "_complete": 2}


def counting(function: Callable[..., Any], name: str, counted: dict[str, int]) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:
        counted[name] += 1
        return function(*given, **named)

    return call


def test_a_value_comes_back(fake: Callable[[str], Fake]) -> None:
    dot = fake(DOT)
    x, y = np.arange(1000.0), np.arange(1000.0)[::-1].copy()
    assert float(dot.call(OnDevice(x), OnDevice(y))) == pytest.approx(float(x @ y), rel=1e-12)
    assert dot.counted("held") == 0


@pytest.mark.parametrize("pools", [1, 0])
def test_several_launches_and_steps(fake: Callable[[str], Fake], pools: int) -> None:
    heat = fake(HEAT)
    heat.counter("pools").value = pools
    a = np.random.default_rng(2).random((37, 37), np.float32)
    b, want = a.copy(), a.copy()
    for _ in range(3):
        inner = 0.25 * (want[:-2, 1:-1] + want[2:, 1:-1] + want[1:-1, :-2] + want[1:-1, 2:])
        want[1:-1, 1:-1] = inner
    heat.call(3, 37, OnDevice(a), OnDevice(b))
    np.testing.assert_allclose(a, want, rtol=1e-5)
    assert heat.counted("launches") >= 1 and heat.counted("held") == 0


def test_arrays_that_overlap_go_through_the_host(fake: Callable[[str], Fake]) -> None:
    axpy = fake(AXPY)
    memory = np.ones(64, np.float32)
    want = memory.copy()
    for i in range(60):
        want[i + 4] += want[i]
    with pytest.warns(PlanishDeviceWarning, match="copied to the host and back"):
        axpy.call(1.0, OnDevice(memory[:60]), OnDevice(memory[4:]))
    np.testing.assert_array_equal(memory, want)
    assert axpy.counted("launches") == 0


def test_arrays_that_are_used_outside_of_nests_go_through_the_host(fake: Callable[[str], Fake]) -> None:
    shown = fake(SHOWN)
    x = np.arange(5, dtype=np.float32)
    with pytest.warns(PlanishDeviceWarning, match="`x` is used outside of the nests"):
        shown.call(5, OnDevice(x))
    assert x.tolist() == [0, 2, 4, 6, 3]
    assert shown.counted("launches") == 1


def test_a_function_without_kernels_runs_on_the_processor(fake: Callable[[str], Fake]) -> None:
    serial = fake(SERIAL)
    x = np.array([2, 3, 4, 5], np.float32)
    y = x.copy()
    with pytest.warns(PlanishDeviceWarning) as told:
        serial.call(4, x)
        serial.call(4, OnDevice(y))
        serial.call(4, OnDevice(np.ones(4, np.float32)))
    assert x.tolist() == y.tolist() == [2, 7, 29, 146]
    assert (serial.counted("launches"), serial.counted("copies"), serial.counted("held")) == (0, 0, 0)
    assert [str(x.message) for x in told] == [
        "serial: it runs on the processor: no nest of it became a kernel",
        "serial: arrays of the GPU are copied to the host and back at every such call: no nest of it became a kernel",
    ]


def test_reports_say_why_nothing_is_launched_and_what_is() -> None:
    serial = planish.compile(SERIAL, target="cuda-sm90", emulate=True)
    told = str(serial.report)
    assert not serial.report.transformed and "kernels" not in told
    assert "depend on each other: it stays on the host" in told and "no loop nest was found" not in told
    axpy = planish.compile(AXPY, target="cuda-sm90", emulate=True)
    assert axpy.report.account.version == "device-threads, original"
    assert str(axpy.report).splitlines()[0] == "axpy: version device-threads, original"
    assert "kernels in the emulator" in axpy.report.compile
    assert set(axpy.stages) == {"read", "nest", "cuda", "c"}


def test_a_launch_that_fails_is_an_error_on_the_device_and_a_remark_on_the_host(fake: Callable[[str], Fake]) -> None:
    axpy = fake(AXPY)
    x, y = np.arange(10, dtype=np.float32), np.ones(10, np.float32)
    axpy.counter("fails").value = 719
    with pytest.raises(planish.PlanishError, match="E0853.*CUDA_ERROR_FAKE"):
        axpy.call(2.0, OnDevice(x), OnDevice(y))
    with pytest.warns(PlanishDeviceWarning, match="ran on the processor: the driver said CUDA_ERROR_FAKE"):
        axpy.call(2.0, x, y)
    np.testing.assert_array_equal(y, 1 + 2 * x)
    assert axpy.counted("held") == 0


@pytest.mark.parametrize("lost", [1, 2])
def test_results_that_do_not_come_back_are_an_error(lost: int, fake: Callable[[str], Fake]) -> None:
    # The original would run on what is copied back already.
    heat, steps = fake(HEAT), np.ones((12, 12), np.float32)
    heat.counter("lost").value = lost
    with pytest.raises(planish.PlanishError, match="E0853.*not copied back: CUDA_ERROR_FAKE.*changed in part"):
        heat.call(3, steps, steps.copy())
    assert heat.counted("held") == 0


def test_what_does_not_fit_is_refused_before_anything_is_touched(fake: Callable[[str], Fake]) -> None:
    axpy = fake(AXPY)
    x, y = np.arange(10, dtype=np.float32), np.ones(10, np.float32)
    for given, error, text in (
        ((11, 2.0, OnDevice(x), OnDevice(y)), ValueError, "`x` must have 11 elements"),
        ((2.0, OnDevice(x), OnDevice(y, fixed=True)), ValueError, "read-only"),
        ((2.0, OnDevice(x.astype(float)), OnDevice(y)), TypeError, "must hold float32"),
        ((2.0, OnDevice(x[::2]), OnDevice(y[:5])), ValueError, "neighbouring elements"),
        ((OnDevice(y), OnDevice(x), OnDevice(y)), TypeError, "must be a number"),
    ):
        with pytest.raises(error, match=text):
            axpy.call(*given)
    assert axpy.counted("launches") == 0 and y.tolist() == [1] * 10
    with pytest.raises(TypeError, match="stream must be a stream"):
        axpy.call(2.0, OnDevice(x), OnDevice(y), stream="fast")


def test_nothing_to_do_launches_nothing(fake: Callable[[str], Fake]) -> None:
    axpy = fake(AXPY)
    empty = np.zeros(0, np.float32)
    axpy.call(0, 2.0, OnDevice(empty), OnDevice(empty.copy()))
    assert axpy.counted("launches") == 0
