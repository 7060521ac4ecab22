"""A schedule by hand, step by step: what a script makes of a nest, and which steps are legal next at a loop.

>>> from planish.options import Options
>>> loops = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i * m + j] = 0;"
>>> source = Source("f.c", f"void f(int n, int m, float *x) {{ {loops} }}")
>>> found = explore_steps(source, Options(), 'split("i", 8, ("io", "ii"), tail="short")', "f", "io")
>>> found["tree"][0]["text"], found["tree"][0]["pattern"]
('for io in 0 .. (n + 7) // 8', 'io')
>>> [(x["step"], x["legal"]) for x in found["next"]][:2]
[('split("io", 8, ("io_o", "io_i"), tail="short")', True), ('split("io", 32, ("io_o", "io_i"), tail="short")', True)]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planish.build.read import read_file
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.names import take_name
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFunction
from planish.ir.nest import For
from planish.ir.traverse import used_names
from planish.options import Options
from planish.poly.isl.affine import NotAffineError
from planish.poly.isl.op_budget import OverBudgetError, within
from planish.report.page.loop_tree import TreeEntry, draw_tree
from planish.schedule.auto.plan import prepare
from planish.schedule.nodes import nodes
from planish.schedule.pattern import pattern_of
from planish.schedule.program import Program, Step
from planish.schedule.script import print_step, read_script
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.facts import Parallelise, Vectorise
from planish.schedule.steps.loops import Fuse, Reverse, Split, Unroll

FACTORS = (8, 32)


def explore_steps(source: Source, options: Options, script: str, function: str, loop: str) -> dict[str, Any]:
    """The steps of a script with whether each is legal, up to the first that is not; the loops after them, each with
    the pattern that names it; and the steps that may be taken next at one loop ("": none are asked for).

    Raises PlanishError for what cannot be read, E0623 where there are several nests, E0612 where one is not affine."""
    file = read_file(source, options)
    chosen = _choose(file.functions, function, source)
    if len(chosen.regions) != 1:
        message = f"`{chosen.name}` has {len(chosen.regions)} nests, and one is scheduled at a time"
        raise PlanishError(Diagnostic("E0623", message, chosen.span, "make it a function of its own"), source)
    try:
        program = Program.of(prepare(chosen.regions[0].kernel).kernel, options.fp)
    except NotAffineError as error:
        message = f"the nest of `{chosen.name}` cannot be scheduled: {error.reason}"
        raise PlanishError(Diagnostic("E0612", message, chosen.regions[0].span), source) from error
    steps: list[dict[str, Any]] = []
    for line in read_script(Source("script.sched", script)):
        after, why = _try(program, line.step)
        steps.append({"step": print_step(line.step), "line": line.span.line, "legal": not why, "why": why})
        if after is None:
            break
        program = after
    patterns = [pattern_of(program.kernel.body, x) for x in nodes(program.kernel.body) if isinstance(x, For)]
    tree = _with_patterns(draw_tree(program.kernel), iter(patterns))
    following = _next(program, loop) if loop else []
    return {"function": chosen.name, "steps": steps, "tree": tree, "next": following}


def _choose(functions: tuple[CFunction, ...], name: str, source: Source) -> CFunction:
    """The function of that name, or the first one with a nest."""
    found = next((f for f in functions if (f.name == name if name else f.regions)), None)
    if found is None:
        message = f"no function `{name}` in {source.name}" if name else "no loop nest is recognised"
        raise PlanishError(Diagnostic("E0104" if name else "E0105", message), source)
    return found


def _try(program: Program, step: Step) -> tuple[Program | None, str]:
    """The program after a step, or why it is refused."""
    try:
        return within(lambda: program.apply(step)), ""
    except PlanishError as error:
        return None, error.diagnostic.message
    except NotAffineError as error:
        return None, error.reason
    except OverBudgetError:
        return None, "whether it is legal is not found within the bound on its analysis"


def _with_patterns(entries: tuple[TreeEntry, ...], patterns: Iterator[str]) -> list[dict[str, Any]]:
    """The tree as JSON: the loops in it stand in the order of the text."""
    out = []
    for x in entries:
        pattern = next(patterns, "") if x.kind == "loop" else ""
        inner = _with_patterns(x.inner, patterns)
        out.append({"text": x.text, "kind": x.kind, "marks": x.marks, "pattern": pattern, "inner": inner})
    return out


def _next(program: Program, pattern: str) -> list[dict[str, Any]]:
    """Steps that are usual at a loop, and whether each is legal."""
    loop = program.loop(pattern)
    out = []
    for step in _usual(program, loop, pattern):
        _, why = _try(program, step)
        out.append({"step": print_step(step), "legal": not why, "why": why})
    return out


def _usual(program: Program, loop: For, pattern: str) -> Iterator[Step]:
    taken = set(used_names(program.kernel))
    names = take_name(f"{loop.var}_o", taken), take_name(f"{loop.var}_i", taken)
    for factor in FACTORS:
        yield Split(pattern, factor, names, tail="short")
    match loop.body.body:
        case (For(var=inner),):
            yield Reorder(pattern, (inner, loop.var))
        case _:
            pass
    yield Parallelise(pattern)
    yield Vectorise(pattern)
    yield Unroll(pattern, 4)
    yield Reverse(pattern)
    yield Fuse(pattern)
