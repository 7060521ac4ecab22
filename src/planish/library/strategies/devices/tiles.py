"""Contractions and transpositions in tiles, rows by teams of threads; other nests run one iteration a thread.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> loops = "for i in 0 .. 512 { for j in 0 .. 512 { for k in 0 .. 64 { C[i, j] += A[i, k] * B[k, j] } } }"
>>> kernel = parse_kernel(f"kernel g(A: f32[512, 64], B: f32[64, 512], C: f32[512, 512]) {{ {loops} }}")
>>> cx = Context.of(kernel, load_target("generic"))
>>> [x.name for x in DEVICE_TILES.apply(cx, DEVICE_TILES.match(cx)[0])]
['device-tiles, original']
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from planish.gpu.columns import split_columns
from planish.gpu.convolutions import tile_convolution
from planish.gpu.rows import map_rows
from planish.gpu.tile_shapes import ANY_ROOM, DeviceRoom
from planish.gpu.tiles import tile_contraction
from planish.gpu.transpositions import tile_transposition
from planish.library.strategies.devices.threads import make_mapped, match_orders
from planish.library.strategy import Context, Made, Strategy, share
from planish.schedule.auto.policies import Policy
from planish.target.device import Device


def _in_room(room: DeviceRoom, cx: Context, policy: Policy) -> Made:
    tiled = [partial(x, room=room) for x in (tile_contraction, tile_convolution)]
    return make_mapped(cx, policy, "device-tiles", (*tiled, map_rows, tile_transposition, split_columns))


def _apply(cx: Context, policy: Policy) -> Made:
    return _in_room(ANY_ROOM, cx, policy)


DEVICE_TILES = Strategy(
    "device-tiles", "contractions and transpositions in tiles of shared memory and registers, rows by teams of threads",
    match_orders, _apply, share(0.5),
)  # fmt: skip


def tiles_for(device: Device, stages: int) -> Strategy[Policy]:
    """The strategy for a device: all of its multiprocessors are to have blocks, with their tiles in shared memory, of
    which there are so many copies (`stages`): one where its language has no asynchronous copies, since what is on its
    way takes registers then that sums need."""
    room = DeviceRoom(device.multiprocessors, device.shared_bytes, stages)
    return replace(DEVICE_TILES, apply=partial(_in_room, room))
