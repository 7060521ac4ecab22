"""What all tests share: a compiler, a way from C text to a library with entries, and how they import one another (as
`tests.property`, from wherever pytest is started)."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.signature import Signature
from planish.run.toolchains.toolchain import choose_compiler, compile_library

Build = Callable[[str, Signature], Path]
ROOT = str(Path(__file__).parents[1])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--bless` writes what came out into golden files instead of comparing; look at the difference afterwards."""
    parser.addoption("--bless", action="store_true", help="rewrite golden files with what comes out now")


@pytest.fixture(autouse=True, scope="session")
def _private_cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> object:
    """Tests never read or write the user's own cache. The processes of a run share one: what was asked of a compiler,
    and the kernels that were made, are the same in all of them."""
    base = tmp_path_factory.getbasetemp()
    # The folders of xdist's workers are beside each other, in one that is new for each run.
    folder = (base.parent if hasattr(request.config, "workerinput") else base) / "cache"
    folder.mkdir(exist_ok=True)
    patch = pytest.MonkeyPatch()
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
