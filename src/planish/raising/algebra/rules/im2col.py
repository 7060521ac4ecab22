"""im2col: a convolution becomes matrix products, whose columns are what the window sees for each output row.

Where rows lie without gaps, some are taken together. The kernel is copied where it is no matrix as it lies.

Before: O[b, f, y, x] += sum over c, r, s of X[b, c, y + r, x + s] * W[f, c, r, s]
After:  for b, y { L[c, r, s, x] = X[b, c, y + r, x + s];  O[b, :, y] += W[f, c r s] * L[c r s, x] }

>>> from planish.ir.expr import index
>>> from planish.ir.nest import Kernel
>>> from planish.ir.types import F32
>>> from planish.raising.algebra.cost import Model
>>> from planish.raising.algebra.effects import study
>>> from planish.raising.algebra.product_writer import whole_term
>>> from planish.raising.raised import Raised, walk_steps
>>> from planish.target.load import load_target
>>> at = {x: index(y) for x, y in zip("fyxcrs", (64, 56, 56, 32, 3, 3))}
>>> O, W = (Array(x, F32, tuple(at[y] for y in z)) for x, z in (("O", "fyx"), ("W", "fcrs")))
>>> X = Array("X", F32, (index(32), index(58), index(58)))
>>> steps = ((0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1))
>>> image = ProductOperand(View("X", (index(0),) * 3, steps, tuple(at[x] for x in "yxcrs")), "yxcrs")
>>> product = Product(whole_term(O, "fyx"), (image, whole_term(W, "fcrs")), at, "crs", None, index(1))
>>> raised = Raised(Kernel("k", arrays=(X, W, O)), (write_product(product),))
>>> setting = Setting(Model(load_target("x86-avx512"), ({},)), "reassociate")
>>> [x.operation.name for x in walk_steps(use_columns(study(raised), setting).raised.steps)]
['copy', 'gemm']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from planish.core.diagnostic import Remark
from planish.core.names import take_name
from planish.ir.expr import Compare, Const, Expr, index
from planish.ir.index.evaluate import evaluate
from planish.ir.index.polynomial import constant, extremum, normal, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Array
from planish.ir.types import BOOL, I32
from planish.raising.algebra.conv_window import is_windowed
from planish.raising.algebra.cost import CostShape, shape_of
from planish.raising.algebra.effects import Facts
from planish.raising.algebra.fold_dims import fold
from planish.raising.algebra.product import Product, ProductOperand, stepped, volume
from planish.raising.algebra.product_kinds import groups_of, kind_of
from planish.raising.algebra.product_writer import Origin, whole_term, write_product
from planish.raising.algebra.rule_context import RuleResult, Setting, asked_of, refused, replaced, with_locals
from planish.raising.algebra.rules.dce import describe
from planish.raising.algebra.rules.direct_conv import find_direct
from planish.raising.algebra.rules.identity_elements import span
from planish.raising.raised import Apply, Case, Choice, Raised, Repeat, Reshape, Step, View, repeated

CONV_PACKED = "conv-packed"
"""The way of a low-precision convolution that is no matrix product, and the id of its remark."""
_UNKNOWN = 12
"""What an extent is taken for of which nothing is known: channels and rows are longer, windows are shorter."""
_FEWEST = 8
"""So many features fill a tile of a direct convolution well enough."""
_MOST_ROWS = 32
"""So many rows are enough for all of a tile's columns to be used."""


@dataclass(frozen=True, slots=True)
class Im2colPlan:
    """How a convolution becomes products: the letters that are looped over, the one along the rows, the features, and
    what is summed, as it lies in the kernel. `turned`: the output has its features last. `rows`: the letter from one
    row of the output to the next where some rows can be one product, "" where they cannot."""

    image: ProductOperand
    kernel: ProductOperand
    loops: str
    along: str
    features: str
    depth: str
    turned: bool
    rows: str


def use_columns(facts: Facts, setting: Setting) -> RuleResult:
    """Turn the first convolution that costs less so into products of matrices."""
    remarks: list[Remark] = []
    ways: frozenset[str] = frozenset()
    for place, product in enumerate(facts.products):
        if product is None or kind_of(product) != "convolution":
            continue
        step = facts.raised.steps[place]
        if setting.direct and is_left(product, facts, setting):
            if not _is_for_library(facts, setting, product):
                continue
            if setting.woven:
                message = f"{describe(step)} is left to a kernel that packs channels (VNNI), in the image's layout"
                remarks.append(Remark(CONV_PACKED, "done", message, span(step)))
                ways |= {CONV_PACKED}
                continue
        plan = find_plan(product)
        if isinstance(plan, str):
            remarks.append(refused("im2col", f"{describe(step)} stays: {plan}", span(step)))
        elif not setting.may_reorder(facts.type_of(product)):
            message = f"{describe(step)} stays: --fp {setting.floats} keeps the order of its sums"
            remarks.append(refused("im2col", message, span(step)))
        elif not _is_for_library(facts, setting, product) and not _pays(facts, setting, product, plan):
            message = f"{describe(step)} stays: im2col would take longer than its loops"
            remarks.append(refused("im2col", message, span(step)))
        else:
            assert isinstance(step, Apply)
            raised = _Rewrite(facts, setting, product, plan, step, setting.taken(facts.raised)).applied(place)
            message = f"{describe(step)} is im2col: one matrix product for some rows of {product.output.view.array}"
            return RuleResult(raised, (*remarks, Remark("im2col", "done", message, step.span)), ways)
    return RuleResult(None, tuple(remarks), ways)


def _is_for_library(facts: Facts, setting: Setting, product: Product) -> bool:
    """Whether products are the library's, and convolutions are not: those of integers and of what is narrower than it
    is seen, of which the model knows no more than how wide their sums are."""
    narrow = all(facts.base(x.view.array) in setting.narrow for x in product.factors)
    return setting.direct and (narrow or facts.type_of(product) == I32)


def is_left(product: Product, facts: Facts, setting: Setting) -> bool:
    """Whether a convolution is left to the library, whose tiles have some features each, with weights one after the
    other."""
    found = find_direct(product)
    if isinstance(found, str):
        return False
    apart = [x for x in found.kernel.letters if x in found.batch]
    groups = (*apart, found.features, found.channels + found.window)
    if fold(found.kernel, groups, facts.arrays[found.kernel.view.array], "") is None:
        return False
    features = product.extents[found.features]
    return all(evaluate(features, x) >= _FEWEST for x in setting.model.points)


def find_plan(product: Product) -> Im2colPlan | str:
    """The products of matrices that a convolution is, or why it is none."""
    windowed = [x for x in product.factors if is_windowed(x)]
    others = [x for x in product.factors if not is_windowed(x)]
    if len(windowed) != 1 or len(others) != 1:
        return "both of its operands are seen through a window"
    image, kernel = windowed[0], others[0]
    groups = groups_of(replace(product, factors=(kernel, image)))
    if groups is None:
        return "a dimension of one operand is in no other, and is summed apart"
    if not groups.rows or not groups.columns or len(groups.depth) < 2:
        return "it has one feature only, or nothing but its window to sum over"
    along = in_order(product.output, groups.columns)[-1]
    features = in_order(product.output, groups.rows)[-1]
    # Features that lie apart from each other are looped over, but for the last.
    loops = "".join(x for x in in_order(product.output, product.output.letters) if x not in along + features)
    turned = in_order(product.output, along + features)[-1] != along
    rows = next((x for x in groups.columns if _are_rows(product.output, x, along)), "")
    return Im2colPlan(image, kernel, loops, along, features, in_order(kernel, groups.depth), turned, rows)


def in_order(term: ProductOperand, letters: str) -> str:
    """Letters in the order that they have in the memory of an operand, the slowest first."""
    return "".join(sorted(letters, key=lambda x: _dimension(term, x)))


def _dimension(term: ProductOperand, letter: str) -> int:
    return next((d for d, x in enumerate(_step(term, letter)) if x), -1)


def _step(term: ProductOperand, letter: str) -> tuple[int, ...]:
    return term.view.steps[term.letters.index(letter)]


def _are_rows(term: ProductOperand, slow: str, fast: str) -> bool:
    """Whether a letter goes from one row to the next, along which the other goes from the first element on."""
    d = _dimension(term, fast)
    before, along = (tuple(int(n == x) for n in range(len(term.view.start))) for x in (d - 1, d))
    first = constant(term.view.start[d]) == 0
    return slow != fast and first and (_step(term, slow), _step(term, fast)) == (before, along)


def _pays(facts: Facts, setting: Setting, product: Product, plan: Im2colPlan) -> bool:
    """Whether the products and the copies take less time than the convolution as it is, over the model's points."""
    model, type = setting.model, facts.type_of(product)
    seen = "".join(x for x in plan.loops if x in plan.image.letters) + plan.depth + plan.along
    kept = plan.kernel.letters
    # The kernel and what is laid out stay in the caches.
    operands = ((plan.loops + plan.features + plan.depth, 0.0), (plan.loops + plan.depth + plan.along, 0.0),
                (plan.loops + plan.features + plan.along, 2.0))  # fmt: skip
    fresh = (
        CostShape("copy", ((kept, 1.0), (kept, 1.0)), product.extents),
        CostShape("copy", ((seen, 1.0), (seen, 1.0)), product.extents),
        CostShape("batched_gemm", operands, product.extents),
    )
    points = [{x: max(0, evaluate(y, p)) for x, y in product.extents.items()} for p in model.points]
    old = shape_of(product)
    return sum(model.time(x, type, p) for p in points for x in fresh) < sum(model.time(old, type, p) for p in points)


@dataclass(slots=True)
class _Rewrite:
    """A convolution on its way: names that are taken, and the arrays that it needs."""

    facts: Facts
    setting: Setting
    product: Product
    plan: Im2colPlan
    step: Apply
    taken: set[str]
    arrays: list[Array] = field(default_factory=list)
    reshapes: list[Reshape] = field(default_factory=list)

    def applied(self, place: int) -> Raised:
        """The kernel with the copies and the loops over products in the place of the convolution."""
        plan = self.plan
        batches = "".join(x for x in plan.loops if x in plan.kernel.letters)
        kept = batches + (plan.depth + plan.features if plan.turned else plan.features + plan.depth)
        groups = (*batches, *self.groups(plan.features))
        lies = self.lies_so(kept, groups)
        extents = self.product.extents
        weights = plan.kernel if lies else whole_term(self.local("weights", kept, extents, plan.kernel), kept)
        factor = self.fold(weights, groups)
        steps = self.row_by_row(factor)
        if plan.rows and self.count_rows() > 1:
            extent, whole = self.product.extents[plan.along], self.declared()
            alike = simplify(Compare("eq", normal(extent), normal(whole)))
            several = self.rows_together(factor, whole)
            cases = (Case(alike, several), Case(Const(True, BOOL), steps))
            steps = several if alike == Const(True, BOOL) else (Choice(cases),)
        copied = Product(weights, (plan.kernel,), self.extents(kept), "")
        first = () if lies else (write_product(copied, self.origin()),)
        return replaced(with_locals(self.facts.raised, self.arrays, self.reshapes), place, (*first, *steps))

    def origin(self) -> Origin:
        """That of a copy: what has to hold for the arrays of the rewrite."""
        extents = (x for a in self.arrays for x in a.shape if x is not None)
        return Origin(asked_of(extents, self.facts), (), self.step.span)

    def lies_so(self, kept: str, groups: Sequence[str]) -> bool:
        """Whether the kernel is a matrix where it lies, with its letters in an order, and is not written meanwhile."""
        kernel, output = self.plan.kernel, self.product.output
        names = [self.facts.base(x.view.array) for x in (kernel, output)]
        if names[0] == names[1] or in_order(kernel, kept) != kept or sum(_step(kernel, kept[-1])) != 1:
            return False
        return fold(kernel, groups, self.facts.arrays[kernel.view.array], "") is not None

    def extents(self, letters: str) -> dict[str, Expr]:
        """The extents of some letters."""
        return {x: self.product.extents[x] for x in letters}

    def declared(self) -> Expr:
        """How long the rows of the output are in memory."""
        output = self.product.output
        extent = self.facts.arrays[output.view.array].shape[_dimension(output, self.plan.along)]
        assert extent is not None
        return extent

    def local(self, name: str, letters: str, extents: Mapping[str, Expr], like: ProductOperand) -> Array:
        """One more array, with a dimension for each letter."""
        type = self.facts.arrays[like.view.array].type
        self.arrays.append(Array(take_name(name, self.taken), type, tuple(extents[x] for x in letters)))
        return self.arrays[-1]

    def groups(self, other: str) -> tuple[str, str]:
        """The dimensions of a matrix: what is summed and the other letters, in the order in which they lie."""
        depth_first = self.plan.turned == (other == self.plan.features)
        return (self.plan.depth, other) if depth_first else (other, self.plan.depth)

    def fold(self, term: ProductOperand, groups: Sequence[str]) -> ProductOperand:
        """An operand with one dimension for each group of letters."""
        name = term.view.array
        found = fold(term, groups, self.known(name), take_name(f"{name}_flat", self.taken))
        assert found is not None
        if found.array is not None:
            self.reshapes.append(Reshape(found.array, self.facts.base(name)))
        return found.term

    def known(self, name: str) -> Array:
        """An array of the kernel's or of the rewrite's own."""
        return next((x for x in self.arrays if x.name == name), None) or self.facts.arrays[name]

    def row_by_row(self, weights: ProductOperand) -> tuple[Step, ...]:
        """The loops over products, one for each row of the output."""
        at = self.places()
        return self.around(at, self.one(weights, at, self.plan.along, self.product.extents))

    def rows_together(self, weights: ProductOperand, whole: Expr) -> tuple[Step, ...]:
        """The loops over products of several rows of the output each, which lie without gaps."""
        rows, at = self.plan.rows, self.places()
        var, total = at.pop(rows), self.product.extents[rows]
        count = self.count_rows()
        here = extremum("min", index(count), sub(total, index(var)))
        extents = {**self.product.extents, self.plan.along: whole, rows: here}
        steps = self.one(weights, at, rows + self.plan.along, extents, {rows: var}, count)
        return self.around(at, (Repeat(var, index(0), total, count, steps),))

    def count_rows(self) -> int:
        """As many rows as fill half of the second cache with what the window sees."""
        room = self.setting.model.target.cache(2).share // 2
        kernel, output = self.plan.kernel, self.product.output
        # The numbers that the library multiplies are narrower than their sums: bytes, mostly.
        narrow = _is_for_library(self.facts, self.setting, self.product)
        size = 1 if narrow else self.facts.type_of(self.product).size
        for term, letters in ((kernel, self.plan.depth), (output, self.plan.along)):
            shape = self.facts.arrays[term.view.array].shape
            for letter in letters:
                size *= constant(shape[_dimension(term, letter)] or index(0)) or _UNKNOWN
        # Room for rows that there are not would part those that there are.
        rows = max((evaluate(self.product.extents[self.plan.rows], x) for x in self.setting.model.points), default=1)
        return max(1, min(_MOST_ROWS, room // size, rows))

    def places(self) -> dict[str, str]:
        """Names for where the loops are."""
        return {x: take_name(f"at_{x}", self.taken) for x in self.plan.loops}

    def around(self, at: Mapping[str, str], steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """Steps in loops, the first letter's outermost."""
        return repeated({var: self.product.extents[letter] for letter, var in at.items()}, steps)

    def one(
        self, weights: ProductOperand, at: Mapping[str, str], along: str, extents: Mapping[str, Expr],
        begin: Mapping[str, str] | None = None, count: int = 1,
    ) -> tuple[Step, ...]:  # fmt: skip
        """What the window sees laid out, and the product of it; `begin`: where rows begin, `count` at most."""
        plan, product = self.plan, self.product
        letters = along + plan.depth if plan.turned else plan.depth + along
        columns = self.local("columns", letters, {**extents, **{x: index(count) for x in begin or {}}}, plan.image)
        image, output = (_cut(x.at(at), begin or {}, extents) for x in (plan.image, product.output))
        whole = _cut(whole_term(columns, letters), {}, extents)
        laid = Product(whole, (image.ordered(letters),), {x: extents[x] for x in letters}, "")
        target = (along, plan.features) if plan.turned else (plan.features, along)
        factors = [weights.at(at), self.fold(whole, self.groups(along))]
        sizes = {plan.features: extents[plan.features], along[0]: volume(extents, along)}
        sizes[plan.depth[0]] = volume(extents, plan.depth)
        first, second = reversed(factors) if plan.turned else factors
        main = Product(
            self.fold(output, target), (first, second), sizes, plan.depth[0], product.alpha, product.beta, False
        )
        return write_product(laid, self.origin()), write_product(main, Origin((), (), self.step.span))


def _cut(term: ProductOperand, begin: Mapping[str, str], extents: Mapping[str, Expr]) -> ProductOperand:
    """An operand from some places on, as far as some extents reach."""
    view = term.view
    start, shape = view.start, list(view.shape)
    for n, (letter, step) in enumerate(zip(term.letters, view.steps, strict=True)):
        if letter in begin:
            start = stepped(start, step, index(begin[letter]))
        shape[n] = extents.get(letter, shape[n])
    return ProductOperand(View(view.array, start, view.steps, tuple(shape)), term.letters)
