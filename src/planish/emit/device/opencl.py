"""Kernels of OpenCL with what the host needs to start them: programs of embedded text, arguments, buffers.

from planish.emit.device.kernel_text import DeviceKernel
>>> made = DeviceKernel("f_kernel0", "", ("n", "A"), ("int n", "cl_mem A"), (64, 1, 1))
>>> print(_starter(made, "f", 0).splitlines()[2])
  const size_t planish_local[3] = {64, 1, 1};
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from planish.emit.device.dialect import OPENCL
from planish.emit.device.kernel_text import DeviceKernel
from planish.ir.expr import PURE_FUNCTIONS

_TYPES = {
    "int8_t": "char", "uint8_t": "uchar", "int16_t": "short", "uint16_t": "ushort", "int32_t": "int",
    "uint32_t": "uint", "int64_t": "long", "uint64_t": "ulong",
}  # fmt: skip
"""What types of exact width are: OpenCL's own have the same widths everywhere."""

_LONG = re.compile(r"\b(\d+u?)ll\b")


def opencl_text(kernels: Sequence[DeviceKernel], macros: str, exact: str) -> str:
    """A program of kernels: types, names of functions, and macros that they use, in front of them; `exact` is a line
    that keeps products and sums apart, or "". Compilers of C++ take it as it is, where these names are known."""
    body = _LONG.sub(r"\1l", macros + "".join(f"\n{x.text}" for x in kernels))
    used = set(re.findall(r"\w+", body))
    lines = ["#ifdef __OPENCL_VERSION__"]
    if "double" in used:
        lines.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    lines += [f"typedef {own} {name};" for name, own in _TYPES.items() if name in used]
    lines += ["#define _Bool uchar"] if "_Bool" in used else []
    # One name is for all types of floats.
    lines += [f"#define {x}f {x}" for x in PURE_FUNCTIONS if f"{x}f" in used]
    lines += ["#define abs(x) ((int)abs((int)(x)))"] if "abs" in used else []
    lines += ["#define llabs(x) ((long)abs((long)(x)))"] if "llabs" in used else []
    lines.append("#endif")
    shown = [] if lines == ["#ifdef __OPENCL_VERSION__", "#endif"] else lines
    return "".join(f"{x}\n" for x in (*shown, *([exact] if exact else []))) + body


def program_text(name: str, kernels: Sequence[DeviceKernel], text: str) -> str:
    """The program of a nest in the text of the host, and the functions that start its kernels."""
    lines = "".join(f"  {_quoted(x)},\n" for x in text.splitlines())
    names = ", ".join(f'"{x.name}"' for x in kernels)
    threads = ", ".join(str(x.threads[0] * x.threads[1] * x.threads[2]) for x in kernels)
    starters = "\n".join(_starter(x, name, number) for number, x in enumerate(kernels))
    count = len(kernels)
    return (
        f"static const char *{name}_lines[] = {{\n{lines}}};\n"
        f"static const char *const {name}_names[] = {{{names}}};\n"
        f"static const size_t {name}_threads[] = {{{threads}}};\n"
        f"static cl_kernel {name}_made[{count}];\n"
        f"static struct planish_program {name}_program = {{\n"
        f"  {name}_lines, sizeof {name}_lines / sizeof *{name}_lines, {name}_names, {name}_threads, {count},\n"
        f"  {name}_made, NULL, NULL, NULL, CL_SUCCESS\n}};\n\n{starters}"
    )


def _quoted(line: str) -> str:
    escaped = line.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}\\n"'


def _starter(kernel: DeviceKernel, nest: str, number: int) -> str:
    """The function that gives a kernel its arguments and starts it: 0, or an error of OpenCL."""
    given = ["cl_command_queue queue", "size_t planish_x", "size_t planish_y", "size_t planish_z", *kernel.parameters]
    x, y, z = kernel.threads
    names = [re.split(r"\W+", p)[-1] for p in kernel.parameters]
    lines = [
        f"static int {kernel.name}_start({', '.join(given)})",
        "{",
        f"  const size_t planish_local[3] = {{{x}, {y}, {z}}};",
        f"  const size_t planish_global[3] = {{{x} * planish_x, {y} * planish_y, {z} * planish_z}};",
        f"  cl_kernel const planish_kernel = {nest}_made[{number}];",
        "  cl_int planish_error = 0;",
    ]
    for at, name in enumerate(names):
        given_before = "if (planish_error == 0) " if at else ""
        lines.append(
            f"  {given_before}planish_error = clSetKernelArg(planish_kernel, {at}, sizeof {name}, &{name});"
        )
    lines += [
        "  if (planish_error == 0) {",
        "    planish_error = clEnqueueNDRangeKernel(queue, planish_kernel, 3, NULL, planish_global, planish_local,",
        "                                           0, NULL, NULL);",
        "  }",
        "  return planish_error;",
        "}",
        "",
    ]
    return "\n".join(lines)


def host_prologue(programs: Sequence[str], exact: bool) -> str:
    """What the text of the host begins with. `exact`: quotients and roots of floats are correctly rounded, or nothing
    runs on the device."""
    return _HEAD + _RUNTIME.replace("@EXACT@", str(int(exact))) + "\n".join(programs) + _TAIL


_HEAD = f"""\
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#ifndef PLANISH_LAUNCH
{OPENCL.header}

"""

_RUNTIME = """\
/* The kernels of a nest: their text, names, threads of a block; and what is made of them for one device. */
struct planish_program {
  const char **lines;
  size_t count;
  const char *const *names;
  const size_t *threads;
  int kernels;
  cl_kernel *made;
  cl_program built;
  cl_context context;
  cl_device_id device;
  cl_int status;
};

/* Builds a program: 0 if the device takes it, and blocks of the threads that its kernels have; else an error. */
static cl_int planish_build(struct planish_program *const p)
{
  static const char *const options[2] = {"-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt", "-cl-std=CL1.2"};
  cl_int status = 0;
  p->built = clCreateProgramWithSource(p->context, (cl_uint)p->count, p->lines, NULL, &status);
  if (status != 0) return status;
  status = clBuildProgram(p->built, 1, &p->device, options[0], NULL, NULL);
  if (status != 0 && !@EXACT@) status = clBuildProgram(p->built, 1, &p->device, options[1], NULL, NULL);
  for (int i = 0; i < p->kernels && status == 0; i++) {
    size_t most = 0;
    cl_ulong local = 0, has = 0;
    p->made[i] = clCreateKernel(p->built, p->names[i], &status);
    if (status != 0) break;
    status = clGetKernelWorkGroupInfo(p->made[i], p->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    if (status != 0) break;
    status = clGetKernelWorkGroupInfo(p->made[i], p->device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    if (status != 0) break;
    status = clGetDeviceInfo(p->device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof has, &has, NULL);
    if (status == 0 && (most < p->threads[i] || has < local)) status = CL_INVALID_WORK_GROUP_SIZE;
  }
  return status;
}

/* 0 if a queue runs what it gets in order, and a program is built for its device, which is tried once; else an error.
 * Not for several threads at once. */
static cl_int planish_ready(struct planish_program *const p, cl_command_queue queue)
{
  cl_context context = NULL;
  cl_device_id device = NULL;
  cl_command_queue_properties properties = 0;
  cl_int status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
  if (status != 0) return status;
  if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) return CL_INVALID_QUEUE_PROPERTIES;
  status = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  if (status != 0) return status;
  status = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
  if (status != 0) return status;
  if (p->context == context && p->device == device) return p->status;
  for (int i = 0; i < p->kernels; i++) {
    if (p->made[i] != NULL) clReleaseKernel(p->made[i]);
    p->made[i] = NULL;
  }
  if (p->built != NULL) clReleaseProgram(p->built);
  if (p->context != NULL) clReleaseContext(p->context);
  p->built = NULL, p->context = context, p->device = device;
  clRetainContext(context); /* so that no other one comes to have its address */
  p->status = planish_build(p);
  return p->status;
}

/* A queue of the first GPU, or of the first device where there is none; NULL without any. */
static inline cl_command_queue planish_queue(void)
{
  static cl_command_queue queue;
  static int asked;
  cl_platform_id platforms[16];
  cl_uint count = 0;
  if (asked) return queue;
  asked = 1;
  if (clGetPlatformIDs(16, platforms, &count) != 0) return NULL;
  for (int any = 0; any < 2 && queue == NULL; any++) {
    for (cl_uint i = 0; i < count && i < 16 && queue == NULL; i++) {
      cl_device_id device;
      cl_int status = 0;
      cl_context context;
      if (clGetDeviceIDs(platforms[i], any ? CL_DEVICE_TYPE_ALL : CL_DEVICE_TYPE_GPU, 1, &device, NULL) != 0) continue;
      context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
      if (status != 0) continue;
      queue = clCreateCommandQueue(context, device, 0, &status);
      if (status != 0) clReleaseContext(context), queue = NULL;
    }
  }
  return queue;
}

static inline int planish_allocate(cl_mem *const on, size_t bytes)
{
  cl_context context = NULL;
  cl_int status = 0;
  cl_command_queue const queue = planish_queue();
  if (queue == NULL) return CL_DEVICE_NOT_FOUND;
  status = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  if (status == 0) *on = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes > 0 ? bytes : 1, NULL, &status);
  return status;
}

static inline int planish_write(cl_mem on, const void *of, size_t bytes)
{
  return bytes > 0 ? clEnqueueWriteBuffer(planish_queue(), on, CL_TRUE, 0, bytes, of, 0, NULL, NULL) : 0;
}

static inline int planish_read(void *of, cl_mem on, size_t bytes)
{
  return bytes > 0 ? clEnqueueReadBuffer(planish_queue(), on, CL_TRUE, 0, bytes, of, 0, NULL, NULL) : 0;
}

static inline void planish_release(cl_mem on)
{
  if (on != NULL) clReleaseMemObject(on);
}

"""

_TAIL = """\
#define PLANISH_READY(nest, queue) planish_ready(&nest##_program, queue)
#define PLANISH_LAUNCH(kernel, x, y, z, tx, ty, tz, queue, ...) \\
  planish_status = planish_status != 0 \\
                     ? planish_status \\
                     : kernel##_start(queue, (size_t)(x), (size_t)(y), (size_t)(z), __VA_ARGS__)
#define planish_declined 1
#endif
"""
