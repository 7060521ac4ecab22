"""Loops in which conditions and places of data decide: interleaved channels, guarded stores, `switch`, answers, tables.

>>> random_channels(random.Random(1), "unsigned char").startswith(("for", "int"))
True
"""

from __future__ import annotations

import random

from tests.property.listings.types import is_float


def random_channels(rng: random.Random, t: str) -> str:
    """Pixels of 2, 3 or 4 channels: sums of them, other orders, each channel by itself, in place or not."""
    count = rng.choice((2, 3, 4))
    places = [f"x[{count} * i + {c}]" if c else f"x[{count} * i]" for c in range(count)]
    roll = rng.random()
    if roll < 0.25:
        weights = [rng.choice((1, 2, 3, 29, 77, 150)) for _ in places]
        total = " + ".join(f"{w} * {p}" for w, p in zip(weights, places, strict=True))
        shift = "" if is_float(t) else rng.choice((" >> 8", " >> 2", " / 3", ""))
        return loop(rng, "i", "n", f"z[i] = ({total}){shift};")
    if roll < 0.5:
        order = rng.choices(range(count), k=count) if rng.random() < 0.3 else rng.sample(range(count), count)
        target = rng.choice("xy")
        kept = "\n".join(f"const {t} v{c} = {places[c]};" for c in range(count))
        stores = "\n".join(f"{target}[{count} * i + {c}] = v{order[c]};" for c in range(count))
        return loop(rng, "i", "n", f"{kept}\n{stores}")
    if roll < 0.75:
        op = rng.choice(("+", "-", "*"))
        other = rng.choice(("z[c]", "alpha", f"x[{count} * i + {count - 1}]", "z[i]"))
        target = rng.choice(("x", "y", "y"))
        inner = f"for (int c = 0; c < {count}; c++)\n{target}[{count} * i + c] = x[{count} * i + c] {op} {other};"
        return loop(rng, "i", "n", inner)
    parts = rng.sample(range(count), rng.randint(1, count))
    stores = []
    for c in parts:
        value = rng.choice((f"{places[c]} > z[i] ? z[i] : {places[c]}", f"{places[c]} + alpha", "z[i]"))
        stores.append(f"x[{count} * i + {c}] = {value};")
    return loop(rng, "i", "n", "\n".join(stores))


def random_guarded(rng: random.Random, t: str) -> str:
    """Stores under conditions, in place too, with one or several branches."""
    op, other = rng.choice(("<", ">", "<=", ">=", "==", "!=")), rng.choice(("z[i]", "alpha", "3", "x[i + 1]", "0"))
    condition = f"x[i] {op} {other}"
    if rng.random() < 0.3:
        joined = rng.choice(("&&", "||"))
        condition += f" {joined} z[i] {rng.choice(('>', '!='))} {rng.choice(('1', 'alpha'))}"
    target = rng.choice(("x[i]", "y[i]", "y[i]", "y[2 * i]", "z[n - 1 - i]"))
    first = rng.choice(("z[i]", "alpha", f"{target} + x[i]", "-x[i]", "x[i] * x[i]"))
    second = rng.choice((f"{target} - 1", "x[i]", "alpha"))
    body = rng.choice((
        f"if ({condition}) {target} = {first};",
        f"if ({condition}) {target} = {first};\nelse {target} = {second};",
        f"if ({condition}) {{\n{target} = {first};\n}} else if (z[i] > 2) {{\n{target} = {second};\n}}",
        f"if ({condition}) continue;\n{target} = {first};",
        f"if ({condition}) {{\n{target} = {first};\nz[i + 1] = x[i];\n}}",
        f"if (!({condition}))\n{target} += {first};",
    ))  # fmt: skip
    return loop(rng, "i", "n", body)


def random_switch(rng: random.Random, t: str) -> str:
    """A `switch` on data, on the counter or on a parameter; cases that fall through, and none for some values."""
    on = rng.choice(("x[i] & 3", "i % 4", "x[i]", "(int)alpha", "x[i] % 5"))
    values = rng.sample(range(-1, 6), rng.randint(2, 4))
    lines = [f"switch ({on}) {{"]
    for number, value in enumerate(values):
        act = rng.choice(("y[i] = z[i];", "y[i] += x[i];", "y[i] = alpha;", "y[i] = x[i] * 3;", "y[i] ^= z[i];"))
        falls = number + 1 < len(values) and rng.random() < 0.2
        lines.append(f"case {value}: {act}{'' if falls else ' break;'}")
    if rng.random() < 0.6:
        lines.append(f"default: {rng.choice(('y[i] = 0;', 'break;', 'y[i] -= z[i];'))}")
    return loop(rng, "i", "n", "\n".join([*lines, "}"]))


def random_answer(rng: random.Random, t: str) -> str:
    """Whether any or all elements are so, how many are, and where the first is."""
    condition = f"x[i] {rng.choice(('<', '>', '==', '!='))} {rng.choice(('y[i]', 'alpha', '0', '2 * y[i]'))}"
    step = rng.choice(("i++", "i++", "i += 2"))
    head = rng.choice((f"for (int i = 0; i < n; {step})", "for (int i = n - 1; i >= 0; i--)"))
    return rng.choice((
        f"{head} if ({condition}) return 1;\nreturn 0;",
        f"{head} {{\nif ({condition}) return ({t})i;\n}}\nreturn ({t})-1;",
        f"int any = 0;\n{head} any |= {condition};\nreturn any;",
        f"int all = 1;\n{head} all = all && {condition};\nreturn all;",
        f"int all = 1;\n{head} {{\nif ({condition}) {{\nall = 0;\nbreak;\n}}\n}}\nreturn all;",
        f"int s = 0;\n{head} s += {condition};\nreturn ({t})s;",
        f"long s = 0;\n{head} if ({condition}) s++;\nreturn ({t})s;",
        f"unsigned char s = 0;\n{head} s += ({condition}) ? 3 : 1;\nreturn s;",
        f"{t} s = 0;\n{head} if ({condition}) s += x[i];\nreturn s;",
        f"int s = 0, u = 0;\n{head} if ({condition}) s++; else u++;\nreturn ({t})(s - u);",
        f"int at = -1;\n{head} if ({condition}) at = i;\nreturn ({t})at;",
        f"{t} low = x[0], high = x[0];\n{head} {{\nif (x[i] < low) low = x[i];\nif (x[i] > high) high = x[i];\n}}\n"
        "return high - low;",
    ))  # fmt: skip


def random_chain(rng: random.Random, t: str) -> str:
    """What an iteration needs of the one before: in arrays, in scalars, under conditions."""
    half = "0.5f" if is_float(t) else "3"
    back = rng.choice((1, 1, 2, 4, 7))
    return rng.choice((
        f"for (int i = {back}; i < n; i++) y[i] = {half} * y[i - {back}] + x[i];",
        f"for (int i = n - 1 - {back}; i >= 0; i--) y[i] += {half} * y[i + {back}];",
        f"{t} s = alpha;\n" + loop(rng, "i", "n", f"s = {half} * s + x[i];\nif (s > 3) s = alpha;\ny[i] = s;"),
        f"{t} s = x[0], u = 0;\n" + loop(rng, "i", "n", "u = s;\ns = x[i];\ny[i] = s - u;"),
        f"{t} u = 0;\n" + loop(rng, "i", "n", f"y[i] = x[i] + u;\nu = {rng.choice(('x[i]', 'z[i]', 'y[i]'))};"),
        f"for (int i = 0; i < n; i++) y[i + {back}] = y[i] {rng.choice('+-')} x[i];",
        f"for (int i = 0; i < n; i++) y[i] = y[i + {back}] {rng.choice('+-')} x[i];",
        f"{t} s = 1;\n" + loop(rng, "i", "n", f"s *= x[i] > 1 ? {half} : 1;\ny[i] = s;"),
        f"{t} s = 0;\n" + loop(rng, "i", "n", "if (x[i] > z[i]) s = x[i];\ny[i] = s;"),
    ))  # fmt: skip


def random_table(rng: random.Random, t: str) -> str:
    """Elements at places that data say."""
    place = rng.choice(("b[i]", "b[i] & 15", "b[i] >> 2", "255 - b[i]", "b[n - 1 - i]", "(b[i] + i) & 255"))
    body = rng.choice((
        f"y[i] = h[{place}];",
        f"y[i] += h[{place}] * y[i];",
        f"y[i] = b[i] > 100 ? h[{place}] : y[i];",
        f"if (b[i] != 0) y[i] = h[{place}];",
        "b[i] = b[i] > 9 ? b[i] - 9 : b[i];",
        f"y[i] = h[{place}] - h[b[i]];",
        f"h[{place}] += y[i];",
        f"h[{place}] = y[i];",
    ))  # fmt: skip
    return loop(rng, "i", "n", body)


def loop(rng: random.Random, name: str, high: str, inside: str) -> str:
    """A loop from 0 to `high`, up or down, with a counter of any type."""
    roll = rng.random()
    if roll < 0.2:
        return f"for (int {name} = {high} - 1; {name} >= 0; {name}--) {{\n{inside}\n}}"
    type = rng.choice(("int",) * 4 + ("long", "size_t", "unsigned"))
    # A size below 0 would be a large number without a sign.
    last = high if type in ("int", "long") else f"({type})({high} > 0 ? {high} : 0)"
    low = rng.choice(("0", "0", "0", "1"))
    step = rng.choice((f"{name}++",) * 5 + (f"{name} += 2",))
    return f"for ({type} {name} = {low}; {name} < {last}; {step}) {{\n{inside}\n}}"
