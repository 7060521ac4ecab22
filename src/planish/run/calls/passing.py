"""Call conventions of a check: what a function takes and reaches, in numbers and arrays of them.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> text = "struct s { int n; float *x; }; void f(struct s *s) { for (int i = 0; i < s->n; i++) s->x[i] = 0; }"
>>> function = read_c(Source("f.c", text)).functions[0]
>>> [(x.name, str(x.type), x.pointer) for x in leaves_of(function)]
[('s->n', 'i32', False), ('s->x', 'f32', True)]
>>> signature_of(function).passing.arguments
('(void *)planish_0',)
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from planish.frontend.c.translation_unit import (
    Callback,
    CFunction,
    CParameter,
    MemberCell,
    PointerDistance,
    RecordParameter,
)
from planish.ir.expr import index
from planish.ir.types import I64, U8, Type
from planish.run.calls.signature import CHANGED, Parameter, Passing, Signature
from planish.run.toolchains.c_type_names import c_name

ROWS = 1024
"""A pointer to rows points to so many."""
ROW = ".length"
"""What the name of the number ends with that says how many elements such a row has."""
MEMORY_OF, COUNT_OF = ".memory", ".count"
"""What the names end with of the bytes that an array of structures has, and of how many there are."""
BEFORE = ".before"
"""What the name of the number ends with that says how many elements lie before where an array's address points."""
MEMORY = 4096
"""Bytes of memory of which nothing is known; all of them are zero."""
RECORDS = 64
"""So many structures lie where the address of one is passed; all but the first are zero."""
TAIL = 1 << 22
"""Bytes of the last member of a structure that goes on behind it."""
_CHANGED = f"((unsigned long long *)planish_r)[1] |= 1ull << {CHANGED};"
"""Says that a call changed something of what begins as the same in each of them."""


def leaves_of(function: CFunction) -> tuple[CParameter, ...]:
    """What a call of a function is made of: its own parameters that are numbers or arrays, those that structures hold,
    and the variables of the file that it works on."""
    out: list[CParameter] = []
    ends = ends_in(function)
    for p in function.parameters:
        if p.name in ends:
            out.append(CParameter(ends[p.name].shown, I64, False, (), ""))
            continue
        match p.form:
            case None if p.type is not None:
                out.append(p)
            case RecordParameter(pointer=pointer, cells=cells):
                out += [_leaf(x.within(p.name, "->" if pointer else "."), x) for x in cells]
                if p.name in spread_in(function):
                    out.append(CParameter(p.name + MEMORY_OF, U8, True, (None,), "", "memory"))
                    out += [CParameter(f"{p.name}[].{x.path}", x.type, True, (None,), "") for x in spread_cells(p.form)]
            case "rows":
                out.append(p)
            case "memory":
                out.append(CParameter(p.name, U8, True, (index(MEMORY),), "", "memory"))
            case _:
                pass
    return (*out, *(_leaf(x.name, x.cell) for x in function.globals if not x.initial))


def ends_in(function: CFunction) -> dict[str, PointerDistance]:
    """The parameters that are addresses in the array of another one, of which regions ask how far away they are."""
    own = {p.name: p for p in function.parameters if p.form is None and p.pointer and len(p.extents) == 1}
    out: dict[str, PointerDistance] = {}
    for x in (x for region in function.regions for x in region.distances):
        alike = x.first in own and x.last in own and own[x.first].type == own[x.last].type
        if alike and x.last not in out and x.first not in out and all(x.last != y.first for y in out.values()):
            out[x.last] = x
    return out


def entered_in(function: CFunction) -> frozenset[str]:
    """The arrays into which a call passes an address: regions reach elements before it."""
    ends = ends_in(function)
    firsts = {x.first for x in ends.values()}
    texts = {dict(x.names)[y.array] for x in function.regions for y in x.bases}
    arrays = {x.name for x in leaves_of(function) if x.pointer and x.form is None}
    return frozenset(texts & arrays - firsts - ends.keys())


def spread_in(function: CFunction) -> frozenset[str]:
    """The parameters that are addresses of as many structures as regions reach: those of which they read rows."""
    named = {text for x in function.regions for text in x.views.values()}
    records = [p for p in function.parameters if isinstance(p.form, RecordParameter) and p.form.pointer and p.form.size]
    return frozenset(p.name for p in records if p.name in named)


def spread_cells(record: RecordParameter) -> tuple[MemberCell, ...]:
    """The numbers in each of many structures."""
    return tuple(x for x in record.cells if not x.address and not x.bitfield and "->" not in x.path)


def outcomes_of(function: CFunction) -> tuple[CParameter, ...]:
    """What a call only leaves behind: the numbers in a structure that it returns, those behind structures, and
    variables that begin as the file says."""
    returned = function.returned
    cells = _returned(returned) if isinstance(returned, RecordParameter) else ()
    out = [_leaf(f"return.{x.path}", x) for x in cells]
    for name, tail in tails_in(function).items():
        out.append(CParameter(f"{name}->{tail.path}[]", tail.type, True, (index(TAIL // tail.type.size),), ""))
    return (*out, *(_leaf(x.name, x.cell) for x in function.globals if x.initial))


def tails_in(function: CFunction) -> dict[str, MemberCell]:
    """The parameters that are addresses of a structure whose last member goes on behind it, and that member."""
    known = [(p.name, p.form) for p in function.parameters if p.name not in spread_in(function)]
    return {name: x.tail for name, x in known if isinstance(x, RecordParameter) and x.tail is not None}


def _leaf(name: str, cell: MemberCell) -> CParameter:
    if cell.rows:
        return CParameter(name, cell.type, True, (index(rows_of(cell)),), "", "rows")
    array = cell.address or cell.count > 1
    return CParameter(name, cell.type, array, (None,) if cell.address else (index(cell.count),) if array else (), "")


def rows_of(cell: MemberCell) -> int:
    """How many rows there are where addresses of rows are."""
    return ROWS if cell.rows == MemberCell.SOME_ROWS else cell.rows


def _returned(record: RecordParameter) -> tuple[MemberCell, ...]:
    """What is compared of a structure that is returned: addresses are not."""
    return tuple(x for x in record.cells if not x.address)


def signature_of(function: CFunction) -> Signature | None:
    """How to call a function from outside; None where that cannot be done (`why_not` says why)."""
    if why_not(function):
        return None
    own = {p.name for p in function.parameters if p.form is None}
    parameters: list[Parameter] = []
    entered = entered_in(function)
    for p in (*leaves_of(function), *outcomes_of(function)):
        if p.type is not None:
            value = p.name in own and not p.pointer
            parameters.append(Parameter(p.name, p.type, "value" if value else "array"))
            if p.form == "rows":
                parameters.append(Parameter(p.name + ROW, I64, "value"))
            elif p.name in entered:
                parameters.append(Parameter(p.name + BEFORE, I64, "value"))
            elif p.name.endswith(MEMORY_OF):
                parameters.append(Parameter(p.name.removesuffix(MEMORY_OF) + COUNT_OF, I64, "value"))
    outcomes = frozenset(p.name for p in outcomes_of(function))
    signature = Signature(
        function.name, tuple(parameters), function.result, completion=function.completion, outcomes=outcomes
    )
    plain = all(p.form is None for p in function.parameters) and function.returned is None and not ends_in(function)
    if plain and not function.globals and not entered:
        return signature
    return replace(signature, passing=_Maker(function, signature).make(plain))


def why_not(function: CFunction) -> str:
    """Why a function cannot be called from outside; "" where it can."""
    unknown = [p.text for p in function.parameters if p.form is None and p.type is None]
    return function.uncallable or (f"`{unknown[0]}` has no type that is known" if unknown else "")


class _Maker:
    """Writes the C by which the entry makes the arguments of a call."""

    def __init__(self, function: CFunction, signature: Signature) -> None:
        self.function = function
        self.number = {p.name: i for i, p in enumerate(signature.parameters)}
        self.signature = signature
        self.entered = entered_in(function)
        self.prelude: list[str] = []
        self.before: list[str] = []
        self.after: list[str] = []

    def make(self, plain: bool) -> Passing:
        arguments = tuple(self._argument(n, p) for n, p in enumerate(self.function.parameters))
        for x in self.function.globals:
            self._global(x.text, x.name, x.cell, x.initial)
        result, returned = "", self.function.returned
        match returned:
            case None:
                pass
            case RecordParameter():
                # It may have no name.
                result = "__auto_type"
                for cell in _returned(returned):
                    self._take(cell.within("planish_v"), f"return.{cell.path}", cell)
            case _:
                result = "address"
        own: tuple[Parameter, ...] | None = None
        if plain:
            kept = {p.name for p in self.function.parameters}
            own = tuple(p for p in self.signature.parameters if p.name in kept)
        return Passing("".join(self.prelude), tuple(self.before), arguments, tuple(self.after), result, own)

    def _argument(self, place: int, p: CParameter) -> str:
        number = self.number.get(p.name, -1)
        held = f"planish_{place}"
        if (end := ends_in(self.function).get(p.name)) is not None:
            base, distance = self.number[end.first], self.number[end.shown]
            return f"(({c_name(p.type or U8)} *)planish_a[{base}] + *(long *)planish_a[{distance}])"
        match p.form:
            case None if p.name in self.entered:
                return self._inside(p.name, p.type or U8)
            case None:
                return self.signature.parameters[number].argument(number)
            case RecordParameter(spelling=spelling, pointer=pointer, cells=cells):
                address = spelling if pointer else f"__typeof__({spelling}) *"
                size = f"{RECORDS} * sizeof(*({address})0)" if pointer else f"sizeof({spelling})"
                aligned = " __attribute__((aligned(64)))"
                if p.name in spread_in(self.function):
                    self._spread_out(p.name, held, address, p.form)
                else:
                    tail = tails_in(self.function).get(p.name)
                    room = size if tail is None else f"{size} + {TAIL}"
                    self.prelude.append(f"static char {self._own(held)}[{room}]{aligned};\n")
                    self.before.append(f"char *{held} = {self._own(held)};")
                    self.before.append(f"__builtin_memset({held}, 0, {size});")
                    if tail is not None:
                        self._put_tail(f"{p.name}->{tail.path}[]", tail, f"(({address}){held})->{tail.path}")
                for link, path in enumerate(p.form.links):
                    text = f"(({address}){held})->{path}"
                    memory = self._own(f"{held}_{link}")
                    seen = next((x.seen for x in cells if x.seen and x.path.startswith(f"{path}->")), "")
                    one = f"*({seen})0" if seen else f"*(({address})0)->{path}"
                    self.prelude.append(f"static char {memory}[sizeof({one})]{aligned};\n")
                    self.before.append(f"__builtin_memset({memory}, 0, sizeof {memory});")
                    self.before.append(f"__builtin_memcpy((void *)&{text}, &(char *){{{memory}}}, sizeof(char *));")
                for cell in cells:
                    name = cell.within(p.name, "->" if pointer else ".")
                    text = cell.within(f"(*({address}){held})")
                    self._put(text, name, cell)
                    if pointer:
                        self._take(text, name, cell)
                if p.name in spread_in(self.function):
                    # Addresses in it differ from call to call.
                    self.after.append(f"__builtin_memset({held}, 0, {held}_size);")
                return f"(void *){held}" if pointer else f"*({address}){held}"
            case Callback():
                stub = self._own(f"{held}_stub")
                self.prelude.append(f"static {p.form.define(stub)}")
                return f"(void *){stub}"
            case "rows":
                self.before.append(f"char *{held}[{ROWS}];")
                self._fill_rows(held, p.name, p.type or U8, ROWS)
                return f"(void *){held}"
            case "stream":
                self.prelude.append(f"static FILE *{self._own(held)};\n")
                opened = 'fopen("/dev/null", "w+")'
                self.before.append(f"if ({self._own(held)} == 0) {self._own(held)} = {opened};")
                return self._own(held)
            case "memory":
                return f"planish_a[{number}]"
            case "address":
                raise AssertionError("an address is returned, not passed")
            case _:
                assert_never(p.form)

    def _put_tail(self, name: str, tail: MemberCell, text: str) -> None:
        """Set what lies behind a structure, of integers small ones, which may be indices, of floats others; and read it
        again behind the call."""
        type = c_name(tail.type)
        value = f"({type})(planish_i * 7 % 8)" if tail.type.is_int else f"({type})(planish_i * 37 % 101 - 50) / 64"
        row = f"planish_tail_{self.number[name]}"
        loop = f"for (long planish_i = 0; planish_i < {TAIL // tail.type.size}; planish_i++)"
        self.before.append(f"{type} *{row} = ({type} *)(void *)&{text};")
        self.before.append(f"{loop} {row}[planish_i] = {value};")
        self.after.append(f"{loop} if ({row}[planish_i] != {value}) {{ {_CHANGED} break; }}")
        self.after.append(f"__builtin_memcpy(planish_a[{self.number[name]}], {row}, {TAIL});")

    def _inside(self, name: str, type: Type) -> str:
        """An address in an array, so many elements behind its start."""
        number, before = self.number[name], self.number[name + BEFORE]
        return f"(void *)(({c_name(type)} *)planish_a[{number}] + *(long *)planish_a[{before}])"

    def _spread_out(self, name: str, held: str, address: str, record: RecordParameter) -> None:
        """Fill as many structures as there are, and read them again behind the call."""
        memory, count = self.number[name + MEMORY_OF], self.number[name + COUNT_OF]
        self.before.append(f"char *{held} = (char *)planish_a[{memory}];")
        self.before.append(f"const unsigned long {held}_size = *(long *)planish_a[{count}] * sizeof(*({address})0);")
        self.before.append(f"__builtin_memset({held}, 0, {held}_size);")
        for cell in spread_cells(record):
            number, size = self.number[f"{name}[].{cell.path}"], _size(cell)
            loop = f"for (long planish_i = 0; planish_i < *(long *)planish_a[{count}]; planish_i++)"
            one = f"(void *)&(({address}){held})[planish_i].{cell.path}"
            other = f"(char *)planish_a[{number}] + planish_i * {size}"
            self.before.append(f"{loop} __builtin_memcpy({one}, {other}, {size});")
            self.after.append(f"{loop} __builtin_memcpy({other}, {one}, {size});")

    def _fill_rows(self, held: str, name: str, type: Type, count: int) -> None:
        """Set an array of addresses, `char *`, to those of rows; those of a negative length, last first."""
        length = f"*(long *)planish_a[{self.number[name + ROW]}]"
        first, step = f"(char *)planish_a[{self.number[name]}]", f"{length} * (long)sizeof({c_name(type)})"
        turned = f"planish_i - ({length} < 0 ? {count - 1} : 0)"
        place = f"{first} + ({turned}) * {step}"
        self.before.append(f"for (long planish_i = 0; planish_i < {count}; planish_i++) {held}[planish_i] = {place};")

    def _put_rows(self, text: str, name: str, cell: MemberCell) -> None:
        held = self._own(f"planish_rows_{self.number[name]}")
        count = rows_of(cell)
        self.prelude.append(f"static char *{held}[{count}];\n")
        self._fill_rows(held, name, cell.type, count)
        source = f"&(char *){{(char *){held}}}" if cell.rows == MemberCell.SOME_ROWS else held
        size = "sizeof(char *)" if cell.rows == MemberCell.SOME_ROWS else f"sizeof {held}"
        self.before.append(f"__builtin_memcpy((void *)&{text}, {source}, {size});")

    def _own(self, name: str) -> str:
        """A name at file scope."""
        return f"{name}_of_{self.function.name}"

    def _global(self, text: str, name: str, cell: MemberCell, initial: bool) -> None:
        size = _size(cell)
        if not initial:
            self._put(text, name, cell)
        else:
            kept = self._own(f"planish_first_{self.number[name]}")
            self.prelude.append(f"static char {kept}[{size}], {kept}_known;\n")
            self.before.append(f"if (!{kept}_known) __builtin_memcpy({kept}, (void *)&{text}, {size});")
            self.before.append(f"{kept}_known = 1;")
            self.before.append(f"__builtin_memcpy((void *)&{text}, {kept}, {size});")
            self.after.append(f"if (__builtin_memcmp((void *)&{text}, {kept}, {size})) {_CHANGED}")
        self._take(text, name, cell)

    def _put(self, text: str, name: str, cell: MemberCell) -> None:
        number, size = self.number[name], _size(cell)
        if cell.rows:
            self._put_rows(text, name, cell)
        elif cell.address and name in self.entered:
            inside = self._inside(name, cell.type)
            self.before.append(f"__builtin_memcpy((void *)&{text}, &(void *){{{inside}}}, sizeof(void *));")
        elif cell.address:
            pointer = f"__builtin_memcpy((void *)&{text}, &planish_a[{number}], sizeof planish_a[{number}]);"
            self.before.append(pointer)
        elif cell.bitfield:
            self.before.append(f"{text} = *({c_name(cell.type)} *)planish_a[{number}];")
        else:
            self.before.append(f"__builtin_memcpy((void *)&{text}, planish_a[{number}], {size});")

    def _take(self, text: str, name: str, cell: MemberCell) -> None:
        if cell.bitfield:
            self.after.append(f"*({c_name(cell.type)} *)planish_a[{self.number[name]}] = {text};")
        elif not cell.address:
            size = _size(cell)
            self.after.append(f"__builtin_memcpy(planish_a[{self.number[name]}], (void *)&{text}, {size});")


def _size(cell: MemberCell) -> str:
    """The bytes of a cell, as C text that follows what its type is."""
    return f"{cell.count} * sizeof({c_name(cell.type)})"
