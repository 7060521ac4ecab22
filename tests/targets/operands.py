"""What instructions are tried on: random numbers and the corners of each type, for every size that they allow."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from wrapping import extent, visible

from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Kernel
from planish.ir.semantics.arithmetic import limits
from planish.ir.types import BF16, F32, Type
from planish.isa.instruction import Instruction

Values = dict[str, Any]
"""Scalars and arrays by name, as the interpreter takes them."""

_MOST = 128
"""More lanes than any register has."""


def sizes_of(instruction: Instruction) -> Iterator[dict[str, int]]:
    """Every choice of an instruction's sizes that it allows: each number of lanes, each immediate."""
    definition = instruction.definition
    for values in itertools.product(range(_MOST + 1), repeat=len(definition.sizes)):
        sizes = dict(zip(definition.sizes, values, strict=True))
        if all(evaluate(x, sizes) for x in definition.assumptions):
            assert _MOST not in values, f"{instruction.name} allows more lanes than there are"
            yield sizes


def inputs(instruction: Instruction, sizes: Mapping[str, int]) -> Iterator[Values]:
    """What an instruction is tried on for some sizes; the same in every run."""
    random = np.random.default_rng([len(instruction.name), *instruction.name.encode(), *sizes.values()])
    definition = instruction.definition
    for _ in range(4):
        yield _each(definition, lambda type, count: _random(random, type, count))
    for _ in range(4):
        yield _each(definition, lambda type, count: random.choice(corners(type), count))
    if not sizes:
        has_floats = any(x.type.is_float for x in visible(definition))
        yield from _pairs(definition) if has_floats else _combinations(instruction)


def _each(definition: Kernel, draw: Any) -> Values:
    out = {x.name: draw(x.type, 1)[0] for x in definition.scalars}
    return out | {x.name: draw(x.type, extent(x)) for x in visible(definition)}


def _pairs(definition: Kernel) -> Iterator[Values]:
    """Floats such that in some lane each corner of an operand meets each corner of each other one. There is a prime
    number of them: operands that are shifted against each other by different steps come to stand at all distances."""
    lanes = min(extent(x) for x in visible(definition))
    names = [(x.name, x.type, 1) for x in definition.scalars]
    names += [(x.name, x.type, extent(x)) for x in visible(definition)]
    most = max(len(corners(type)) for _, type, _ in names)
    for step in range(most):
        for start in range(0, most, lanes):
            out: Values = {}
            for number, (name, type, count) in enumerate(names):
                own = corners(type)
                out[name] = own[(start + np.arange(count) + step * number) % len(own)]
            yield out | {x.name: corners(x.type)[step % len(corners(x.type))] for x in definition.scalars}


def _combinations(instruction: Instruction) -> Iterator[Values]:
    """Integers such that in some lane all corners of one operand meet all corners of the others; within a lane an
    operand is the same number throughout, so that sums of products become as large as they can."""
    definition = instruction.definition
    lanes = instruction.lanes or max(extent(x) for x in visible(definition))
    vectors = [x for x in visible(definition) if extent(x) >= lanes]
    shared = [x for x in visible(definition) if extent(x) < lanes]
    alone = [*((x.name, x.type, 1) for x in definition.scalars), *((x.name, x.type, extent(x)) for x in shared)]
    rounds = -(-(4 ** len(vectors)) // lanes)
    for chosen in itertools.product(range(4), repeat=len(alone)):
        for start in range(0, rounds * lanes, lanes):
            out: Values = {}
            for number, (name, type, count) in zip(chosen, alone, strict=True):
                out[name] = np.repeat(corners(type)[number], count)
            for digit, x in enumerate(vectors):
                numbers = (start + np.arange(lanes)) // 4**digit % 4
                out[x.name] = np.repeat(corners(x.type)[numbers], -(-extent(x) // lanes))[: extent(x)]
            yield out | {x.name: out[x.name][0] for x in definition.scalars}


def _random(random: np.random.Generator, type: Type, count: int) -> npt.NDArray[Any]:
    if type.is_int:
        low, high = limits(type)
        return random.integers(low, high, count, type.numpy, endpoint=True)
    wide = random.standard_normal(count) * 2.0 ** random.integers(-6, 7, count)
    return rounded(wide.astype(type.numpy), type)


def corners(type: Type) -> npt.NDArray[Any]:
    """The values of a type at which things go wrong: four of an integer type, a prime number of a float type."""
    if type.is_int:
        low, high = limits(type)
        return np.array([low, high, 0, -1] if low else [0, 1, high, high // 2 + 1], type.numpy)
    if type == BF16:
        # The instructions take denormals for zero, and say so.
        numbers = [0.0, -0.0, 1.0, -1.0, 1.0078125, np.inf, -np.inf, np.nan, 2.0**40, -(2.0**40), 2.0**-40]
        return np.array(numbers, np.float32)
    info = np.finfo(type.numpy)
    least = info.smallest_subnormal
    numbers = [0.0, -0.0, 1.0, -1.0, 1 + info.eps, np.inf, -np.inf, np.nan]
    return np.array([*numbers, info.max, info.min, info.tiny, least, -least], type.numpy)


def rounded(values: npt.NDArray[Any], type: Type) -> npt.NDArray[Any]:
    """Values of the type (bf16 is held as f32 by the interpreter): cut off."""
    if type != BF16:
        return values
    return (values.astype(F32.numpy).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
