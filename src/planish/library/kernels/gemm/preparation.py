"""Builds the GEMM micro-kernels of this machine ahead of time, when Planish is set up.

They are most of what the first build of a product would have to make.

>>> from planish.target.load import load_target
>>> [tile.name for tile, _ in list_families(load_target("x86-avx2"))][:2]
['ukr_avx2_f32_4x24_plain', 'ukr_avx2_f32_4x24_turned']
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import get_args

from planish.core.cache import key
from planish.core.diagnostic import PlanishError
from planish.ir.types import F32, F64
from planish.library.kernels.gemm.blocked import Blocking
from planish.library.kernels.gemm.compact import choose_few_blocks, list_few_tiles
from planish.library.kernels.gemm.microkernel import Tile
from planish.library.kernels.gemm.operands import Op
from planish.library.kernels.gemm.whole import make_tiles
from planish.library.kernels.kernel_cache import Preparer, prepared_address, prepared_kernels
from planish.library.kernels.vectors import choose_vectors
from planish.target.machine import Target
from planish.target.probe import probe_host


def prepare_machine() -> bool:
    """Make the micro-kernels for products on this machine, where every user of this installation finds them; whether
    that had to be done."""
    return prepare_families(list_families(probe_host()))


def prepare_families(families: Sequence[tuple[Tile, Blocking]]) -> bool:
    """Make the micro-kernels of some families for every user of this installation; whether that had to be done."""
    place, address = prepared_kernels(), prepared_address(("families", key(*families)))
    if place.get(address) is not None:
        return False
    place.clear()
    with ProcessPoolExecutor() as pool:
        list(pool.map(_make, families))
    return place.put(address, b"")


def list_families(target: Target) -> list[tuple[Tile, Blocking]]:
    """The largest tile of each family that products of `float` and of `double` call on a machine, and the blocks that
    it is for; none where there are no vectors for them."""
    found: dict[Tile, Blocking] = {}
    for type in (F32, F64):
        try:
            vectors = choose_vectors(target, type)
        except PlanishError:
            continue
        blocking = choose_few_blocks(vectors, target)
        found |= {tile: blocking for op in get_args(Op) for tile in list_few_tiles(vectors, blocking, op)}
    return list(found.items())


def _make(family: tuple[Tile, Blocking]) -> None:
    tile, blocking = family
    make_tiles([tile], blocking, Preparer(prepared_kernels()))
