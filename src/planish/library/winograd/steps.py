"""A convolution becomes transforms of tiles and windows, and products of matrices: one for each element of a tile.

Before: O[b, y, x, f] = sum over c, r, s of X[b, y + r, x + s, c] * W[r, s, c, f]
After:  U[e, c, f] = G W[:, :, c, f] G';  for b, rows of tiles {
          V[e, t, c] = B X[tile t, c] B';  M[e, t, f] = sum over c of V[e, t, c] * U[e, c, f];  O[tile t, f] = A M A' }

The last row and the last column of tiles are moved back where results would be beyond the end: some are set twice.

>>> from planish.ir.expr import index
>>> from planish.raising.algebra.cost import Model
>>> from planish.raising.algebra.facts import study
>>> from planish.raising.algebra.writing import whole_term
>>> from planish.ir.nest import Kernel
>>> from planish.ir.types import F32
>>> from planish.raising.raised import Raised
>>> from planish.target.load import load_target
>>> at = {x: index(y) for x, y in zip("yxfcrs", (56, 56, 64, 64, 3, 3))}
>>> O, W = (Array(x, F32, tuple(at[y] for y in z)) for x, z in (("O", "yxf"), ("W", "rscf")))
>>> X = Array("X", F32, (index(58), index(58), index(64)))
>>> steps = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0))
>>> image = Term(View("X", (index(0),) * 3, steps, tuple(at[x] for x in "yxcrs")), "yxcrs")
>>> product = Product(whole_term(O, "yxf"), (image, whole_term(W, "rscf")), at, "rsc")
>>> raised = Raised(Kernel("k", arrays=(X, W, O)), (write_product(product),))
>>> change = use_tiles(study(raised), Setting(Model(load_target("x86-avx512"), ()), "reassociate"))
>>> [type(x).__name__ for x in change.raised.steps], change.remarks[0].message[:50]
(['Loops', 'Repeat'], '`convolution` is computed by tiles of 2x2 results:')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from planish.core.diagnostic import PlanishError
from planish.core.names import take_name
from planish.ir.evaluate import evaluate
from planish.ir.expr import Compare, Expr, index
from planish.ir.nest import Array, Block, Let
from planish.ir.polynomial import add, extremum, floordiv, mul, sub
from planish.ir.types import F32, F64, Type
from planish.library.winograd.matrices import F23, Minimal
from planish.library.winograd.transforms import Around, Side, planes, write_transform
from planish.raising.algebra.dead import describe
from planish.raising.algebra.direct import Direct, find_parts
from planish.raising.algebra.facts import Facts
from planish.raising.algebra.fold import fold
from planish.raising.algebra.kinds import kind_of
from planish.raising.algebra.product import Product, Term, stepped
from planish.raising.algebra.setting import Change, Setting, done, replaced, with_locals
from planish.raising.algebra.writing import Origin, whole_term, write_product
from planish.raising.raised import Apply, Loops, Repeat, Reshape, Step, View, repeated

REMARK = "tiles"
"""What the remark is called that says that it was done, behind `algebra-`."""
_TILES = 64
"""So many tiles are enough rows for a product."""
_ROWS = 4
"""The rows of tiles that are done together where no sizes are known."""
_PAGE, _APART = 4096, 256
"""Elements of a tile that lie nearly a multiple of a page apart take each other's place in the first cache."""
_LETTERS = "eac"
"""Elements of a tile, tiles, and channels."""


def use_tiles(facts: Facts, setting: Setting, minimal: Minimal = F23) -> Change:
    """Do the first convolution that allows it so."""
    for place, product in enumerate(facts.products):
        if product is None or kind_of(product) != "convolution" or not setting.may_reorder(facts.type_of(product)):
            continue
        found, step = find_tiles(facts, product, minimal), facts.raised.steps[place]
        if found is None or not isinstance(step, Apply):
            continue
        made = _Rewrite(facts, product, found, step, minimal, setting.model.points, setting.taken(facts.raised))
        try:
            steps = made.steps()
        except PlanishError:
            # Nothing says that lanes do not meet.
            continue
        side, size = minimal.outputs, minimal.size
        message = (
            f"{describe(step)} is computed by tiles of {side}x{side} results: {size * size} products of matrices, with"
            f" {minimal.saving:g} times fewer multiplications (Winograd); the image's elements are subtracted first"
        )
        raised = replaced(with_locals(facts.raised, made.arrays, made.reshapes), place, steps)
        return done(raised, REMARK, message, step.span)
    return Change(None)


def find_tiles(facts: Facts, product: Product, minimal: Minimal) -> Direct | None:
    """The parts of a convolution that may be done so: by windows of the right size that see neighbours, and move by
    one; of channels and features that are neighbours in memory; whose results are set, not added."""
    found = find_parts(product)
    if isinstance(found, str) or facts.type_of(product) not in (F32, F64) or not product.overwrites:
        return None
    if found.extents != (minimal.taps,) * 2 or found.steps != (1, 1) or found.apart != (1, 1):
        return None
    terms = (found.image, found.channels), (found.kernel, found.features), (product.output, found.features)
    return found if all(term.nearest == letter for term, letter in terms) else None


@dataclass(slots=True)
class _Rewrite:
    """A convolution on its way: names that are taken, and the arrays that it needs."""

    facts: Facts
    product: Product
    parts: Direct
    step: Apply
    minimal: Minimal
    points: Sequence[Mapping[str, int]]
    taken: set[str]
    arrays: list[Array] = field(default_factory=list)
    reshapes: list[Reshape] = field(default_factory=list)

    @property
    def type(self) -> Type:
        """The type of all elements."""
        return self.facts.type_of(self.product)

    @property
    def channels(self) -> Expr:
        """How many channels there are."""
        return self.product.extents[self.parts.channels]

    @property
    def features(self) -> Expr:
        """How many features there are."""
        return self.product.extents[self.parts.features]

    def steps(self) -> tuple[Step, ...]:
        """The windows, then the tiles, some rows of them at a time; all of it in the loops of the batch."""
        at = {x: take_name(f"at_{x}", self.taken) for x in self.parts.batch}
        # Where every group of features has windows of its own, these are in the loop as well.
        apart = {x: y for x, y in at.items() if x in self.parts.kernel.letters}
        shared = {x: y for x, y in at.items() if x not in apart}
        planes_of = self.minimal.size**2
        # One more row, so that planes are not a multiple of a page apart.
        windows = self.local("windows", (index(planes_of), add(self.channels, index(1)), self.features))
        first = self.windows(windows, apart)
        inner = repeated({y: self.product.extents[x] for x, y in shared.items()}, (self.tiles(windows, at),))
        return repeated({y: self.product.extents[x] for x, y in apart.items()}, (first, *inner))

    def local(self, name: str, shape: tuple[Expr, ...]) -> Array:
        """One more array."""
        self.arrays.append(Array(take_name(name, self.taken), self.type, shape, True))
        return self.arrays[-1]

    def windows(self, windows: Array, at: Mapping[str, str]) -> Loops:
        """The loops that transform the windows of all channels and features."""
        parts = self.parts
        channel, feature = take_name("p", self.taken), take_name("f", self.taken)
        places = {parts.channels: index(channel), parts.features: index(feature)}
        source = self.side(parts.kernel, parts.window, self.minimal.taps, {}, places | _indices(at))
        target = planes(windows, self.minimal.size, tuple(places.values()))
        loops = {channel: self.channels, feature: self.features}
        return self.transformed(self.minimal.window, source, target, loops, (), tuple(at.values()))

    def tiles(self, windows: Array, at: Mapping[str, str]) -> Repeat:
        """The loop over rows of tiles: their transforms, the products, and the results."""
        parts, minimal = self.parts, self.minimal
        outputs, rows = minimal.outputs, self.count_rows()
        extents = [self.product.extents[x] for x in parts.places]
        down, along = (floordiv(add(x, index(outputs - 1)), index(outputs)) for x in extents)
        first, row, column = (take_name(x, self.taken) for x in ("first", "row", "tile"))
        here = extremum("min", index(rows), sub(down, index(first)))
        # The last tiles are moved back, so that they end where the results do.
        numbers = add(index(first), index(row)), index(column)
        names = [take_name(x, self.taken) for x in "yx"]
        lets = tuple(
            Let(name, extremum("min", mul(index(outputs), number), sub(extent, index(outputs))))
            for name, number, extent in zip(names, numbers, extents, strict=True)
        )
        corner = {x: index(y) for x, y in zip(parts.places, names, strict=True)}
        planes_of, steps = minimal.size**2, []
        seen, made = (
            self.local(name, (index(planes_of), index(rows), along, count))
            for name, count in (("tiles", self.channels), ("products", self.features))
        )
        loops, sizes = {row: here, column: along}, (*at.values(), first)
        for name, letter, matrix, array in (
            ("p", parts.channels, minimal.image, seen), ("f", parts.features, minimal.results, made)
        ):  # fmt: skip
            lane = take_name(name, self.taken)
            plane = planes(array, minimal.size, (index(row), index(column), index(lane)))
            term, elements, extent = (
                (parts.image, parts.window, minimal.size) if array is seen else (self.product.output, "", outputs)
            )
            other = self.side(term, elements or parts.places, extent, corner, {letter: index(lane)} | _indices(at))
            source, target = (other, plane) if array is seen else (plane, other)
            all_loops = {**loops, lane: self.product.extents[letter]}
            steps.append(self.transformed(matrix, source, target, all_loops, lets, sizes))
        products = self.multiplied(windows, seen, made, here, along)
        return Repeat(first, index(0), down, rows, (steps[0], products, steps[1]))

    def multiplied(self, windows: Array, seen: Array, made: Array, here: Expr, along: Expr) -> Repeat:
        """The products for the tiles of some rows, one for each of their elements: what it adds to stays in the first
        cache."""
        count, element = index(self.minimal.size**2), take_name("element", self.taken)
        extents = {"e": count, "a": here, "t": along, "c": self.channels, "f": self.features}
        terms = [
            self.folded(_part(whole_term(x, letters), extents), groups)
            for x, letters, groups in (
                (made, "eatf", ("e", "at", "f")), (seen, "eatc", ("e", "at", "c")), (windows, "ecf", ("e", "c", "f")),
            )
        ]  # fmt: skip
        output, *factors = (x.at({"e": element}) for x in terms)
        sizes = {"a": mul(here, along), "c": self.channels, "f": self.features}
        # A tile has to fit somewhere, and arrays have extents.
        least = [(self.product.extents[x], self.minimal.outputs) for x in self.parts.places]
        least += [(self.channels, 0), (self.features, 0)]
        asked = (x for x in (Compare("ge", y, index(z)) for y, z in least) if not self.facts.proves(x))
        origin = Origin((*self.step.conditions, *asked), self.step.statements, self.step.span)
        product = write_product(Product(output, tuple(factors), sizes, "c", None, None, False), origin)
        return Repeat(element, index(0), count, 1, (product,))

    def folded(self, term: Term, groups: Sequence[str]) -> Term:
        """An operand with one dimension for each group of letters."""
        name = term.view.array
        array = next(x for x in self.arrays if x.name == name)
        found = fold(term, groups, array, take_name(f"{name}_flat", self.taken))
        assert found is not None
        if found.array is not None:
            self.reshapes.append(Reshape(found.array, name))
        return found.term

    def side(
        self, term: Term, elements: str, extent: int, corner: Mapping[str, Expr], places: Mapping[str, Expr]
    ) -> Side:
        """The elements of tiles of an operand, from some corner on, along two of its letters."""

        def place(i: int, j: int) -> tuple[Expr, ...]:
            out = term.view.start
            for letter, times in (*corner.items(), *places.items(), *zip(elements, map(index, (i, j)), strict=True)):
                if letter in term.letters:
                    out = stepped(out, term.view.steps[term.letters.index(letter)], times)
            return out

        return Side(term.view.array, extent, place)

    def transformed(
        self, matrix: tuple[tuple[float, ...], ...], source: Side, target: Side, loops: Mapping[str, Expr],
        names: tuple[Let, ...], sizes: tuple[str, ...],
    ) -> Loops:  # fmt: skip
        """The loops of a transform; `sizes`: what is seen of the loops around."""
        own = {source.array, target.array}
        arrays = tuple(x for x in (*self.facts.arrays.values(), *self.arrays) if x.name in own)
        whole = self.facts.raised.kernel
        kernel = replace(whole, sizes=(*whole.sizes, *sizes), scalars=(), arrays=arrays, body=Block(()))
        prefix = take_name("v", self.taken)
        body = write_transform(matrix, source, target, self.type, f"{prefix}_", Around(loops, names, kernel))
        return Loops(body, dict.fromkeys(self.step.statements, "it is a transform"))

    def count_rows(self) -> int:
        """As many rows of tiles as make enough of them, where it is known how long they are."""
        extents = self.product.extents
        if len(self.points) != 1:
            return _ROWS
        (point,) = self.points
        sizes = [evaluate(extents[x], point) for x in self.parts.places]
        down, along = (max(1, -(-x // self.minimal.outputs)) for x in sizes)
        bytes_of = along * evaluate(self.channels, point) * self.type.size
        rows = max(1, min(down, -(-_TILES // along)))
        far = (x for x in range(rows, rows + _ROWS) if _APART <= x * bytes_of % _PAGE <= _PAGE - _APART)
        return next(far, rows)


def _indices(at: Mapping[str, str]) -> dict[str, Expr]:
    return {x: index(y) for x, y in at.items()}


def _part(term: Term, extents: Mapping[str, Expr]) -> Term:
    """The first elements of an operand."""
    view = term.view
    return Term(View(view.array, view.start, view.steps, tuple(extents[x] for x in term.letters)), term.letters)
