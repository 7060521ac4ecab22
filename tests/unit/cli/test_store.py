"""Which builds are the same: the address covers all that can change the result, and nothing else."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from planish.core.cache import Cache
from planish.core.span import Source
from planish.options import Options
from planish.report.account import Check, Clocked, FileAccount, FunctionAccount, parse_account, print_account
from planish.report.store import build_address, build_cached, recall

TEXT = '#include "size.h"\nvoid f(float *a)\n{\n  for (int i = 0; i < N; i++)\n    a[i] = 0;\n}\n'
BASE = Options(measure=False, target="generic", sizes={"n": 3, "m": 4})
CHANGED = (
    replace(BASE, fp="strict"), replace(BASE, target="x86-avx2"), replace(BASE, threads=2), replace(BASE, measure=True),
    replace(BASE, sizes={"n": 3, "m": 5}), replace(BASE, defines=("X=1",)), replace(BASE, functions=("f",)),
    replace(BASE, budget=9.0),
)  # fmt: skip


@pytest.fixture
def source(tmp_path: Path) -> Source:
    (tmp_path / "size.h").write_text("#define N 32\n")
    return Source(str(tmp_path / "f.c"), TEXT)


def test_every_option_counts(source: Source) -> None:
    addresses = {build_address(source, options) for options in (BASE, *CHANGED)}
    assert len(addresses) == 1 + len(CHANGED)


def test_the_order_of_sizes_does_not_count(source: Source) -> None:
    assert build_address(source, replace(BASE, sizes={"m": 4, "n": 3})) == build_address(source, BASE)


def test_text_and_headers_count(source: Source, tmp_path: Path) -> None:
    before = build_address(source, BASE)
    assert build_address(replace(source, text=TEXT + "/* more */\n"), BASE) != before
    (tmp_path / "size.h").write_text("#define N 48\n")
    assert build_address(source, BASE) != before


@pytest.mark.skipif(shutil.which("aarch64-linux-gnu-gcc") is None, reason="no compiler for aarch64 here")
def test_headers_of_the_target_alone_count(source: Source, tmp_path: Path) -> None:
    text = f'#ifdef __CHAR_UNSIGNED__\n#include "more.h"\n#endif\n{TEXT}'
    both = [(replace(source, text=text), replace(BASE, target=x)) for x in ("x86-avx2", "aarch64-neon")]
    (tmp_path / "more.h").write_text("#define M 32\n")
    before = [build_address(*x) for x in both]
    (tmp_path / "more.h").write_text("int M;\n")
    assert [build_address(*x) == y for x, y in zip(both, before, strict=True)] == [True, False]


def test_what_is_remembered_is_what_was_built(source: Source, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    assert recall(source, BASE, cache) is None
    heard: list[str] = []
    built, cached = build_cached(source, BASE, cache, tell=heard.append)
    assert not cached and any(x.startswith("f: ") for x in heard)
    assert recall(source, BASE, cache) == built
    assert build_cached(source, BASE, cache) == (built, True)
    assert build_cached(source, BASE, cache, force=True)[1] is False


def test_accounts_come_back_whole() -> None:
    times = Clocked(2.0, 1.5, 3.0)
    check = Check(12, 1e-12, float("inf"))
    function = FunctionAccount("f", 3, True, ("a", "b"), (), "n=4", check, times, times, "maxfuse")
    account = FileAccount("f.c", "int ü;", "", "gcc", "strict", (function,), ("warning",))
    assert parse_account(print_account(account)) == account
    assert function.ratio == 1.0
