"""A product of operands in index notation: what an application of an operation computes, whatever its name.

An element of the output is `beta` times itself plus `alpha` times the sum over the letters that it does not have.

>>> from planish.ir.expr import index
>>> from planish.raising.raised import View
>>> n = index("n")
>>> square = lambda x: View(x, (index(0),) * 2, ((1, 0), (0, 1)), (n, n))
>>> A, B, C = (ProductOperand(square(x), y) for x, y in zip("ABC", ("ik", "kj", "ij")))
>>> Product(C, (A, B), {"i": n, "j": n, "k": n}, "k").einsum
'ik,kj->ij'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import ascii_letters

from planish.ir.expr import Const, Expr, index
from planish.ir.index.polynomial import add, mul, same
from planish.raising.raised import View


@dataclass(frozen=True, slots=True)
class ProductOperand:
    """An operand: a view, and a letter for each of its dimensions, no two alike."""

    view: View
    letters: str

    @property
    def nearest(self) -> str:
        """The letters that step along the array's last dimension, where neighbours in memory are."""
        return "".join(x for x, step in zip(self.letters, self.view.steps, strict=True) if step and step[-1])

    def at(self, places: Mapping[str, str]) -> ProductOperand:
        """The operand in one iteration of the loops around: what they go over is at the place of that name."""
        view, start = self.view, self.view.start
        for letter, step in zip(self.letters, view.steps, strict=True):
            start = stepped(start, step, index(places[letter])) if letter in places else start
        left = [n for n, x in enumerate(self.letters) if x not in places]
        steps, shape = tuple(view.steps[n] for n in left), tuple(view.shape[n] for n in left)
        return ProductOperand(View(view.array, start, steps, shape), "".join(self.letters[n] for n in left))

    def part(self, letter: str, begin: Expr, count: Expr) -> ProductOperand:
        """The elements of the operand with some values of a letter."""
        place, view = self.letters.index(letter), self.view
        shape = tuple(count if n == place else x for n, x in enumerate(view.shape))
        return ProductOperand(
            View(view.array, stepped(view.start, view.steps[place], begin), view.steps, shape), self.letters
        )

    def ordered(self, letters: str) -> ProductOperand:
        """The same operand with its dimensions in another order."""
        places = [self.letters.index(x) for x in letters]
        steps = tuple(self.view.steps[x] for x in places)
        return ProductOperand(
            View(self.view.array, self.view.start, steps, tuple(self.view.shape[x] for x in places)), letters
        )

    def renamed(self, names: Mapping[str, str]) -> ProductOperand:
        """The same operand with other letters."""
        return ProductOperand(self.view, "".join(names.get(x, x) for x in self.letters))


@dataclass(frozen=True, slots=True)
class Product:
    """`output = beta * output + alpha * sum over sums of the product of factors`.

    `alpha` is None for one, `beta` None where the output is not read. `sums` are the letters that are summed over, the
    slowest first. `exact`: each element is rounded as `(alpha * first) * second ..`, added in the order of `sums`.
    """

    output: ProductOperand
    factors: tuple[ProductOperand, ...]
    extents: Mapping[str, Expr]
    sums: str
    alpha: Expr | None = None
    beta: Expr | None = None
    exact: bool = True

    @property
    def einsum(self) -> str:
        """The product in the notation of that name."""
        return f"{','.join(x.letters for x in self.factors)}->{self.output.letters}"

    @property
    def letters(self) -> str:
        """All letters: those of the output, then those summed over."""
        return self.output.letters + self.sums

    @property
    def overwrites(self) -> bool:
        """Whether what the output held before does not matter."""
        return self.beta is None

    @property
    def accumulates(self) -> bool:
        """Whether it adds to what the output holds."""
        return is_number(self.beta, 1)

    def renamed(self, names: Mapping[str, str]) -> Product:
        """The same product with other letters."""
        return replace(
            self,
            output=self.output.renamed(names),
            factors=tuple(x.renamed(names) for x in self.factors),
            extents={names.get(x, x): y for x, y in self.extents.items()},
            sums="".join(names.get(x, x) for x in self.sums),
        )

    def with_letters(self, free: str) -> Product:
        """The same product with letters that are none of `free`."""
        spare = (x for x in ascii_letters if x not in free)
        return self.renamed({x: next(spare) for x in self.letters})


def is_number(expr: Expr | None, value: int) -> bool:
    """Whether an expression is that literal."""
    return isinstance(expr, Const) and expr.value == value


def view_letters(output: ProductOperand, reader: ProductOperand) -> dict[str, str] | None:
    """For each letter of an output the reader's letter that steps alike, where both have exactly the same elements."""
    first, second = output.view, reader.view
    if first.array != second.array or len(output.letters) != len(reader.letters):
        return None
    if not all(same(x, y) for x, y in zip(first.start, second.start, strict=True)):
        return None
    names: dict[str, str] = {}
    left = list(range(len(reader.letters)))
    for letter, step, extent in zip(output.letters, first.steps, first.shape, strict=True):
        found = next((x for x in left if second.steps[x] == step and same(second.shape[x], extent)), None)
        if found is None:
            return None
        left.remove(found)
        names[letter] = reader.letters[found]
    return names


def same_view(a: View, b: View) -> bool:
    """Whether two views have the same elements in the same places."""
    return (
        a.array == b.array
        and a.steps == b.steps
        and all(same(x, y) for x, y in zip((*a.start, *a.shape), (*b.start, *b.shape), strict=True))
    )


def volume(extents: Mapping[str, Expr], letters: str) -> Expr:
    """The number of points that letters run through."""
    out = index(1)
    for x in letters:
        out = mul(out, extents[x])
    return out


def stepped(start: tuple[Expr, ...], steps: tuple[int, ...], times: Expr) -> tuple[Expr, ...]:
    """The place some steps on."""
    return tuple(add(x, mul(index(y), times)) if y else x for x, y in zip(start, steps, strict=True))
