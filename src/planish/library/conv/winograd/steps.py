"""A convolution as Winograd steps: tile and filter transforms, and a matrix product for each element of a tile.

Before: O[b, y, x, f] = sum over c, r, s of X[b, y + r, x + s, c] * W[r, s, c, f]
After:  U[e, c, f] = G W[:, :, c, f] G';  for b, rows of tiles {
          V[e, t, c] = B X[tile t, c] B';  M[e, t, f] = sum over c of V[e, t, c] * U[e, c, f];  O[tile t, f] = A M A' }

Lanes go along channels and features: what does not lie so is copied. The last row and the last column of tiles are
moved back where results would be beyond the end: some are set twice.

>>> from planish.ir.expr import index
>>> from planish.raising.algebra.cost import Model
>>> from planish.raising.algebra.effects import study
>>> from planish.raising.algebra.product_writer import whole_term
>>> from planish.ir.nest import Kernel
>>> from planish.ir.types import F32
>>> from planish.raising.raised import Raised
>>> from planish.target.load import load_target
>>> at = {x: index(y) for x, y in zip("yxfcrs", (56, 56, 64, 64, 3, 3))}
>>> O, W = (Array(x, F32, tuple(at[y] for y in z)) for x, z in (("O", "yxf"), ("W", "rscf")))
>>> X = Array("X", F32, (index(58), index(58), index(64)))
>>> steps = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0))
>>> image = ProductOperand(View("X", (index(0),) * 3, steps, tuple(at[x] for x in "yxcrs")), "yxcrs")
>>> product = Product(whole_term(O, "yxf"), (image, whole_term(W, "rscf")), at, "rsc")
>>> raised = Raised(Kernel("k", arrays=(X, W, O)), (write_product(product),))
>>> change = use_tiles(study(raised), Setting(Model(load_target("x86-avx512"), ()), "reassociate"))
>>> [type(x).__name__ for x in change.raised.steps], change.remarks[0].message[:50]
(['Loops', 'Repeat'], '`convolution` is a Winograd convolution by tiles o')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from planish.core.diagnostic import PlanishError
from planish.core.names import take_name
from planish.ir.expr import Compare, Expr, index
from planish.ir.index.evaluate import evaluate
from planish.ir.index.polynomial import add, extremum, floordiv, mul, sub
from planish.ir.nest import Array, Block, Let
from planish.ir.traverse import variables
from planish.ir.types import F32, F64, Type
from planish.library.conv.winograd.matrices import F23, Minimal
from planish.library.conv.winograd.tile_transforms import Around, Side, planes, write_transform
from planish.library.parallel.work_sharing import Range, share_numbered, share_out
from planish.raising.algebra.cost import Model
from planish.raising.algebra.effects import Facts
from planish.raising.algebra.fold_dims import fold
from planish.raising.algebra.product import Product, ProductOperand, stepped
from planish.raising.algebra.product_kinds import kind_of
from planish.raising.algebra.product_writer import Origin, write_product
from planish.raising.algebra.rule_context import RuleResult, Setting, done, replaced, with_locals
from planish.raising.algebra.rules.dce import describe
from planish.raising.algebra.rules.direct_conv import Direct, find_parts
from planish.raising.algebra.rules.im2col import in_order
from planish.raising.raised import Apply, Loops, Repeat, Reshape, Step, View, repeated, whole

WAY = "winograd"
"""The way in which convolutions are done here, and the id of the remark that says so."""
_TILES = 64
"""So many tiles are enough rows for a product."""
_ROWS = 4
"""The rows of tiles that are done together where no sizes are known."""
_PAGE, _APART = 4096, 256
"""Elements of a tile that lie nearly a multiple of a page apart take each other's place in the first cache."""
_LETTERS = "eac"
"""Elements of a tile, tiles, and channels."""


def use_tiles(
    facts: Facts, setting: Setting, minimal: Minimal = F23, threads: int = 1, rows: int | None = None
) -> RuleResult:  # fmt: skip
    """Do the first convolution that allows it so; threads share out the windows, and the rows of tiles.
    `rows`: those of tiles that are done together, None for as many as make enough tiles."""
    for place, product in enumerate(facts.products):
        if product is None or kind_of(product) != "convolution" or not setting.may_reorder(facts.type_of(product)):
            continue
        found, step = find_tiles(facts, product, minimal), facts.raised.steps[place]
        if found is None or not isinstance(step, Apply):
            continue
        taken = setting.taken(facts.raised)
        made = _Rewrite(facts, product, found, step, minimal, setting.model, taken, threads, rows)
        try:
            steps = made.steps()
        except PlanishError:
            # Nothing says that lanes do not meet.
            continue
        side, size = minimal.outputs, minimal.size
        message = (
            f"{describe(step)} is a Winograd convolution by tiles of {side}x{side} results: {size * size} matrix"
            f" products, with {minimal.saving:g} times fewer multiplications; the image's elements are subtracted first"
        )
        raised = replaced(with_locals(facts.raised, made.arrays, made.reshapes), place, steps)
        return replace(done(raised, WAY, message, step.span), ways=frozenset({WAY}))
    return RuleResult(None)


def find_tiles(facts: Facts, product: Product, minimal: Minimal) -> Direct | None:
    """The parts of a convolution that may be done so: by windows of the right size that see neighbours, and move by
    one; whose results are set, not added."""
    found = find_parts(product)
    if isinstance(found, str) or facts.type_of(product) not in (F32, F64) or not product.overwrites:
        return None
    return found if (found.extents, found.steps, found.apart) == ((minimal.taps,) * 2, (1, 1), (1, 1)) else None


@dataclass(frozen=True, slots=True)
class _Operands:
    """What is read and set for the tiles, whether each share has its `own` windows, the memory that each has for some
    `rows` of tiles (of the image and the results only where these do not lie well), transformed and multiplied, and how
    many lie in a row."""

    windows: Array
    own: bool
    image: ProductOperand
    output: ProductOperand
    image_rows: Array | None
    output_rows: Array | None
    tiles: Array
    products: Array
    rows: int
    along: Expr


@dataclass(slots=True)
class _Rewrite:
    """A convolution on its way: names that are taken, and the arrays that it needs."""

    facts: Facts
    product: Product
    parts: Direct
    step: Apply
    minimal: Minimal
    model: Model
    taken: set[str]
    threads: int
    rows: int | None
    arrays: list[Array] = field(default_factory=list)
    reshapes: list[Reshape] = field(default_factory=list)

    @property
    def type(self) -> Type:
        """The type of all elements."""
        return self.facts.type_of(self.product)

    @property
    def point(self) -> Mapping[str, int] | None:
        """The sizes, if they are known."""
        return self.model.points[0] if len(self.model.points) == 1 else None

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
        parts = self.parts
        at = {x: take_name(f"at_{x}", self.taken) for x in parts.batch}
        # Where every group of features has windows of its own, these are in the loop as well.
        apart = {x: y for x, y in at.items() if x in parts.kernel.letters}
        shared = {x: y for x, y in at.items() if x not in apart}
        own = self.threads > 1 and self.are_windows_few()
        operands, inside = self.operands(at, own), {y: self.product.extents[x] for x, y in shared.items()}
        down, rest = self.product.extents[parts.places[0]], self.minimal.outputs - 1
        kernel, outer = parts.kernel.at(apart), tuple(apart.values())

        def part(range: Range, share: Expr) -> tuple[Step, ...]:
            names = (*outer, *_names(*range, share))
            first = self.windows(operands, kernel, share, 1, names) if own else ()
            tiles = self.rows_of_tiles(operands, range, share, (*names, *shared.values()))
            return (*first, *repeated(inside, (tiles,)))

        if self.threads == 1:
            steps = part((index(0), down), index(0))
        else:
            # The last share gets what is left out here as well: a tile has to fit into each.
            most = sub(down, index(rest))

            def with_rest(range: Range, share: Expr) -> tuple[Step, ...]:
                return part(_with_rest(range, most, rest + 1), share)

            steps = share_numbered((index(0), most), self.threads, self.taken, with_rest, rest + 1)
        before = () if own else self.windows(operands, kernel, index(0), self.threads, outer)
        return repeated({y: self.product.extents[x] for x, y in apart.items()}, (*before, *steps))

    def are_windows_few(self) -> bool:
        """Whether those of all channels and features are known to fit into a cache, transformed: then each thread makes
        them for itself, which takes less time than to get them from another one."""
        if self.point is None:
            return False
        elements = evaluate(self.channels, self.point) * evaluate(self.features, self.point) * self.minimal.size**2
        return elements * self.type.size <= self.model.target.cache(2).share

    def seen(self) -> ProductOperand:
        """All of the image that is seen, without the letters of the window."""
        image, parts = self.parts.image, self.parts
        beyond = index(self.minimal.taps - 1)
        kept = [n for n, x in enumerate(image.letters) if x not in parts.window]
        letters = "".join(image.letters[n] for n in kept)
        extents = {x: add(y, beyond) if x in parts.places else y for x, y in self.product.extents.items()}
        steps = tuple(image.view.steps[n] for n in kept)
        return ProductOperand(
            View(image.view.array, image.view.start, steps, tuple(extents[x] for x in letters)), letters
        )

    def copied(self, target: ProductOperand, source: ProductOperand) -> Apply:
        """A copy of an operand."""
        extents = dict(zip(source.letters, source.view.shape, strict=True))
        return write_product(Product(target, (source,), extents, ""), Origin((), (), self.step.span))

    def block(self, name: str, term: ProductOperand, near: str, rows: int) -> Array | None:
        """An array for some rows of an operand in each share, whose neighbours in memory go along a letter; None where
        those of the operand do."""
        if term.nearest == near:
            return None
        along, last = (term.view.shape[term.letters.index(x)] for x in (self.parts.places[1], near))
        return self.local(name, (index(self.threads), index(rows), along, last))

    def local(self, name: str, shape: tuple[Expr, ...]) -> Array:
        """One more array."""
        self.arrays.append(Array(take_name(name, self.taken), self.type, shape, True))
        return self.arrays[-1]

    def operands(self, at: Mapping[str, str], own: bool) -> _Operands:
        """What there is for the tiles of an image, with the loops `at` around; `own`: each share has its windows."""
        outputs, number = self.minimal.outputs, index(self.minimal.size**2)
        image, output = self.seen().at(at), self.product.output.at(at)
        extent, rows = self.product.extents[self.parts.places[1]], self.count_rows()
        along, shares = floordiv(add(extent, index(outputs - 1)), index(outputs)), index(self.threads)
        # One more row, so that planes are not a multiple of a page apart.
        shape = (shares if own else index(1), number, add(self.channels, index(1)), self.features)
        windows = self.local("windows", shape)
        tiles, products = (
            self.local(name, (shares, number, index(rows), along, count))
            for name, count in (("tiles", self.channels), ("products", self.features))
        )
        image_rows = self.block("image", image, self.parts.channels, outputs * rows + self.minimal.taps - 1)
        output_rows = self.block("results", output, self.parts.features, outputs * rows)
        return _Operands(windows, own, image, output, image_rows, output_rows, tiles, products, rows, along)

    def windows(
        self, operands: _Operands, kernel: ProductOperand, share: Expr, threads: int, sizes: tuple[str, ...]
    ) -> tuple[Step, ...]:
        """The loops that transform the windows of all channels, which threads share out, and features, for a share: of
        a copy, where features do not lie side by side."""
        parts, read, before = self.parts, kernel, list[Step]()
        if kernel.nearest != parts.features:
            letters = "".join(x for x in in_order(kernel, kernel.letters) if x != parts.features) + parts.features
            extents = dict(zip(kernel.letters, kernel.view.shape, strict=True))
            shape = index(self.threads if operands.own else 1), *(extents[x] for x in letters)
            read = _of_share(self.local("kernel", shape), share, letters)
            before.append(self.copied(read, kernel))

        def part(range: Range) -> tuple[Step, ...]:
            channel, feature = take_name("p", self.taken), take_name("f", self.taken)
            places = {parts.channels: add(range[0], index(channel)), parts.features: index(feature)}
            source = side(read, parts.window, self.minimal.taps, places)
            target = planes(operands.windows, self.minimal.size, tuple(places.values()), (share,))
            loops = {channel: range[1], feature: self.features}
            return (self.transformed(self.minimal.window, source, target, loops, (), (*sizes, *_names(*range))),)

        return (*before, *share_out((index(0), self.channels), threads, self.taken, part))

    def rows_of_tiles(self, operands: _Operands, range: Range, share: Expr, sizes: tuple[str, ...]) -> Repeat:
        """The loop over rows of tiles for some rows of the results: their transforms, the products, and the results, in
        the memory of a share; `sizes`: of loops around."""
        minimal, places, outputs = self.minimal, self.parts.places, self.minimal.outputs
        down = floordiv(add(range[1], index(outputs - 1)), index(outputs))
        first, row, column, y, x = (take_name(z, self.taken) for z in ("first", "row", "tile", "y", "x"))
        here = extremum("min", index(operands.rows), sub(down, index(first)))
        # The last tiles are moved back, so that they end where the results do.
        top = _moved(index(first), range[1], outputs)
        end = extremum("min", mul(index(outputs), add(index(first), here)), range[1])
        line = _moved(add(index(first), index(row)), range[1], outputs)
        names = Let(y, line), Let(x, _moved(index(column), self.product.extents[places[1]], outputs))
        loops, known = {row: here, column: operands.along}, (*sizes, first)

        def seen(
            term: ProductOperand, rows: Array | None, lane: str, name: str, extent: int, further: int
        ) -> tuple[Side, tuple[Step, ...]]:
            """A tile of an operand, where it lies or among rows of it, and the copy to these, or from there."""
            own, at, copies = term, add(range[0], index(y)), list[Step]()
            if rows is not None:
                lying = term.part(places[0], add(range[0], top), add(sub(end, top), index(further)))
                extents = dict(zip(lying.letters, lying.view.shape, strict=True))
                own, at = _part(_of_share(rows, share, places + lane), extents), sub(index(y), top)
                copies.append(self.copied(own, lying) if further else self.copied(lying, own))
            return side(own, places, extent, {places[0]: at, places[1]: index(x), lane: index(name)}), tuple(copies)

        def planes_of(array: Array, lane: str) -> Side:
            return planes(array, minimal.size, (index(row), index(column), index(lane)), (share,))

        channel, feature = take_name("p", self.taken), take_name("f", self.taken)
        tile, before = seen(
            operands.image, operands.image_rows, self.parts.channels, channel, minimal.size, minimal.taps - 1
        )
        result, after = seen(operands.output, operands.output_rows, self.parts.features, feature, outputs, 0)
        going = self.transformed(
            minimal.image, tile, planes_of(operands.tiles, channel), {**loops, channel: self.channels}, names, known
        )
        coming = self.transformed(
            minimal.results, planes_of(operands.products, feature), result, {**loops, feature: self.features}, names,
            known,
        )  # fmt: skip
        steps = (*before, going, self.multiplied(operands, here, share), coming, *after)
        return Repeat(first, index(0), down, operands.rows, steps)

    def multiplied(self, operands: _Operands, here: Expr, share: Expr) -> Repeat:
        """The products for the tiles of some rows, one for each of their elements: what it adds to stays in the first
        cache."""
        count, element = index(self.minimal.size**2), take_name("element", self.taken)
        along = operands.along
        extents = {"e": count, "a": here, "t": along, "c": self.channels, "f": self.features}
        terms = [
            self.folded(_part(x, extents), groups)
            for x, groups in (
                (_of_share(operands.products, share, "eatf"), ("e", "at", "f")),
                (_of_share(operands.tiles, share, "eatc"), ("e", "at", "c")),
                (_of_share(operands.windows, share if operands.own else index(0), "ecf"), ("e", "c", "f")),
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

    def folded(self, term: ProductOperand, groups: Sequence[str]) -> ProductOperand:
        """An operand with one dimension for each group of letters."""
        name = term.view.array
        array = next(x for x in self.arrays if x.name == name)
        found = fold(term, groups, array, take_name(f"{name}_flat", self.taken))
        assert found is not None
        if found.array is not None:
            self.reshapes.append(Reshape(found.array, name))
        return found.term

    def transformed(
        self, matrix: tuple[tuple[float, ...], ...], source: Side, target: Side, loops: Mapping[str, Expr],
        names: tuple[Let, ...], sizes: tuple[str, ...],
    ) -> Loops:  # fmt: skip
        """The loops of a transform; `sizes`: what is seen of the loops around."""
        own = {source.array, target.array}
        arrays = tuple(x for x in (*self.facts.arrays.values(), *self.arrays) if x.name in own)
        whole = self.facts.raised.kernel
        every = tuple(dict.fromkeys((*whole.sizes, *sizes)))
        kernel = replace(whole, sizes=every, scalars=(), arrays=arrays, body=Block(()))
        prefix = take_name("v", self.taken)
        body = write_transform(matrix, source, target, self.type, f"{prefix}_", Around(loops, names, kernel))
        return Loops(body, dict.fromkeys(self.step.statements, "it is a transform"), settled=True)

    def count_rows(self) -> int:
        """As many rows of tiles as make enough of them, where it is known how long they are."""
        if self.rows is not None:
            return self.rows
        extents = self.product.extents
        point = self.point
        if point is None:
            return _ROWS
        sizes = [evaluate(extents[x], point) for x in self.parts.places]
        down, along = (max(1, -(-x // self.minimal.outputs)) for x in sizes)
        bytes_of = along * evaluate(self.channels, point) * self.type.size
        rows = max(1, min(down, -(-_TILES // along)))
        far = (x for x in range(rows, rows + _ROWS) if _APART <= x * bytes_of % _PAGE <= _PAGE - _APART)
        return next(far, rows)


def side(term: ProductOperand, elements: str, extent: int, places: Mapping[str, Expr]) -> Side:
    """The elements of tiles of an operand, along two of its letters, from some places on."""

    def place(i: int, j: int) -> tuple[Expr, ...]:
        out = term.view.start
        for letter, times in (*places.items(), *zip(elements, map(index, (i, j)), strict=True)):
            out = stepped(out, term.view.steps[term.letters.index(letter)], times)
        return out

    return Side(term.view.array, extent, place)


def _moved(number: Expr, extent: Expr, outputs: int) -> Expr:
    """Where a tile of so many results begins that is to end within an extent."""
    return extremum("min", mul(index(outputs), number), sub(extent, index(outputs)))


def _with_rest(range: Range, most: Expr, outputs: int) -> Range:
    """Some rows of so many at most, and if they are the last ones of these all but one of `outputs` behind them."""
    begin, end = range[0], add(*range)
    rest = index(outputs - 1)
    beyond = sub(mul(index(outputs), end), mul(rest, sub(most, index(1))))
    return begin, sub(extremum("max", end, beyond), begin)


def _of_share(array: Array, share: Expr, letters: str) -> ProductOperand:
    """All of an array that a share has for itself."""
    view = whole(array)
    return ProductOperand(View(array.name, (share, *view.start[1:]), view.steps[1:], view.shape[1:]), letters)


def _names(*exprs: Expr) -> tuple[str, ...]:
    """The names in some expressions, each once."""
    return tuple(dict.fromkeys(y for x in exprs for y in sorted(variables(x))))


def _part(term: ProductOperand, extents: Mapping[str, Expr]) -> ProductOperand:
    """The first elements of an operand."""
    view = term.view
    return ProductOperand(
        View(view.array, view.start, view.steps, tuple(extents[x] for x in term.letters)), term.letters
    )
