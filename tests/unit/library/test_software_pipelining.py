"""Which row loops are software-pipelined, and that their results are the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planish.ir.checker import check_kernel
from planish.ir.nest import Alloc, Block, For, If, Kernel, Stmt
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.ir.traverse import walk
from planish.library.loops.nontemporal.software_pipelining import overlap
from planish.library.loops.nontemporal.streaming_stores import stream_versions
from planish.schedule.auto.plan import Version, plan, prepare
from planish.target.load import load_target

ROWS = {
    "softmax": """
        most[] = x[i, 0]
        for j in 1 .. n { most[] max= x[i, j] }
        for j in 0 .. n { y[i, j] = exp(x[i, j] - most[]) sum[] += y[i, j] }
        for j in 0 .. n { y[i, j] = y[i, j] / sum[] }""",
    "log-softmax": """
        most[] = x[i, 0]
        for j in 1 .. n { most[] max= x[i, j] }
        for j in 0 .. n { sum[] += exp(x[i, j] - most[]) }
        for j in 0 .. n { y[i, j] = x[i, j] - most[] - log(sum[]) }""",
    "layer norm": """
        for j in 0 .. n { most[] += x[i, j] }
        for j in 0 .. n { sum[] += (x[i, j] - most[]) * (x[i, j] - most[]) }
        for j in 0 .. n { y[i, j] = (x[i, j] - most[]) / sqrt(sum[] + 1.0:f32) }""",
}


def rows(body: str) -> Kernel:
    head = "kernel rows(m, n; x: f32[m, n] distinct, y: f32[m, n] distinct)"
    first = "alloc most: f32[] register alloc sum: f32[] register most[] = 0.0:f32 sum[] = 0.0:f32"
    return parse_kernel(f"{head} {{ for i in 0 .. m {{ {first} {body} }} }}")


def versions_of(kernel: Kernel) -> tuple[Version, ...]:
    prepared, machine = prepare(kernel), load_target("x86-avx512")
    return stream_versions(prepared, machine, plan(prepared, machine, reassociate=True), reassociate=True)


def branches(kernel: Kernel) -> tuple[Kernel, Kernel]:
    """The kernel for large arrays, and for small ones."""
    out = []
    for large in (True, False):
        body = [z for x in kernel.body.body for z in (taken(x, large) if isinstance(x, If) else (x,))]
        out.append(replace(kernel, body=Block(tuple(body))))
    return out[0], out[1]


def taken(branch: If, large: bool) -> tuple[Stmt, ...]:
    return (branch.then if large else branch.otherwise).body


@pytest.mark.parametrize("name", ROWS)
def test_normalised_rows_are_stored_while_the_next_are_made(name: str) -> None:
    kernel = rows(ROWS[name])
    made = [x for x in versions_of(kernel) if "pipelined" in x.name]
    assert made and all("software-pipelined with the next row" in x.remarks[-1].message for x in made)
    rng = np.random.default_rng(1)
    for version in made:
        assert parse_kernel(print_kernel(version.kernel)) == version.kernel
        check_kernel(version.kernel, version.name)
        for m, n in ((0, 3), (1, 1), (1, 7), (2, 0), (2, 17), (5, 40)):
            if n == 0 and "x[i, 0]" in ROWS[name]:
                continue  # there is no such element
            x, results = rng.uniform(-1, 1, (m, n)).astype(np.float32), []
            for each in (kernel, *branches(version.kernel)):
                values = np.full_like(x, 7)
                run_kernel(each, {"m": m, "n": n, "x": x, "y": values})
                results.append(values)
            assert np.allclose(results[0], results[1], rtol=1e-5, atol=1e-6), (m, n)
            assert np.allclose(results[0], results[2], rtol=1e-5, atol=1e-6), (m, n)


HEAD = "kernel k(m, n; x: f32[m, n] distinct, y: f32[m, n] distinct, c: f32[m] distinct, b: f32[m, m, n] distinct)"
FIRST = "for j in 0 .. n simd { t[j] = x[i, j] }"
LAST = "for j in 0 .. n simd past p { y[i, j] = t[j] }"
BEHIND = "for j in 0 .. n simd past p { y[i, j] = t[max(j - 1, 0)] }"
AHEAD = "for j in 0 .. n simd past p { y[i, j] = t[min(j + 1, n - 1)] }"
TURNED = "for j in 0 .. n simd past p { y[i, j] = t[n - 1 - j] }"
NAMED = "for j in 0 .. n simd { let a = x[i, j] t[j] = a * a }"
NAMED_LAST = "for j in 0 .. n simd past p { let a = t[j] y[i, j] = a * a }"
SCALED = "for j in 0 .. n simd past p { y[i, j] = t[j] * c[%s] }"


@pytest.mark.parametrize(
    ("body", "made"),
    [
        (f"for i in 0 .. m {{ {FIRST} {LAST} }}", True),
        (f"for i in 1 .. m - 1 {{ c[i] = x[i, 0] {FIRST} {SCALED % 'i'} }}", True),
        (f"for k in 0 .. m {{ for i in 0 .. m {{ {FIRST} {LAST.replace('y[', 'b[k, ')} }} }}", True),
        (f"for i in 2 .. m {{ {FIRST.replace('x[i,', 'y[i - 2,')} {LAST} }}", True),
        (f"for i in 0 .. m {{ {FIRST} {BEHIND} }}", True),
        (f"for i in 0 .. m {{ {FIRST} {AHEAD} }}", True),
        (f"for i in 0 .. m {{ {FIRST} {TURNED} }}", True),
        # Both loops have a name for something, the same one.
        (f"for i in 0 .. m {{ {NAMED} {NAMED_LAST} }}", True),
        # The row that is not written yet is read.
        (f"for i in 1 .. m {{ {FIRST.replace('x[i,', 'y[i - 1,')} {LAST} }}", False),
        # What the last loop reads is replaced before it runs.
        (f"for i in 0 .. m {{ c[0] = x[i, 0] {FIRST} {SCALED % '0'} }}", False),
        # Rows need what is left of the ones before them.
        (f"for i in 0 .. m {{ {FIRST.replace('x[', 't[j] + x[')} {LAST} }}", False),
        (f"for i in 0 .. m {{ if i < 3 {{ {FIRST} }} {LAST} }}", False),
        # It is needed after all rows.
        (f"for i in 0 .. m {{ {FIRST} {LAST} }} for j in 0 .. n {{ y[0, j] = t[j] }}", False),
        # Nothing has its iterations.
        (f"for i in 0 .. m {{ {FIRST.replace('n s', 'n - 1 s')} t[n - 1] = x[i, 0] {LAST} }}", False),
        (f"for i in 0 .. m {{ {FIRST.replace('n s', 'i s')} {LAST.replace('n s', 'i s')} }}", False),
        (f"for i in 0 .. m step 2 {{ {FIRST} {LAST} }}", False),
        (f"for i in 0 .. m {{ {FIRST} {LAST.replace('past p', '')} }}", False),
    ],
)
def test_what_may_run_along(body: str, made: bool) -> None:
    kernel = parse_kernel(f"{HEAD} {{ alloc t: f32[n] distinct {body} }}")
    found = overlap(kernel)
    assert (found is not None) == made
    if found is None:
        return
    check_kernel(found.kernel, "overlap")
    check_kernel(found.plain, "overlap")
    for m, n in ((0, 2), (1, 3), (2, 1), (5, 4)):
        results = []
        for version in (kernel, found.kernel, found.plain):
            rng = np.random.default_rng(m)
            shapes = {"x": (m, n), "y": (m, n), "c": (m,), "b": (m, m, n)}
            values = {a: rng.uniform(1, 2, shape).astype(np.float32) for a, shape in shapes.items()}
            run_kernel(version, {"m": m, "n": n, **values})
            results.append([x.tobytes() for x in values.values()])
        assert results[0] == results[1] == results[2]
    assert any(x.facts.stream and len(x.body.body) > 1 for x in walk(found.kernel.body) if isinstance(x, For))
    assert not any(x.facts.stream for x in walk(found.plain.body) if isinstance(x, For))


@pytest.mark.parametrize(
    ("last", "twice"),
    # What is read behind is replaced by then; what is read ahead may be, where iterations are lanes.
    [(LAST, False), (AHEAD, True), (BEHIND, True), (TURNED, True), (LAST.replace("t[j]", "t[j] * t[0]"), True)],
)
def test_rows_that_are_read_where_they_are_replaced_are_kept_once(last: str, twice: bool) -> None:
    found = overlap(parse_kernel(f"{HEAD} {{ alloc t: f32[n] distinct for i in 0 .. m {{ {FIRST} {last} }} }}"))
    assert found is not None
    for kernel in (found.kernel, found.plain):
        (row,) = (x.array for x in kernel.body.body if isinstance(x, Alloc))
        assert len(row.shape) == 1 + twice
