"""Calls all kernels once at small sizes, without torch, for tools that watch each access of a device.

    compute-sanitizer --tool memcheck python3 -m bench.devices.sanitize FOLDER
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy

from bench.devices.host_calls import bind_copied
from bench.devices.manifest import read_manifest
from bench.devices.native import object_of
from bench.devices.programs import PROGRAMS

SIZES = (37, 131)
LARGEST = {"heat3d": 37, "heat3d_steps": 37, "conv3x3": 19}


def main(arguments: list[str]) -> int:
    """Call the functions that copy the caller's arrays; 1 where one of them returns an error."""
    folder, failed = Path(arguments[0]), 0
    programs = {x.name: x for x in PROGRAMS}
    for built in read_manifest(folder).built:
        program = programs.get(built.program)
        if program is None or not built.launches or not object_of(built, folder).exists():
            continue
        if not all(hasattr(numpy, x.type) for x in program.tensors.values()):
            continue  # NumPy has no bfloat16.
        call = bind_copied(ctypes.CDLL(str(object_of(built, folder))), built)
        random = numpy.random.default_rng(1)
        for size in SIZES:
            sizes = program.sizes_at(min(size, LARGEST.get(built.program, size)), 1)
            values: dict[str, object] = {**sizes, **program.scalars}
            for name, x in program.tensors.items():
                shape = tuple(int(y) if y.isdigit() else sizes[y] for y in x.shape)
                values[name] = random.uniform(-0.5, 1.0, shape or 1).astype(x.type)
            try:
                call(values)
            except RuntimeError as error:
                print(f"{built.name} at {size}: {error}", flush=True)
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
