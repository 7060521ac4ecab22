"""Compilers and emulators for another processor: which are taken, and what is said where there are none."""

from __future__ import annotations

import platform
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file
from planish.run.toolchains.cross import Runner, compiler_for, is_foreign, runner_for, takes
from planish.run.toolchains.toolchain import choose_compiler, find_compilers
from planish.target.load import load_target
from planish.target.machine import CacheLevel, Target

ARM, X86 = load_target("aarch64-neon"), load_target("x86-avx2")
FOREIGN = X86 if platform.machine() in ("aarch64", "arm64") else ARM
TEXT = "void scale(int n, double x[n]) { for (int i = 0; i < n; i++) x[i] *= 3; }\n"


def machine(isa: str) -> Target:
    return Target("some", isa, 128, 32, True, (CacheLevel(1, 32768),))


@pytest.mark.parametrize(
    ("isa", "architecture"),
    [("armv8.2-a", "aarch64"), ("armv9-a", "aarch64"), ("aarch64", "aarch64"), ("x86-64-v3", "x86_64"),
     ("x86-64", "x86_64"), ("generic", ""), ("armv7-a", ""), ("riscv64", "")],
)  # fmt: skip
def test_what_kind_of_processor_a_target_has(isa: str, architecture: str) -> None:
    assert machine(isa).architecture == architecture


def test_what_is_not_known_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [is_foreign(machine(x)) for x in ("generic", "riscv64")] == [False, False]
    for name, foreign in (("x86_64", ARM), ("AMD64", ARM), ("aarch64", X86), ("arm64", X86)):
        monkeypatch.setattr(platform, "machine", lambda name=name: name)
        assert [x.name for x in (ARM, X86) if is_foreign(x)] == [foreign.name]


def test_this_processor_needs_nothing(tmp_path: Path) -> None:
    native = load_target("native")
    assert compiler_for(native, None) == choose_compiler(None)
    assert runner_for(native, choose_compiler(None), tmp_path) == Runner()
    assert not [*tmp_path.iterdir()]


def test_a_cross_compiler_is_taken() -> None:
    name = f"{FOREIGN.architecture}-linux-gnu-gcc"
    if shutil.which(name) is None:
        pytest.skip(f"no {name} here")
    compiler = compiler_for(FOREIGN, None)
    assert compiler.name == name and takes(compiler, FOREIGN)
    assert compiler_for(FOREIGN, name) == compiler


def test_clang_is_one_where_it_can_link() -> None:
    clang = next((x for x in find_compilers() if x.kind == "clang" and takes(x, FOREIGN)), None)
    if clang is None:
        pytest.skip("no clang here that links for another processor")
    assert compiler_for(FOREIGN, clang.name) == clang


def test_none_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planish.run.toolchains.cross.shutil.which", lambda _: None)
    monkeypatch.setattr("planish.run.toolchains.cross.find_compilers", lambda: ())
    with pytest.raises(PlanishError) as caught:
        compiler_for(FOREIGN, None)
    assert caught.value.diagnostic.code == "E0801"
    assert "apt install gcc-" in caught.value.diagnostic.help


def test_one_for_something_else() -> None:
    other = replace(FOREIGN, flags=dict.fromkeys(("gcc", "clang"), ("-march=nonsense",)))
    with pytest.raises(PlanishError) as caught:
        compiler_for(other, choose_compiler(None).name)
    assert caught.value.diagnostic.code == "E0809"
    assert "it does not take -march=nonsense" in caught.value.diagnostic.message


def test_without_an_emulator_nothing_is_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("planish.run.toolchains.cross.is_foreign", lambda _: True)
    monkeypatch.setattr("planish.run.toolchains.cross.find_emulator", lambda _: "there is no emulator")
    native = load_target("native")
    assert "there is no emulator" in runner_for(native, choose_compiler(None), tmp_path).missing
    built = build_file(Source("scale.c", TEXT), Options(compiler=choose_compiler(None).name))
    assert TEXT in built.text
    (function,) = built.functions
    (remark,) = function.remarks
    assert (remark.id, function.replacements) == ("verify-emulator", ())
    assert "nothing can be checked: there is no emulator" in remark.message


def test_no_program_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("planish.run.toolchains.cross.is_foreign", lambda _: True)
    monkeypatch.setattr("planish.run.toolchains.cross.find_emulator", lambda _: ("/usr/bin/qemu-some",))
    target = replace(load_target("native"), flags=dict.fromkeys(("gcc", "clang"), ("-march=nonsense",)))
    assert "no program for qemu-some can be made" in runner_for(target, choose_compiler(None), tmp_path).missing
