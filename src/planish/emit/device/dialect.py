"""The languages of devices as tables: how a kernel, an id, shared memory and a barrier are spelt.

>>> DIALECTS["cuda"].thread("x"), DIALECTS["opencl"].thread("x")
('threadIdx.x', '(int)get_local_id(0)')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviceDialect:
    """A language of kernels. `head` begins a kernel, with the threads of its blocks in place of `{threads}`; `ids` are
    forms of the numbers of threads and blocks, by "thread" and "block"; `pointer` goes before the type of an array."""

    name: str
    head: str
    ids: Mapping[str, str]
    pointer: str
    restrict: str
    shared: str
    barrier: str
    unroll: str
    prologue: str
    suffixed: bool

    def thread(self, axis: str) -> str:
        """A thread's number in its block, along x, y or z."""
        return self.ids["thread"].format(axis=axis, number="xyz".index(axis))

    def block(self, axis: str) -> str:
        """A block's number in its grid."""
        return self.ids["block"].format(axis=axis, number="xyz".index(axis))


_C_IDS = {"thread": "threadIdx.{axis}", "block": "blockIdx.{axis}"}

CUDA = DeviceDialect(
    "cuda", "static __global__ void __launch_bounds__({threads})", _C_IDS, "", "__restrict__", "__shared__",
    "__syncthreads();", "#pragma unroll", "", True,
)  # fmt: skip

HIP = DeviceDialect(
    "hip", "static __global__ void __launch_bounds__({threads})", _C_IDS, "", "__restrict__", "__shared__",
    "__syncthreads();", "#pragma unroll", "", True,
)  # fmt: skip

OPENCL = DeviceDialect(
    "opencl", "__kernel __attribute__((reqd_work_group_size({shape}))) void",
    {"thread": "(int)get_local_id({number})", "block": "(int)get_group_id({number})"},
    "__global ", "restrict", "__local", "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);", "",
    "typedef char int8_t;\ntypedef short int16_t;\ntypedef int int32_t;\ntypedef long int64_t;\n"
    "typedef uchar uint8_t;\ntypedef ushort uint16_t;\ntypedef uint uint32_t;\ntypedef ulong uint64_t;\n"
    "#define _Bool bool\n",
    False,
)  # fmt: skip

DIALECTS: Mapping[str, DeviceDialect] = {x.name: x for x in (CUDA, HIP, OPENCL)}
