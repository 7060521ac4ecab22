"""The child's side of the interpreter check: a C function beside the reference interpreter's run of its kernel.

    answer = check_meaning(MeaningRequest(library, kernel, signature, cases), report)
    answer["message"]       # "" where all agree
    answer["compared"]      # of how many calls that is said
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.traverse import goes_by_data, is_counted, reads_by_data
from planish.ir.types import BF16, Type
from planish.run.calls.loaded_library import Arguments, Drawn, draw
from planish.run.calls.signature import CallCase, Signature
from planish.run.oracle.tolerance import Tolerance, difference
from planish.run.processes.child import Report
from planish.run.processes.sandbox import Limits, run_child
from planish.run.sizes.random_arguments import from_memory, to_memory
from planish.run.toolchains.emulated import open_library

LARGEST = 6
"""Cases with greater sizes are left to the oracle: the interpreter is slow."""


@dataclass(frozen=True, slots=True)
class MeaningRequest:
    """A library with the entry of `signature`, whose parameters stand for the kernel's, in the same order; `emulator`:
    the command that calls libraries for another processor."""

    library: str
    kernel: Kernel
    signature: Signature
    cases: tuple[CallCase, ...]
    emulator: tuple[str, ...] = ()


def confirm_meaning(
    library: Path,
    kernel: Kernel,
    signature: Signature,
    cases: Sequence[CallCase],
    emulator: tuple[str, ...] = (),
    seconds: float = 60,
) -> str:
    """RuntimeError where the library and the interpreter do not agree on the small cases: C that was made of a kernel
    is what versions are compared with, and has to mean what the kernel means. Gives why none, or not all, of it is
    confirmed; "" where the small cases were compared."""
    small = tuple(c for c in cases if all(v <= LARGEST for v in c.values.values()))
    request = MeaningRequest(str(library), kernel, signature, small, emulator)
    limits = Limits(seconds=seconds)
    child = run_child("planish.run.oracle.interpreter_check:check_meaning", request, limits, spoiled=True)
    if child.status == "timeout" and not is_counted(kernel):
        # It may be none that ends with all sizes.
        place = int(child.progress or 0) + 1
        return f"the reference interpreter did not end with call {place} of {len(small)} small ones"
    wrong = f"the check {child.status} ({child.signal or child.progress})"
    if child.status == "ok":
        wrong = child.value["message"]
    if wrong:
        raise RuntimeError(f"the C for {kernel.name} does not compute what the kernel means: {wrong}")
    if not child.value["compared"]:
        return f"the reference interpreter confirms the C for {kernel.name} with none of {len(small)} small calls"
    return ""


def check_meaning(request: MeaningRequest, report: Report) -> dict[str, Any]:
    """Runs library and interpreter on equal random arguments; `message` says where they differ, `compared` how many
    calls it is about."""
    compared = 0
    library = open_library(request.library, request.signature, request.emulator)
    for number, case in enumerate(request.cases):
        report(str(number))
        drawn = draw(request.signature, case, "uniform")
        arguments = Arguments(request.signature, drawn, case.placement)
        values = _values(request, drawn, case)
        try:
            run_kernel(request.kernel, values)
        except IndexError:
            if not goes_by_data(request.kernel) and not reads_by_data(request.kernel):
                raise
            # Nothing says with which sizes a kernel stays in its arrays where data decide how far it goes.
            continue
        library.call(arguments)
        compared += 1
        for array, parameter in zip(request.kernel.arrays, request.signature.arrays, strict=True):
            whole = np.asarray(values[array.name]).reshape(-1)
            got = arguments.views[parameter.name][: whole.size]
            want = to_memory(whole[: got.size], array.type)
            size = max((1, *(int(v) for v in case.values.values())))
            bound = Tolerance().bound(array.type, size) if array.type.is_float else None
            found = difference(want, got, array.type, bound, drawn.arrays[parameter.name][: got.size])
            if found.place >= 0:
                at = f"{array.name}[{found.place}] is {got[found.place]} instead of {want[found.place]}"
                return {"message": f"{at} ({case.describe(request.signature)})", "compared": compared}
    return {"message": "", "compared": compared}


def _values(request: MeaningRequest, drawn: Drawn, case: CallCase) -> dict[str, Any]:
    """The arguments as the interpreter takes them: by the kernel's names, arrays in their shapes."""
    kernel = request.kernel
    names = [*kernel.sizes, *(s.name for s in kernel.scalars), *(a.name for a in kernel.arrays)]
    values: dict[str, Any] = {}
    for name, parameter in zip(names, request.signature.parameters, strict=True):
        if parameter.kind == "value":
            values[name] = _readable(drawn.scalars[parameter.name], parameter.type)[0]
        else:
            held = _readable(drawn.arrays[parameter.name], parameter.type)
            # The last elements of an array may be left out of the C call where nothing reaches them, and there may be
            # more of them.
            extents = kernel.array(name).shape
            sizes = {x: int(values[x]) for x in kernel.sizes}
            shape = case.shapes.get(parameter.name, (held.size,))
            if None not in extents:
                shape = tuple(max(0, evaluate(x, sizes)) for x in extents if x is not None)
            whole = np.zeros(prod(shape), held.dtype)
            whole[: held.size] = held[: whole.size]
            values[name] = whole.reshape(shape)
    return values


def _readable(stored: npt.NDArray[Any], type: Type) -> npt.NDArray[Any]:
    """Memory as NumPy's own type of these values."""
    if type == BF16:
        return from_memory(stored, type).astype(np.float32)
    return stored.astype(type.numpy)
