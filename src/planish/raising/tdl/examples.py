"""The examples of a tactic in C: read as any file is, and given to the matcher.

>>> from planish.raising.tdl.reader import load_tactics
>>> gemv = next(x for x in load_tactics() if x.name == "gemv")
>>> [x.name for x in read_example(gemv, gemv.examples[0])]
['gemv']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.nest import Kernel
from planish.raising.raised import Apply, Loops, Raised
from planish.raising.tdl.constants import specialise
from planish.raising.tdl.syntax import Verbatim
from planish.raising.tdl.tactic import Matcher, Tactic
from planish.raising.tdl.trial import compare_builder


@dataclass(frozen=True, slots=True)
class ExampleVerdict:
    """What came of an example: `applies` is whether the tactic was found in it, `reasons` why it was not."""

    example: Verbatim
    applies: bool
    reasons: tuple[str, ...] = ()


def read_example(tactic: Tactic, example: Verbatim) -> tuple[Kernel, ...]:
    """The kernels in an example; places in them are those of the tactic's file.

    PlanishError E02xx for C that cannot be read, E0821 where it holds no nest that is a kernel.
    """
    assert example.span is not None
    source = Source(tactic.source.name, "\n" * (example.span.line - 1) + example.text)
    read = read_c(source)
    kernels = tuple(region.kernel for function in read.functions for region in function.regions)
    if not kernels:
        why = next((x.message for x in read.remarks if x.kind == "refused"), "there is no loop in it")
        message = f"no nest of this example is a kernel: {why}"
        raise PlanishError(Diagnostic("E0821", message, example.span), tactic.source)
    return kernels


def try_example(tactic: Tactic, example: Verbatim, match: Matcher) -> ExampleVerdict:
    """Whether a matcher that looks for one tactic finds it in an example."""
    reasons: dict[str, None] = {}
    for kernel in read_example(tactic, example):
        for operation in specialise(tactic.operation, kernel):
            raised = match(kernel, (operation,))
            if any(isinstance(x, Apply) and x.operation.name == tactic.name for x in raised.steps):
                return ExampleVerdict(example, True)
            reasons |= dict.fromkeys(_reasons(raised))
    return ExampleVerdict(example, False, tuple(reasons))


def _reasons(raised: Raised) -> Sequence[str]:
    return [text for x in raised.steps if isinstance(x, Loops) for text in x.reasons.values()]


def check_tactic(tactic: Tactic, match: Matcher) -> list[Diagnostic]:
    """What is wrong with a tactic.

    E0826: a builder that does not compute what the pattern does; E0827: an example that the tactic does not apply to;
    E0828: a counterexample that it applies to.
    """
    problems: list[Diagnostic] = []
    at = tactic.definition.span
    for builder in tactic.builders:
        difference = compare_builder(tactic, builder)
        if difference is not None:
            message = f"a builder of `{tactic.name}` does not do what the pattern says: {difference}"
            problems.append(Diagnostic("E0826", message, at))
    for example in (*tactic.examples, *tactic.counterexamples):
        wanted = example in tactic.examples
        verdict = try_example(tactic, example, match)
        if verdict.applies == wanted:
            continue
        if wanted:
            reason = f": {verdict.reasons[0]}" if verdict.reasons else ""
            message = f"`{tactic.name}` does not apply to its example{reason}"
            problems.append(Diagnostic("E0827", message, example.span))
        else:
            problems.append(Diagnostic("E0828", f"`{tactic.name}` applies to its counterexample", example.span))
    return problems
