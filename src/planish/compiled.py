"""Compiled functions as Python sees them, and what is told of how they were made.

>>> import planish
>>> text = "void twice(int n, float *x) { for (int i = 0; i < n; i++) x[i] *= 2; }"
>>> planish.compile(text, measure=False).report.transformed
True
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

from planish.frontend.c.translation_unit import CFile, CFunction
from planish.report.account import FunctionAccount
from planish.run.calls.arguments import Argument, CallInterface
from planish.run.calls.torch_operator import ShapeOf, make_operator


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a function: what was done, how it was verified, and the times where they were measured.

    `compile` is the compiler with its flags, `floats` what floating point sums may do, `cached` whether an earlier
    build was taken. `unbounded` names arrays that are also used in ways which Planish cannot follow: a call cannot
    check that these are long enough.
    """

    account: FunctionAccount
    floats: str
    compile: str
    unbounded: tuple[str, ...]
    cached: bool

    @property
    def transformed(self) -> bool:
        """Whether a version by Planish runs; otherwise it is the function as it was written."""
        return self.account.replaced

    @property
    def ratio(self) -> float | None:
        """Time before over time after; None where nothing was measured."""
        return self.account.ratio

    def __str__(self) -> str:
        account, check = self.account, self.account.check
        lines = [f"{account.function}: {f'version {account.version}' if account.replaced else 'as it was written'}"]
        lines += [f"  done: {x}" for x in account.done]
        lines += [f"  kept: {x}" for x in account.reasons]
        if check is not None and account.replaced:
            worst = f"worst difference {check.worst_relative:.1e} of the largest element"
            lines.append(f"  verified: {check.cases} calls beside the original, {worst} (--fp {self.floats})")
        if account.before is not None and account.after is not None:
            times = f"{account.before.median:.3e} s before, {account.after.median:.3e} s after"
            lines.append(f"  measured: {times} ({account.timed})")
        elif account.timed:
            lines.append(f"  raced with the original: {account.timed}")
        lines.append(f"  compiled: {self.compile}{' (from the cache)' if self.cached else ''}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return str(_notebook().render_outcome(self.account, self.floats, self.compile, cached=self.cached))


class PythonCallee(Protocol):
    """What is called with arguments by place and by name."""

    interface: CallInterface

    def __call__(self, given: Sequence[object], named: Mapping[str, object]) -> Any:
        """The function's value."""


class CompiledFunction:
    """A function in machine code that takes NumPy arrays as they are; of a GPU, also arrays of CuPy, PyTorch and JAX.

    `source` is the C text that runs, `report` what was done and how it was verified, `stages` the text of each stage
    of the compilation (read, prepare, schedule, nest, c; of a GPU read, nest, cuda, c: nests are those of launches,
    empty where nothing is launched), `interface` the parameters.
    """

    def __init__(
        self, native: PythonCallee, report: Report, source: str, stages: Mapping[str, str],
        fresh: Set[str] = frozenset(), call: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self._native, self._fresh = native, fresh
        self._call = call if call is not None else lambda *given, **named: native(given, named)
        self.report, self.source, self.stages = report, source, stages
        self.interface = native.interface
        self.__name__ = self.__qualname__ = report.account.function
        self.__doc__ = f"{self.interface}\n\n{report}"
        self.__signature__ = inspect.Signature([_parameter(a) for a in self.interface.arguments if not a.hidden])

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Calls it with the parameters of C, by place or by name; sizes that the arrays' shapes tell may be left out.

        Raises TypeError and ValueError for arguments that do not fit; nothing was touched then.
        """
        return self._call(*arguments, **named)

    def as_torch_op(
        self, name: str, *, shapes: Mapping[str, ShapeOf] | None = None, backward: Callable[..., Any] | None = None,
        setup_context: Callable[..., Any] | None = None,
    ) -> Any:  # fmt: skip
        """An operator of PyTorch, "NAMESPACE::NAME", that returns what the function writes as new tensors; it can be
        traced, and has a gradient with `backward` (and `setup_context`, as `torch.library.register_autograd` takes
        them; without that, the tensors that are given are saved).

        Its parameters are those of the function, without results of which nothing is read; integers that shapes tell
        stand at the end, and may be left out. `shapes` gives the shape of such a result by the sizes, where the
        function does not tell. Raises PlanishError E0854 where PyTorch is not imported, ValueError for what is no
        operator.
        """
        return make_operator(self, self.interface, name, self._fresh, shapes, backward, setup_context)

    def __repr__(self) -> str:
        return f"<planish {self.interface}>"

    def _repr_html_(self) -> str:
        report, notebook = self.report, _notebook()
        return str(notebook.render_outcome(
            report.account, report.floats, report.compile, cached=report.cached, signature=str(self.interface),
            trees=notebook.trees_of(self.stages, report.account), source=self.source,
        ))  # fmt: skip


def _notebook() -> ModuleType:
    """What makes HTML; it loads when it is first asked for, since its templates' library takes a while."""
    return import_module("planish.report.page.notebook")


def _parameter(argument: Argument) -> inspect.Parameter:
    name = f"{argument.name}_" if keyword.iskeyword(argument.name) else argument.name
    return inspect.Parameter(
        name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=str(argument).partition(": ")[2]
    )


@dataclass(frozen=True, slots=True, eq=False)
class PendingFunction:
    """A function on its way: its file, and how it is called."""

    file: CFile
    function: CFunction
    interface: CallInterface
