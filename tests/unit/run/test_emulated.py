"""Libraries for another processor, called in an emulator by the oracle: what is right, wrong, or no end."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from planish.ir.types import F64, I32
from planish.run.calls.abi_wrapper import entry_text
from planish.run.oracle.comparison import CallCase, Limits, Parameter, Signature, Verdict, compare
from planish.run.toolchains.emulator import build_caller, find_emulator
from planish.run.toolchains.toolchain import choose_compiler, compile_library

NAME = "aarch64-linux-gnu-gcc"
SIGNATURE = Signature(
    "last", (Parameter("n", I32, "value"), Parameter("s", F64, "value"), Parameter("x", F64, "array")), F64
)
TEXT = "double last(int n, double s, double *x) { for (int i = 0; i < n; i++) x[i] *= s; return n > 1 ? x[n - 1] : s; }"
WRONG = {
    "mismatch": ("x[i] *= s", "x[i] *= s + (i == 9)"),
    "mismatch beside": ("i < n", "i <= n"),
    "crashed": ("i < n", "i <= n"),
    "timeout": ("return", "extern int pause(void); while (n == 17) pause(); return"),
}


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    found = find_emulator("aarch64")
    if shutil.which(NAME) is None or isinstance(found, str):
        pytest.skip("no compiler for another processor, or no emulator of it")
    return (*found, str(build_caller(choose_compiler(NAME), (), tmp_path_factory.mktemp("caller"))))


def check(text: str, placement: str, emulator: tuple[str, ...], folder: Path, *sizes: int) -> Verdict:
    compiler, entry = choose_compiler(NAME), entry_text(SIGNATURE)
    original, other = (compile_library(compiler, x + entry, ("-O1", "-w"), folder) for x in (TEXT, text))
    cases = [CallCase({"n": n}, {"x": n}, placement=placement, seed=n) for n in sizes]  # type: ignore[arg-type]
    return compare(original, other, SIGNATURE, cases, "exact", Limits(2), emulator=emulator)


def test_a_right_one_is_ok(emulator: tuple[str, ...], tmp_path: Path) -> None:
    verdict = check(TEXT.replace("x[i] *= s", "x[i] = s * x[i]"), "end", emulator, tmp_path, 0, 1, 17)
    assert (verdict.status, verdict.cases_run) == ("ok", 3), verdict


@pytest.mark.parametrize("wanted", WRONG)
def test_wrong_ones_are_found(wanted: str, emulator: tuple[str, ...], tmp_path: Path) -> None:
    placement = "start" if "beside" in wanted else "end"
    verdict = check(TEXT.replace(*WRONG[wanted], 1), placement, emulator, tmp_path, 1, 17)
    assert verdict.status == wanted.split()[0], verdict
    assert ("outside of the array x" in verdict.message) == ("beside" in wanted)
