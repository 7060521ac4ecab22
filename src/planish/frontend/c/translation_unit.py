"""A translation unit as the C front-end reads it: functions, the regions in them that are kernels, and why others are
not.

>>> from planish.ir.expr import index
>>> Update("p", "advance", index("n")).kind
'advance'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from planish.core.diagnostic import Remark
from planish.core.span import Source, Span
from planish.frontend.c.text.preprocess import MissingHeader
from planish.frontend.c.text.written_macros import Invocation
from planish.ir.expr import Expr
from planish.ir.nest import Kernel
from planish.ir.types import Type


@dataclass(frozen=True, slots=True)
class MemberCell:
    """A value within something larger: `path` is its place there ("position.x"; "" for the whole).

    `count` elements of `type` lie there (1 for a number), or, where `address`, a pointer to elements does; of `rows`,
    so many pointers do (`SOME_ROWS`: the address of an array of such). `bitfield`: it has no address, and may hold less
    than its type. `seen`: what C calls the type that the function takes the `void *` for behind which it lies.
    """

    SOME_ROWS: ClassVar[int] = -1

    path: str
    type: Type
    count: int = 1
    address: bool = False
    bitfield: bool = False
    rows: int = 0
    seen: str = ""

    def within(self, whole: str, how: str = ".") -> str:
        """What it is called in C, as a part of something.

        >>> from planish.ir.types import F32
        >>> MemberCell("content->x", F32, seen="struct part *").within("v", "->")
        '((struct part *)v->content)->x'
        """
        if self.seen:
            link, _, rest = self.path.partition("->")
            return f"(({self.seen}){whole}{how}{link})->{rest}"
        return f"{whole}{how}{self.path}" if self.path else whole


@dataclass(frozen=True, slots=True)
class RecordParameter:
    """A structure, union or other type by value, or the address of one: the C type of the parameter, and the numbers in
    it. `links`: the members that are addresses of structures, the outer ones first, whose numbers are among the `cells`
    ("inner->x"). `size`: its bytes; 0 where they are not known. `tail`: the numbers of its last member, where that is
    an array that goes on behind it (`x[]`, `x[1]`). What else it holds (pointers to what is not known, functions,
    unions) is zero."""

    spelling: str
    pointer: bool
    cells: tuple[MemberCell, ...] = ()
    links: tuple[str, ...] = ()
    size: int = 0
    tail: MemberCell | None = None


@dataclass(frozen=True, slots=True)
class Callback:
    """A function that is passed; `text`: how C defines one of its type whose name is the `placeholder`."""

    text: str
    placeholder: ClassVar[str] = "planish_stub"

    def define(self, name: str) -> str:
        """How C defines one of that name."""
        return self.text.replace(self.placeholder, name)


Opaque = Literal["memory", "stream", "rows", "address"]
"""What else is passed or returned: the address of memory of which nothing is known, a stream of C's library, pointers
to rows of elements, or (returned) an address."""

Form = RecordParameter | Callback | Opaque


@dataclass(frozen=True, slots=True)
class CParameter:
    """A parameter of a C function.

    `type` is the scalar or element type (None: not one that Planish knows); `pointer` says whether an address is
    passed; `extents` are those of the array behind it, outermost first: `float *p` has (None,), a scalar has ().
    `text` is the declaration as C. `form`: what it is, where it is neither a number nor the address of numbers.
    """

    name: str
    type: Type | None
    pointer: bool
    extents: tuple[Expr | None, ...]
    text: str
    form: Form | None = None


@dataclass(frozen=True, slots=True)
class Global:
    """A variable of the file that a function, or one that it calls, names: `text` is what it is called where a call is
    made. `initial`: it keeps the values that the file gives it."""

    name: str
    text: str
    cell: MemberCell
    initial: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """What a C variable holds after a region: `set` makes an integer equal to `value`, `advance` moves a pointer by
    `value` elements. `value` is an index expression over the kernel's sizes as they are on entry; all updates of a
    region are computed before any is stored."""

    variable: str
    kind: Literal["set", "advance"]
    value: Expr


@dataclass(frozen=True, slots=True)
class PointerDistance:
    """A size of a region that is the elements from the address in a variable to that in another one; `text` computes it
    in C."""

    text: str
    first: str
    last: str

    @property
    def shown(self) -> str:
        """What it is called in reports."""
        return f"{self.last} - {self.first}"


@dataclass(frozen=True, slots=True)
class HeldValue:
    """What a region reads where it begins although its stores to `array` may change it, as far as types tell: `bytes`
    of memory from `address` on, in C. They must not overlap."""

    array: str
    address: str
    bytes: str


@dataclass(frozen=True, slots=True)
class SpacedRows:
    """Rows of the kernel's array `array` whose addresses lie in `table`, in C. They have to be evenly spaced, which the
    size `apart` counts in elements; what is called `first` in C is then where a row with the number 0 begins."""

    array: str
    apart: str
    table: str
    first: str


@dataclass(frozen=True, slots=True)
class RecastArray:
    """The kernel's array `array`, which lies `offset` bytes behind the address `text`, in C, of elements of `size`
    bytes."""

    array: str
    text: str
    size: int
    offset: int


@dataclass(frozen=True, slots=True)
class ArrayBase:
    """Where the kernel's array `array` begins: so many elements `before` where its pointer points when the region
    begins. Until then the function has moved this pointer by `moved` elements, over its parameters, as far as known."""

    array: str
    before: Expr
    moved: Expr


TILE = 16
"""Elements on each side of a tile of a `BitReversal`."""


@dataclass(frozen=True, slots=True)
class BitReversal:
    """That a region exchanges elements whose numbers have the same digits the other way round, of some `base`; of each
    array so many side by side. Where there are `sources`, all elements are copied to each array from its source. The
    region's one size, `tiles`, is how many squares of `TILE` rows of `TILE` elements there are; it is a power of the
    base, and TILE as well."""

    base: int
    widths: Mapping[str, int]
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResumedLoop:
    """How a loop goes on behind iterations that are skipped, of which each adds to the C variables `advances`, pointers
    by elements. What stays is `text[rest:end]` of the source behind `opening`; `first` is the statement that begins the
    loop, or "". `again`: iterations leave something in other variables, so that the last one has to be run as it is
    written."""

    advances: tuple[tuple[str, Expr], ...]
    first: str
    opening: str
    rest: int
    again: bool


@dataclass(frozen=True, slots=True)
class Headroom:
    """So many `iterations`, in C, may be run before a counter wraps around; it has so many `values`."""

    iterations: str
    values: int


@dataclass(frozen=True, slots=True)
class EarlyExit:
    """That a region is a loop that an iteration may leave: the kernel sets its cell `flag` in such an iteration.
    `effects`: iterations do more than its `loop` says, which has to be done for those that are skipped. `uncounted`:
    the kernel's size that stands for a number of iterations that no loop reaches, or ""; that is at most as large as
    all `rooms`, and than any array."""

    flag: str
    loop: ResumedLoop
    effects: bool
    uncounted: str = ""
    rooms: tuple[Headroom, ...] = ()


@dataclass(frozen=True, slots=True)
class PackedStore:
    """That the kernel's cell `value` is stored to `address`, in C, where the loop begins; of elements of a type.
    `spread`: the other way round, what is at the address is stored to the element that the cell is set to. `later`: the
    C variables by way of which an iteration reads elements after that, "" for one that is not known."""

    address: str
    value: str
    type: Type
    spread: bool = False
    later: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pack:
    """What an iteration that sets the kernel's cell `keeps` stores, to places that each such iteration advances by one,
    as it does the C variable `counter`; of `bits`, if that wraps around."""

    counter: str
    keeps: str
    stores: tuple[PackedStore, ...]
    bits: int = 0


@dataclass(frozen=True, slots=True)
class Compaction:
    """That a region is a loop that packs what it keeps, as the kernel tells."""

    packs: tuple[Pack, ...]
    loop: ResumedLoop


@dataclass(frozen=True, slots=True)
class RowLoop:
    """That a region is a loop over rows, of which the kernel is the part `text[start:end]`: only where the `condition`
    holds, in C, is that worth a call in each row."""

    condition: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Region:
    """Consecutive statements of one compound statement, or the one that is a body without braces, that are a kernel.

    `text[start:end]` of the original source is exactly these statements. `names` pairs every kernel parameter (sizes,
    scalars, arrays, in this order) with the C expression to pass for it. `updates` must be applied after the kernel
    ran. `registers` are C variables that `names` passes by address but which are declared `register`, or had better
    stay in one: copy them into an ordinary variable and back. `scratch` are arrays of the kernel that belong to the
    function and are read nowhere behind it: what the kernel leaves in them may be anything. `computed` are sizes that
    the function computes from its parameters, and how. `stages` are the same statements in several iterations of the
    loop around them, the most first: their updates leave the loop's counter as in the last of these; `powers` are C
    variables of which two is raised to the power. `alone`: the region is the whole body of a branch or loop that has no
    braces, so that what stands for it has to be one statement. `conditional_stores` are arrays of the kernel whose
    elements it stores to in every case, where the statements do so under conditions on data: nothing but changes may be
    stored there; `guarded` are those of them of which nothing may be read either where the conditions do not hold.
    `reversal`: it is such a one, whose kernel has no affine subscripts. `declared` pairs arrays and scalars with the
    types of their elements in C, where C has a name for them. `unseen`: variables that it may change and no check
    compares. `conditions`: what the kernel relies on besides its assumptions, in C: ranges of numbers; `held`: what its
    stores must not reach; `views`: the kernel's arrays that are members of one type in an array of structures, and what
    that is called in C; `distances`: its sizes that are distances of addresses; `spaced`: arrays whose rows are found
    to be evenly spaced before the kernel is called; `recast`: those of elements that are declared as others; `exits`:
    it is a loop with early exits, whose kernel only tells whether any iteration leaves it; `packing`: one that packs
    what it keeps; `bases`: arrays that do not begin where their pointers pointed when the function was called;
    `in_rows`: it is only worth a call in rows that are long on average, and whether they are is asked in front of the
    loop over all, of which the kernel is a part, `rows`. `characters`: whether the plain `char` that its file has is
    one with a sign ("signed", "unsigned"; "" where it has none). `products`: its sizes that are products of others.
    """

    function: str
    ordinal: int
    kernel: Kernel
    start: int
    end: int
    names: tuple[tuple[str, str], ...]
    updates: tuple[Update, ...] = ()
    registers: tuple[str, ...] = ()
    scratch: tuple[str, ...] = ()
    computed: tuple[tuple[str, Expr], ...] = ()
    span: Span | None = None
    stages: tuple[Region, ...] = ()
    powers: tuple[str, ...] = ()
    alone: bool = False
    conditional_stores: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    reversal: BitReversal | None = None
    declared: tuple[tuple[str, str], ...] = ()
    unseen: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    held: tuple[HeldValue, ...] = ()
    views: Mapping[str, str] = field(default_factory=dict)
    distances: tuple[PointerDistance, ...] = ()
    exits: EarlyExit | None = None
    packing: Compaction | None = None
    in_rows: bool = False
    rows: RowLoop | None = None
    spaced: tuple[SpacedRows, ...] = ()
    recast: tuple[RecastArray, ...] = ()
    bases: tuple[ArrayBase, ...] = ()
    characters: str = ""
    products: Mapping[str, Expr] = field(default_factory=dict)

    @property
    def goes_on(self) -> bool:
        """Whether it is a loop that goes on as it is written, behind iterations that are done in another way."""
        return self.exits is not None or self.packing is not None


@dataclass(frozen=True, slots=True)
class Conditions:
    """What decides which way a function takes: for variables (and members of structures, as they are written) the
    constants that they are `compared` with; those that are `bare`, true or false by themselves; pairs that are compared
    with each other; its `constants`; the constants of each of its `calls` in the file; and those that it asserts to be
    `equal` to an expression of others."""

    compared: tuple[tuple[str, tuple[int | float, ...]], ...] = ()
    bare: tuple[str, ...] = ()
    alike: tuple[tuple[str, str], ...] = ()
    constants: tuple[int | float, ...] = ()
    calls: tuple[tuple[tuple[str, int | float], ...], ...] = ()
    equal: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CFunction:
    """A function definition: `result` is None for void and for types that Planish does not know, which `returned`
    describes; `globals` are the variables that it works on; `completion` is C text that defines what the file only
    declares, for libraries that are whole. `uncallable` says why it cannot be called, or "". `outside`: what
    it needs and the file does not define, some of which is the C library's. `meaning`: the kernel that it was made of,
    where the user wrote no C. `loops`: how many its text has after macros are expanded."""

    name: str
    static: bool
    result: Type | None
    prototype: str
    parameters: tuple[CParameter, ...]
    regions: tuple[Region, ...]
    span: Span
    start: int = 0
    end: int = 0
    returned: Form | None = None
    globals: tuple[Global, ...] = ()
    completion: str = ""
    uncallable: str = ""
    outside: tuple[str, ...] = ()
    conditions: Conditions = Conditions()
    meaning: Kernel | None = None
    loops: int = 0


@dataclass(frozen=True, slots=True)
class Prototype:
    """A function's declaration in C and in C++ (None: C++ has no such)."""

    name: str
    text: str
    cplusplus: str | None


@dataclass(frozen=True, slots=True)
class TypeText:
    """The definition of types, as in C; `original`: how it stands in the file, as which text that reads so (`ordinal`,
    from 0), and what stands `otherwise` for it where the types are defined already; `portable`: it is C++ as well. One
    without an original may be given twice."""

    text: str
    original: str = ""
    portable: bool = True
    ordinal: int = 0
    otherwise: str = ""


@dataclass(frozen=True, slots=True)
class HeaderInterface:
    """What a header says: includes (`<stdio.h>`, `"types.h"`), types in their order, prototypes, and why some functions
    are not declared."""

    prototypes: tuple[Prototype, ...] = ()
    types: tuple[TypeText, ...] = ()
    includes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CutLoop:
    """A loop `text[start:end]` of the source, and what of it is written otherwise where it is cut in several."""

    start: int
    end: int
    changes: tuple[Invocation, ...]


@dataclass(frozen=True, slots=True)
class CFile:
    """A C file as read: `preprocessed` is what the parser saw (`unchanged`: what it saw first, where parts of the text
    are written otherwise), `remarks` say what was not extracted and why, `missing` are the headers
    that were not found, `ring_loops` the loops that may be cut where subscripts go round.

    `interface` is what a header of its functions says. `origin` is what the user wrote, where that was not C: the file
    then has the plain C of each kernel that it holds.
    """

    source: Source
    functions: tuple[CFunction, ...]
    remarks: tuple[Remark, ...]
    preprocessed: str
    origin: Source | None = None
    interface: HeaderInterface = HeaderInterface()
    missing: tuple[MissingHeader, ...] = ()
    ring_loops: tuple[CutLoop, ...] = ()
    unchanged: str = ""

    @property
    def preprocessed_as_written(self) -> str:
        """What the preprocessor makes of what the user wrote."""
        return self.unchanged or self.preprocessed

    @property
    def given(self) -> Source:
        """The text that the user wrote, at which the places in remarks point."""
        return self.source.written if self.origin is None else self.origin

    @property
    def missing_remarks(self) -> tuple[Remark, ...]:
        """What is said of the headers and types that were not found, on which all else in the file may depend."""
        return tuple(x for x in self.remarks if x.id in ("c-include", "c-type"))

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of its parameters, results and arrays, each once."""
        known = [x.type for f in self.functions for x in f.parameters] + [f.result for f in self.functions]
        kernels = [r.kernel for f in self.functions for r in f.regions]
        known += [x.type for kernel in kernels for x in kernel.scalars]
        known += [x.type for kernel in kernels for x in kernel.arrays]
        return tuple(dict.fromkeys(x for x in known if x is not None))

    def without_early_exits(self) -> CFile:
        """The file for code that does all of a region, which there is none of for loops that go on as they are written:
        they are no regions, and remarks say so."""
        left = [x for f in self.functions for x in f.regions if x.goes_on]
        if not left:
            return self
        message = "the loop stays as written: iterations may leave it early, or store to places that data choose"
        functions = tuple(
            replace(f, regions=tuple(x for x in f.regions if not x.goes_on)) for f in self.functions
        )  # fmt: skip
        remarks = (*self.remarks, *(Remark("scop-jump", "refused", message, x.span) for x in left))
        return replace(self, functions=functions, remarks=remarks)

    def function(self, name: str) -> CFunction:
        """The function of that name; KeyError where there is none."""
        for function in self.functions:
            if function.name == name:
                return function
        raise KeyError(name)
