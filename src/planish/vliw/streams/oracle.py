"""A stream, or packets, beside the kernel's meaning: the same random arrays, the reference interpreter and the
machine's.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.description import load_machine
>>> from planish.vliw.streams.lower import lower
>>> machine = load_machine("ftmatrix")
>>> kernel = parse_kernel("kernel axpy(n; a: f32, x: f32[n], y: f32[n]) { for i in 0 .. n { y[i] += a * x[i] } }")
>>> check_stream(lower(kernel, machine), kernel, machine, draw_values(kernel, {"n": 5}))
''
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from planish.core.diagnostic import PlanishError
from planish.ir.accesses import SHIFTED, shift_amounts
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Array, Kernel
from planish.ir.semantics.arithmetic import limits
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.types import Type
from planish.poly.canonical.delinearise import delinearise
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.extents import pick_sizes, reach_elements, valid_sizes
from planish.poly.scop.extraction import extract_scop
from planish.vliw.machine import VliwMachine
from planish.vliw.program import PacketCode
from planish.vliw.simulator.cycles import simulate
from planish.vliw.simulator.execution import MachineFault
from planish.vliw.simulator.interpreter import interpret
from planish.vliw.streams.image import Values, fill_state, read_arrays
from planish.vliw.streams.lower import LoweredStream

TEST_SIZES = (-3, 0, 1, 2, 3, 5, 8, 13, 17, 31, 33, 64, 65)


@dataclass(frozen=True, slots=True)
class Checked:
    """What packets took on a call, and where they differ from the kernel's meaning ("": nowhere)."""

    cycles: int
    message: str


FEW = 3
"""What sizes are near of which there need not be many."""


def sizes_for(
    kernel: Kernel, wanted: tuple[int, ...] = TEST_SIZES, large: Collection[str] | None = None
) -> Iterator[dict[str, int]]:  # fmt: skip
    """Sizes with which a kernel may be called, each set once: near the wanted ones, unequal; where some are `large`,
    the others are as small as they may be. Of those by which is shifted few are the bits of a number."""
    amounts = shift_amounts(kernel)
    try:
        valid = valid_sizes(extract_scop(delinearise(kernel)))
    except NotAffineError:
        valid = None
    seen: list[dict[str, int]] = []
    for n in wanted:
        asked = {
            x: (n if large is None or x in large else min(n, FEW)) + number for number, x in enumerate(kernel.sizes)
        }  # fmt: skip
        asked |= {x: asked[x] % SHIFTED for x in amounts}
        found = pick_sizes(valid, asked) if valid is not None else asked
        if found is not None and found not in seen:
            seen.append(found)
            yield found


def draw_values(kernel: Kernel, sizes: Mapping[str, int], seed: int = 0) -> dict[str, Any]:
    """Sizes, scalars, and arrays of random elements, as many as the kernel reaches; tables have their own elements,
    which packets know.

    >>> from planish.ir.text.parser import parse_kernel
    >>> kernel = parse_kernel("kernel k(T: i32[2], y: i32[2]) { for i in 0 .. 2 { y[i] = T[i] } }")
    >>> table, out = kernel.arrays
    >>> draw_values(replace(kernel, arrays=(replace(table, values=(3, 4)), out)), {})["T"]
    array([3, 4], dtype=int32)
    """
    draw = np.random.default_rng(seed)
    counts = _counts(kernel, sizes)
    out: dict[str, Any] = dict(sizes)
    for array in kernel.arrays:
        drawn = _numbers(draw, array.type, max(1, counts[array.name]))
        out[array.name] = np.array(array.values, array.type.numpy) if array.values else drawn
    for scalar in kernel.scalars:
        out[scalar.name] = _numbers(draw, scalar.type, 1)[0]
    return out


def _counts(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, int]:
    """The elements of each array."""
    try:
        reached = reach_elements(extract_scop(delinearise(kernel)), sizes)
    except NotAffineError:
        reached = {}
    out: dict[str, int] = {}
    for array in kernel.arrays:
        known = [evaluate(x, sizes) for x in array.shape if x is not None]
        whole = prod(max(0, x) for x in known) if len(known) == len(array.shape) else 0
        out[array.name] = max(whole, reached.get(array.name, 64 if None in array.shape else 1))
    return out


def _numbers(draw: np.random.Generator, kind: Type, count: int) -> np.ndarray[Any, Any]:
    """Random elements: whole numbers from all that their type has, but where sums of such would overflow in C."""
    if kind.is_float:
        return draw.uniform(-1, 1, count).astype(kind.numpy)
    if kind.kind == "bool":
        return draw.integers(0, 2, count).astype(kind.numpy)
    low, high = limits(kind) if kind.kind == "uint" or kind.bits < 32 else (-9, 9)
    return draw.integers(low, high, count, dtype=kind.numpy, endpoint=True)


def meaning(kernel: Kernel, values: Values) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays as the kernel leaves them, as flat vectors."""
    sizes = {x: int(values[x]) for x in kernel.sizes}
    own = dict(values)
    for array in kernel.arrays:
        own[array.name] = _shaped(array, np.array(values[array.name]), sizes)
    run_kernel(kernel, own)
    return {x.name: np.asarray(own[x.name]).reshape(-1) for x in kernel.arrays}


def _shaped(array: Array, values: np.ndarray[Any, Any], sizes: Mapping[str, int]) -> np.ndarray[Any, Any]:
    shape = [None if x is None else max(0, evaluate(x, sizes)) for x in array.shape]
    if not shape:
        return values.reshape(())
    row = prod(x for x in shape if x is not None)
    if shape[0] is None:
        rows = -(-values.size // max(1, row))
        shape[0] = rows
    count = prod(x or 0 for x in shape)
    whole = np.zeros(count, values.dtype)
    whole[: min(count, values.size)] = values[:count]
    return whole.reshape([x or 0 for x in shape])


def check_stream(lowered: LoweredStream, kernel: Kernel, machine: VliwMachine, values: Values) -> str:
    """Where what a stream means differs from what the kernel does; "" where it does not."""
    registers = {x.name: x.register for x in lowered.program.parameters}
    try:
        state = interpret(lowered.program, machine, fill_state(lowered, machine, values, registers))
    except (MachineFault, PlanishError) as error:
        return str(error)
    return difference(kernel, values, read_arrays(lowered, machine, values, state))


def with_room(machine: VliwMachine, bytes: int = 1 << 24) -> VliwMachine:
    """The machine with larger memories: what is compared with others need not be cut to fit."""
    return replace(machine, memories=tuple(replace(x, bytes=max(x.bytes, bytes)) for x in machine.memories))


def check_code(
    code: PacketCode,
    lowered: LoweredStream,
    kernel: Kernel,
    machine: VliwMachine,
    values: Values,
    most: int = 10_000_000,
) -> Checked:
    """What packets take, and where they differ from what the kernel does."""
    registers = {x.name: x.register for x in code.parameters}
    run = simulate(code, machine, fill_state(lowered, machine, values, registers), most)
    if run.faults:
        return Checked(run.cycles, str(run.faults[0]))
    return Checked(run.cycles, difference(kernel, values, read_arrays(lowered, machine, values, run.state)))


Meaning = Callable[[Kernel, Values], Mapping[str, np.ndarray[Any, Any]]]
"""What a kernel makes of values."""


def difference(
    kernel: Kernel, values: Values, found: Mapping[str, np.ndarray[Any, Any]], meant: Meaning = meaning
) -> str:  # fmt: skip
    """Where arrays differ from what a kernel makes of values; "" where they do not."""
    wanted = meant(kernel, values)
    for name, got in found.items():
        want = wanted[name][: got.size]
        place = _first_difference(want, got)
        if place is not None:
            return f"{name}[{place}] is {got[place]} instead of {want[place]}"
    return ""


def _first_difference(want: np.ndarray[Any, Any], got: np.ndarray[Any, Any]) -> int | None:
    if want.dtype.kind == "f":
        # Sums are made in another order, and products are not rounded before they are added.
        single = want.dtype.itemsize <= 4
        scale = max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0.0)))
        same = np.isclose(want, got, rtol=1e-3 if single else 1e-9, atol=scale * (2e-5 if single else 1e-12),
                          equal_nan=True)  # fmt: skip
    else:
        same = want == got
    wrong = np.flatnonzero(~same)
    return int(wrong[0]) if wrong.size else None
