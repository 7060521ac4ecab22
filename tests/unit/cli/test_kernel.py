"""`planish kernel gemm --header`: kernels are kept, so that an interrupted run is resumed and a second one is quick."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from planish.cli import main
from planish.cli.terminal.progress import Bar
from planish.core.cache import Cache
from planish.ir.types import F32
from planish.isa.instruction import Instruction
from planish.library.kernels.gemm.blocked import Blocking
from planish.library.kernels.gemm.edges import make_family
from planish.library.kernels.gemm.functions import Request, count_kernels, make_functions
from planish.library.kernels.gemm.microkernel import Tile
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.vectors import PRODUCTS, find_vectors

SMALL = ["kernel", "gemm", "--header", "--target", "aarch64-neon", "--mr", "2", "--nr", "4"]
BLOCKING = Blocking(2, 1, depth=64, columns=64, height=64)
VECTORS = find_vectors("avx512", F32)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def stop_after(count: int, told: list[str]) -> Callable[[Bar, str], None]:
    """A bar's step that is interrupted when so many kernels have begun."""

    def step(bar: Bar, message: str) -> None:
        told.append(message)
        if len(told) > count:
            raise KeyboardInterrupt

    return step


def test_an_interrupted_run_is_resumed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Bar, "step", stop_after(7, []))
        assert main([*SMALL, "-o", "first.h"]) == 130
    total = count_kernels(Request(), find_vectors("neon", F32), BLOCKING)
    assert "interrupted: 7 kernels are kept for the next time" in capsys.readouterr().err
    assert Cache().info().entries == 7 and not Path("first.h").exists()
    made: list[str] = []
    monkeypatch.setattr(Cache, "put", count_puts(Cache.put, made))
    assert main([*SMALL, "-q", "-o", "resumed.h"]) == 0
    assert len(made) == total - 7
    assert main([*SMALL, "-q", "-o", "again.h"]) == 0
    assert len(made) == total - 7
    assert main([*SMALL, "-q", "-o", "anew.h", "--force"]) == 0
    assert len(made) == 2 * total - 7
    texts = {Path(name).read_text() for name in ("resumed.h", "again.h", "anew.h")}
    assert len(texts) == 1


def count_puts(put: Callable[[Cache, str, bytes], bool], made: list[str]) -> Callable[[Cache, str, bytes], bool]:
    def counted(cache: Cache, address: str, content: bytes) -> bool:
        made.append(address)
        return put(cache, address, content)

    return counted


@pytest.mark.parametrize(
    ("extension", "element", "asked"),
    [("neon", "f32", Request(("nt",), column=True)),
     pytest.param("avx512", "bf16", Request(), marks=pytest.mark.slow)],
)  # fmt: skip
def test_all_that_is_made_is_told_of(extension: str, element: str, asked: Request) -> None:
    vectors, told = find_vectors(extension, PRODUCTS[element]), []
    maker = KernelCache(tell=told.append)
    make_functions("product", vectors, BLOCKING, asked, maker)
    assert len(told) == maker.made == count_kernels(asked, vectors, BLOCKING)


def test_other_tiles_are_other_entries() -> None:
    for tile in (Tile(VECTORS, 1, 1), Tile(VECTORS, 1, 1, first=True), Tile(VECTORS, 1, 1, layout="rows")):
        maker = KernelCache(Cache())
        make_family(tile, 64, maker)
        assert maker.found == 0
    maker = KernelCache(Cache())
    make_family(Tile(VECTORS, 1, 1, layout="rows"), 68, maker)
    assert maker.found == 0, "the length of rows counts"


class Intruder:
    """What reading must not call."""

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, ("touch intruded",)


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x04N.", None])
def test_what_is_no_kernel_is_made_again(content: bytes | None) -> None:
    before = KernelCache(Cache())
    made = make_family(Tile(VECTORS, 1, 1), maker=before)
    for entry in Cache().root.rglob("*.entry"):
        address = entry.parent.name + entry.stem
        Cache().put(address, pickle.dumps(Intruder()) if content is None else content)
    again = KernelCache(Cache())
    assert make_family(Tile(VECTORS, 1, 1), maker=again) == made
    assert again.made == len(made) and not Path("intruded").exists()


def test_a_cache_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    maker = KernelCache(Cache(tmp_path / "file"))
    with pytest.warns(UserWarning, match="E0901"):
        made = make_family(Tile(VECTORS, 1, 1), maker=maker)
    assert all(isinstance(x, Instruction) for x in made)
    assert (maker.made, maker.kept) == (3, 0)
