"""Loop nests and kernels: what runs, in which order, over which arrays.

Statements carry the place in the user's source (`span`) and, while a kernel is scheduled, a number of their own that
stays with them (`label`, 0 for none); neither makes two statements different.

>>> from planish.ir.expr import Const, Var, index
>>> from planish.ir.types import F32, INDEX
>>> loop = For("i", index(0), index("n"), 1, Block((Assign("A", (index("i"),), Const(0.0, F32)),)))
>>> Kernel("zero", sizes=("n",), arrays=(Array("A", F32, (index("n"),)),), body=Block((loop,))).name
'zero'
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from planish.core.span import Span
from planish.ir.expr import Expr
from planish.ir.types import Type

AXES = tuple(f"{kind}_{axis}" for kind in ("block", "thread") for axis in "xyz")
"""The axes of a device over which loops are spread."""

ReduceOp = Literal["add", "mul", "min", "max", "and", "or", "xor"]
Memory = str
"""Where an array is: "dram", "scratch" (the same, kept by the thread from one call to the next), "stack", "nowhere"
(what is stored there is never read), "table" (constants, which nothing writes to), "register" (a scalar of the
compiler's), "shared" (of all threads of a block, in the memory beside a multiprocessor), or a kind of vector register
that an instruction file declares; of such an array the last dimensions are lanes, which instructions alone may
touch."""
PLAIN_MEMORIES: tuple[Memory, ...] = ("dram", "scratch", "stack", "table", "register", "nowhere", "shared")


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """What is proven about a loop, for the emitter: each holds for every execution of the loop.

    `parallel`: iterations may run on different threads. `simd`: iterations may run in lanes; `reductions` are the
    scalars (op, name) that lanes accumulate apart. `unroll`: copies of the body wanted (0: as the compiler likes).
    `coincident`: the schedule says that no dependence goes from one iteration to another. `isolated`: the loop runs
    over the part of the points that a schedule sets apart. `instruction`: the one that does all of the loop, whose
    definition it equals. `stream`: the one that may store what the loop makes non-temporally, where that lies in one
    row and nothing of it is read again; where the loop stores to other arrays as well, this is the one that it assigns
    to last, and what it does with the others does not depend on it, nor it on that. `fetch`: the instruction that
    fetches what such a loop assigns to arrays that are nowhere. `axis`: the axis of a device that its iterations are
    spread over, "block_x" … "thread_z"; they are independent, and those on threads end together. `masked`: the
    instruction stores only where another value than an element's own is chosen, and reads under the conditions of
    choices.
    """

    parallel: bool = False
    simd: bool = False
    reductions: tuple[tuple[ReduceOp, str], ...] = ()
    unroll: int = 0
    coincident: bool = False
    isolated: bool = field(default=False, compare=False)
    instruction: str = ""
    stream: str = ""
    fetch: str = ""
    axis: str = ""
    masked: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """Statements in order."""

    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class For:
    """`for var in lower .. upper step step`: `upper` is exclusive, `step` positive; bounds are evaluated once."""

    var: str
    lower: Expr
    upper: Expr
    step: int
    body: Block
    facts: LoopFacts = LoopFacts()
    span: Span | None = field(default=None, compare=False)
    label: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class While:
    """Runs `body` as long as `condition` (bool) holds before it. How often is data: no static control part holds one,
    and kernels that do are written as C, in which nests are found."""

    condition: Expr
    body: Block
    span: Span | None = field(default=None, compare=False)
    label: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class If:
    """Runs `then` where `condition` (bool) holds, otherwise `otherwise`."""

    condition: Expr
    then: Block
    otherwise: Block = Block(())
    span: Span | None = field(default=None, compare=False)
    label: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Assign:
    """`array[index] = value`; a scalar cell is an array of rank 0 with the index `()`.

    `asynchronous`: a copy of an element to shared memory that may be under way until the next barrier of the thread:
    neither it nor others may use what is stored, or the place, before that."""

    array: str
    index: tuple[Expr, ...]
    value: Expr
    span: Span | None = field(default=None, compare=False)
    label: int = field(default=0, compare=False)
    asynchronous: bool = False


@dataclass(frozen=True, slots=True)
class Reduce:
    """`array[index] = array[index] op value`; an extremum keeps what is there unless the value is beyond it, so that no
    NaN takes its place."""

    array: str
    index: tuple[Expr, ...]
    op: ReduceOp
    value: Expr
    span: Span | None = field(default=None, compare=False)
    label: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Alloc:
    """A local array, visible from here to the end of the enclosing block; its content is undefined at first."""

    array: Array
    span: Span | None = field(default=None, compare=False)
    label: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Let:
    """A name for a value (a `Var` of the value's type), visible from here to the end of the enclosing block."""

    var: str
    value: Expr
    span: Span | None = field(default=None, compare=False)
    label: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Launch:
    """Runs `body` in every thread of every block of a grid, in any order: `grid` and `block` name the ids of blocks and
    of threads in a block, along x, y and z, with their numbers (none where a number is not positive).

    Arrays in "shared" memory that are allocated first in the body are those of the block.
    """

    grid: tuple[tuple[str, Expr], ...]
    block: tuple[tuple[str, int], ...]
    body: Block
    span: Span | None = field(default=None, compare=False)
    label: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Barrier:
    """Where each thread of a block waits for its asynchronous copies and all others; what they have stored is seen by
    all behind it."""

    span: Span | None = field(default=None, compare=False)
    label: int = field(default=0, compare=False)


Stmt = Block | For | While | If | Assign | Reduce | Alloc | Let | Launch | Barrier


@dataclass(frozen=True, slots=True)
class Array:
    """An array in memory, row-major and dense.

    `shape` holds the extents (index expressions over the sizes); the first may be None where the source does not say
    (a pointer parameter). Rank 0 is a scalar cell. `distinct`: known not to overlap any other array of the kernel.
    `values`: the elements of a table, one after the other.
    """

    name: str
    type: Type
    shape: tuple[Expr | None, ...] = ()
    distinct: bool = False
    memory: Memory = "dram"
    values: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Scalar:
    """A read-only value parameter."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Derived:
    """A size, or an array, that is none of the caller's: it stands for an expression over the others, an array for one
    of its subscripts, which `index` names."""

    name: str
    index: tuple[str, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Kernel:
    """A loop nest with its parameters.

    `sizes` are read-only integers (INDEX) that may stand in bounds and subscripts; `assumptions` are conditions over
    the sizes which hold on entry (a caller that cannot prove them checks them at run time and runs the original).
    `derived` says what some of the sizes and arrays stand for, each in terms of those before it.
    """

    name: str
    sizes: tuple[str, ...] = ()
    scalars: tuple[Scalar, ...] = ()
    arrays: tuple[Array, ...] = ()
    body: Block = Block(())
    assumptions: tuple[Expr, ...] = ()
    span: Span | None = field(default=None, compare=False)
    derived: tuple[Derived, ...] = ()

    def array(self, name: str) -> Array:
        """The parameter of that name; KeyError where there is none."""
        for array in self.arrays:
            if array.name == name:
                return array
        raise KeyError(name)
