"""The languages of devices as tables: how a kernel, an id, shared memory, a barrier and a copy are spelt.

>>> CUDA.thread("x"), CUDA.block("y"), OPENCL.thread("x"), OPENCL.block("y")
('threadIdx.x', 'blockIdx.y', '(int)get_local_id(0)', '(int)get_group_id(1)')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HostCalls:
    """What the host calls, as forms: {on} is an array of the device, {of} the caller's, {bytes} so many; all but
    `release` and `forget` are 0 where they succeed. `forget` drops an error that later calls would report again; it is
    "" where each call has its own. `first` is the order of launches of a function that copies, `status` what a
    launching function returns."""

    allocate: str
    into: str
    back: str
    release: str
    forget: str
    finish: str
    first: str
    status: str


@dataclass(frozen=True, slots=True)
class DeviceDialect:
    """A language of kernels, whose `title` is its name in prose. `head` begins a kernel, with the threads of its blocks
    in place of {threads}, or of {x}, {y} and {z}; `ids` are forms of the numbers of threads and blocks, by "thread" and
    "block"; `pointer` goes before the type of an array; `header`: lines that declare the functions of the host;
    `stream` is the type of an order of launches, `order` its name.

    `handle`: the type of an array of the device on the host, "" where that is a pointer. `hoisted`: shared arrays are
    declared where a kernel begins. `booleans`: a conversion to `_Bool` asks whether a value is 0. `exact` is a line
    that keeps a compiler from rounding a product and a sum once, `exact_flag` a flag of it that does. `kernels` and
    `host` are the ends of the names of files; the latter is "" where kernels and functions of the host are in one.
    `swept_alone`: why each of repeated sweeps is a launch of its own, "" where time tiles are made. `copies`:
    instructions that copy so many bytes to shared memory while the thread goes on, from the second address to the
    first; `landed`: the one that waits for them. Without these such copies are stores."""

    name: str
    title: str
    head: str
    ids: Mapping[str, str]
    pointer: str
    restrict: str
    shared: str
    barrier: str
    unroll: str
    header: str
    calls: HostCalls
    stream: str
    order: str = "stream"
    handle: str = ""
    hoisted: bool = False
    booleans: bool = True
    exact: str = ""
    exact_flag: str = ""
    kernels: str = ".cu"
    host: str = ""
    swept_alone: str = ""
    copies: Mapping[int, str] = field(default_factory=dict)
    landed: str = ""

    def buffer(self, name: str) -> str:
        """The declaration of bytes on the device, as the host has them."""
        return f"{self.handle} {name}" if self.handle else f"void *{name}"

    def thread(self, axis: str) -> str:
        """A thread's number in its block, along x, y or z."""
        return self.ids["thread"].format(axis=axis, number="xyz".index(axis))

    def block(self, axis: str) -> str:
        """A block's number in its grid."""
        return self.ids["block"].format(axis=axis, number="xyz".index(axis))


def _pointer_calls(api: str) -> HostCalls:
    """The calls of CUDA and of what is spelt after it."""
    return HostCalls(
        f"{api}Malloc((void **)&{{on}}, {{bytes}})",
        f"{api}Memcpy({{on}}, {{of}}, {{bytes}}, {api}MemcpyHostToDevice)",
        f"{api}Memcpy({{of}}, {{on}}, {{bytes}}, {api}MemcpyDeviceToHost)",
        f"{api}Free({{on}})", f"(void){api}GetLastError()", f"{api}DeviceSynchronize()", "0",
        f"(int){api}GetLastError()",
    )  # fmt: skip


_IDS = {"thread": "threadIdx.{axis}", "block": "blockIdx.{axis}"}

CUDA = DeviceDialect(
    "cuda", "CUDA", "static __global__ void __launch_bounds__({threads}{resident})", _IDS, "", "__restrict__",
    "__shared__ __align__(16)", "__syncthreads();", "#pragma unroll",
    "#include <cuda_runtime.h>", _pointer_calls("cuda"), "cudaStream_t",
    exact_flag="-fmad=false",
    copies={
        4: "cp.async.ca.shared.global [%0], [%1], 4;", 8: "cp.async.ca.shared.global [%0], [%1], 8;",
        16: "cp.async.cg.shared.global [%0], [%1], 16;",
    },
    landed="cp.async.wait_all;",
)  # fmt: skip

HIP = DeviceDialect(
    "hip", "HIP", "static __global__ void __launch_bounds__({threads})", _IDS, "", "__restrict__", "__shared__",
    "__syncthreads();", "#pragma unroll", "#include <hip/hip_runtime.h>", _pointer_calls("hip"), "hipStream_t",
    exact="#pragma clang fp contract(off)", kernels=".hip.cpp",
    swept_alone="time tiles are fitted to the registers of a thread of CUDA",
)  # fmt: skip

_OPENCL_HEADER = """\
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif"""

OPENCL = DeviceDialect(
    "opencl", "OpenCL", "__kernel __attribute__((reqd_work_group_size({x}, {y}, {z}))) void",
    {"thread": "(int)get_local_id({number})", "block": "(int)get_group_id({number})"}, "__global ", "restrict",
    "__local", "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);", "#pragma unroll", _OPENCL_HEADER,
    HostCalls(
        "planish_allocate(&{on}, {bytes})", "planish_write({on}, {of}, {bytes})", "planish_read({of}, {on}, {bytes})",
        "planish_release({on})", "", "clFinish(planish_queue())", "planish_queue()", "planish_status",
    ),
    "cl_command_queue", "queue", handle="cl_mem", hoisted=True, booleans=False, exact="#pragma OPENCL FP_CONTRACT OFF",
    kernels=".cl", host="_opencl.c",
    swept_alone="time tiles have barriers in branches, with which PoCL 3.1 hangs or gives wrong results",
)  # fmt: skip

DIALECTS: Mapping[str, DeviceDialect] = {x.name: x for x in (CUDA, HIP, OPENCL)}
"""Every language by its name in descriptions of devices."""
