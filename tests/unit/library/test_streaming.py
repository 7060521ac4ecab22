"""Which loops are written past the caches, and which are not."""

from __future__ import annotations

import pytest

from planish.ir.nest import For, If, Kernel
from planish.ir.parser import parse_kernel
from planish.ir.printer import print_kernel
from planish.ir.traverse import walk
from planish.library.streaming.rows import find_row
from planish.library.streaming.versions import stream_versions
from planish.schedule.automatic.plan import Candidate, plan, prepare
from planish.target.load import load_target

ARRAYS = "A: f32[n, n] distinct, B: f32[n, n] distinct, c: f32[n] distinct, d: f64[n] distinct, e: u8[n] distinct"


def versions_of(body: str, target: str = "x86-avx512") -> tuple[Candidate, ...]:
    kernel = parse_kernel(f"kernel k(n; s: f32; {ARRAYS}) {{ {body} }}")
    prepared, machine = prepare(kernel), load_target(target)
    return stream_versions(prepared, machine, plan(prepared, machine, reassociate=True))


def marks(kernel: Kernel) -> list[str]:
    return [x.facts.stream for x in walk(kernel.body) if isinstance(x, For) and x.facts.stream]


@pytest.mark.parametrize(
    "body",
    [
        "for i in 0 .. n { c[i] = s }",
        "for i in 0 .. n { d[i] = f64(A[0, i]) }",
        "for i in 0 .. n { for j in 0 .. n { B[i, j] = A[i, j] * s } }",
        "for i in 0 .. n { for j in 0 .. i { B[i, j] = A[i, j] * s } }",
        "for i in 0 .. n // 2 { c[2 * i] = A[0, i] c[2 * i + 1] = A[1, i] }",
        "for i in 0 .. n // 2 { c[2 * i + 1] = A[0, i] c[2 * i] = A[1, i] }",
    ],
)
def test_what_is_only_written_is_streamed(body: str) -> None:
    made = versions_of(body)
    assert made and all(x.name.endswith(", streamed") for x in made)
    for version in made:
        (switch,) = (x for x in version.kernel.body.body if isinstance(x, If))
        assert marks(version.kernel)
        assert not any(x.facts.stream for x in walk(switch.otherwise) if isinstance(x, For))
        assert parse_kernel(print_kernel(version.kernel)) == version.kernel


@pytest.mark.parametrize(
    "body",
    [
        "for i in 0 .. n { c[i] += s }",  # what is there is read
        "for i in 0 .. n { c[i] = s } for i in 0 .. n { B[i, i] = c[i] }",  # it is read again
        "for i in 1 .. n { c[i] = c[i - 1] * s }",  # each waits for the one before it
        "for i in 0 .. n // 2 { c[2 * i] = s }",  # lines are not filled
        "for i in 0 .. n // 3 { c[3 * i] = s c[3 * i + 1] = s c[3 * i + 2] = s }",  # iterations and lines do not match
        "for i in 0 .. n { for j in 0 .. n { c[j] = A[i, j] } }",  # each is written many times
        "for i in 0 .. n { B[i, 0] = s }",  # a column
        "for i in 0 .. n { e[i] = 1:u8 }",  # no instruction for the type
        "for i in 0 .. n { for j in 0 .. n { B[0, 0] += A[i, j] } }",
    ],
)
def test_other_loops_are_not(body: str) -> None:
    assert not versions_of(body)


@pytest.mark.parametrize("target", ["aarch64-neon", "generic"])
def test_targets_without_such_stores_have_no_version(target: str) -> None:
    assert not versions_of("for i in 0 .. n { c[i] = s }", target)


def test_a_row_needs_assignments_alone() -> None:
    def row(body: str) -> object:
        loop = parse_kernel(f"kernel k(n; s: f32; {ARRAYS}) {{ for i in 0 .. n {{ {body} }} }}").body.body[0]
        assert isinstance(loop, For)
        return find_row(loop)

    assert row("c[i] = s") is not None
    assert row("let x = A[0, i] c[i] = x") is not None
    assert row("c[i] = s d[i] = 1.0") is None
    assert row("if i < 3 { c[i] = s }") is None
    assert row("let j = i c[j] = s") is None
    assert row("c[n - i] = s") is None
    assert row("c[0] = s") is None
