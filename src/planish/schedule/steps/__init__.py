"""The steps of the scheduling language: each is a dataclass that rewrites a program, and its name in scripts follows.

>>> sorted(STEPS)[:4]
['assume', 'begin_early', 'bind_expr', 'bounding_box']
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from planish.schedule.program import Step
from planish.schedule.steps.bands import Reorder, Skew
from planish.schedule.steps.buffers import BindExpr, LiftAlloc, StageMem
from planish.schedule.steps.control import GuardLoop, Hoist, Sink, Specialise, Swap
from planish.schedule.steps.devices import BoundingBox, MapBlocks, MapThreads, PromoteRegisters, PromoteShared
from planish.schedule.steps.double_buffer import DoubleBuffer
from planish.schedule.steps.facts import Parallelise, Vectorise
from planish.schedule.steps.flatten_loops import FlattenLoops
from planish.schedule.steps.guards import DropGuard, SinkGuard
from planish.schedule.steps.instructions import Inline, Replace
from planish.schedule.steps.kernels import Assume, PartialEval, Rename, RenameLoop, Simplify
from planish.schedule.steps.loops import BeginEarly, Coalesce, Fission, Fuse, Peel, Reverse, Shift, Split, Unroll
from planish.schedule.steps.padding import Widen
from planish.schedule.steps.prefetch import Prefetch
from planish.schedule.steps.promote_row import PromoteRow
from planish.schedule.steps.promote_tile import PromoteTile
from planish.schedule.steps.split_reduction import SplitReduction
from planish.schedule.steps.storage import FoldDim, PadDim, ReorderDims, ReuseBuffer, SetLayout, SetMemory, SplitDim
from planish.schedule.steps.teams import MapTeam
from planish.schedule.steps.tree_reduction import TreeReduction
from planish.schedule.steps.values import FactorOut, FoldFactor, SetPrecision

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def script_name(step: type[Step]) -> str:
    """What a step is called in a script: `rename_loop` for RenameLoop."""
    return _CAPITAL.sub("_", step.__name__).lower()


STEPS: Mapping[str, type[Step]] = {
    script_name(step): step
    for step in (
        Assume, BeginEarly, BindExpr, BoundingBox, Coalesce, DoubleBuffer, DropGuard, FactorOut, Fission, FlattenLoops,
        FoldDim, FoldFactor, Fuse, GuardLoop, Hoist, Inline, LiftAlloc, MapBlocks, MapTeam, MapThreads, PadDim,
        Parallelise, PartialEval, Peel, Prefetch, PromoteRegisters, PromoteRow, PromoteShared, PromoteTile, Rename,
        RenameLoop, Reorder, ReorderDims, Replace, ReuseBuffer, Reverse, SetLayout, SetMemory, SetPrecision, Shift,
        Simplify, Sink, SinkGuard, Skew, Specialise, Split, SplitDim, SplitReduction, StageMem, Swap, TreeReduction,
        Unroll, Vectorise, Widen,
    )
}  # fmt: skip
"""Every step by its name in scripts."""
