"""Any stage of a compilation as text that parses back: the kernel as read and prepared, its schedules, nests, the C.

>>> from planish.core.span import Source
>>> from planish.options import Options
>>> source = Source("zero.c", "void zero(int n, float *a) { for (int i = 0; i < n; i++) a[i] = 0; }")
>>> text = print_stage(source, Options(target="generic"), "read")
>>> print(text, end="")
#: read zero 1
kernel zero(n; a: f32[?])
{
  for i in 0 .. n {
    a[i] = 0.0:f32
  }
}
>>> [(record.region, record.value.sizes) for record in parse_stage(text)]
[('zero 1', ('n',))]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never, get_args

import islpy as isl

from planish.build.emit import make_drop_ins
from planish.build.lower import RegionPlan, lower_region
from planish.build.read import read_file
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.former_names import current_version
from planish.core.span import Source
from planish.emit.dropin.replacement import Replacement, compose
from planish.frontend.c.translation_unit import CFile
from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.options import Options
from planish.poly.isl.schedule_text import parse_schedule, print_schedule
from planish.target.load import load_target

Stage = Literal["read", "prepare", "schedule", "nest", "c"]
STAGES: tuple[Stage, ...] = get_args(Stage)
"""The stages, in the order in which a nest goes through them.

- read: the kernel as the front-end understood it;
- prepare: with rows and columns, and variables that are private to an iteration;
- schedule: the order of each version, a tree in isl's notation;
- nest: the kernel that runs each version;
- c: the drop-in with the most promising version of each nest, before it is checked and timed.
"""

_NAME = r"[\w-]+(?:,? [\w-]+)*"
"""Of a version: parts behind commas; former names have spaces in them."""
_HEAD = re.compile(rf"^#: (?P<stage>read|prepare|schedule|nest) (?P<region>\w+ \d+)(?: (?P<version>{_NAME}))?$")
_HEADS = re.compile(r"^#: .*$", re.MULTILINE)
_C_HEAD = "/*: c: neither checked nor timed */\n"


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One value of a stage: of which region ("gemm 1"), in which version ("": there is only one), and the value."""

    stage: Stage
    region: str
    version: str
    value: Kernel | isl.Schedule | str


def print_stage(source: Source, options: Options, stage: Stage) -> str:
    """The stage of every nest in a C file as one text; raises PlanishError for input that cannot be read."""
    return print_stages(source, options, (stage,))[stage]


def print_stages(source: Source, options: Options, stages: Sequence[Stage] = STAGES) -> dict[Stage, str]:
    """Several stages of a C file, which is read and planned once."""
    target = load_target(options.target)
    file = read_file(source, options)
    regions = [r for f in file.functions if options.takes(f.name) for r in f.regions]
    if set(stages) == {"read"}:
        plans = tuple(RegionPlan(r, None, (), ()) for r in regions)
    else:
        plans = tuple(lower_region(r, options, target) for r in regions)
    return {stage: stage_text(stage, plans, file, options) for stage in stages}


def only_changed(texts: Mapping[Stage, str]) -> Iterator[str]:
    """The texts of stages, in their order, under headings; of one that only repeats the stage before, that it does."""
    before = ""
    for stage, text in texts.items():
        body = _HEADS.sub("", text)
        yield f"; after {stage}{': unchanged' if body == before else ''}\n" + ("" if body == before else text)
        before = body


def stage_text(stage: Stage, plans: tuple[RegionPlan, ...], file: CFile, options: Options) -> str:
    """The stage of nests that are planned already."""
    if stage == "c":
        return _C_HEAD + _first_text(plans, file, options)
    return "\n".join(_record_text(stage, plan) for plan in plans)


def _first_text(plans: tuple[RegionPlan, ...], file: CFile, options: Options) -> str:
    replacements: list[Replacement] = []
    for plan in plans:
        versions, _ = make_drop_ins((plan,), file, options)
        replacements += versions[0].shipped if versions else ()
    return compose(file.source, replacements, "")


def _record_text(stage: Literal["read", "prepare", "schedule", "nest"], plan: RegionPlan) -> str:
    name = f"{plan.region.function} {plan.region.ordinal}"
    match stage:
        case "read":
            return f"#: read {name}\n{print_kernel(plan.region.kernel)}"
        case "prepare" if plan.prepared is not None:
            return f"#: prepare {name}\n{print_kernel(plan.prepared.kernel)}"
        case "schedule" if plan.candidates:
            return "\n".join(f"#: schedule {name} {c.name}\n{print_schedule(c.schedule)}" for c in plan.candidates)
        case "nest" if plan.candidates:
            return "\n".join(f"#: nest {name} {c.name}\n{print_kernel(c.kernel)}" for c in plan.candidates)
        case "prepare" | "schedule" | "nest":
            return f"# {name}: {_reason(plan)}\n"
        case _:
            assert_never(stage)


def _reason(plan: RegionPlan) -> str:
    return "; ".join(r.message for r in plan.remarks) or "no version was found"


def parse_stage(text: str, name: str = "<text>") -> tuple[Record, ...]:
    """The values that a stage's text stands for.

    PlanishError E0401 for a text without a head `#: STAGE FUNCTION NUMBER`, and whatever the parser of the value says.
    """
    if text.startswith(_C_HEAD):
        return (Record("c", "", "", text[len(_C_HEAD) :]),)
    return tuple(_records(Source(name, text)))


def _records(source: Source) -> Iterator[Record]:
    lines = source.text.split("\n")
    heads = [n for n, line in enumerate(lines) if line.startswith("#: ")]
    before = next((n for n, line in enumerate(lines[: heads[0] if heads else None]) if line and line[0] != "#"), None)
    if before is not None:
        message = "a stage begins with a line `#: STAGE FUNCTION NUMBER`"
        raise PlanishError(Diagnostic("E0401", message, source.point(before + 1)), source)
    for start, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        head = _HEAD.match(lines[start])
        if head is None:
            message = "not the head of a stage's value: expected `#: STAGE FUNCTION NUMBER`"
            raise PlanishError(Diagnostic("E0401", message, source.point(start + 1, 1, len(lines[start]))), source)
        # Blank lines in front keep the line numbers in messages those of the whole text.
        body = "\n" * (start + 1) + "\n".join(lines[start + 1 : end])
        version = current_version(head["version"] or "")
        match head["stage"]:
            case "schedule":
                yield Record("schedule", head["region"], version, parse_schedule(body, source.name))
            case "read" | "prepare" | "nest" as stage:
                yield Record(stage, head["region"], version, parse_kernel(body, source.name))


__all__ = ["STAGES", "Record", "Stage", "parse_stage", "print_stage", "only_changed", "print_stages", "stage_text"]
