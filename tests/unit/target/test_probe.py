"""The probe: hosts laid out as files, and the one that runs the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.target.description import load_description
from planish.target.probe import cpu_count, probe_host


def _lay_out(root: Path, cpuinfo: str, caches: list[tuple[str, ...]]) -> Path:
    (root / "proc").mkdir()
    (root / "proc/cpuinfo").write_text(cpuinfo)
    names = ("level", "type", "size", "coherency_line_size", "ways_of_associativity", "shared_cpu_list")
    for number, cache in enumerate(caches):
        folder = root / f"sys/devices/system/cpu/cpu0/cache/index{number}"
        folder.mkdir(parents=True)
        for name, value in zip(names, cache, strict=True):
            (folder / name).write_text(value + "\n")
    topology = root / "sys/devices/system/cpu/cpu0/topology"
    topology.mkdir(parents=True)
    (topology / "thread_siblings_list").write_text("0,8\n")
    return root


def test_an_x86_server(tmp_path: Path) -> None:
    first = "processor\t: 0\nmodel name\t: Big One\ncpu MHz\t\t: 2500.000\nflags\t\t: sse2 avx avx2 fma avx512bw\n"
    cpuinfo = first + "\nprocessor\t: 1\nflags\t: sse2\n"
    caches = [
        ("1", "Data", "48K", "64", "12", "0,8"),
        ("1", "Instruction", "32K", "64", "8", "0,8"),
        ("2", "Unified", "2048K", "64", "16", "0,8"),
        ("3", "Unified", "32M", "64", "16", "0-15"),
    ]
    target = probe_host(_lay_out(tmp_path, cpuinfo, caches), "x86_64")
    assert (target.isa, target.vector_bits, target.vector_registers) == ("x86-64-v4", 512, 32)
    assert target.fma and target.masks
    assert [(c.level, c.bytes, c.shared) for c in target.caches] == [(1, 49152, 1), (2, 2 << 20, 1), (3, 32 << 20, 8)]
    assert (target.description, target.frequency_ghz) == ("Big One", 2.5)
    assert target.flags_for("gcc") == ("-march=native",)


def test_an_arm_board_without_cache_facts(tmp_path: Path) -> None:
    target = probe_host(_lay_out(tmp_path, "processor\t: 0\nFeatures\t: fp asimd crc32\n", []), "aarch64")
    assert (target.isa, target.vector_bits, target.fma) == ("armv8-a", 128, True)
    assert target.caches == load_description("generic").caches
    assert target.flags_for("clang") == ("-mcpu=native",)


def test_a_host_that_tells_nothing(tmp_path: Path) -> None:
    target, generic = probe_host(tmp_path, "vax"), load_description("generic")
    assert (target.name, target.isa) == ("native", "vax")
    assert (target.vector_bits, target.caches, target.fma) == (generic.vector_bits, generic.caches, False)


@pytest.mark.parametrize(
    ("facts", "machine", "processor"),
    [
        ("vendor_id\t: AuthenticAMD\nflags\t: sse2 avx2 avx512bw\n", "x86_64", "znver4"),
        ("vendor_id\t: GenuineIntel\nflags\t: avx2 avx512bw avx512_vbmi2\n", "x86_64", "icelake-server"),
        ("vendor_id\t: GenuineIntel\nflags\t: avx2\n", "x86_64", "skylake-avx512"),
        ("vendor_id\t: GenuineIntel\nflags\t: sse2\n", "x86_64", ""),
        ("CPU implementer\t: 0x41\nCPU part\t: 0xd40\nFeatures\t: asimd\n", "aarch64", "neoverse-v1"),
    ],
)
def test_the_processor_whose_costs_are_nearest(facts: str, machine: str, processor: str, tmp_path: Path) -> None:
    assert probe_host(_lay_out(tmp_path, facts, []), machine).processor == processor


def test_lists_of_processors() -> None:
    assert [cpu_count(text) for text in ("0", "0-3", "0-1,4-5", "", "none")] == [1, 4, 4, 1, 1]


def test_this_host() -> None:
    target = probe_host()
    assert target.cores >= 1
    assert target.caches
