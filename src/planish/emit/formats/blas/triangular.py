"""Routines over half of a matrix, told by their definitions: symmetric and triangular ones, products and solutions.

>>> from planish.ir.text.parser import parse_expr
>>> from planish.raising.operation import Operation
>>> from planish.raising.raised import whole
>>> text = "kernel solve(n; L: f64[n, n], b: f64[n]) { for r in 0 .. n "
>>> text += "{ for c in 0 .. r { b[r] = b[r] - L[r, c] * b[c] } b[r] = b[r] / L[r, r] } }"
>>> solve = Operation("solve", parse_kernel(text))
>>> arrays = {x.name: x for x in solve.definition.arrays}
>>> step = Apply(solve, {k: whole(x) for k, x in arrays.items()}, {"n": parse_expr("n")})
>>> call = fit_triangular(step, arrays)
>>> call.function, [x.word for x in call.arguments if isinstance(x, BlasFlag)]
('trsv', ['RowMajor', 'Lower', 'NoTrans', 'NonUnit'])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, reduce

from planish.emit.formats.blas.operands import (
    Argument,
    BlasFlag,
    BlasMatrix,
    BlasSize,
    BlasValue,
    BlasVector,
    Order,
    RoutineCall,
    as_matrix,
    as_vector,
    major,
)
from planish.emit.formats.numpy.array_statements import (
    are_apart,
    as_update,
    ascending,
    distribute,
    factors_of,
    terms_of,
)
from planish.ir.expr import Binary, BinaryOp, Const, Expr, Load, index
from planish.ir.index.polynomial import add, constant, mul, sub
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Array, Assign, Block, For, Kernel, Reduce, Stmt
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import loads, map_block, map_expr, map_exprs, substitute, walk
from planish.ir.types import F64, Type
from planish.poly.match.matcher import MismatchError, OperandMatch, match_nest
from planish.raising.raised import Apply, View


@dataclass(frozen=True, slots=True)
class Routine:
    """A routine of a BLAS: what it does (`once`: in the form that is compared), and its arguments.

    An argument is `order`, a word (`Left`), a word that another layout of an operand turns around (`Lower A`), or the
    name of a size, a scalar (1 and 0 where the definition has none of that name) or an operand.
    """

    name: str
    definition: Kernel
    once: Kernel
    arguments: tuple[str, ...]


_OTHER = {"Lower": "Upper", "Upper": "Lower", "NoTrans": "Trans", "Trans": "NoTrans"}


def fit_triangular(apply: Apply, arrays: Mapping[str, Array]) -> RoutineCall | None:
    """The call that does an operation whose definition is that of a routine; `arrays` are those of the kernel."""
    apply = _forwards(apply)
    own = apply.operation.definition
    written = {x.array for x in _assignments(own)}
    outputs = [x for name, x in apply.operands.items() if name in written]
    inputs = [x for name, x in apply.operands.items() if name not in written]
    if len(outputs) != 1 or len(written) != 1 or not all(are_apart(outputs[0], x) for x in inputs):
        return None
    nest = _once(own)
    lines = {x.name: x for x in _lines(own)}
    for routine in list_routines():
        if _outline(routine.once.body) != _outline(Block((nest,))):
            continue
        try:
            match = match_nest(routine.once, nest, lines)
        except MismatchError:
            continue
        views = match.arrays.values()
        if match.conditions or any(constant(x) != 0 for view in views for x in view.index):
            continue
        call = _call(routine, match, apply, arrays)
        if call is not None:
            return call
    return None


def _call(routine: Routine, match: OperandMatch, apply: Apply, arrays: Mapping[str, Array]) -> RoutineCall | None:
    """The call of a routine that fits; None where an operand lies as the routine does not take it."""
    definition = routine.definition
    operands: dict[str, BlasMatrix | BlasVector] = {}
    for array in definition.arrays:
        view: View = apply.operands[match.arrays[array.name].array]
        made = (as_matrix if len(array.shape) == 2 else as_vector)(view, arrays[view.array])
        if made is None:
            return None
        operands[array.name] = made
    matrices = {name: x for name, x in operands.items() if isinstance(x, BlasMatrix)}
    written = next(x.array for x in _assignments(definition))
    order: Order = matrices[written].order if written in matrices else next(iter(matrices.values())).order
    turned = {name for name, x in matrices.items() if x.order != order}
    told = {word.partition(" ")[2] for word in routine.arguments} - {""}
    # What has no word for its layout lies like the others; two with one word lie alike.
    if turned - {name for names in told for name in names.split("=")}:
        return None
    if any(len({name in turned for name in names.split("=")}) > 1 for names in told):
        return None
    values = {**apply.sizes, **apply.scalars}
    some = next(iter(operands.values()))
    kind = arrays[some.array].type
    out: list[Argument] = []
    for argument in routine.arguments:
        word, _, names = argument.partition(" ")
        if word == "order":
            out.append(major(order))
        elif word in operands:
            out += operands[word].arguments()
        elif word in match.sizes:
            out.append(BlasSize(substitute(match.sizes[word], apply.sizes)))
        elif word in ("alpha", "beta"):
            given = match.scalars.get(word, Const(_default(word, routine), F64))
            out.append(BlasValue(substitute(_retyped(given, kind), values)))
        else:
            out.append(BlasFlag(_OTHER[word] if names and names.split("=")[0] in turned else word))
    conditions = tuple(c for x in operands.values() if isinstance(x, BlasVector) for c in x.conditions)
    return RoutineCall(routine.name, kind, tuple(out), conditions)


def _outline(block: Block) -> tuple[str, ...]:
    """The kinds of statements, in order: nests of other kinds need no closer look."""
    return tuple(type(x).__name__ for x in walk(block))


def _default(name: str, routine: Routine) -> float:
    """What a factor is that the definition does not have."""
    stores = any(isinstance(x, Assign) and isinstance(x.value, Const) for x in _assignments(routine.definition))
    return 0.0 if name == "beta" and stores else 1.0


def _assignments(kernel: Kernel) -> Iterator[Assign | Reduce]:
    return (x for x in walk(kernel.body) if isinstance(x, Assign | Reduce))


def _retyped(expr: Expr, kind: Type) -> Expr:
    """A number of a definition, of the operands' type."""
    return map_expr(lambda x: replace(x, type=kind) if isinstance(x, Const) and x.type == F64 else x, expr)


def _once(kernel: Kernel) -> Stmt:
    """A body as one statement, each of its own in loops of its own, products with their numbers in front, elements
    counted from the first one."""
    apart = Block(distribute(simplify_block(kernel.body)))
    ordered = map_block(lambda x: _ordered(x) if isinstance(x, Assign | Reduce) else x, apart)
    shapes = {x.name: x.shape for x in kernel.arrays}

    def line(name: str, at: tuple[Expr, ...]) -> tuple[Expr, ...]:
        out: Expr = index(0)
        for place, extent in zip(at, shapes.get(name, ()), strict=False):
            out = add(mul(out, extent) if extent is not None else index(0), place)
        return (out,) if len(at) > 1 and name in shapes else at

    body = map_block(lambda x: _replaced(x, line), map_block(ascending, ordered))
    return For("once", index(0), index(1), 1, body)


def _lines(kernel: Kernel) -> tuple[Array, ...]:
    """A kernel's arrays with their elements in a line."""
    return tuple(replace(x, shape=(None,) if len(x.shape) > 1 else x.shape) for x in kernel.arrays)


def _replaced(stmt: Stmt, place: Callable[[str, tuple[Expr, ...]], tuple[Expr, ...]]) -> Stmt:
    """A statement whose elements have other subscripts."""

    def visit(x: Expr) -> Expr:
        return replace(x, index=place(x.array, x.index)) if isinstance(x, Load) else x

    stmt = map_exprs(lambda e: map_expr(visit, e), stmt)
    return replace(stmt, index=place(stmt.array, stmt.index)) if isinstance(stmt, Assign | Reduce) else stmt


def _forwards(apply: Apply) -> Apply:
    """The operation on the same elements, with views that run backwards turned around."""
    operation, views = apply.operation, dict(apply.operands)
    turned: dict[str, list[int]] = {}
    for name, view in views.items():
        back = [i for i, steps in enumerate(view.steps) if min(steps, default=0) < 0 and max(steps) <= 0]
        for i in back:
            last = sub(view.shape[i], index(1))
            start = tuple(add(x, mul(index(step), last)) for x, step in zip(view.start, view.steps[i], strict=True))
            steps = tuple(tuple(-s for s in x) if i == j else x for j, x in enumerate(view.steps))
            view = replace(view, start=start, steps=steps)
        views[name], turned[name] = view, back
    if not any(turned.values()):
        return apply
    shapes = {x.name: x.shape for x in operation.definition.arrays}

    def place(name: str, at: tuple[Expr, ...]) -> tuple[Expr, ...]:
        out = list(at)
        for i in turned.get(name, ()):
            extent = shapes[name][i]
            assert extent is not None
            out[i] = sub(sub(extent, index(1)), out[i])
        return tuple(out)

    definition = replace(operation.definition, body=map_block(lambda x: _replaced(x, place), operation.definition.body))
    return replace(apply, operation=replace(operation, definition=definition), operands=views)


def _ordered(stmt: Assign | Reduce) -> Stmt:
    """A sum of products in the one spelling that is compared."""
    stmt = as_update(stmt)
    if isinstance(stmt, Assign) or stmt.op != "add":
        return stmt
    terms = []
    for term in terms_of(stmt.value):
        factors = factors_of(term)
        groups = ([x for x in factors if not loads(x)], [x for x in factors if loads(x)])
        terms.append(_chain("mul", [_chain("mul", x) for x in groups if x]))
    return replace(stmt, value=_chain("add", terms))


def _chain(op: BinaryOp, operands: list[Expr]) -> Expr:
    return reduce(lambda a, b: Binary(op, a, b), operands)


@lru_cache(maxsize=1)
def list_routines() -> tuple[Routine, ...]:
    """All of them, each in the forms that people write."""
    return tuple(
        Routine(
            name, kernel, replace(kernel, arrays=_lines(kernel), body=Block((_once(kernel),))),
            tuple(arguments.split(", ")),
        )
        for name, text, arguments in _texts()
        for kernel in (parse_kernel(text),)
    )


_SCALINGS = ("", "{c} *= beta", "{c} = 0.0")


def _texts() -> Iterator[tuple[str, str, str]]:
    """The name, the definition and the arguments of every form."""
    for scaling in _SCALINGS:
        for alpha in ("alpha * ", ""):
            yield from _symmetric(scaling, alpha)
            yield from _updates(scaling, alpha)
    for alpha in ("alpha * ", ""):
        yield from _ranks(alpha)
    for effective in ("Lower", "Upper"):
        for trans in ("NoTrans", "Trans"):
            for diagonal in ("Unit", "NonUnit"):
                yield from _triangular(effective, trans, diagonal)


def _head(name: str, sizes: str, scalars: str, arrays: str, body: str) -> str:
    used = "; ".join(x for x in (sizes, ", ".join(f"{x}: f64" for x in scalars.split() if x in body), arrays) if x)
    return f"kernel {name}({used}) {{ {body} }}"


def _symmetric(scaling: str, alpha: str) -> Iterator[tuple[str, str, str]]:
    """C = alpha A B + beta C where A is symmetric, on either side; and with vectors."""
    for uplo, inner, outer in (("Lower", "{a}, k", "k, {a}"), ("Upper", "k, {a}", "{a}, k")):
        for split in ("{a} + 1", "{a}"):
            for side, a, extent, other in (("Left", "i", "m", "B[k, j]"), ("Right", "j", "n", "B[i, k]")):
                update = f"C[i, j] += {alpha}A[{{at}}] * {other}"
                low = f"for k in 0 .. {split} {{ {update.format(at=inner)} }}".replace("{a}", a)
                high = f"for k in {split} .. {extent} {{ {update.format(at=outer)} }}".replace("{a}", a)
                arrays = f"A: f64[{extent}, {extent}], B: f64[m, n], C: f64[m, n]"
                for halves in (low + high, high + low):
                    body = f"for i in 0 .. m {{ for j in 0 .. n {{ {scaling.format(c='C[i, j]')} {halves} }} }}"
                    text = _head("symm", "m, n", "alpha beta", arrays, body)
                    yield "symm", text, f"order, {side}, {uplo} A, m, n, alpha, A, B, beta, C"
            update = f"y[i] += {alpha}A[{{at}}] * x[k]"
            low = f"for k in 0 .. {split} {{ {update.format(at=inner)} }}".replace("{a}", "i")
            high = f"for k in {split} .. n {{ {update.format(at=outer)} }}".replace("{a}", "i")
            for halves in (low + high, high + low):
                body = f"for i in 0 .. n {{ {scaling.format(c='y[i]')} {halves} }}"
                text = _head("symv", "n", "alpha beta", "A: f64[n, n], x: f64[n], y: f64[n]", body)
                yield "symv", text, f"order, {uplo} A, n, alpha, A, x, beta, y"


def _updates(scaling: str, alpha: str) -> Iterator[tuple[str, str, str]]:
    """C = alpha A AT + beta C, of which a half is stored; and with two matrices."""
    for uplo, bounds in (("Lower", "0 .. i + 1"), ("Upper", "i .. n")):
        head = f"for i in 0 .. n {{ for j in {bounds} {{ {scaling.format(c='C[i, j]')} for l in 0 .. k {{ "
        for trans, one, other in (("NoTrans", "i, l", "j, l"), ("Trans", "l, i", "l, j")):
            shape = "n, k" if trans == "NoTrans" else "k, n"
            body = head + f"C[i, j] += {alpha}A[{one}] * A[{other}] }} }} }}"
            text = _head("syrk", "n, k", "alpha beta", f"A: f64[{shape}], C: f64[n, n]", body)
            yield "syrk", text, f"order, {uplo} C, {trans} A, n, k, alpha, A, beta, C"
            body = head + f"C[i, j] += {alpha}A[{one}] * B[{other}] + {alpha}B[{one}] * A[{other}] }} }} }}"
            arrays = f"A: f64[{shape}], B: f64[{shape}], C: f64[n, n]"
            text = _head("syr2k", "n, k", "alpha beta", arrays, body)
            yield "syr2k", text, f"order, {uplo} C, {trans} A=B, n, k, alpha, A, B, beta, C"


def _ranks(alpha: str) -> Iterator[tuple[str, str, str]]:
    """A += alpha x xT, of which a half is stored; and with two vectors."""
    for uplo, bounds in (("Lower", "0 .. i + 1"), ("Upper", "i .. n")):
        head = f"for i in 0 .. n {{ for j in {bounds} {{ "
        text = _head("syr", "n", "alpha", "x: f64[n], A: f64[n, n]", head + f"A[i, j] += {alpha}x[i] * x[j] }} }}")
        yield "syr", text, f"order, {uplo} A, n, alpha, x, A"
        body = head + f"A[i, j] += {alpha}x[i] * y[j] + {alpha}y[i] * x[j] }} }}"
        text = _head("syr2", "n", "alpha", "x: f64[n], y: f64[n], A: f64[n, n]", body)
        yield "syr2", text, f"order, {uplo} A, n, alpha, x, y, A"


def _triangular(effective: str, trans: str, diagonal: str) -> Iterator[tuple[str, str, str]]:
    """B = alpha T B, or B T, and the solution X of T X = alpha B, or of X T = alpha B, all in the place of B; T is A or
    its transpose, and `effective` says which half of T there is."""
    uplo = effective if trans == "NoTrans" else _OTHER[effective]
    for solves in (False, True):
        sign, name = ("-", "trs") if solves else ("", "trm")
        for side, n, b, o in (
            ("Left", "m", "B[{r}, j]", "B[k, j]"), ("Right", "n", "B[i, {r}]", "B[i, k]"), ("", "n", "x[{r}]", "x[k]")
        ):  # fmt: skip
            # From the right, a column needs those that T has above: the other half.
            upper = (effective == "Upper") != (side == "Right")
            # An element is computed from those that still are, or already are, as it needs them.
            line = "j" if side == "Right" else "i"
            r = line if upper != solves else f"{n} - 1 - {line}"
            rows = f"k in {r} + 1 .. {n}" if upper else f"k in 0 .. {r}"
            at = f"{r}, k" if (trans == "NoTrans") != (side == "Right") else f"k, {r}"
            b = b.replace("{r}", r)
            own = f"{b} = {b} / A[{r}, {r}]" if solves else f"{b} *= A[{r}, {r}]"
            own = own if diagonal == "NonUnit" else ""
            update = f"for {rows} {{ {b} += {sign}A[{at}] * {o} }}"
            for scale in (f"{b} *= alpha", "") if side else ("",):
                inner = " ".join((scale, update, own) if solves else (own, update, scale))
                if side:
                    body = f"for i in 0 .. m {{ for j in 0 .. n {{ {inner} }} }}"
                    text = _head(f"{name}m", "m, n", "alpha", f"A: f64[{n}, {n}], B: f64[m, n]", body)
                    words = f"order, {side}, {uplo} A, {trans} A, {diagonal}, m, n, alpha, A, B"
                else:
                    text = _head(f"{name}v", "n", "", "A: f64[n, n], x: f64[n]", f"for i in 0 .. n {{ {inner} }}")
                    words = f"order, {uplo} A, {trans} A, {diagonal}, n, A, x"
                yield text.partition("(")[0].removeprefix("kernel "), text, words
