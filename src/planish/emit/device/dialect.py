"""The languages of devices as tables: how a kernel, an id, shared memory and a barrier are spelt.

>>> CUDA.thread("x"), CUDA.block("y")
('threadIdx.x', 'blockIdx.y')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviceDialect:
    """A language of kernels. `head` begins a kernel, with the threads of its blocks in place of `{threads}`; `ids` are
    forms of the numbers of threads and blocks, by "thread" and "block"; `pointer` goes before the type of an array;
    `header` declares the functions of the host, whose names begin with `api`; `stream` is the type of an order of
    launches."""

    name: str
    head: str
    ids: Mapping[str, str]
    pointer: str
    restrict: str
    shared: str
    barrier: str
    unroll: str
    header: str
    api: str
    stream: str

    def thread(self, axis: str) -> str:
        """A thread's number in its block, along x, y or z."""
        return self.ids["thread"].format(axis=axis)

    def block(self, axis: str) -> str:
        """A block's number in its grid."""
        return self.ids["block"].format(axis=axis)


CUDA = DeviceDialect(
    "cuda", "static __global__ void __launch_bounds__({threads})",
    {"thread": "threadIdx.{axis}", "block": "blockIdx.{axis}"}, "", "__restrict__", "__shared__", "__syncthreads();",
    "#pragma unroll", "cuda_runtime.h", "cuda", "cudaStream_t",
)  # fmt: skip

DIALECTS: Mapping[str, DeviceDialect] = {x.name: x for x in (CUDA,)}
"""Every language by its name in descriptions of devices."""
