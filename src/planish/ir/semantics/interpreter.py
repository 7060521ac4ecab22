"""The reference interpreter, which defines what a kernel means: it is translated to Python and run over NumPy arrays,
which change in place.

>>> import numpy as np
>>> from planish.ir.expr import Const, index
>>> from planish.ir.nest import Array, Assign, Block, For, Kernel
>>> from planish.ir.types import F32
>>> one = Assign("A", (index("i"),), Const(1.0, F32))
>>> loop = For("i", index(0), index("n"), 2, Block((one,)))
>>> kernel = Kernel("dots", sizes=("n",), arrays=(Array("A", F32, (index("n"),)),), body=Block((loop,)))
>>> values = np.zeros(4, "float32")
>>> run_kernel(kernel, {"n": 4, "A": values})
>>> values.tolist()
[1.0, 0.0, 1.0, 0.0]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, assert_never

import numpy as np

from planish.ir.expr import Expr
from planish.ir.index.interval import Interval, narrow
from planish.ir.nest import Alloc, Array, Assign, Barrier, Block, For, If, Kernel, Launch, Let, Reduce, Stmt, While
from planish.ir.passes.update_idioms import updated
from planish.ir.semantics.arithmetic import constant, limits
from planish.ir.semantics.launches import Phases, forward, run_launch
from planish.ir.semantics.translation import ArrayBinding, PythonCode, PythonNames, PythonProgram, expression
from planish.ir.types import F16, F32, INDEX, Type

_LOOPS_A_FUNCTION = 12
"""Python allows twenty nested loops in a function; deeper ones move to a function of their own."""


def run_kernel(
    kernel: Kernel, values: Mapping[str, int | float | np.ndarray[Any, Any]], phases: Phases = forward
) -> None:
    """Run a checked kernel; `values` holds every size, scalar and array by name; arrays change in place. `phases`: in
    which order blocks and threads of launches run.

    An array's NumPy type is `type.numpy`, its shape that of the declaration (an unknown extent may be anything);
    a scalar cell is an array of shape (). Arrays may share memory. Fresh local arrays hold NaN.

    Raises ValueError or TypeError where a value is missing or does not fit its declaration or an assumption does not
    hold, IndexError (with array and subscript) for an access out of bounds, ArithmeticError for an operation that C
    leaves undefined.
    """
    program = PythonProgram({"phases": phases})
    names = PythonNames()
    for size in kernel.sizes:
        number = _scalar(size, INDEX, values)
        names = names.with_value(size, PythonCode(program.constant(number), (int(number), int(number))))
    for scalar in kernel.scalars:
        number = _scalar(scalar.name, scalar.type, values)
        known = (int(number), int(number)) if scalar.type.is_int or scalar.type.kind == "bool" else None
        names = names.with_value(scalar.name, PythonCode(program.constant(number), known))
    checks = _Writer(program)
    for number_, assumption in enumerate(kernel.assumptions):
        code = expression(assumption, names, checks.lines, program)
        checks.lines.append(f"if not {code.text}: broken({number_})")
    program.names["broken"] = _broken_assumption
    for array in kernel.arrays:
        names = names.with_array(array.name, _parameter(array, names, checks, values))
    writer = _Writer(program, checks.lines)
    writer.block(kernel.body, names)
    with np.errstate(all="ignore"):
        run(program, writer.lines)


def compile_kernel(kernel: Kernel, arrays: Mapping[str, np.ndarray[Any, Any]]) -> Callable[..., None]:
    """A function that runs a checked kernel over these arrays, again and again; its arguments are the values of sizes
    and scalars, in the order of the parameters. Raises as `run_kernel`, but for assumptions, which it does not look at.

    >>> import numpy as np
    >>> from planish.ir.text.parser import parse_kernel
    >>> cell = np.zeros((), "int64")
    >>> add = compile_kernel(parse_kernel("kernel add(k; s: i64[]) { s[] = s[] + k }"), {"s": cell})
    >>> add(3), add(4), int(cell)
    (None, None, 7)
    """
    program = PythonProgram({"phases": forward})
    names = PythonNames()
    parameters: list[str] = []
    for name, type in (*((x, INDEX) for x in kernel.sizes), *((x.name, x.type) for x in kernel.scalars)):
        parameters.append(program.fresh(name))
        names = names.with_value(name, PythonCode(parameters[-1], None if type.is_float else limits(type)))
    writer = _Writer(program)
    for array in kernel.arrays:
        names = names.with_array(array.name, _parameter(array, names, writer, arrays))
    writer.block(kernel.body, names)
    return _function(program, writer.lines, parameters)


def run(program: PythonProgram, lines: list[str]) -> None:
    """Compile the lines as a function over the program's names and call it."""
    _function(program, lines, [])()


def _function(program: PythonProgram, lines: list[str], parameters: list[str]) -> Callable[..., None]:
    body = [f"def main({', '.join(parameters)}):", *(f" {line}" for line in lines or ["pass"])]
    scope: dict[str, Any] = dict(program.names)
    FunctionType(compile("\n".join(body), "<kernel>", "exec"), scope)()
    made: Callable[..., None] = scope["main"]
    return made


def _broken_assumption(number: int) -> None:
    raise ValueError(f"assumption {number + 1} of the kernel does not hold")


def _scalar(name: str, type: Type, values: Mapping[str, Any]) -> Any:
    if name not in values:
        raise ValueError(f"no value for {name}")
    value = values[name]
    return constant(value.item() if isinstance(value, np.ndarray | np.generic) else value, type)


def _parameter(array: Array, names: PythonNames, checks: _Writer, values: Mapping[str, Any]) -> ArrayBinding:
    """Names for the array's memory and extents, and code that compares its shape with the declared one."""
    if array.name not in values:
        raise ValueError(f"no array for {array.name}")
    value = values[array.name]
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{array.name} is not an array")
    if value.dtype != np.dtype(array.type.numpy):
        raise ValueError(f"{array.name} holds {value.dtype}, not {array.type.numpy}")
    if value.ndim != len(array.shape):
        raise ValueError(f"{array.name} has {value.ndim} dimensions, not {len(array.shape)}")
    program = checks.program
    for axis, extent in enumerate(array.shape):
        if extent is not None:
            code = expression(extent, names, checks.lines, program)
            checks.lines.append(f"fit({array.name!r}, {axis}, {value.shape[axis]}, {code.text})")
    program.names["fit"] = _check_extent
    memory = program.constant(storage(value, array.type))
    return ArrayBinding(array.name, memory, tuple(PythonCode(str(n), (n, n)) for n in value.shape))


def _check_extent(name: str, axis: int, actual: int, declared: int) -> None:
    if actual != max(0, declared):
        raise ValueError(f"{name} has extent {actual} in dimension {axis + 1}, not {declared}")


def storage(value: np.ndarray[Any, Any], type: Type) -> Any:
    """What is subscripted: the array where elements round by themselves, else a memory view (it is faster)."""
    return value if type in (F32, F16) else value.data


def _fresh(name: str, type: Type, values: tuple[float, ...]) -> Any:
    """A maker of local arrays: a table of values, or poison: NaN, or for integers a large odd-looking number."""
    filler: Any = np.nan if type.is_float else True if type.kind == "bool" else (1 << type.bits - 1) // 3 * 2

    def make(*shape: int) -> Any:
        if any(n < 0 for n in shape):
            raise ValueError(f"{name} has a negative extent: {shape}")
        whole = np.array(values, type.numpy).reshape(shape) if values else np.full(shape, filler, type.numpy)
        return storage(whole, type)

    return make


def _is_shared(stmt: Stmt) -> bool:
    return isinstance(stmt, Alloc) and stmt.array.memory == "shared"


@dataclass(slots=True)
class _Writer:
    """The lines of Python written so far, at one indentation."""

    program: PythonProgram
    lines: list[str] = field(default_factory=list)
    loops: int = 0
    in_launch: bool = False

    def block(self, block: Block, names: PythonNames) -> None:
        """Statements in order; names bound in the block end with it."""
        for stmt in block.body:
            names = self.statement(stmt, names)

    def nested(self, head: str, block: Block, names: PythonNames, loops: int) -> None:
        """A compound statement: the head, and the block indented below it."""
        if loops < _LOOPS_A_FUNCTION or self.in_launch:
            inner = _Writer(self.program, loops=loops, in_launch=self.in_launch)
            inner.block(block, names)
            self.lines.append(head)
            self.lines.extend(f" {line}" for line in inner.lines or ["pass"])
            return
        inner = _Writer(self.program)
        inner.block(block, names)
        function = self.program.fresh("part")
        self.lines.append(head)
        self.lines.append(f" def {function}():")
        self.lines.extend(f"  {line}" for line in inner.lines or ["pass"])
        self.lines.append(f" {function}()")

    def statement(self, stmt: Stmt, names: PythonNames) -> PythonNames:
        """Write one statement; gives the names that the following ones see."""
        match stmt:
            case Block():
                self.block(stmt, names)
            case For():
                self.loop(stmt, names)
            case While():
                # What the condition needs first is written again in each iteration.
                test = _Writer(self.program)
                condition = test.expression(stmt.condition, names)
                body = _Writer(self.program, loops=self.loops + 1, in_launch=self.in_launch)
                body.block(stmt.body, names)
                self.lines.append("while True:")
                self.lines += [f" {x}" for x in (*test.lines, f"if not ({condition.text}): break", *body.lines)]
            case If():
                condition = self.expression(stmt.condition, names)
                self.nested(f"if {condition.text}:", stmt.then, names, self.loops)
                if stmt.otherwise.body:
                    self.nested("else:", stmt.otherwise, names, self.loops)
            case Assign(array=array, index=index, value=value):
                access = names.arrays[array]
                number = self.expression(value, names)
                place = self.element(access, index, names)
                if stmt.asynchronous and self.in_launch:
                    memory, _, at = place.partition("[")
                    self.lines.append(f"under_way.append(({memory}, ({at[:-1]}), {number.text}))")
                else:
                    self.lines.append(f"{place} = {number.text}")
            case Reduce(array=array, index=index):
                self.statement(Assign(array, index, updated(stmt)), names)
            case Alloc(array=array):
                return names.with_array(array.name, self.allocate(array, names))
            case Let(var=var, value=value):
                code = self.expression(value, names)
                name = self.program.fresh(var)
                self.lines.append(f"{name} = {code.text}")
                return names.with_value(var, PythonCode(name, code.range))
            case Launch():
                self.launch(stmt, names)
            case Barrier():
                # Copies that are under way land as late as they may.
                self.lines += ["for copy in under_way:", " copy[0][copy[1]] = copy[2]", "under_way.clear()", "yield"]
            case _:
                assert_never(stmt)
        return names

    def loop(self, stmt: For, names: PythonNames) -> None:
        """`for` over a range whose bounds are evaluated once."""
        lower, upper = self.expression(stmt.lower, names), self.expression(stmt.upper, names)
        var = self.program.fresh(stmt.var)
        reach: Interval | None = None
        if lower.range is not None and upper.range is not None:
            reach = (lower.range[0], max(lower.range[0], upper.range[1] - 1))
        inner = names.with_value(stmt.var, PythonCode(var, reach))
        head = f"for {var} in range({lower.text}, {upper.text}, {stmt.step}):"
        self.nested(head, stmt.body, inner, self.loops + 1)

    def launch(self, stmt: Launch, names: PythonNames) -> None:
        """A function of the ids of a block that makes its shared arrays and gives the function of a thread."""
        counts = [self.expression(x, names) for _, x in stmt.grid]
        ids = {name: self.program.fresh(name) for name, _ in (*stmt.grid, *stmt.block)}
        for (name, _), count in zip(stmt.grid, counts, strict=True):
            reach = None if count.range is None else (0, max(0, count.range[1] - 1))
            names = names.with_value(name, PythonCode(ids[name], reach))
        for name, number in stmt.block:
            names = names.with_value(name, PythonCode(ids[name], (0, number - 1)))
        block, thread = self.program.fresh("block"), self.program.fresh("thread")
        shared = next((k for k, x in enumerate(stmt.body.body) if not _is_shared(x)), len(stmt.body.body))
        made = _Writer(self.program)
        for x in stmt.body.body[:shared]:
            names = made.statement(x, names)
        inner = _Writer(self.program, in_launch=True)
        inner.block(Block(stmt.body.body[shared:]), names)
        self.program.names["run_launch"] = run_launch
        self.lines.append(f"def {block}({', '.join(ids[name] for name, _ in stmt.grid)}):")
        self.lines += [f" {line}" for line in made.lines]
        self.lines.append(f" def {thread}({', '.join(ids[name] for name, _ in stmt.block)}):")
        self.lines += ["  under_way = []", *(f"  {line}" for line in inner.lines)]
        # What has a barrier, or might have had one, is a generator.
        self.lines += ["  return", "  yield", f" return {thread}"]
        grid = "".join(f"{x.text}, " for x in counts)
        threads = "".join(f"{number}, " for _, number in stmt.block)
        self.lines.append(f"run_launch({block}, ({grid}), ({threads}), phases)")

    def expression(self, expr: Expr, names: PythonNames) -> PythonCode:
        """The expression as Python; lines that it needs first are written."""
        return expression(expr, names, self.lines, self.program)

    def element(self, access: ArrayBinding, index: tuple[Expr, ...], names: PythonNames) -> str:
        """The place `memory[subscripts]`, checked to lie within the extents."""
        return access.element(tuple(self.expression(x, names) for x in index), self.program)

    def allocate(self, array: Array, names: PythonNames) -> ArrayBinding:
        """A fresh local array and names for its extents."""
        maker = self.program.constant(_fresh(array.name, array.type, array.values))
        extents: list[PythonCode] = []
        for extent in array.shape:
            if extent is None:
                raise ValueError(f"the local array {array.name} has an unknown extent")
            code = self.expression(extent, names)
            name = self.program.fresh("extent")
            self.lines.append(f"{name} = {code.text}")
            extents.append(PythonCode(name, narrow(code.range or (0, 0), INDEX)))
        memory = self.program.fresh(array.name)
        self.lines.append(f"{memory} = {maker}({', '.join(x.text for x in extents)})")
        return ArrayBinding(array.name, memory, tuple(extents))
