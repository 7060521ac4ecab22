"""Plans a nest: brings it into the form that is scheduled, and ranks what the strategies match in it.

>>> from planish.build.read import read_file
>>> from planish.core.span import Source
>>> from planish.target.load import load_target
>>> options = Options(target="x86-avx512")
>>> file = read_file(Source("f.c", "void f(int n, float *a) { for (int i = 0; i < n; i++) a[i] = 0; }"), options)
>>> plan = plan_region(file.functions[0].regions[0], options, load_target(options.target))
>>> "loops" in [x.strategy.name for x in plan.matches() if isinstance(x, Ranked)]
True
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import islpy as isl

from planish.core.cache import Cache
from planish.core.diagnostic import Remark
from planish.core.progress import Progress, keep_quiet
from planish.core.span import Span
from planish.frontend.c.translation_unit import Region
from planish.ir.checker import check_kernel
from planish.ir.passes.reduction_idioms import as_accumulation
from planish.ir.traverse import map_block
from planish.library.driver import Ranked, rank
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.registry import STRATEGIES
from planish.library.strategy import Context, Strategy
from planish.options import Options
from planish.poly.canonical.float_extrema import updated_scalars, with_float_extrema
from planish.poly.isl.affine import NotAffineError
from planish.poly.isl.op_budget import PASS, OverBudgetError, within
from planish.schedule.arguments import NestChoice
from planish.schedule.auto.plan import prepare
from planish.target.machine import Target


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A region, what strategies look at, and why it is not scheduled where it is not. `choice`: what tuning, or a
    record, says of it."""

    region: Region
    context: Context
    remarks: tuple[Remark, ...]
    strategies: tuple[Strategy[Any], ...]
    choice: NestChoice | None = None

    def matches(self) -> Iterator[Ranked | Remark]:
        """What the strategies match, the cheapest first."""
        return rank(self.context, self.strategies)


def plan_region(
    region: Region, options: Options, target: Target, tell: Progress = keep_quiet, extrema: bool = True
) -> Plan:  # fmt: skip
    """The plan of a region; `tell` hears of kernels that are made. `extrema`: calls of `fmax` and `fmin` are updates
    where they may be; a region may then have conditions besides."""
    remarks: tuple[Remark, ...] = ()
    nest = None
    kernel = region.kernel
    if extrema and options.fp == "reassociate":
        names = {name: text.removeprefix("&") for name, text in region.names if text.startswith("&")}
        numbers = [x for x in updated_scalars(kernel) if x in names]
        kernel = with_float_extrema(kernel, numbers)
        # Only a NaN is not the same as itself.
        asked = (f"{names[x]} == {names[x]}" for x in numbers)
        region = replace(region, conditions=(*region.conditions, *asked))
    if not region.guarded:
        # What conditions guard is told apart by its stores, which stay as they are.
        made = partial(as_accumulation, reassociate=options.fp == "reassociate")
        kernel = replace(kernel, body=map_block(made, kernel.body))
    if region.reversal is None or options.script is not None:
        try:
            check_kernel(region.kernel, "read")
            nest = within(lambda: prepare(kernel))
        except NotAffineError as error:
            remarks = (Remark("scop-affine", "refused", error.reason, region.span),)
        except isl.Error as error:
            message = f"the polyhedral library gave up: {str(error).partition(' in /')[0]}"
            remarks = (Remark("scop-limit", "refused", message, region.span),)
        except OverBudgetError:
            remarks = (tell_over("its instances and dependences are not found", region.span),)
    maker = KernelCache(Cache(), tell=lambda x: tell(f"{region.function}: making {x}"))
    context = Context(
        kernel, nest, target, options.fp, options.threads, sizes_of(region, options), region.scratch, maker,
        region,
    )  # fmt: skip
    strategies = tuple(x for x in STRATEGIES if options.raising or not x.kernels)
    return Plan(region, context, remarks, strategies, options.choice_for(region.kernel))


def sizes_of(region: Region, options: Options) -> dict[str, int]:
    """The sizes of a region that are given."""
    return {name: options.sizes[text] for name, text in region.names if text in options.sizes}


def tell_over(what: str, span: Span | None, operations: int = PASS) -> Remark:
    """A remark on an analysis that ended at its bound."""
    return Remark("analysis-limit", "refused", f"{what} within {operations:,} operations", span)
