"""Composition of normal forms: initialisation, accumulation and epilogue as one form.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "for i in 0 .. n { s[] = 0.0 for k in 0 .. n { s[] += A[i, k] * x[k] } y[i] = beta * y[i] + s[] }"
>>> head = "kernel gemv(n; beta: f64; A: f64[n, n], x: f64[n], y: f64[n]) { alloc s: f64[] "
>>> form = normal_form(parse_kernel(head + text + " }"))
>>> print(*form.terms, sep="\\n")
beta * y at [n] -> { [i0, i0] : 0 <= i0 < n }
A * x at [n] -> { [i0, i0, i2, i2] : 0 <= i0 < n and 0 <= i2 < n }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from planish.ir.nest import Kernel
from planish.poly.canonical.canonicalise import tidy
from planish.poly.canonical.minmax_idioms import find_updates
from planish.poly.match.normal_form import NormalForm, follow, form_of, inline
from planish.poly.match.sum_of_products import NoFormError
from planish.poly.scop.extraction import Scop, Statement, extract_scop, require_affine
from planish.poly.scop.statement_order import Distribution, distribute


def normal_form(kernel: Kernel) -> NormalForm:
    """The form of a kernel that updates one array; raises NoFormError, and NotAffineError where it is not a static
    control part."""
    require_affine(kernel)
    scop = extract_scop(find_updates(tidy(kernel)))
    found = distribute(scop)
    locals = frozenset(x.name for x in scop.locals)
    order = arrange(scop, found, locals)
    if any(len(x) > 1 for x in order) or not order:
        raise NoFormError("its statements wait for each other")
    forms = [form_of(scop.statements[x[0]], scop.context) for x in order]
    return compose(forms, locals)


def arrange(scop: Scop, found: Distribution, locals: Set[str]) -> list[tuple[int, ...]]:
    """The groups of statements in an order that may be run, such that those that make one value stand together."""

    def continues(last: tuple[int, ...], group: tuple[int, ...]) -> bool:
        if len(last) > 1 or len(group) > 1:
            return False
        before, after = scop.statements[last[0]], scop.statements[group[0]]
        return after.write.array == before.write.array or before.write.array in locals & reads(after)

    return order_groups(found.components, found, continues)


def order_groups(
    groups: Sequence[tuple[int, ...]],
    found: Distribution,
    continues: Callable[[tuple[int, ...], tuple[int, ...]], bool],
) -> list[tuple[int, ...]]:
    """Groups in an order that may be run: one that continues the last where there is such, else the first in the
    text."""
    waiting = {x: {y for y in groups if y != x and found.comes_after(x, y)} for x in groups}
    out: list[tuple[int, ...]] = []
    while waiting:
        ready = sorted(x for x, before in waiting.items() if not before & waiting.keys())
        chosen = next((x for x in ready if out and continues(out[-1], x)), ready[0])
        out.append(chosen)
        del waiting[chosen]
    return out


def reads(statement: Statement) -> frozenset[str]:
    """The arrays that a statement loads, its own target only where it stands in its value."""
    return frozenset(x.array for x in statement.accesses if not x.write)


class Composition:
    """Forms that follow each other, growing; a target among the `locals` is put where it is read."""

    __slots__ = ("last", "locals", "pending", "stale", "used")

    def __init__(self, locals: Set[str]) -> None:
        self.locals = locals
        self.pending: dict[str, NormalForm] = {}
        self.stale: set[str] = set()
        self.used: set[str] = set()
        self.last = ""

    def add(self, form: NormalForm) -> None:
        """One more form at the end; raises NoFormError where no form can be made of it and those before."""
        for name in sorted(form.arrays & self.pending.keys() - {form.target}):
            if name not in self.locals:
                raise NoFormError(f"`{name}` is computed here and read")
            if name in self.stale:
                raise NoFormError(f"what `{name}` is made of changes before it is read")
            form = inline(self.pending[name], form)
            self.used.add(name)
        if form.target in self.pending:
            if form.target in self.stale:
                raise NoFormError(f"what `{form.target}` is made of changes between two updates")
            form = follow(self.pending[form.target], form)
        self.stale |= {name for name, x in self.pending.items() if name != form.target and form.target in x.arrays}
        self.pending[form.target], self.last = form, form.target

    def value(self, private: Set[str]) -> NormalForm:
        """The one form of all; raises NoFormError where several arrays are left, or one that went into it is not
        `private`."""
        left = sorted((self.pending.keys() - {self.last} - self.used) | (self.used - private))
        if left:
            raise NoFormError(f"`{left[0]}` and `{self.last}` are computed")
        return self.pending[self.last]


def compose(forms: Sequence[NormalForm], locals: Set[str]) -> NormalForm:
    """One form for several that run one after the other; all but one of their targets are `locals` that nothing else
    reads. Raises NoFormError."""
    chain = Composition(locals)
    for form in forms:
        chain.add(form)
    return chain.value(locals)
