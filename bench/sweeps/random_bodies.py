"""Random nests of integers as text of the kernel language: what strips of vectors are made of, and what comes near it.

>>> made = random_kernel(3)
>>> made == random_kernel(3), made.startswith("kernel k(")
(True, True)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

NARROW = ("u8", "i8", "u16", "i16")
KINDS = (*NARROW, "u8", "i16", "u32", "i32")
_DIVISORS = (2, 3, 5, 7, 9, 10, 16, 25, 100, 255)
_PLAIN = (
    "sum", "sum", "sum", "difference", "weighted", "min", "max", "abs", "average", "taps", "shr", "select", "choice",
    "apart",
)  # fmt: skip
_ALL = (*_PLAIN, "product", "shl", "quotient", "bitwise", "mixed", "not", "blend", "turned", "counted")
"""What expressions are of: in programs of filters, and in all others."""


def bits_of(kind: str) -> int:
    """The width of a type.

    >>> bits_of("u16")
    16
    """
    return int(kind[1:])


def random_kernel(seed: int) -> str:
    """A kernel of one nest: of one loop over n, or of two over h and w, over arrays with margins. Its arithmetic wraps,
    as the language says; it shifts by less than widths and divides by constants alone."""
    return _Writer(Random(f"strips {seed}")).kernel()


@dataclass(slots=True)
class _Writer:
    random: Random
    rows: bool = False
    is_plain: bool = False
    lower: tuple[int, int] = (0, 0)
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    scalars: dict[str, str] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)
    table: str = ""
    times: str = ""
    channels: int = 2
    woven: str = ""
    shifted: tuple[int, int] = (0, 0)

    def kernel(self) -> str:
        r = self.random
        self.rows, self.is_plain = r.random() < 0.5, r.random() < 0.6
        self.lower = (r.choice((0, 0, 1)), r.choice((0, 0, 1, 2)))
        self.shifted = (r.choice((0, 0, 0, 1)), r.choice((0, 0, 0, 1, -1)))
        if self.lower[1] == 0:
            self.shifted = self.shifted[0], max(0, self.shifted[1])
        main = r.choice(NARROW)
        self.inputs = {
            x: main if r.random() < (0.9 if self.is_plain else 0.7) else r.choice(KINDS)
            for x in "abc"[: r.choice((1, 1, 2, 2, 3))]
        }
        wide = main if self.is_plain and r.random() < 0.7 else r.choice(KINDS)
        self.outputs = {x: main if r.random() < 0.6 else wide for x in "de"[: r.choice((1, 1, 1, 2))]}
        self.scalars = {x: r.choice(KINDS) for x in "xz"[: r.choice((0, 0, 1, 2))]}
        local = {x: r.choice(("i32", "i32", "i16", "u16", "u32", main)) for x in "tu"[: r.choice((0, 0, 1, 2))]}
        self.table = r.choice(("", "", "", "i16", "i32", "u8"))
        self.times = r.choice(("", "", "", "", main))
        self.channels = r.choice((2, 2, 3, 4))
        self.woven = r.choice(("", "", "", "", main))
        statements = self.statements(local)
        allocations = " ".join(f"alloc {x}: {kind}[] register" for x, kind in local.items())
        body = f"{allocations} {statements}".strip()
        y, x = self.lower
        if self.rows:
            loops = f"for y in {y} .. h {{ for x in {x} .. w {{ {body} }} }}".replace(" x in", " i in")
        else:
            loops = f"for i in {x} .. n {{ {body} }}"
        return f"kernel k({self.parameters()}) {{ {loops} }}"

    def parameters(self) -> str:
        extents = "h + 3, w + 4" if self.rows else "n + 4"
        arrays = [f"{x}: {kind}[{extents}] distinct" for x, kind in {**self.inputs, **self.outputs}.items()]
        if self.table:
            arrays.append(f"f: {self.table}[9] distinct")
        many = self.channels
        for name, kind in (("g", self.times), ("o", self.woven)):
            extent = f"{many}*{'w' if self.rows else 'n'} + {many + 4}"
            if kind:
                arrays.append(f"{name}: {kind}[{f'h + 3, {extent}' if self.rows else extent}] distinct")
        groups = ["h, w" if self.rows else "n", ", ".join(f"{x}: {y}" for x, y in self.scalars.items())]
        return "; ".join(x for x in (*groups, ", ".join(arrays)) if x)

    def statements(self, local: dict[str, str]) -> str:
        """What an iteration does; a cell is read once it has a value."""
        r = self.random
        found = []
        for name, kind in local.items():
            if r.random() < 0.4:
                found.append(self.sum_of_taps(name, kind))
            else:
                found.append(f"{name}[] = {self.value(kind, r.choice((1, 2)))}")
            self.cells[name] = kind
        for name, kind in self.outputs.items():
            place = self.place(*self.shifted)
            if r.random() < 0.2:
                op = r.choice(("+=", "min=", "max=", "*="))
                found.append(f"{name}[{place}] {op} {self.value(kind, 2)}")
                continue
            value = self.value(kind, r.choice((1, 2, 2, 3)))
            if r.random() < 0.12:
                value = self.joined(f"{name}[{place}]", value, r.choice("+-"))
            found.append(f"{name}[{place}] = {value}")
        if self.woven:
            row, order = "y, " if self.rows else "", [*range(self.channels)]
            r.shuffle(order)
            depth = r.choice((0, 1, 1, 2))
            found += [f"o[{row}{self.channels}*i + {at}] = {self.value(self.woven, depth)}" for at in order]
        return " ".join(found)

    def sum_of_taps(self, name: str, kind: str) -> str:
        r = self.random
        array, other = r.choice([*self.inputs.items()])
        turns = r.choice((2, 3))
        tap = f"{array}[y + j, i + k]" if self.rows else f"{array}[i + j]"
        value = tap if other == kind else f"{kind}({tap})"
        if self.table and r.random() < 0.6:
            at = f"{turns} * j + k" if self.rows else "j"
            weight = f"f[{at}]" if self.table == kind else f"{kind}(f[{at}])"
            value = f"{value} * {weight}"
        op = r.choice(("+=", "+=", "+=", "max="))
        inner = f"{name}[] {op} {value}"
        inner = f"for k in 0 .. {turns} {{ {inner} }}" if self.rows else inner
        return f"{name}[] = {self.constant(kind, (0, 0, 1, 4))} for j in 0 .. {turns} {{ {inner} }}"

    def place(self, row: int, column: int) -> str:
        def moved(name: str, by: int) -> str:
            return name if by == 0 else f"{name} {'+' if by > 0 else '-'} {abs(by)}"

        return f"{moved('y', row)}, {moved('i', column)}" if self.rows else moved("i", column)

    def tap(self) -> tuple[str, str]:
        """A read of an input, and its type."""
        r = self.random
        if self.times and r.random() < 0.4:
            place = f"{self.channels}*i + {r.choice((*range(self.channels), *range(self.channels + 1)))}"
            return f"g[{f'y + {r.choice((0, 1))}, ' if self.rows else ''}{place}]", self.times
        array, kind = r.choice([*self.inputs.items()])
        row = r.choice((0, 0, 1, 2, -self.lower[0]))
        column = r.choice((0, 0, 0, 1, 2, 3, -self.lower[1]))
        return f"{array}[{self.place(row, column)}]", kind

    def constant(self, kind: str, choices: tuple[int, ...]) -> str:
        number = self.random.choice(choices)
        number = abs(number) if kind.startswith("u") else number
        bits = bits_of(kind)
        number = min(number, (1 << (bits - kind.startswith("i"))) - 1)
        return f"({number}:{kind})" if number < 0 else f"{number}:{kind}"

    def leaf(self, kind: str) -> str:
        r = self.random
        turn = r.random()
        if turn < (0.03 if self.is_plain else 0.10):
            return self.constant(kind, (0, 1, 2, 3, 5, 16, 100, 127, 128, 255, 1000, -1, -2, -7, -128))
        if turn < 0.22 and self.scalars:
            name, own = r.choice([*self.scalars.items()])
            return name if own == kind else f"{kind}({name})"
        if turn < 0.50 and self.cells:
            name, own = r.choice([*self.cells.items()])
            return f"{name}[]" if own == kind else f"{kind}({name}[])"
        text, own = self.tap()
        return text if own == kind else f"{kind}({text})"

    def joined(self, a: str, b: str, op: str) -> str:
        return f"({a} {op} {b})"

    def value(self, kind: str, depth: int) -> str:
        """An expression of a type."""
        r = self.random
        if depth == 0:
            return self.leaf(kind)
        if bits_of(kind) < 32 and r.random() < 0.55:
            return self.narrowed(kind, depth)
        turn = r.choice(_PLAIN if self.is_plain else _ALL)
        a = self.value(kind, depth - 1)
        match turn:
            case "sum" | "difference" | "product" | "min" | "max":
                b = self.value(kind, depth - 1)
                if turn in ("min", "max"):
                    return f"{turn}({a}, {b})"
                return self.joined(a, b, {"sum": "+", "difference": "-", "product": "*"}[turn])
            case "weighted":
                return self.joined(self.constant(kind, (2, 3, 4, 5, 7, 12, 77, -1, -2, -3, -6)), a, "*")
            case "shr" | "shl":
                amount = r.randrange(1, min(bits_of(kind), 9))
                return self.joined(a, f"{amount}:{kind}", ">>" if turn == "shr" else "<<")
            case "abs" if kind.startswith("i"):
                return f"abs({self.joined(a, self.leaf(kind), '-')})"
            case "select":
                other = r.choice((kind, *self.inputs.values()))
                left, right = self.leaf(other), self.leaf(other)
                return f"select({left} {r.choice(('<', '<=', '>', '>=', '==', '!='))} {right}, {a}, {self.leaf(kind)})"
            case "choice":
                return f"select({self.condition(2)}, {a}, {self.leaf(kind)})"
            case "counted":
                return self.joined(a, f"{kind}({self.condition(1)})", "+")
            case "apart":
                b = self.leaf(kind)
                op, other = r.choice(((">", f"({b} - {a})"), (">=", f"({b} - {a})"), (">", f"0:{kind}")))
                return f"select({a} {op} {b}, ({a} - {b}), {other})"
            case "blend":
                by = f"({self.leaf(kind)} & 15:{kind})"
                return f"(({a} * {by} + {self.leaf(kind)} * (15:{kind} - {by}) + 7:{kind}) >> 4:{kind})"
            case "turned":
                return f"({a} {r.choice(('<<', '>>'))} ({self.leaf(kind)} & {bits_of(kind) - 1}:{kind}))"
            case "average":
                total = self.joined(self.joined(a, self.leaf(kind), "+"), f"1:{kind}", "+")
                return self.joined(total, f"1:{kind}", ">>")
            case "quotient":
                divisor = min(r.choice(_DIVISORS), (1 << (bits_of(kind) - 1)) - 1)
                if r.random() < 0.4:
                    return f"{r.choice(('quo', 'quo', 'rem'))}({a}, {divisor}:{kind})"
                return self.joined(a, f"{divisor}:{kind}", r.choice(("//", "//", "%")))
            case "bitwise":
                return self.joined(a, self.leaf(kind), r.choice("&|^"))
            case "not":
                return f"(~{a})"
            case "mixed":
                other = r.choice(("i32", "u16", "i16", "u8", "u32"))
                return f"{kind}({self.value(other, depth - 1)})"
            case "taps":
                parts = [self.leaf(kind)]
                for _ in range(r.choice((2, 3, 4))):
                    weight = self.constant(kind, (1, 2, 3, 4, 6, -1, -5))
                    parts.append(self.joined(weight, self.leaf(kind), "*"))
                return f"({' + '.join(parts)})"
        return f"max({a}, {self.leaf(kind)})"

    def condition(self, depth: int) -> str:
        """A comparison of numbers of any type, a bit of one, or several of these."""
        r = self.random
        if depth and r.random() < 0.3:
            return f"({self.condition(depth - 1)} {r.choice(('&&', '||'))} {self.condition(depth - 1)})"
        kind = r.choice((*self.inputs.values(), "i32"))
        if r.random() < 0.2:
            return f"(({self.leaf(kind)} & {1 << r.randrange(bits_of(kind) - 1)}:{kind}) != 0:{kind})"
        op = r.choice(("<", "<=", ">", ">=", "==", "!="))
        right = self.constant(kind, (0, 0, 1, 7, 100, 127, -1, -128)) if r.random() < 0.4 else self.leaf(kind)
        return f"({self.leaf(kind)} {op} {right})"

    def narrowed(self, kind: str, depth: int) -> str:
        """A wider value, perhaps rounded, shifted, clamped, and cut."""
        r = self.random
        wide = "i32" if self.is_plain else r.choice(("i32", "i32", "i16" if bits_of(kind) == 8 else "u32", "u32"))
        text = self.value(wide, depth - (r.random() < 0.5))
        if r.random() < 0.5:
            by = r.randrange(1, 8)
            text = self.joined(self.joined(text, f"{1 << (by - 1)}:{wide}", "+"), f"{by}:{wide}", ">>")
        if r.random() < 0.5:
            bits, signed = bits_of(kind), kind.startswith("i")
            high = (1 << (bits - signed)) - 1
            if high < 1 << (bits_of(wide) - 1):
                text = f"min({text}, {high}:{wide})"
            if wide.startswith("i"):
                text = f"max({text}, {f'(-{high + 1}:{wide})' if signed else f'0:{wide}'})"
        return f"{kind}({text})"
