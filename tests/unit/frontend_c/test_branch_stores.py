"""Stores to the same places by both branches of a condition, in every order and with reads between: run by the
interpreter, they leave what the statements do that are run one by one."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import permutations, product

import numpy as np

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.printer import print_stmt

Place = tuple[str, int]
Store = tuple[Place, Place | None, int]  # where to, what is read (None: nothing), what is added to that
Branches = tuple[Sequence[Store], Sequence[Store]]


def _branch(places: Sequence[Place], read: Sequence[Place | None], first: int) -> list[Store]:
    return [(to, of, first + n) for n, (to, of) in enumerate(zip(places, read, strict=True))]


def _branches() -> list[Branches]:
    """Some of two stores to two arrays or to one, and of three."""
    out: list[Branches] = []
    for pair in ((("a", 0), ("b", 0)), (("a", 0), ("a", 1))):
        values = [*product((None, *pair), repeat=2)]
        for order, x, y in product(permutations(pair), values, values):
            out.append((_branch(pair, x, 20), _branch(order, y, 30)))
    chosen, three = random.Random(5), (("a", 0), ("b", 0), ("a", 1))
    out = chosen.sample(out, 60)
    for _ in range(20):
        x, y = ([chosen.choice((None, None, *three)) for _ in three] for _ in range(2))
        orders = [chosen.sample(three, 3) for _ in range(2)]
        out.append((_branch(orders[0], x, 20), _branch(orders[1], y, 30)))
    return out


def _text(stores: Sequence[Store]) -> str:
    def spell(place: Place) -> str:
        return f"{place[0]}[2 * i + {place[1]}]"

    return " ".join(f"{spell(to)} = {'' if of is None else f'{spell(of)} + '}{add};" for to, of, add in stores)


def _run(branches: Branches, arrays: Mapping[str, list[int]], tests: Sequence[int]) -> None:
    for i, test in enumerate(tests):
        for (array, at), of, add in branches[0 if test else 1]:
            arrays[array][2 * i + at] = add + (0 if of is None else arrays[of[0]][2 * i + of[1]])


def test_stores_of_both_branches_are_as_if_run_one_by_one() -> None:
    all_branches = _branches()
    heads = (f"void f{n}(int n, int *a, int *b, const int *c)" for n in range(len(all_branches)))
    bodies = (f"if (c[i] > 0) {{ {_text(x)} }} else {{ {_text(y)} }}" for x, y in all_branches)
    texts = (f"{head} {{ for (int i = 0; i < n; i++) {body} }}\n" for head, body in zip(heads, bodies, strict=True))
    file = read_c(Source("f.c", "".join(texts)))
    tests, taken = [1, 0, 0, 1], 0
    for branches, function in zip(all_branches, file.functions, strict=True):
        expected = {"a": [*range(100, 110)], "b": [*range(200, 210)]}
        held = {name: np.array(x, "int32") for name, x in expected.items()}
        _run(branches, expected, tests)
        for region in function.regions:
            values = {"n": len(tests), "c": np.array(tests, "int32"), **held}
            run_kernel(region.kernel, {x: values[x] for x in ("n", *(y.name for y in region.kernel.arrays))})
            assert {x: y.tolist() for x, y in held.items()} == expected, branches
            taken += 1
    assert taken > len(all_branches) // 2


def test_what_others_see_is_stored_only_where_a_branch_does() -> None:
    chain = "if (x[i] == 3) s = 1; else if (x[i] == 9) s = 5; y[i] = x[i];"
    loop = f"for (int i = 0; i < n; i++) {{ {chain} }}"
    told = {}
    for name, declared in (("own", "int s = 0;"), ("shared", "")):
        text = f"int s; void f(int n, const int *restrict x, int *restrict y) {{ {declared} {loop} }}"
        (region,) = read_c(Source("f.c", text)).functions[0].regions
        told[name] = print_stmt(region.kernel.body)
    assert "s_2[] = select(x[i] == 3:i32, 1:i32, select(x[i] == 9:i32, 5:i32, s_2[]))" in told["own"]
    assert "s[] = select(test[], 1:i32, s[])" in told["shared"]
