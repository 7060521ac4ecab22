"""A compiled function as an operator of PyTorch: it returns new tensors, can be traced, and has a gradient if one is
given.

    blur = make_operator(compiled, compiled.interface, "mine::blur", frozenset({"out"}))
    blur(image, weights)

Arrays that the function writes are results. One of which it reads nothing that it has not written (`fresh`) is made, of
zeros; the others are arguments, of which copies are changed.
"""

from __future__ import annotations

import keyword
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import prod
from typing import Any

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.index.evaluate import evaluate
from planish.ir.types import Type
from planish.run.calls.arguments import Argument, CallInterface, without
from planish.run.calls.binding import Seen, Sizes, array_dtype, bind_named, span_of
from planish.run.devices.arrays import describe_tensor, see

ShapeOf = Callable[[Sizes], Sequence[int]]
"""The shape of a result by the values of the function's sizes."""


def make_operator(
    function: Callable[..., Any], interface: CallInterface, name: str, fresh: Set[str],
    shapes: Mapping[str, ShapeOf] | None = None, backward: Callable[..., Any] | None = None,
    setup_context: Callable[..., Any] | None = None,
) -> Any:  # fmt: skip
    """The operator NAMESPACE::NAME of a function that is called with tensors and numbers by name.

    Its parameters are those of the function without `fresh` results; integers that the shapes of tensors tell stand at
    the end, and may be left out. `shapes` are those of fresh results that the function does not tell. `backward` and
    `setup_context` are those of `torch.library.register_autograd`; without the second, all tensors that are given are
    saved, and gradients of what is no tensor may be left out. Raises PlanishError E0854 where PyTorch is not imported,
    ValueError for what is no operator.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None:
        raise PlanishError(Diagnostic("E0854", f"`{name}` is to be an operator of PyTorch, which is not imported"))
    operator = _describe(torch, function, interface, frozenset(fresh), dict(shapes or {}))
    if not operator.results and interface.signature.result is None:
        raise ValueError(f"{name}: `{interface.signature.function}` writes nothing and returns nothing")
    made = torch.library.custom_op(name, operator.run, mutates_args=(), schema=operator.schema())
    made.register_fake(operator.trace)
    if backward is not None:
        made.register_autograd(operator.padded(backward), setup_context=setup_context or operator.save)
    return made


def _describe(
    torch: Any, function: Callable[..., Any], interface: CallInterface, fresh: frozenset[str],
    shapes: Mapping[str, ShapeOf],
) -> _Operator:  # fmt: skip
    """The operator with what each of its calls needs."""
    asked = without(interface, fresh)
    results = tuple(x for x in interface.arguments if x.kind == "array" and x.written)
    own = [x for x in asked.arguments if not x.hidden]
    late = {x.name for x in own if x.name in asked.inferable or x.default is not None}
    parameters = (*(x for x in own if x.name not in late), *(x for x in own if x.name in late))
    shown = frozenset(x.name for x in interface.arguments if not x.hidden)
    return _Operator(torch, function, interface, shapes, asked, results, parameters, shown)


@dataclass(frozen=True, slots=True, eq=False)
class _Operator:
    """`asked` is the interface of the operator's own arguments, `parameters` are these in its order, `results` the
    arrays that it returns, `shown` names the function's parameters, `seen` the calls that were found good."""

    torch: Any
    function: Callable[..., Any]
    interface: CallInterface
    shapes: Mapping[str, ShapeOf]
    asked: CallInterface
    results: tuple[Argument, ...]
    parameters: tuple[Argument, ...]
    shown: frozenset[str]
    seen: Seen = field(default_factory=dict)

    def schema(self) -> str:
        """Its signature, as PyTorch reads it."""
        asked, parts = self.asked, []
        for x in self.parameters:
            kind = "Tensor" if x.kind == "array" else _scalar(x.type)
            if x.default is not None:
                parts.append(f"{kind} {_named(x.name)}={x.default}")
            elif x.name in asked.inferable:
                parts.append(f"{kind}? {_named(x.name)}=None")
            else:
                parts.append(f"{kind} {_named(x.name)}")
        count = len(self.results) + (self.interface.signature.result is not None)
        returned = "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"
        return f"({', '.join(parts)}) -> {returned}"

    def given(self, values: Sequence[Any]) -> dict[str, Any]:
        """Arguments by name, without those that are left out."""
        return {x.name: y for x, y in zip(self.parameters, values, strict=False) if y is not None}

    def run(self, *values: Any) -> Any:
        """The operator itself."""
        raw = self.given(values)
        views = {}
        for name, x in raw.items():
            seen = see(x)
            views[name] = x if seen is None else seen.view
        sizes = _whole(bind_named(self.asked, views, self.seen))
        device = next((x.device for x in raw.values() if isinstance(x, self.torch.Tensor)), "cpu")
        made = {x.name: self.start(x, raw.get(x.name), sizes, device) for x in self.results}
        told = {k: v for k, v in sizes.items() if k in self.shown}
        value = self.function(**{_named(k): v for k, v in {**told, **raw, **made}.items()})
        return self.returned(tuple(made.values()), value, device)

    def start(self, result: Argument, given: Any, sizes: Sizes, device: Any) -> Any:
        """What a result is before the call."""
        if given is not None:
            made = self.torch.empty_strided(given.shape, given.stride(), dtype=given.dtype, device=given.device)
            return made.copy_(given.detach())
        shape = tuple(self.shape(result, sizes))
        return self.torch.zeros(shape, dtype=self.dtype(result.type), device=device)

    def returned(self, tensors: tuple[Any, ...], value: Any, device: Any) -> Any:
        """Results as PyTorch takes them."""
        if self.interface.signature.result is not None:
            kind = self.dtype(self.interface.signature.result)
            tensors = (*tensors, self.torch.tensor(value, dtype=kind, device=device))
        return tensors[0] if len(tensors) == 1 else tensors

    def trace(self, *values: Any) -> Any:
        """Results without elements."""
        raw = self.given(values)
        described = {k: describe_tensor(v) if isinstance(v, self.torch.Tensor) else v for k, v in raw.items()}
        sizes = _whole(bind_named(self.asked, described))
        like = next((x for x in raw.values() if isinstance(x, self.torch.Tensor)), None)
        device = "cpu" if like is None else like.device
        made = []
        for x in self.results:
            if (given := raw.get(x.name)) is not None:
                made.append(self.torch.empty_strided(
                    given.shape, given.stride(), dtype=given.dtype, device=given.device
                ))  # fmt: skip
            else:
                shape = tuple(self.shape(x, sizes))
                made.append(self.torch.empty(shape, dtype=self.dtype(x.type), device=device))
        if self.interface.signature.result is not None:
            kind = self.dtype(self.interface.signature.result)
            made.append(self.torch.empty((), dtype=kind, device=device))
        return made[0] if len(made) == 1 else tuple(made)

    def shape(self, result: Argument, sizes: Sizes) -> Sequence[int]:
        """The shape of a fresh result; ValueError where nothing tells it."""
        if result.name in self.shapes:
            return [int(x) for x in self.shapes[result.name](sizes)]
        if None not in result.extents:
            return [evaluate(x, sizes) for x in result.extents if x is not None]
        if not result.bounded or not result.boxes:
            function = self.interface.signature.function
            advice = f'give it, as in shapes={{"{result.name}": lambda sizes: (sizes["n"],)}}'
            raise ValueError(f"{function}: nothing tells the shape of `{result.name}`; {advice}")
        if len(result.boxes) == 1:
            box = result.boxes[0]
            upper = [max(0, evaluate(x, sizes)) for x in box.upper]
            if prod(upper) == span_of(box, sizes)[1]:
                return upper
        return [max(span_of(x, sizes)[1] for x in result.boxes)]

    def dtype(self, type: Type) -> Any:
        """PyTorch's name of a type."""
        return getattr(self.torch, array_dtype(type).name)

    def save(self, ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        """Keeps all tensors that were given for the gradient."""
        ctx.save_for_backward(*(x for x in inputs if isinstance(x, self.torch.Tensor)))

    def padded(self, backward: Callable[..., Any]) -> Callable[..., Any]:
        """A gradient that may leave out those of what stands at the end."""
        count = len(self.parameters)

        def whole(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
            found = backward(ctx, *gradients)
            found = found if isinstance(found, tuple) else (found,)
            return (*found, *(None,) * (count - len(found)))

        return whole


def _whole(values: Mapping[str, Any]) -> dict[str, int]:
    """The integers among the arguments of a call."""
    return {k: v for k, v in values.items() if isinstance(v, int) and not isinstance(v, bool)}


def _named(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _scalar(type: Type) -> str:
    return "bool" if type.kind == "bool" else "SymInt" if type.is_int else "float"
