"""The long-double reference: a file's text with all floating-point types widened, more exact than the original.

>>> widen("#include_next\\nstatic float half(double x) { return sqrtf((float)x) * 0.5f; }\\n")
'#include_next\\nstatic long double half(long double x) { return sqrtl((long double)x) * 0.5f; }\\n'
>>> widen("union { float f; int i; } u;") is None
True
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from planish.core.diagnostic import PlanishError
from planish.frontend.c.text.lexer import tokenize
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.signature import Signature
from planish.run.toolchains.toolchain import Compiler, compile_library, preprocess_with

_FUNCTIONS = frozenset(
    re.findall(
        r"\w+",
        """sqrt cbrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10
        log1p pow fabs fmod remainder floor ceil round trunc rint nearbyint lround lrint llround llrint fmin fmax fdim
        fma hypot erf erfc tgamma lgamma copysign ldexp frexp modf scalbn scalbln logb ilogb""",
    )
)
_OPAQUE = re.compile(
    r"union|asm|__asm|__asm__|_Complex|__complex__|_Float\w+|__bf16|__fp16|__float128|_Decimal\w+|__m\d+\w*|_mm\w*"
    r"|float\d+x\d+\w*|__builtin_ia32\w*|nextafter[fl]?|nexttoward[fl]?|memcpy|memmove"
)
"""What shows that numbers are more than numbers to a text: their bits are read, or they lie in registers. To copy them
is harmless by itself, but is how bits are read."""
_NOTHING = re.compile(r"(?!)")
_MARKER = re.compile(r'#\s*\d+\s+"[^"]*"(?P<flags>[ \d]*)')


def can_widen(signature: Signature) -> bool:
    """Whether `long double` is more exact here than each of a function's types, of which there are some."""
    types = [p.type for p in signature.parameters] + ([signature.result] if signature.result is not None else [])
    floats = [x for x in types if x.is_float]
    more = float(np.finfo(np.longdouble).eps) < float(np.finfo(np.float64).eps) / 100
    return more and bool(floats) and all(x.kind == "float" and x.bits in (32, 64) for x in floats)


def widen(text: str, opaque: re.Pattern[str] = _OPAQUE) -> str | None:
    """C text, also preprocessed, with wider numbers outside of the system's headers; None where their bits matter,
    which words show that match `opaque`."""
    read = tokenize(text)
    directives = [(x.start, bool(m) and "3" in m["flags"].split()) for x in read.directives
                  for m in [_MARKER.match(x.text.strip())] if m]  # fmt: skip
    out: list[str] = []
    at, system, marker, before = 0, False, 0, ""
    for token in read.tokens:
        while marker < len(directives) and directives[marker][0] < token.start:
            system, marker = directives[marker][1], marker + 1
        if not system:
            if opaque.fullmatch(token.text):
                return None
            out += [text[at : token.start], _wider(token.text, before)]
            at = token.end
        before = token.text
    return "".join(out) + text[at:]


def _wider(word: str, before: str) -> str:
    """What stands for a token."""
    if word == "float" or (word == "double" and before != "long"):
        return "long double"
    name = word.removeprefix("__builtin_")
    if name in _FUNCTIONS or (name.endswith("f") and name[:-1] in _FUNCTIONS):
        return word[: len(word) - len(name)] + (name if name in _FUNCTIONS else name[:-1]) + "l"
    return word


def widened_library(
    text: str, signature: Signature, compiler: Compiler, flags: Sequence[str], folder: Path,
    include_dirs: Sequence[Path] = (),
) -> Path | None:  # fmt: skip
    """A library whose numbers are wider, with the entry of `signature`; None where there is none."""
    if not can_widen(signature):
        return None
    try:
        with tempfile.TemporaryDirectory(prefix="planish-") as place:
            whole = preprocess_with(compiler, text, flags, Path(place), include_dirs)
        made, entry = widen(whole), widen(entry_text(signature), _NOTHING)
        if made is None or entry is None:
            return None
        return compile_library(compiler, made + entry, ("-w", *flags), folder, include_dirs=include_dirs)
    except PlanishError:
        return None
