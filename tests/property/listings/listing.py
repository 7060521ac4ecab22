"""Random C files, written from the grammar of what people write, with a `main` that prints what the functions did.

Nothing here knows of planish. No program has undefined behaviour for `gcc -fwrapv`: subscripts, divisors, shifts and
conversions of floats are in range by construction; what a program's sums of signed integers may do stands in its first
line (`wraps` or not). `main`, under `#ifdef MAIN`, calls each function with several sizes, and with arrays that overlap
where their types allow it.

>>> write_listing(7) == write_listing(7)
True
>>> write_listing(7).splitlines()[0]
'/* program 7 (sums of signed integers may wrap around) */'
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.property.listings.body import Body, Sum
from tests.property.listings.idioms import IDIOMS, Idiom, write_idiom
from tests.property.listings.main import write_main
from tests.property.listings.places import LARGEST, Array
from tests.property.listings.types import BITS, FLOATS, Value, is_float, is_signed, reach

HELPERS = """\
#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define SQUARE(x) ((x) * (x))

static inline int clip(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
static unsigned hash(unsigned x)
{
    x ^= x >> 16;
    return x * 0x45d9f3bu;
}
int extent = 33;
static int is_large(double x) { return x > 0.97 && x < 100; }
static double mix(double a, double b) { return 0.5 * a + b; }
static float mixf(float a, float b) { return 0.5f * a + b; }
"""

BOUND = 1000
"""No value of an array of `int` or wider lies further from 0 where sums may not wrap around."""

_MANY = (20, 20, 20, 20, 20, 60, 60, 120, 300)
"""How many nests a large program has."""

_FAVOURITES = ("int", "float", "double", "unsigned char", "short", "unsigned", "long")


@dataclass(frozen=True, slots=True)
class Function:
    """A function's text with what a call needs: its sizes, arrays and scalars in the order of its parameters."""

    name: str
    text: str
    sizes: tuple[tuple[str, str], ...]
    arrays: tuple[Array, ...]
    scalars: tuple[tuple[str, str], ...]
    result: str
    special: bool = False


def write_listing(seed: int) -> str:
    """The program of a seed."""
    rng = random.Random(seed)
    idioms = rng.choice((0, 0, 1, 1, 2)) if rng.random() < 0.9 else 6
    # The data of these are not bounded.
    wraps = rng.random() < 0.5 or idioms > 0
    nests = rng.choice((0, 1, 1, 2, 2, 3, 4, 6, 8)) if rng.random() < 0.993 else rng.choice(_MANY)
    nests += not idioms
    globals = [_global(rng, f"g{i}", wraps) for i in range(rng.choice((0, 0, 1, 2)))]
    functions: list[Function | Idiom] = []
    for _ in range(idioms):
        functions.append(write_idiom(rng, rng.choice(sorted(IDIOMS)), f"f{len(functions)}"))
    while nests > 0:
        here = min(nests, rng.choice((1, 1, 2, 3, 5)))
        functions.append(_function(rng, f"f{len(functions)}", globals, here, wraps))
        nests -= here
    what = "sums of signed integers may wrap around" if wraps else "no sum of signed integers wraps around"
    head = f"/* program {seed} ({what}) */\n"
    declared = "".join(f"{x.spelling};\n" for x in globals)
    bodies = "\n".join(f.text for f in functions)
    return f"{head}{HELPERS}\n{declared}\n{bodies}\n{write_main(rng, functions, globals)}"


def _type(rng: random.Random, favourite: str) -> str:
    """A type: the favourite, one of its family, or any."""
    roll = rng.random()
    if roll < 0.5:
        return favourite
    if roll < 0.85:
        return rng.choice(FLOATS if is_float(favourite) else ("int", "unsigned char", "long", "unsigned", "short"))
    return rng.choice(list(BITS))


def _bound(type: str, wraps: bool) -> float:
    return BOUND if not wraps and is_signed(type) and not is_float(type) and BITS[type] >= 32 else 0


def _global(rng: random.Random, name: str, wraps: bool) -> Array:
    type = _type(rng, "int")
    shape = tuple(rng.choice((8, 16, 31, 40, 64, 100)) for _ in range(rng.choice((1, 1, 2))))
    static = rng.choice(("static ", ""))
    spelling = f"{static}{type} {name}{''.join(f'[{x}]' for x in shape)}"
    return Array(name, type, shape, bound=_bound(type, wraps), spelling=spelling)


def _array(rng: random.Random, name: str, type: str, sizes: list[str], const: bool, wraps: bool) -> Array:
    """A parameter."""
    qualified = ("const " if const else "") + type
    restrict = rng.random() < 0.4
    roll = rng.random()
    bound = _bound(type, wraps)
    if roll < 0.6 or (roll < 0.8 and not sizes):
        star = f"*restrict {name}" if restrict else rng.choice((f"*{name}", f"*{name}", f"{name}[]"))
        return Array(name, type, (), const, restrict, bound=bound, spelling=f"{qualified} {star}")
    if roll < 0.8:
        shape: tuple[int | str, ...] = tuple(rng.choice(sizes) for _ in range(rng.choice((1, 2, 2, 3))))
    else:
        shape = tuple(rng.choice((4, 8, 16, 31, 40)) for _ in range(rng.choice((1, 2, 2))))
    inner = "".join(f"[{x}]" for x in shape[1:])
    spellings = [f"{name}[{shape[0]}]{inner}", f"{name}[{shape[0]}]{inner}"]
    if len(shape) > 1:
        spellings += [f"(*{name}){inner}", f"{name}[]{inner}"]
    if restrict:
        spellings = [f"{name}[restrict {shape[0]}]{inner}"]
    return Array(name, type, shape, const, restrict, bound=bound, spelling=f"{qualified} {rng.choice(spellings)}")


def _function(rng: random.Random, name: str, globals: list[Array], nests: int, wraps: bool) -> Function:
    """A function of some nests."""
    favourite = rng.choice((*_FAVOURITES, rng.choice(list(BITS))))
    sizes = rng.sample(("n", "m", "w", "count"), rng.choice((0, 1, 1, 1, 2, 2, 3)))
    kinds = {x: rng.choice(("int",) * 6 + ("long", "size_t", "unsigned", "const int", "short")) for x in sizes}
    more = [x for x in ("extent", "(*rows)") if rng.random() < 0.08]
    arrays = [_array(rng, "dst", _type(rng, favourite), sizes, const=False, wraps=wraps)]
    for other in rng.sample(("a", "b", "src", "table"), rng.choice((0, 1, 1, 2, 3))):
        arrays.append(_array(rng, other, _type(rng, favourite), sizes, const=rng.random() < 0.5, wraps=wraps))
    scalars = [(x, _type(rng, favourite)) for x in rng.sample(("alpha", "beta", "limit"), rng.choice((0, 0, 1, 2)))]
    types = {x: t.removeprefix("const ") for x, t in kinds.items()} | dict.fromkeys(more, "int")
    body = Body(rng, [*arrays, *globals], [*sizes, *more], types, wraps)
    body.floating = 0.8 if is_float(favourite) else 0.04
    body.scalars = [_scalar(x, t) for x, t in scalars]
    result = _write_body(rng, body, nests)
    parameters = [f"{kinds[x]} {x}" for x in sizes] + [x.spelling for x in arrays] + [f"{t} {x}" for x, t in scalars]
    if "(*rows)" in more:
        # A size behind a pointer, which is an array of one for the caller.
        rows = Array("rows", "int", (1,), const=True, spelling="const int *rows", bound=1)
        arrays.append(rows)
        parameters.insert(len(sizes) + len(arrays) - 1, rows.spelling)
    head = f"{rng.choice(('', '', '', 'static '))}{result or 'void'} {name}({', '.join(parameters)})"
    declared = [f"    {t} {x};" for t, x in body.declared]
    text = "\n".join([head, "{", *declared, *body.lines, "}", ""])
    given = tuple((x, kinds[x].removeprefix("const ")) for x in sizes)
    return Function(name, text, given, tuple(arrays), tuple(scalars), result)


def _scalar(name: str, type: str) -> Value:
    """A parameter that is no array; `main` gives small values."""
    if is_float(type):
        return Value(name, type, -4, 4)
    low, high = reach(type)
    return Value(name, type, max(low, -9), min(high, 9))


def _write_body(rng: random.Random, body: Body, nests: int) -> str:
    """Declarations and nests; the type of what is returned."""
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        _declare_sum(rng, body)
    if rng.random() < 0.15:
        _declare_array(rng, body)
    for _ in range(nests):
        if rng.random() < 0.12:
            _declare_pointer(rng, body)
        if rng.random() < 0.12:
            _walk(rng, body)
        elif rng.random() < 0.03:
            body.say(f"{body.fresh('label')}: ;")
            body.nest(1)
        else:
            body.nest(rng.choice((1, 1, 2, 2, 2, 3)))
        if rng.random() < 0.1:
            body.statement()
    if body.sums and rng.random() < 0.6:
        body.say(f"return {body.sums[0].name};")
        return body.sums[0].type
    return ""


def _declare_sum(rng: random.Random, body: Body) -> None:
    name = body.fresh("s")
    type = rng.choice(("int", "unsigned", "long", "float", "double", "double", "uint64_t", "unsigned char"))
    most = {"int": 2.0**28, "long": 2.0**50}.get(type, 0.0)
    body.say(f"{type} {name} = 0;")
    body.sums.append(Sum(name, type, most))
    if is_float(type):
        body.locals.append(Value(name, type, -1e30, 1e30))
    else:
        low, high = (-most, most) if most and not body.wraps else reach(type)
        body.locals.append(Value(name, type, low, high))


def _declare_array(rng: random.Random, body: Body) -> None:
    name, type = body.fresh("local"), _type(rng, "float")
    shape = tuple(rng.choice((8, 16, 40)) for _ in range(rng.choice((1, 1, 2))))
    text = f"{type} {name}{''.join(f'[{x}]' for x in shape)}"
    body.say(f"{text} = {{0}};")
    body.arrays.append(Array(name, type, shape, bound=_bound(type, body.wraps)))


def _declare_pointer(rng: random.Random, body: Body) -> None:
    """A pointer into a flat array."""
    flat = [x for x in body.arrays if not x.shape]
    if not flat:
        return
    array = rng.choice(flat)
    move = rng.choice((0, 1, 2, 5, 16))
    name = body.fresh("p")
    text = rng.choice((f"{array.name} + {move}", f"&{array.name}[{move}]"))
    body.say(f"{'const ' if array.const else ''}{array.type} *{name} = {text};")
    child = Array(name, array.type, (), array.const, bound=array.bound, parent=array, offset=(move, move))
    child.touch(0, 0)
    body.arrays.append(child)


def _walk(rng: random.Random, body: Body) -> None:
    """A loop in which pointers walk over flat arrays."""
    flat = [x for x in body.arrays if not x.shape and not x.const]
    if not flat:
        body.nest(1)
        return
    to = rng.choice(flat)
    same = [x for x in body.arrays if not x.shape and x.type == to.type]
    source = rng.choice(same)
    p, q, i = body.fresh("p"), body.fresh("q"), body.fresh("i")
    size = rng.choice([*body.sizes, "33"])
    signed = size.isdigit() or is_signed(body.size_types[size])
    step = rng.choice((1, 1, 2))
    to.touch(0, LARGEST)
    source.touch(0, LARGEST * step)
    body.say(f"{to.type} *{p} = {to.name};")
    body.say(f"const {to.type} *{q} = {source.name};")
    if signed and rng.random() < 0.4:
        body.declared.append(("int", i))
        head = f"{i} = {size};\n" + rng.choice((f"while ({i}-- > 0)", f"for (; {i} > 0; {i}--)"))
    else:
        head = f"for ({'int' if signed else 'size_t'} {i} = 0; {i} < {size}; {i}++)"
    for line in head.split("\n"):
        body.say(line)
    kept = rng.choice(("^", "|", "&")) if not is_float(to.type) else "*"
    half = "0.5f" if is_float(to.type) else "3"
    stores = (f"*{p}++ = *{q}", f"*{p}++ = {half} {kept} *{q}", f"*{p}++ {kept}= {half}", f"{p}[0] = *{q}, {p}++")
    store = rng.choice(stores)
    move = f", {q} += {step}" if step > 1 else f", {q}++"
    body.lines.append("    " * (body.depth + 1) + store + (move if f"*{q}" in store else "") + ";")
