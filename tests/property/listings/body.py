"""What stands in a function: nests of loops in many spellings, and statements over arrays, scalars and pointers.

>>> body = Body(random.Random(3), [Array("a", "int", (), bound=100)], ["n"], {"n": "int"}, wraps=True)
>>> body.nest(1)
>>> body.lines[0].startswith("    ")
True
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.property.listings.expressions import (
    FAR,
    any_cast,
    call,
    cast,
    choose,
    compare,
    converted,
    literal,
    operate,
    unary,
)
from tests.property.listings.loops import Loop, make_loop
from tests.property.listings.places import FURTHEST, LARGEST, Array, Index, Iterator, clamp, subscript_size
from tests.property.listings.types import BITS, Value, common, is_float, is_signed, promoted, reach

MOST_INSTANCES = 60_000
"""Of the innermost statement of a nest."""

_NOTES = ("/* next */", "// as before", "/* a < b */", "/* for (;;) */", "// TODO: {", "/*\n * two lines\n */")


@dataclass(slots=True)
class Sum:
    """A scalar that statements add to; `left` is how much more fits into it where it is an integer with a sign."""

    name: str
    type: str
    left: float


@dataclass(slots=True)
class Body:
    """State of one function's text: arrays, sizes with their types, and what is in scope."""

    rng: random.Random
    arrays: list[Array]
    sizes: list[str]
    size_types: dict[str, str]
    wraps: bool
    scalars: list[Value] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    iterators: list[Iterator] = field(default_factory=list)
    locals: list[Value] = field(default_factory=list)
    sums: list[Sum] = field(default_factory=list)
    declared: list[tuple[str, str]] = field(default_factory=list)
    names: int = 0
    depth: int = 1
    instances: int = 1
    here: int = 1
    in_loop: bool = False
    can_continue: bool = False
    floating: float = 0.3

    def say(self, text: str) -> None:
        """Appends a line."""
        pad = "    " * self.depth
        self.lines.append(pad + text.replace("\n", "\n" + pad))
        if self.rng.random() < 0.03:
            self.lines.append(pad + self.rng.choice(_NOTES).replace("\n", "\n" + pad))

    def fresh(self, stem: str) -> str:
        """A name that is not used yet in this function."""
        self.names += 1
        return f"{stem}{self.names}"

    # -- subscripts

    def index(self) -> Index:
        """A small expression over iterators, sizes and constants."""
        rng = self.rng
        out = self._atom()
        if rng.random() < 0.12:
            out = out.times(rng.choice((2, 2, 3, -1)))
        if rng.random() < 0.2:
            out = out.joined(rng.choice("++-"), self._atom())
        if rng.random() < 0.3:
            out = out.plus(rng.choice((-2, -1, -1, 1, 1, 2, 3)))
        if rng.random() < 0.08:
            out = out.divided(rng.choice("/%"), rng.choice((2, 3, 4, 8)))
        return out

    def _atom(self) -> Index:
        roll = self.rng.random()
        if self.iterators and roll < 0.85:
            return (self.iterators[-1] if roll < 0.5 else self.rng.choice(self.iterators)).index
        if self.sizes and roll < 0.95:
            return self.size_index(self.rng.choice(self.sizes))
        number = self.rng.randint(0, 4)
        return Index(str(number), number, number)

    def size_index(self, name: str) -> Index:
        """A size as an index expression."""
        return Index(name, 0, LARGEST, not is_signed(self.size_types[name]))

    def place(self, array: Array) -> str | None:
        """An element of an array; None where there is none that is surely in range."""
        rng = self.rng
        if array.shape:
            texts = []
            for extent in array.shape:
                if isinstance(extent, int) and rng.random() < 0.03 and self.iterators:
                    texts.append(self._from_data(extent))
                elif isinstance(extent, int):
                    texts.append(clamp(rng, self.index(), extent).text)
                else:
                    texts.append(subscript_size(rng, self.iterators, extent))
            return f"{array.name}[{']['.join(texts)}]" if all(texts) else None
        index = self._flat(array)
        array.touch(index.low, index.high)
        if index.text == "0" and rng.random() < 0.5:
            return f"*{array.name}"
        if index.tight and rng.random() < 0.04:
            return f"*({array.name} + {index.text})"
        return f"{array.name}[{index.text}]"

    def _from_data(self, extent: int) -> str:
        """A subscript that is read from memory."""
        value = self.load()
        if value is None or is_float(value.type):
            return "0"
        if extent & (extent - 1) == 0:
            return f"{value.operand} & {extent - 1}"
        return f"(unsigned){value.operand} % {extent}"

    def _flat(self, array: Array) -> Index:
        rng = self.rng
        known = [x for x in array.used if self._in_scope(x)]
        roll = rng.random()
        if known and roll < 0.4:
            index = rng.choice(known).plus(rng.choice((0, 0, 0, 1, -1, 2)))
        elif len(self.iterators) > 1 and roll < 0.75:
            rows, columns = rng.sample([x.index for x in self.iterators], 2)
            width = rng.choice([self.size_index(x) for x in self.sizes] + [Index("40", 40, 40), Index("16", 16, 16)])
            index = rows.joined("*", width).joined("+", columns)
            index = index.plus(rng.choice((0, 0, 0, 1, -1)))
        else:
            index = self.index()
        if max(-index.low, index.high) > FURTHEST:
            index = clamp(rng, index, 64)
        array.used.append(index)
        return index

    def _in_scope(self, index: Index) -> bool:
        names = {x.index.text for x in self.iterators} | set(self.sizes)
        words = "".join(c if c.isalnum() or c == "_" else " " for c in index.text).split()
        return all(w in names or w.isdigit() for w in words) and index.low >= -FURTHEST

    # -- values

    def value(self, depth: int) -> Value:
        """An expression over data."""
        rng = self.rng
        roll = rng.random()
        if depth == 0 or roll < 0.15:
            return self._leaf()
        a = self.value(depth - 1)
        if roll < 0.22:
            return unary(rng, a, self.wraps)
        if roll < 0.3:
            return any_cast(rng, a)
        b = self.value(depth - 1 if rng.random() < 0.5 else 0)
        if roll < 0.38:
            return choose(self.condition(), a, b)
        if roll < 0.45:
            return call(rng, a, b)
        if roll < 0.48:
            return compare(rng, a, b)
        ops = ("+", "+", "+", "-", "-", "*", "*", "/")
        if not is_float(common(a.type, b.type)):
            ops = (*ops, "%", "&", "|", "^", "<<", ">>")
        return operate(rng, rng.choice(ops), a, b, self.wraps)

    def _leaf(self) -> Value:
        rng = self.rng
        roll = rng.random()
        if self.locals and roll < 0.25:
            return rng.choice(self.locals)
        if self.scalars and roll < 0.35:
            return rng.choice(self.scalars)
        if roll < 0.45:
            return literal(rng, rng.random() < self.floating)
        if self.iterators and roll < 0.52:
            it = rng.choice(self.iterators).index
            kind = "unsigned long" if it.unsigned else "int"
            return Value(it.text, kind, it.low, it.high, it.tight)
        return self.load() or literal(rng, rng.random() < self.floating)

    def load(self) -> Value | None:
        """An element of some array."""
        for _ in range(3):
            array = self.rng.choice(self.arrays)
            text = self.place(array)
            if text is not None:
                return element(array, text)
        return None

    def condition(self) -> Value:
        """A comparison of data, of iterators, or both."""
        rng = self.rng
        if self.iterators and rng.random() < 0.5:
            a, b = self.index(), self.index()
            if a.unsigned != b.unsigned and min(a.low, b.low) < 0:
                b = Index("3", 3, 3)
            if rng.random() < 0.2 and a.low >= 0:
                made = f"{a.operand} % {rng.choice((2, 3, 4))} == {rng.choice((0, 1))}"
            else:
                made = f"{a.operand} {rng.choice(('<', '<=', '>', '>=', '==', '!='))} {b.operand}"
            first = Value(made, "int", 0, 1, False)
        else:
            first = compare(rng, self.value(1), self._leaf())
        if rng.random() < 0.15:
            other = self.condition()
            return Value(f"{first.operand} {rng.choice(('&&', '||'))} {other.operand}", "int", 0, 1, False)
        return first

    # -- statements

    def block(self, most: int, loops: int) -> None:
        """Some statements; loops inside to a depth of `loops`."""
        rng = self.rng
        kept = len(self.locals)
        for _ in range(rng.randint(1, most)):
            if loops > 0 and rng.random() < 0.6:
                self.nest(loops)
            else:
                self.statement()
        if loops > 0 and rng.random() < 0.3:
            self.statement()
        del self.locals[kept:]

    def statement(self) -> None:
        """One statement."""
        rng = self.rng
        roll = rng.random()
        if roll < 0.12:
            self._declare()
        elif roll < 0.24 and self.sums:
            self._add()
        elif roll < 0.33 and self.depth < 7:
            self._branch()
        elif roll < 0.36 and self.can_continue:
            self.say(f"if ({self.condition().text})")
            self.say(f"    {rng.choice(('continue', 'continue', 'break'))};")
        elif roll < 0.40:
            self._extremum()
        elif roll < 0.41 and self.in_loop:
            self.say(";")
        elif roll < 0.44:
            first, second = self._store(), self._store()
            self.say(f"{first}, {second};" if first and second else ";")
        else:
            self.say((self._store() or "") + ";")

    def _declare(self) -> None:
        rng = self.rng
        type = rng.choice(("int", "int", "unsigned", "long", "float", "double", "short", "unsigned char", "uint64_t"))
        value = self._fitting(self.value(2), type)
        name = self.fresh("t")
        made = converted(value, type)
        self.say(f"{rng.choice(('', '', '', 'const ', 'register '))}{type} {name} = {value.text};")
        self.locals.append(Value(name, type, made.low, made.high))

    def _fitting(self, value: Value, type: str) -> Value:
        """A value that may be converted to a type."""
        if is_float(value.type) and not is_float(type):
            if value.low > -1000 and value.high < 1000 and BITS[type] >= 16 and is_signed(type):
                return value
            return Value(f"{value.operand} > 1", "int", 0, 1, False)
        return value

    def _bounded(self, value: Value, array: Array) -> Value:
        """A value that an array may hold."""
        rng = self.rng
        type = array.type
        value = self._fitting(value, type)
        if is_float(type):
            if max(abs(value.low), abs(value.high)) > 1e4:
                return operate(rng, "*", Value("0.125f", "float", 0.125, 0.125), value, self.wraps)
            return value
        if self.wraps or not is_signed(type) or BITS[type] < 32:
            return value
        if -array.bound <= value.low and value.high <= array.bound:
            return value
        value = converted(value, promoted(value.type))
        by = int(array.bound)
        return operate(rng, "%", value, Value(str(by), "int", by, by), self.wraps)

    def _target(self) -> tuple[Array, str] | None:
        options = [x for x in self.arrays if not x.const]
        for _ in range(4):
            if options:
                array = self.rng.choice(options)
                text = self.place(array)
                if text is not None:
                    return array, text
        return None

    def _store(self) -> str:
        """An assignment to an element, without its semicolon; nothing where no element is in range."""
        rng = self.rng
        target = self._target()
        if target is None:
            return ""
        array, text = target
        depth = rng.choice((0, 1, 1, 2, 2, 3))
        if rng.random() < 0.35:
            return self._update(array, text, depth)
        value = self.value(depth)
        if rng.random() < 0.2:
            value = operate(rng, rng.choice(("+", "-", "*", "+")), element(array, text), value, self.wraps)
        return f"{text} = {self._bounded(value, array).text}"

    def _update(self, array: Array, text: str, depth: int) -> str:
        rng = self.rng
        value = self.value(depth)
        if is_float(array.type):
            if is_float(value.type) or rng.random() < 0.5:
                return f"{text} {rng.choice(('+=', '+=', '-='))} {self._bounded(value, array).text}"
            return f"{text} *= 0.5f"
        safe = not is_signed(array.type) or BITS[array.type] < 32 or self.wraps
        value = self._fitting(value, array.type)
        if is_float(value.type):
            return f"{text} = {self._bounded(value, array).text}"
        op = rng.choice(("+", "+", "-", "*", "^", "|", "&", "<<", ">>"))
        old = element(array, text)
        made = operate(rng, op, old, value, self.wraps)
        plain = f"{old.operand} {op} "
        if not safe or not made.text.startswith(plain):
            return f"{text} = {self._bounded(made, array).text}"
        if array.type != "_Bool" and op == "+" and rng.random() < 0.1:
            return f"{text}++" if text[0] != "*" else f"({text})++"
        return f"{text} {op}= {made.text[len(plain) :]}"

    def _add(self) -> None:
        """Something is added to a scalar."""
        rng = self.rng
        total = rng.choice(self.sums)
        value = self._fitting(self.value(rng.choice((0, 1, 2))), total.type)
        if is_float(total.type):
            self.say(f"{total.name} += {value.text};")
            return
        if is_float(value.type):
            value = Value("1", "int", 1, 1)
        if is_signed(total.type) and not self.wraps:
            if not is_signed(promoted(value.type)):
                value = cast("int", Value(f"{value.operand} % 97", value.type, 0, 96, False))
            most = max(abs(value.low), abs(value.high)) * self.here
            if most > total.left:
                value = operate(rng, "%", value, Value("5", "int", 5, 5), self.wraps)
                most = max(abs(value.low), abs(value.high)) * self.here
            if most > total.left:
                return
            total.left -= most
        if rng.random() < 0.2 and not is_signed(total.type):
            self.say(f"{total.name} {rng.choice(('^=', '|=', '*=', '-='))} {value.text};")
        elif rng.random() < 0.2:
            self.say(f"{total.name} = {total.name} + {value.operand};")
        else:
            self.say(f"{total.name} += {value.text};")

    def _branch(self) -> None:
        rng = self.rng
        kept = len(self.locals)
        self.say(f"if ({self.condition().text}) {{")
        self.depth += 1
        self.statement()
        del self.locals[kept:]
        self.depth -= 1
        if rng.random() < 0.4:
            self.say("} else {")
            self.depth += 1
            self.statement()
            del self.locals[kept:]
            self.depth -= 1
        self.say("}")

    def _extremum(self) -> None:
        """The least or greatest value is kept, or an element that fulfils a condition is replaced."""
        target = self._target()
        if target is None:
            self.say(";")
            return
        array, text = target
        value = self._bounded(self.value(1), array)
        op = self.rng.choice("<>")
        braces = self.rng.random() < 0.3
        self.say(f"if ({value.operand} {op} {text})" + (" {" if braces else ""))
        self.say(f"    {text} = {value.text};")
        if braces:
            self.say("}")

    # -- loops

    def nest(self, loops: int) -> None:
        """A loop with what is in it, down to a depth of `loops`."""
        loop = make_loop(self.rng, self.iterators, [(x, self.size_index(x)) for x in self.sizes], self.fresh)
        trips = max(loop.iterator.index.high - loop.iterator.index.low + 1, 1)
        if self.instances * trips > MOST_INSTANCES:
            self.statement()
            return
        self._loop(loop, trips, loops)

    def _loop(self, loop: Loop, trips: int, loops: int) -> None:
        kept = (self.instances, self.here, self.in_loop, self.can_continue)
        self.declared += loop.declare
        for line in loop.before:
            self.say(line)
        bare = loop.can_be_bare and loops <= 1 and self.rng.random() < 0.25
        self.lines.append("    " * self.depth + loop.head + ("" if bare else " {"))
        self.depth += 1
        here = [loop.iterator, *loop.others]
        self.iterators += here
        self.instances, self.here = self.instances * trips, self.here * trips
        self.in_loop, self.can_continue = True, not loop.last and not bare
        if bare:
            self.say((self._store() or "") + ";")
        else:
            self.block(3 if loops <= 1 else 2, loops - 1)
        del self.iterators[-len(here) :]
        self.instances, self.here, self.in_loop, self.can_continue = kept
        for line in loop.last:
            self.lines.append("    " * self.depth + line)
        self.depth -= 1
        if not bare:
            self.lines.append("    " * self.depth + "}" + loop.tail)
        for line in loop.after:
            self.lines.append("    " * self.depth + line)
        for type, name in loop.declare if self.rng.random() < 0.5 else ():
            # What a counter holds after its loop is data for what follows.
            index = loop.iterator.index
            self.locals.append(Value(name, type, index.low, index.high + 5))


def element(array: Array, text: str) -> Value:
    """A value that an array holds."""
    if is_float(array.type):
        far = 4 if array.const else FAR
        return Value(text, array.type, -far, far, text[0] != "*")
    low, high = reach(array.type)
    if array.bound and is_signed(array.type) and BITS[array.type] >= 32:
        low, high = -array.bound, array.bound
    return Value(text, array.type, low, high, text[0] != "*")
