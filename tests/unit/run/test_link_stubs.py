"""A file of a larger program: what it only declares stops the calls that need it, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.core.diagnostic import PlanishError
from planish.ir.types import F32, I32
from planish.run.calls.abi_wrapper import entry_text
from planish.run.oracle.comparison import CallCase, Parameter, Signature, compare
from planish.run.toolchains.toolchain import choose_compiler, compile_library

_FILE = """
extern void report(const char *text, int done);
void scale(int n, float *x) { for (int i = 0; i < n; i++) x[i] *= 2; }
void told(int n, float *x) { scale(n, x); report("done", n); }
"""


def _verdict(function: str, folder: Path) -> tuple[str, str]:
    signature = Signature(function, (Parameter("n", I32, "value"), Parameter("x", F32, "array")))
    text = _FILE + entry_text(signature)
    first, second = (compile_library(choose_compiler(None), text, ("-w", o), folder) for o in ("-O1", "-O2"))
    verdict = compare(first, second, signature, [CallCase({"n": 3}, {"x": 3})])
    return verdict.status, verdict.message


def test_what_needs_no_other_file_is_verified(tmp_path: Path) -> None:
    assert _verdict("scale", tmp_path) == ("ok", "")


def test_what_calls_a_function_of_another_file_is_not_and_says_so(tmp_path: Path) -> None:
    status, message = _verdict("told", tmp_path)
    assert status == "not comparable"
    assert message == "the reference calls `report`, which this file does not define (n=3)"


def test_a_library_for_the_users_own_process_is_whole(tmp_path: Path) -> None:
    with pytest.raises(PlanishError) as caught:
        compile_library(choose_compiler(None), _FILE, ("-w",), tmp_path, whole=True)
    assert caught.value.diagnostic.code == "E0803"
    assert "report" in caught.value.diagnostic.message
