"""Emits the versions of a function as C: what each region gives way to, in the file's own text.

    versions, remarks = make_drop_ins(plans, file, options)
    versions[0].text, versions[0].shipped
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import islpy as isl

from planish.build.lower import RegionPlan
from planish.build.plan import sizes_of, tell_over
from planish.core.diagnostic import PlanishError, Remark
from planish.core.span import Source, Span
from planish.emit.c.compiler_attributes import CompilerSettings
from planish.emit.compaction.replacement import replace_packing
from planish.emit.dropin.multiversion_dispatch import replace_by_ladder
from planish.emit.dropin.patched_file import defined_macros
from planish.emit.dropin.replacement import NoExtentError, Replacement, compose, replace_region
from planish.emit.early_exit.replacement import replace_early_exit
from planish.emit.formats.blas.vendor import replace_by_calls
from planish.frontend.c.translation_unit import CFile, Region
from planish.isa.shipped import shipped
from planish.library.signal.fft_stages.stage_kernels import StageVersion
from planish.options import Options
from planish.poly.isl.affine import NotAffineError
from planish.poly.isl.op_budget import SHORT, OverBudgetError, within
from planish.run.oracle.nest_coverage import count_calls, with_counters
from planish.run.oracle.tolerance import with_slack
from planish.run.toolchains.blas import Blas
from planish.run.workbench import DropIn, ReplacedNest
from planish.schedule.auto.plan import Prepared, Version
from planish.target.load import load_target

BLAS = "blas"
"""The version that calls a BLAS."""


def make_drop_ins(
    plans: tuple[RegionPlan, ...], file: CFile, options: Options, blas: Blas | None = None
) -> tuple[tuple[DropIn, ...], tuple[Remark, ...]]:
    """Whole-file texts: one that calls a BLAS, where there is one, and one for each strategy, in the order of the first
    region's estimate."""
    calls, spoken = _call_blas(plans, file, options, blas) if blas is not None else ({}, [])
    labels = list(dict.fromkeys([*([BLAS] if calls else []), *labels_of(plans)]))
    versions: list[DropIn] = []
    remarks: list[Remark] = list(spoken)
    regions = {p.region.start: p.region for p in plans}
    for label in labels:
        made: list[Replacement] = []
        slack: dict[str, float] = {}
        for p in plans:
            if label == BLAS and p.region.start in calls:
                made.append(calls[p.region.start])
                continue
            chosen = p.choose(label)
            if chosen is None:
                continue
            try:
                if isinstance(chosen, StageVersion):
                    bound = SHORT * len(chosen.pieces)
                    made.append(within(partial(_replace_stages, p.region, chosen, file.source, options), bound))
                elif p.prepared is not None:
                    slack = with_slack(slack, chosen.slack, dict(p.region.names))
                    make = partial(make_replacement, p.region, p.prepared, chosen, file.source, options)
                    made.append(within(make, SHORT))
            except (NoExtentError, PlanishError) as error:
                remarks.append(tell_unemitted(error, p.region.span))
            except OverBudgetError:
                remarks.append(tell_over(f"{label}: when it may run is not found", p.region.span, SHORT))
        if made:
            link = blas.link if blas is not None and label == BLAS else ()
            versions.append(compose_drop_in(label, made, regions, file.source, link, slack))
    return tuple(versions), tuple(dict.fromkeys(remarks))


def tell_unemitted(error: Exception, span: Span | None) -> Remark:
    """Why a version of a nest has no C of its own, with the advice of the error where that has any."""
    advice = error.diagnostic.advice if isinstance(error, PlanishError) else ""
    return Remark("emit-refused", "refused", str(error).splitlines()[0], span, advice)


def compose_drop_in(
    label: str, made: Sequence[Replacement], regions: Mapping[int, Region], source: Source, link: tuple[str, ...] = (),
    slack: Mapping[str, float] | None = None,
) -> DropIn:  # fmt: skip
    """The file's text with some of its regions, by where these begin, replaced; and the same where calls of the new
    code are counted."""
    patches = tuple(count_calls(made, regions))
    counted = with_counters(compose(source, patches, ""), dict.fromkeys(x.function for x in regions.values()))
    nests = tuple(ReplacedNest(x.patch.start, regions[x.patch.start].span, x.asked, x.chooses) for x in made)
    return DropIn(label, compose(source, made, ""), link, slack or {}, counted, nests, patches, tuple(made))


def labels_of(plans: Sequence[RegionPlan]) -> tuple[str, ...]:
    """The names of the versions of some regions, those that are tried first in front. What does several iterations of
    the loop around a region is not left out for what another region has."""
    stages = [x.name for p in plans for x in p.versions if isinstance(x, StageVersion)]
    return tuple(dict.fromkeys([*stages, *(x.name for p in plans for x in p.candidates)]))


def _call_blas(
    plans: tuple[RegionPlan, ...], file: CFile, options: Options, blas: Blas
) -> tuple[dict[int, Replacement], list[Remark]]:
    """What calls a BLAS, by where the regions begin, and remarks on the others."""
    if options.fp != "reassociate":
        message = f"--fp {options.fp} keeps sums in their order, which no BLAS does: {blas.name} is not called"
        return {}, [Remark("blas-refused", "refused", message, p.region.span) for p in plans]
    target = load_target(options.target)
    calls: dict[int, Replacement] = {}
    remarks = []
    for p in plans:
        region = p.region
        try:
            made = replace_by_calls(
                region, target, file.source.text, blas.interface, declared=file.preprocessed,
                reserved=defined_macros(file.source.text), comment=f"{_place(region.span)}: calls of {blas.name}",
                typical=sizes_of(region, options), settings=_settings(region, options),
            )  # fmt: skip
        except (NotAffineError, NoExtentError, PlanishError, isl.Error) as error:
            made = str(error).splitlines()[0]
        if isinstance(made, Replacement):
            calls[region.start] = made
        else:
            remarks.append(Remark("blas-refused", "refused", f"{blas.name} is not called: {made}", region.span))
    return calls, remarks


def make_replacement(
    region: Region, prepared: Prepared, candidate: Version, source: Source, options: Options
) -> Replacement:
    """The C for one version of one region."""
    early, packing = region.exits is not None, region.packing is not None
    make = replace_early_exit if early else replace_packing if packing else replace_region
    return make(
        region, prepared.scop, candidate.kernel, source.text,
        threads=options.threads > 1, strict=options.fp != "reassociate",
        comment=f"{_place(region.span)}: {candidate.name}", reserved=defined_macros(source.text),
        catalogue=shipped().joined(options.catalogue).joined(candidate.catalogue),
        settings=_settings(region, options),
    )  # fmt: skip


def _replace_stages(region: Region, version: StageVersion, source: Source, options: Options) -> Replacement:
    """The C for a version of one region that does several iterations of the loop around it."""
    return replace_by_ladder(
        region, version, source.text, options.fp != "reassociate", f"{_place(region.span)}: {version.name}",
        defined_macros(source.text), shipped(), options.threads > 1, _settings(region, options),
    )  # fmt: skip


def _settings(region: Region, options: Options) -> CompilerSettings:
    """What compilers are told of the functions for a region."""
    return replace(options.settings, characters=region.characters)


def _place(span: Span | None) -> str:
    return "the nest" if span is None else f"lines {span.line} to {span.end_line}"
