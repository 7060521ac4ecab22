"""A raised kernel as a Python function over NumPy arrays, which change in place.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.expr import index
>>> from planish.raising.operation import Operation
>>> from planish.raising.raised import whole
>>> text = "kernel gemv(m, n; A: f64[m, n], x: f64[n], y: f64[m]) "
>>> text += "{ for i in 0 .. m { for j in 0 .. n { y[i] += A[i, j] * x[j] } } }"
>>> gemv = Operation("gemv", parse_kernel(text))
>>> kernel = parse_kernel("kernel k(n; A: f64[n, n], x: f64[n], y: f64[n]) { }")
>>> step = Apply(gemv, {x.name: whole(x) for x in kernel.arrays}, {"m": index("n"), "n": index("n")})
>>> print(emit_numpy(Raised(kernel, (step,))), end="")
import numpy as np
<BLANKLINE>
<BLANKLINE>
def k(n, A, x, y):
    # gemv
    y += A @ x
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from planish.emit.formats.numpy.array_expressions import (
    ATOM,
    PRODUCT,
    SUM,
    NameSpelling,
    dtype_text,
    python_text,
    spell_names,
)
from planish.emit.formats.numpy.array_statements import (
    Bulk,
    Part,
    Plain,
    Serial,
    ViewAccess,
    ViewLoop,
    ViewProduct,
    as_products,
    as_update,
    letters,
    list_parts,
)
from planish.emit.formats.numpy.slices import slice_view, stride_view
from planish.emit.formats.step_comment import describe, head_of, loops_of, names_in
from planish.ir.expr import Const, Expr, Load, Var, type_of
from planish.ir.index.polynomial import add
from planish.ir.nest import Alloc, Array, Assign, Barrier, Block, For, If, Launch, Let, Reduce, ReduceOp, Stmt, While
from planish.ir.traverse import loads
from planish.ir.types import BOOL, Type
from planish.raising.raised import Apply, Case, Choice, Loops, Raised, Repeat, Step, arrays_of

_SIGNS: dict[ReduceOp, str] = {"add": "+", "mul": "*", "and": "&", "or": "|", "xor": "^"}
_EXTREMA = {"min": "np.minimum", "max": "np.maximum"}
_FOLDS = {"add": "np.sum", "mul": "np.prod", "min": "np.min", "max": "np.max"}
_BITS = {"and": "np.bitwise_and", "or": "np.bitwise_or", "xor": "np.bitwise_xor"}


def emit_numpy(*kernels: Raised, einsum: bool = False) -> str:
    """A module with a function for each kernel, of its sizes, scalars and arrays, in this order; `einsum`: all products
    are in that notation.

    Arrays have the kernel's shapes and do not overlap; sizes are not negative; what the kernel assumes, and what an
    operation asks for, is checked (ValueError). Sums are made in NumPy's order. PlanishError E0841 for bf16.
    """
    return "import numpy as np\n" + "".join(f"\n\n{_Function(x, einsum).text()}" for x in kernels)


@dataclass(slots=True)
class _Function:
    """The function that is being written."""

    raised: Raised
    einsum: bool
    spelling: NameSpelling = NameSpelling()
    arrays: dict[str, Array] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The whole function."""
        kernel = self.raised.kernel
        for type in (*(x.type for x in kernel.scalars), *(x.type for x in arrays_of(self.raised).values())):
            dtype_text(type)
        self.spelling = NameSpelling(spell_names(names_in(self.raised)))
        self.arrays = {x.name: x for x in (*kernel.arrays, *self.raised.locals)}
        names = [*kernel.sizes, *(x.name for x in kernel.scalars), *(x.name for x in kernel.arrays)]
        self.lines = [f"def {spell_names([kernel.name])[kernel.name]}({', '.join(map(self.name, names))}):"]
        for condition in kernel.assumptions:
            self.check(condition, "    ")
        for array in self.raised.locals:
            self.allocate(array, "    ")
        self.steps(self.raised.steps, "    ", frozenset(kernel.sizes))
        self.fill(1, "    ")
        return "\n".join(self.lines) + "\n"

    def steps(self, steps: Sequence[Step], indent: str, positive: frozenset[str]) -> None:
        """Steps in order."""
        for step in steps:
            self.lines += [f"{indent}# {line}" for line in describe(step, self.einsum)]
            match step:
                case Apply(conditions=conditions):
                    for condition in conditions:
                        self.check(condition, indent)
                    for part in list_parts(loops_of(step, self.raised)):
                        self.part(part, indent, positive)
                case Loops(body=body):
                    self.block(body, indent, positive)
                case Repeat():
                    inside = self.head(head_of(step), indent, positive)
                    self.steps(step.steps, indent + "    ", inside)
                case Choice(cases=cases):
                    for number, case in enumerate(cases):
                        word = "elif" if number else "if"
                        word = f"{word} {python_text(case.condition, self.spelling)}"
                        self.lines.append(f"{indent}{'else' if number and case is cases[-1] else word}:")
                        self.case(case, indent + "    ", positive)
                case _:
                    assert_never(step)

    def case(self, case: Case, indent: str, positive: frozenset[str]) -> None:
        """One of several ways."""
        begin = len(self.lines)
        for array in case.locals:
            self.allocate(array, indent)
        self.steps(case.steps, indent, positive)
        self.fill(begin, indent)

    def fill(self, begin: int, indent: str) -> None:
        """`pass` where the lines since some place are all comments."""
        if all(line.lstrip().startswith("#") for line in self.lines[begin:]):
            self.lines.append(f"{indent}pass")

    def check(self, condition: Expr, indent: str) -> None:
        """Raise ValueError where a condition does not hold."""
        text = python_text(condition, self.spelling)
        self.lines += [f"{indent}if not ({text}):", f"{indent}    raise ValueError({'not ' + text!r})"]

    def name(self, name: str) -> str:
        """How a name is spelt."""
        return self.spelling.names.get(name, name)

    def allocate(self, array: Array, indent: str) -> None:
        """A local array, whose content is undefined."""
        self.arrays = {**self.arrays, array.name: array}
        shape = ", ".join(python_text(x, self.spelling) for x in array.shape if x is not None)
        shape += "," * (len(array.shape) == 1)
        self.lines.append(f"{indent}{self.name(array.name)} = np.empty(({shape}), {dtype_text(array.type)})")

    def part(self, part: Part, indent: str, positive: frozenset[str]) -> None:
        """One part of an operation."""
        match part:
            case Plain(stmt=stmt):
                self.statement(stmt, indent, positive)
            case Serial(loop=loop, body=body):
                inside = self.head(loop, indent, positive)
                for x in body:
                    self.part(x, indent + "    ", inside)
            case Bulk():
                products = as_products(part)
                if products is not None:
                    for product in products:
                        self.product(product, indent, positive)
                else:
                    self.bulk(part, indent, positive)
            case _:
                assert_never(part)

    def head(self, loop: For, indent: str, positive: frozenset[str]) -> frozenset[str]:
        """The line of a loop; gives the names that are not negative in it."""
        lower, upper = python_text(loop.lower, self.spelling), python_text(loop.upper, self.spelling)
        bounds = f"{lower}, {upper}, {loop.step}" if loop.step != 1 else upper if lower == "0" else f"{lower}, {upper}"
        self.lines.append(f"{indent}for {self.name(loop.var)} in range({bounds}):")
        return positive | {loop.var} if _is_positive(loop.lower, positive) else positive - {loop.var}

    def product(self, product: ViewProduct, indent: str, positive: frozenset[str]) -> None:
        """`C += alpha * (A @ B)` and its like."""
        target = self.sliced(product.target, positive)
        assert target is not None
        text, negative = self.scaled(product, target[1], positive)
        sign = "=" if product.bulk.op is None else "-=" if negative else "+="
        self.lines.append(f"{indent}{self.stored(target[0], sign)} {sign} {'-' * (negative and sign == '=')}{text}")

    def stored(self, text: str, sign: str) -> str:
        """A view as what is assigned to: a whole array needs subscripts."""
        return f"{text}[...]" if sign == "=" and "[" not in text else text

    def scaled(self, product: ViewProduct, order: Sequence[str], positive: frozenset[str]) -> tuple[str, bool]:
        """The product with its factors, and whether it is to be subtracted."""
        negative = False
        factors = []
        for factor in product.factors:
            if isinstance(factor, Const) and factor.value == -1 and type_of(factor).kind != "uint":
                negative = not negative
            elif not (isinstance(factor, Const) and factor.value == 1):
                factors.append(python_text(factor, self.spelling, PRODUCT + 1))
        text, own = self.contracted(product, order, positive)
        if not factors:
            return (text if own > PRODUCT or not negative else f"({text})"), negative
        return f"{' * '.join(factors)} * {text if own > PRODUCT else f'({text})'}", negative

    def contracted(self, product: ViewProduct, order: Sequence[str], positive: frozenset[str]) -> tuple[str, int]:
        """The sum of the products of the operands' elements, its dimensions in the given order."""
        operands = [self.viewed(x, positive) for x in product.operands]
        if len(operands) == 1 and not self.einsum:
            text, loops = operands[0]
            kept = [x for x in loops if x in order]
            axes = [str(i) for i, x in enumerate(loops) if x not in order]
            if axes and not kept:
                return f"{text}.sum()", ATOM
            if axes:
                text += f".sum(axis=({', '.join(axes)}{',' * (len(axes) == 1)}))"
            return self.aligned(text, kept, order), ATOM
        if len(operands) == 2 and not self.einsum:
            for a, b in (operands, operands[::-1]):
                found = _matrix_product(a, b, tuple(order))
                if found is not None:
                    return found
        names, _ = letters(product)
        inputs = ",".join("".join(names[x] for x in loops) for _, loops in operands)
        spec = f"{inputs}->{''.join(names[x] for x in order)}"
        return f'np.einsum("{spec}", {", ".join(text for text, _ in operands)})', ATOM

    def sliced(self, access: ViewAccess, positive: frozenset[str]) -> tuple[str, tuple[str, ...]] | None:
        """A slice, and the loops that its dimensions are."""
        found = slice_view(access, self.arrays[access.view.array], self.spelling, positive)
        return (found.text, found.loops) if found is not None else None

    def viewed(self, access: ViewAccess, positive: frozenset[str]) -> tuple[str, tuple[str, ...]]:
        """A view in any spelling, and the loops that its dimensions are."""
        return self.sliced(access, positive) or (stride_view(access, self.spelling, positive), access.loops)

    def aligned(self, text: str, loops: Sequence[str], order: Sequence[str]) -> str:
        """An array whose dimensions are some loops, for arithmetic with arrays whose dimensions are all of `order`."""
        wanted = [x for x in order if x in loops]
        if list(loops) != wanted:
            turned = list(loops) == wanted[::-1]
            text += ".T" if turned else f".transpose({', '.join(str(list(loops).index(x)) for x in wanted)})"
        missing = [x in wanted for x in order[order.index(wanted[0]) :]] if wanted else []
        if not all(missing):
            text += f"[{', '.join(':' if x else 'None' for x in missing)}]"
        return text

    def bulk(self, bulk: Bulk, indent: str, positive: frozenset[str]) -> None:
        """A statement over whole arrays, element by element; what is reduced over at once is read as a whole."""
        reduced = [x.var for x in bulk.reduced]
        whole = len(bulk.loops)
        if reduced and not any(len(bulk.read(x).loops) == whole for x in loads(bulk.value)):
            outer = next(x for x in bulk.loops if x.var == reduced[0])
            rest = replace(bulk, loops=tuple(x for x in bulk.loops if x is not outer))
            inside = self.head(_as_for(outer), indent, positive)
            if rest.loops:
                self.bulk(rest, indent + "    ", inside)
            else:
                self.statement(_as_stmt(rest), indent + "    ", inside)
            return
        target = self.sliced(bulk.read(bulk.target), positive)
        assert target is not None
        order = [*target[1], *reduced]

        def load(x: Load) -> tuple[str, int]:
            text, loops = self.viewed(bulk.read(x), positive)
            return self.aligned(text, loops, order), ATOM

        value = python_text(bulk.value, NameSpelling(self.spelling.names, load), SUM if not reduced else 0)
        if reduced:
            assert bulk.op is not None
            axes = tuple(range(len(target[1]), len(order)))
            value = _fold(bulk.op, value, axes, type_of(bulk.value))
        self.update(target[0], bulk.op, value, type_of(bulk.value), indent)

    def update(self, target: str, op: ReduceOp | None, value: str, type: Type, indent: str) -> None:
        """`target op= value`."""
        if op is None:
            self.lines.append(f"{indent}{self.stored(target, '=')} = {value}")
        elif op in _EXTREMA:
            self.lines.append(f"{indent}{self.stored(target, '=')} = {_EXTREMA[op]}({target}, {value})")
        else:
            self.lines.append(f"{indent}{target} {_SIGNS[op]}= {value}")

    def block(self, block: Block, indent: str, positive: frozenset[str]) -> None:
        """Statements in order."""
        if not block.body:
            self.lines.append(f"{indent}pass")
        for stmt in block.body:
            self.statement(stmt, indent, positive)

    def statement(self, stmt: Stmt, indent: str, positive: frozenset[str]) -> None:
        """One statement, element by element."""
        match stmt:
            case Block():
                self.block(stmt, indent, positive)
            case For():
                inside = self.head(stmt, indent, positive)
                self.block(stmt.body, indent + "    ", inside)
            case If():
                self.lines.append(f"{indent}if {python_text(stmt.condition, self.spelling)}:")
                self.block(stmt.then, indent + "    ", positive)
                if stmt.otherwise.body:
                    self.lines.append(f"{indent}else:")
                    self.block(stmt.otherwise, indent + "    ", positive)
            case Assign() | Reduce():
                stmt = as_update(stmt)
                place = self.spelling.place(Load(stmt.array, stmt.index, type_of(stmt.value)))[0]
                value = python_text(stmt.value, self.spelling)
                op = stmt.op if isinstance(stmt, Reduce) else None
                self.update(place, op, value, type_of(stmt.value), indent)
            case Let(var=var, value=value):
                self.lines.append(f"{indent}{self.name(var)} = {python_text(value, self.spelling)}")
            case Alloc(array=array):
                self.allocate(array, indent)
            case Launch() | Barrier() | While():
                raise AssertionError("launches are made last; loops without a count hold nests of their own")
            case _:
                assert_never(stmt)


def _matrix_product(
    a: tuple[str, tuple[str, ...]], b: tuple[str, tuple[str, ...]], order: tuple[str, ...]
) -> tuple[str, int] | None:
    """`A @ B` where it is one."""
    (x, left), (y, right) = a, b
    shared = set(left) & set(right)
    match left, right:
        case ((i,), (j,)) if i == j and order == ():
            return f"{x} @ {y}", PRODUCT
        case ((i,), (j,)) if order == (i, j) and i != j:
            return f"np.outer({x}, {y})", ATOM
        case ((_, _), (k,)) if k in left and len(order) == 1 and order[0] in left and order[0] != k:
            return f"{x if left[1] == k else x + '.T'} @ {y}", PRODUCT
        case ((_, _), (_, _)) if len(shared) == 1 and len(order) == 2:
            (k,) = shared
            if order[0] in left and order[1] in right and k not in order:
                return f"{x if left[1] == k else x + '.T'} @ {y if right[0] == k else y + '.T'}", PRODUCT
        case ((c, i, k), (d, k_, j)) if c == d and k == k_ and order == (c, i, j):
            return f"{x} @ {y}", PRODUCT
        case _:
            pass
    return None


def _fold(op: ReduceOp, value: str, axes: tuple[int, ...], type: Type) -> str:
    """What is left of an array along some of its axes."""
    if op in _BITS:
        ufunc = _BITS[op].replace("bitwise", "logical") if type == BOOL else _BITS[op]
        return f"{ufunc}.reduce({value}, axis={axes})"
    if op in _EXTREMA:
        # There is no least element of none.
        first = ("np.inf" if op == "min" else "-np.inf") if type.is_float else _limit(op, type)
        return f"{_FOLDS[op]}({value}, axis={axes}, initial={first})"
    return f"{_FOLDS[op]}({value}, axis={axes})"


def _limit(op: ReduceOp, type: Type) -> str:
    low, high = (0, 2**type.bits - 1) if type.kind == "uint" else (-(2 ** (type.bits - 1)), 2 ** (type.bits - 1) - 1)
    return str(high if op == "min" else low)


def _as_for(loop: ViewLoop) -> For:
    return For(loop.var, loop.lower, add(loop.lower, loop.extent), 1, Block(()))


def _as_stmt(bulk: Bulk) -> Stmt:
    """A statement that no loop is left of."""
    target = bulk.target
    if bulk.op is None:
        return Assign(target.array, target.index, bulk.value)
    return Reduce(target.array, target.index, bulk.op, bulk.value)


def _is_positive(expr: Expr, positive: frozenset[str]) -> bool:
    return isinstance(expr, Const) and expr.value >= 0 or isinstance(expr, Var) and expr.name in positive

