"""What functions of the host do where a device fails, and what kernels do where integers overflow: both as C has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planish.build.device_checks import build_for_device
from planish.build.devices import plan_devices
from planish.core.span import Source
from planish.options import Options
from planish.run.devices.emulator import HEADERS, find_emulating_compiler
from planish.run.devices.opencl import find_opencl
from planish.run.processes.process import Finished, Limits, run_process
from planish.run.toolchains.toolchain import find_compilers
from planish.target.device import load_device

pytestmark = pytest.mark.skipif(find_emulating_compiler() is None, reason="no compiler of C++ is here")

TWICE = """
void twice(int n, const int *restrict a, int *restrict b, int *restrict c)
{
  for (int i = 0; i < n; i++) {
    b[i] = a[i] + 1;
    c[i] = a[i] * 2;
  }
}"""

NAMED = {
    "(uint32_t)t * (uint32_t)t + (uint32_t)t": """
void squares(int n, const int *a, int *restrict b)
{
  for (int i = 0; i < n; i++) {
    int t = a[i] * 3;
    b[i] = t * t + t;
  }
}""",
    # All bits of a difference, and of its square.
    "const int64_t sum = ": """
void cubes(int n, long by, const long *x, long *restrict y)
{
  for (int i = 1; i < n - 1; i++) {
    long sum = x[i - 1] * 70000 - x[i + 1], turned = -sum;
    y[i] = sum * sum * turned - by;
  }
}""",
    "(uint32_t)wide_1 * (uint32_t)wide_1": """
void mixes(int n, int m, const short *u, int *restrict v)
{
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      int wide = u[i * m + j];
      wide = wide * wide;
      if (wide * wide > 7)
        v[i * m + j] = wide * wide - j;
    }
}""",
}


def opencl_program(source: str, name: str, main: str, folder: Path) -> Finished:
    """What a program of C says that calls the functions of a file on a device of OpenCL."""
    built = build_for_device(Source("f.c", source), Options(fp="strict"), load_device("opencl"), orders=(0,))
    assert built.used, built.remarks
    host = re.sub(
        r"static const (char \*const|size_t) (?=\w+_(names|threads)\[\])",
        lambda x: f"static {x[1].removesuffix('const')} ",
        built.host_text,
    )
    text, compiler = f"{host}\n#include <stdio.h>\n{main.replace('@', name)}", next(iter(find_compilers()))
    (folder / "main.c").write_text(text)
    command = [str(compiler.path), "-O1", "-w", str(folder / "main.c"), "-o", str(folder / "main"), "-lOpenCL", "-lm"]
    made = run_process(command, Limits(60.0))
    assert made.code == 0, made.stderr
    return run_process([str(folder / "main")], Limits(60.0))


@pytest.mark.parametrize("shown", NAMED)
@pytest.mark.parametrize("target", ["cuda-sm90", "opencl"])
def test_integers_behind_a_name_wrap_around(shown: str, target: str) -> None:
    built = build_for_device(Source("f.c", NAMED[shown]), Options(fp="strict"), load_device(target), orders=(2,))
    assert built.used and not built.wrong, built.remarks
    assert shown in built.device_text
    signed = re.findall(r"(?<!\))\b(?:t|sum|turned|wide\w*) [*+-] ", built.device_text)
    assert not signed, signed


OUT_OF_ORDER = """
int main(void)
{
  cl_context context;
  cl_device_id device;
  cl_int status = 0;
  cl_mem a, b, c;
  cl_command_queue ordered = planish_queue(), other;
  clGetCommandQueueInfo(ordered, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  clGetCommandQueueInfo(ordered, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
  other = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
  if (status != 0) return 77;
  planish_allocate(&a, 400), planish_allocate(&b, 400), planish_allocate(&c, 400);
  printf("%d", @_launch(100, b, a, c, ordered));
  printf(" %d", @_launch(100, b, a, c, other));
  printf(" %d", @_launch(100, b, a, c, ordered));
  printf(" %d", @_launch(1l << 40, b, a, c, ordered));
  return 0;
}
"""


needs_opencl = pytest.mark.skipif(find_opencl() is None, reason="no device of OpenCL is here, or no header of it")


@needs_opencl
def test_queues_without_an_order_are_refused(tmp_path: Path) -> None:
    ran = opencl_program(TWICE, "planish_twice_1", OUT_OF_ORDER, tmp_path)
    if ran.code == 77:
        pytest.skip("the device of OpenCL has no queue without an order")
    assert (ran.code, ran.stdout) == (0, "0 -35 0 1"), ran


REFUSED = """
int main(void)
{
  int a[100] = {1}, b[100], c[100];
  cl_mem on_a, on_b, on_c;
  b[0] = c[0] = 7;
  planish_allocate(&on_a, 400), planish_allocate(&on_b, 400), planish_allocate(&on_c, 400);
  %s
  for (int i = 0; i < 2; i++) printf("%%d ", @_launch(100, on_b, on_a, on_c, planish_queue()));
  printf("%%d %%d %%d", @(100, b, a, c) != 0, b[0], c[0]);
  return 0;
}
"""


@needs_opencl
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ('@_lines[@_program.count - 2] = "missing;\\n";', "-11"),
        ('@_names[0] = "missing";', "-46"),
        ("@_threads[0] = 1 << 30;", "-54"),
        ("@_program.kernels = 0;", "-48"),
    ],
)
def test_refused_programs_give_the_error_of_the_device(fault: str, error: str, tmp_path: Path) -> None:
    main = REFUSED % fault
    ran = opencl_program(TWICE, "planish_twice_1", main, tmp_path)
    assert (ran.code, ran.stdout) == (0, f"{error} {error} 1 7 7"), ran


FAILING = """
static int counted, failing_at, last_error;
static int counted_call() { return ++counted == failing_at ? last_error = 2 : 0; }
static int told() { int out = last_error; return last_error = 0, out; }
#define cudaMalloc(...) (counted_call() ? 2 : cudaMalloc(__VA_ARGS__))
#define cudaMemcpy(...) (counted_call() ? 2 : cudaMemcpy(__VA_ARGS__))
#define cudaGetLastError told
"""
FAILING_MAIN = """
int main(int count, char **given)
{
  int a[100], b[100], c[100], right = 1;
  for (int i = 0; i < 100; i++) a[i] = i, b[i] = c[i] = 7;
  failing_at = atoi(given[1]);
  const int copied = @(100, b, a, c);
  for (int i = 0; i < 100; i++) right = right && b[i] == (copied ? 7 : i + 1) && c[i] == (copied ? 7 : 2 * i);
  failing_at = 0;
  printf("%d %d %d", copied != 0, right, @_launch(100, b, a, c, nullptr));
  return 0;
}
"""


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Programs of CUDA and HIP, of whose allocations and copies one fails: that of the number that is given."""
    folder, made, compiler = tmp_path_factory.mktemp("failing"), {}, find_emulating_compiler()
    assert compiler is not None
    (folder / "failing.h").write_text(FAILING)
    for target in ("cuda-sm90", "hip-gfx942"):
        built = build_for_device(Source("f.c", TWICE), Options(fp="strict"), load_device(target), orders=(0,))
        source, made[target] = folder / f"{target}.cpp", folder / target
        source.write_text(built.device_text + FAILING_MAIN.replace("@", "planish_twice_1"))
        included = [y for x in (*HEADERS, folder / "failing.h") for y in ("-include", str(x))]
        done = run_process(
            [compiler, "-std=c++17", "-w", "-fwrapv", *included, str(source), "-o", str(made[target])], Limits(60.0)
        )
        assert done.code == 0, done.stderr
    return made


@pytest.mark.parametrize("target", ["cuda-sm90", "hip-gfx942"])
def test_failures_leave_arrays_and_later_launches_alone(target: str, failing: dict[str, Path]) -> None:
    said = [run_process([str(failing[target]), str(x)], Limits(10.0)) for x in range(11)]
    # Three allocations and a copy of what is needed there come before two copies back.
    calls = [x.stdout for x in said].index("0 1 0", 1) - 1
    assert calls >= 6 and said[0].stdout == "0 1 0", said
    assert all(x.stdout == "1 1 0" for x in said[1 : calls - 1]), said
    for x in said[calls - 1 : calls + 1]:
        assert x.code == -6 and "could not be copied back" in x.stderr, x


@pytest.mark.parametrize(("factor", "guard"), [(1000003, ""), (3, "planish_fits(9 * n)"), (1, "planish_fits(n)")])
def test_bounds_that_32_bits_do_not_hold_stay_on_the_host(factor: int, guard: str) -> None:
    text = """void f(int n, int m, const long *restrict x, long *restrict y) {
      for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
          if (i * @L > m) y[i * m + j] = x[i * m + j];
    }"""
    source = Source("f.c", text.replace("@", str(factor)))
    plan = plan_devices(source, Options(), load_device("cuda-sm90"))
    texts = [x.text.launch for x in plan.nests if x.text is not None]
    assert len(texts) == bool(guard) and all(guard in x for x in texts), plan.nests
    assert guard or any("32 bits" in y.message for x in plan.nests for y in x.remarks)
