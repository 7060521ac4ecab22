"""Extensions of x86 as Intel's data names them: what the kernel calls them, and the compiler's option for each.

>>> EXTENSIONS["AVX512_VNNI"]
Extension(flag='avx512_vnni', option='-mavx512vnni')
>>> missing(("AVX512F/KNCNI",), frozenset({"avx512f"})), missing(("AVX512ER",), frozenset())
(None, 'AVX512ER')
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Extension:
    """`flag`: its name in /proc/cpuinfo; `option`: what makes a compiler know its intrinsics."""

    flag: str
    option: str


EXTENSIONS = {
    name: Extension(flag, option)
    for name, flag, option in (
        ("MMX", "mmx", "-mmmx"), ("SSE", "sse", "-msse"), ("SSE2", "sse2", "-msse2"), ("SSE3", "pni", "-msse3"),
        ("SSSE3", "ssse3", "-mssse3"), ("SSE4.1", "sse4_1", "-msse4.1"), ("SSE4.2", "sse4_2", "-msse4.2"),
        ("AVX", "avx", "-mavx"), ("AVX2", "avx2", "-mavx2"), ("FMA", "fma", "-mfma"), ("FP16C", "f16c", "-mf16c"),
        ("AVX512F", "avx512f", "-mavx512f"), ("AVX512VL", "avx512vl", "-mavx512vl"),
        ("AVX512BW", "avx512bw", "-mavx512bw"), ("AVX512DQ", "avx512dq", "-mavx512dq"),
        ("AVX512CD", "avx512cd", "-mavx512cd"), ("AVX512_VBMI", "avx512vbmi", "-mavx512vbmi"),
        ("AVX512_VBMI2", "avx512_vbmi2", "-mavx512vbmi2"), ("AVX512_VNNI", "avx512_vnni", "-mavx512vnni"),
        ("AVX512_BF16", "avx512_bf16", "-mavx512bf16"), ("AVX512_BITALG", "avx512_bitalg", "-mavx512bitalg"),
        ("AVX512IFMA52", "avx512ifma", "-mavx512ifma"), ("AVX512VPOPCNTDQ", "avx512_vpopcntdq", "-mavx512vpopcntdq"),
        ("AVX512_VP2INTERSECT", "avx512_vp2intersect", "-mavx512vp2intersect"),
        ("AVX512_FP16", "avx512_fp16", "-mavx512fp16"), ("AVX_VNNI", "avx_vnni", "-mavxvnni"),
        ("GFNI", "gfni", "-mgfni"), ("VAES", "vaes", "-mvaes"), ("VPCLMULQDQ", "vpclmulqdq", "-mvpclmulqdq"),
        ("AES", "aes", "-maes"), ("PCLMULQDQ", "pclmulqdq", "-mpclmul"), ("SHA", "sha_ni", "-msha"),
        ("BMI1", "bmi1", "-mbmi"), ("BMI2", "bmi2", "-mbmi2"), ("POPCNT", "popcnt", "-mpopcnt"),
        ("LZCNT", "abm", "-mlzcnt"), ("MOVBE", "movbe", "-mmovbe"), ("ADX", "adx", "-madx"),
        ("MOVDIRI", "movdiri", "-mmovdiri"), ("MOVDIR64B", "movdir64b", "-mmovdir64b"),
    )
}  # fmt: skip
"""Those whose instructions are functions of their operands; others manage the machine."""


_ROUND = re.compile(r"_mm\d*_(maskz?_)?((load|store|stream(_load)?)_(?!s[sdh]$)|loadr_|storer_|store1_|store_p[sd]1)")


def wants_round_address(name: str) -> bool:
    """Whether an intrinsic faults at addresses that are no multiple of its size, which its definition does not say.

    >>> wants_round_address("_mm_load_ps"), wants_round_address("_mm_loadu_ps"), wants_round_address("_mm_load_ss")
    (True, False, False)
    """
    return _ROUND.match(name) is not None


def missing(features: Iterable[str], flags: frozenset[str]) -> str | None:
    """The first feature that a processor with these flags lacks, or that is not tried; `A/B` needs one of both."""
    for feature in features:
        known = [EXTENSIONS[x] for x in feature.split("/") if x in EXTENSIONS]
        if not any(x.flag in flags for x in known):
            return feature
    return None


def options(flags: frozenset[str]) -> tuple[str, ...]:
    """The compiler's options for all extensions that a processor with these flags has."""
    return tuple(x.option for x in EXTENSIONS.values() if x.flag in flags)
