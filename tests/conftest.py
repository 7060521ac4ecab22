"""What all tests share: a compiler, a way from C text to a library with entries, and what is left to `-m slow`."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.property.sampling import choose

from planish.core.recursion_limit import call_with_room
from planish.library import least_sizes
from planish.library.kernels import vectors
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.signature import Signature
from planish.run.toolchains.toolchain import choose_compiler, compile_library

Build = Callable[[str, Signature], Path]
HERE = Path(__file__).parent
RUN_BESIDE = ("differential", "property", "targets")
"""Folders of programs that run beside their originals: there, loops of few iterations come to the new code as well,
where those that users get stay as they are written."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--bless` writes what came out into golden files instead of comparing; look at the difference afterwards."""
    parser.addoption("--bless", action="store_true", help="rewrite golden files with what comes out now")


def pytest_configure() -> None:
    """Trees of modules and tests are many objects that stay: looking through them for garbage takes long."""
    gc.set_threshold(50_000, 20, 20)


def pytest_collection_finish() -> None:
    """What the tests are is no garbage from here on; processes that are forked share its pages, too."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> object:
    """Tests are called from deep inside of pytest: they have room for their own calls, as commands have."""
    runner = item.config.pluginmanager.get_plugin("runner")
    with pytest.MonkeyPatch.context() as patch:
        if any(HERE / x in item.path.parents for x in RUN_BESIDE):
            for name in ("LONG", "SUM", "ROW"):
                patch.setattr(least_sizes, name, 1)
        return call_with_room(runner.pytest_runtest_protocol, item, nextitem)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the combinations of parameters of a test marked `each_value`, those are slow that add no value."""
    marked = [x for x in items if isinstance(x, pytest.Function) and x.get_closest_marker("each_value")]
    tests: dict[tuple[pytest.Item | pytest.Collector | None, str], list[pytest.Function]] = {}
    for item in marked:
        if item.get_closest_marker("slow") is None:
            tests.setdefault((item.parent, item.originalname), []).append(item)
    for combinations in tests.values():
        marker = combinations[0].get_closest_marker("each_value")
        chosen = choose([_values(x) for x in combinations], *(marker.args if marker else ()))
        for item in (x for place, x in enumerate(combinations) if place not in chosen):
            item.add_marker(pytest.mark.slow)


def _values(item: pytest.Function) -> dict[str, str]:
    """The values of a test's parameters; those that are given together are one."""
    given = {name: repr(value) for name, value in item.callspec.params.items()}
    for marker in item.iter_markers("parametrize"):
        names = marker.args[0] if isinstance(marker.args[0], str) else ",".join(marker.args[0])
        together = [x.strip() for x in names.split(",")]
        given[names] = " ".join(given.pop(x) for x in together)
    return given


@pytest.fixture(autouse=True, scope="session")
def _private_cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> object:
    """Tests never read or write the user's own cache and trials. The processes of a run share one: what was asked of a
    compiler, and the kernels that were made, are the same in all of them."""
    base = tmp_path_factory.getbasetemp()
    # The folders of xdist's workers are beside each other, in one that is new for each run.
    folder = (base.parent if hasattr(request.config, "workerinput") else base) / "cache"
    folder.mkdir(exist_ok=True)
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_CACHE_HOME", str(folder))
    patch.setenv("XDG_DATA_HOME", str(folder / "data"))
    yield None
    patch.undo()


FEW = 12
"""Registers for a tile of four rows by two vectors: it has rows and columns inside and at its edges."""


@pytest.fixture(scope="module")
def few_registers() -> Iterator[None]:
    """Tiles are as on a machine with few registers, so that there are fewer kernels: every way to choose one of them is
    there. What was made for whole machines is not found, nor the other way around."""
    patch, whole = pytest.MonkeyPatch(), vectors.Vectors
    patch.setattr(vectors, "Vectors", lambda *values: replace(whole(*values), registers=FEW))
    folder = Path(os.environ["XDG_CACHE_HOME"]) / "few"
    folder.mkdir(exist_ok=True)
    patch.setenv("XDG_CACHE_HOME", str(folder))
    yield None
    patch.undo()


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """`build(c_text, signature)`: a library with entries, compiled without changes to the meaning of floats."""
    if not (shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")):
        pytest.skip("no C compiler here")
    compiler = choose_compiler(None)

    def make(text: str, signature: Signature) -> Path:
        flags = ("-O2", "-ffp-contract=off", "-w")
        return compile_library(compiler, text + entry_text(signature), flags, tmp_path)

    return make
