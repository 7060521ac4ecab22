"""Feature guards: where an instruction may be called, as a condition of the C preprocessor.

>>> from planish.isa.entry import Entry, IntrinsicSignature
>>> guard_of(Entry("_mm_add_epi8", "x86", IntrinsicSignature("__m128i", ()), features=("SSE4.1", "AVX512F/KNCNI")))
'defined(__x86_64__) && defined(__SSE4_1__) && defined(__AVX512F__)'
"""

from __future__ import annotations

import re

from planish.isa.entry import Entry
from planish.isa.vendors.x86.features import EXTENSIONS

_NEON = "defined(__aarch64__) && defined(__ARM_NEON)"
_CIPHERS = "(defined(__ARM_FEATURE_{0}) || defined(__ARM_FEATURE_CRYPTO))"
_FEATURES = {
    "FP16": "defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)", "BF16": "defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)",
    "AES": _CIPHERS.format("AES"), "SHA2": _CIPHERS.format("SHA2"), "CRC32": "defined(__ARM_FEATURE_CRC32)",
    "RDM": "defined(__ARM_FEATURE_QRDMX)", "I8MM": "defined(__ARM_FEATURE_MATMUL_INT8)",
    "DOTPROD": "defined(__ARM_FEATURE_DOTPROD)",
}  # fmt: skip
"""Extensions of Neon."""

_MISCOMPILED = re.compile(r"_mm_maskz_fn?m(add|sub)_(round_)?s[sd]")
"""What Clang (19) makes a product with the wrong operand of, where the last one is in memory."""

_UNSAID = {"_cvtsh_ss": ("FP16C",), "_cvtss_sh": ("FP16C",)}
"""What instructions need of which Intel's data says nothing."""

HEADERS = (
    ("defined(__x86_64__)", "x86intrin.h"), (_NEON, "arm_neon.h"), ("defined(__ARM_FEATURE_CRC32)", "arm_acle.h"),
)  # fmt: skip
"""Where something has to be included, and what."""


def processor_guard(entry: Entry) -> str:
    """The condition under which a processor has an instruction."""
    return " && ".join(dict.fromkeys({"x86": _x86, "arm": _arm}.get(entry.isa, _hvx)(entry)))


def guard_of(entry: Entry) -> str:
    """The condition under which a compiler knows an instruction."""
    parts = [processor_guard(entry)]
    if "with clang" in entry.reason:  # another compiler does not know it, or takes it for something else
        parts.append("defined(__clang__)")
    if _MISCOMPILED.fullmatch(entry.name):
        parts.append("!defined(__clang__)")
    return " && ".join(parts)


def _x86(entry: Entry) -> list[str]:
    found = ["defined(__x86_64__)"]
    for feature in _UNSAID.get(entry.name, entry.features):
        known = next((EXTENSIONS[x] for x in feature.split("/") if x in EXTENSIONS), None)
        if known is not None:
            found.append(f"defined(__{known.option.removeprefix('-m').upper().replace('.', '_')}__)")
    return found


def _arm(entry: Entry) -> list[str]:
    return [_NEON, *(_FEATURES[x] for x in entry.features if x in _FEATURES)]


def _hvx(_: Entry) -> list[str]:
    return ["defined(__HVX__)", "__HVX_LENGTH__ == 128"]
