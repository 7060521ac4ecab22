r"""Compiler attributes and pragmas that hold for generated functions only, whatever the command line is.

>>> print(CompilerSettings(features=("avx2",)).guard.replace("\\\n    ", ""), end="")
#if defined(PLANISH_ORIGINAL)
#define planish_able 0
#if defined(__x86_64__)
#define planish_told
#endif
#elif !defined(__x86_64__) || defined(__AVX2__)
#define planish_able 1 /* Each processor that this is compiled for has what the functions need. */
#else
#define planish_able ( __builtin_cpu_supports("avx2"))
#define planish_told
#endif
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from planish.emit.idioms.lane_sums import Accumulators
from planish.ir.types import Floats
from planish.isa.collection import load_collection
from planish.isa.vendors.x86.features import EXTENSIONS
from planish.target.machine import Target

_V3 = ("avx2", "fma", "f16c")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512dq", "avx512vl")
_LEVELS = {"x86-64-v3": _V3, "x86-64-v4": _V4}
"""What functions for each level of the processor have instructions of."""

_GCC = ("O3", "no-loop-unroll-and-jam")
"""What gcc does with generated functions: it makes lanes of loops at any level. With loop-unroll-and-jam, gcc 12 takes
loads before the stores that they wait for, where a loop in lanes whose elements lie apart stands in one whose
iterations depend on each other."""
_GCC_11 = ("no-ipa-modref", "no-ipa-pure-const")
"""What it may not conclude of them for their callers. gcc 12 spells `a[2 * i]` in a loop as an offset from address 0
(its pass ivopts), takes that for an access that ends the program, and drops calls of the function as of one that does
nothing. gcc 10 knows no `modref`."""


_OTHER_SIGN = {"": "", "signed": " || defined(__CHAR_UNSIGNED__)", "unsigned": " || !defined(__CHAR_UNSIGNED__)"}
"""By how a plain `char` was read: the condition, for the preprocessor, under which a flag makes another one of it."""
_INTRINSIC = re.compile(r"\b_mm\w+(?=\()")
_LATE = ("avx512", "avxvnni", "gfni", "vaes", "vpclmulqdq")


@dataclass(frozen=True, slots=True)
class CompilerSettings:
    """`floats`: what may happen to them; `features`: what the functions need of the processor, as compilers call it;
    `tuning`: what lets gcc use all of its vectors, as its pragma `target` calls it; `accumulators`: the registers that
    a sum in lanes has; `variant`: what those for one target are called where a file has them for several;
    `characters`: whether a plain `char` has a sign in what they stand for ("signed", "unsigned"; "": it has none)."""

    floats: Floats = "reassociate"
    features: tuple[str, ...] = ()
    tuning: tuple[str, ...] = ()
    accumulators: Accumulators = Accumulators()
    variant: str = ""
    characters: str = ""

    @property
    def guarded(self) -> bool:
        """Whether the functions may be called only where `planish_able` holds."""
        return bool(self.features or self.variant or self.characters)

    @property
    def reads_whole(self) -> bool:
        """Whether compilers make no lanes of narrow elements that are read under conditions: AVX2 has masked loads of
        wider ones only."""
        return "avx2" in self.features and "avx512bw" not in self.features

    def needing(self, functions: Iterable[str]) -> CompilerSettings:
        """The same settings of functions with these texts: of the processor is needed besides what their intrinsics do.

        >>> CompilerSettings(features=("avx512f",)).needing(["x = _mm512_permutexvar_epi8(y, x);"]).features
        ('avx512f', 'avx512vbmi')
        """
        names = {x for text in functions for x in _INTRINSIC.findall(text)} if self.features else ()
        asked = sorted({_option(x) for name in names for x in _extensions(name)} - {"", *self.features})
        return replace(self, features=(*self.features, *asked))

    @property
    def guard(self) -> str:
        """Directives that define `planish_able`, the condition under which the functions may be called; "" where they
        need nothing.

        >>> print(CompilerSettings(variant="neon").guard, end="")
        #if defined(PLANISH_ORIGINAL) || defined(PLANISH_WITHOUT_NEON)
        #define planish_able 0
        #else
        #define planish_able 1
        #endif
        >>> print(CompilerSettings(characters="signed").guard.splitlines()[0])
        #if defined(PLANISH_ORIGINAL) || defined(__CHAR_UNSIGNED__)
        """
        if not self.guarded:
            return ""
        off = "".join(f" || defined({without(x)})" for x in (self.variant,) if x) + _OTHER_SIGN[self.characters]
        opening = f"#if defined(PLANISH_ORIGINAL){off}\n#define planish_able 0\n"
        if not self.features:
            return f"{opening}#else\n#define planish_able 1\n#endif\n"
        # Compilers ask that of functions which are never called, too.
        opening += "#if defined(__x86_64__)\n#define planish_told\n#endif\n"
        told = " && \\\n    ".join(f"defined({_macro(x)})" for x in self.features)
        # clang knows the name of F16C since version 16; every processor with AVX2 has it.
        asked = " && \\\n    ".join(f'__builtin_cpu_supports("{x}")' for x in self.features if x != "f16c")
        return (
            f"{opening}#elif !defined(__x86_64__) || \\\n"
            f"    {told}\n"
            "#define planish_able 1 /* Each processor that this is compiled for has what the functions need. */\n"
            f"#else\n#define planish_able ( \\\n    {asked})\n#define planish_told\n#endif\n"
        )

    @property
    def opening(self) -> str:
        """Directives before the functions; `closing` ends what they say."""
        exact = self.floats == "strict"
        # Without traps, gcc 12 takes a float that was an integer meanwhile for `trunc`, which keeps the sign of a zero.
        loose = ("no-trapping-math",) if self.floats == "reassociate" else ()
        options = (*_GCC, *loose, "fp-contract=off" if exact else "fp-contract=fast")
        lines = [
            "/* What compilers are told of the functions below holds for nothing else. */",
            "#if defined(__clang__)",
            "#pragma clang diagnostic push",
            '#pragma clang diagnostic ignored "-Wpass-failed"',
            '#pragma clang diagnostic ignored "-Wunknown-pragmas"',
            *(("#pragma float_control(push)", "#pragma clang fp contract(off)") if exact else ()),
            *self._told('#pragma clang attribute push(__attribute__((target("%s"))), apply_to = function)'),
            "#elif defined(__GNUC__)",
            "#pragma GCC diagnostic push",
            '#pragma GCC diagnostic ignored "-Wunknown-pragmas"',
            "#pragma GCC push_options",
            f"#pragma GCC optimize({', '.join(map(_quote, options))})",
            "#if __GNUC__ > 10",
            f"#pragma GCC optimize({', '.join(map(_quote, _GCC_11))})",
            "#endif",
            *self._told('#pragma GCC target("%s")'),
            *self._tuned(),
            "#endif",
        ]  # fmt: skip
        return "\n".join(lines) + "\n"

    @property
    def closing(self) -> str:
        """Directives after the functions."""
        lines = [
            "#if defined(__clang__)",
            *(("#ifdef planish_told", "#pragma clang attribute pop", "#endif") if self.features else ()),
            *(("#pragma float_control(pop)",) if self.floats == "strict" else ()),
            "#pragma clang diagnostic pop",
            "#elif defined(__GNUC__)",
            "#pragma GCC pop_options",
            "#pragma GCC diagnostic pop",
            "#endif",
        ]
        return "\n".join(lines) + "\n"

    def _told(self, directive: str) -> tuple[str, ...]:
        if not self.features:
            return ()
        return ("#ifdef planish_told", directive % ",".join(self.features), "#endif")

    def _tuned(self) -> tuple[str, ...]:
        """Which vectors are worth using is no part of `-march=native`: gcc takes half of what most processors have."""
        if not self.tuning:
            return ()
        words = ",".join(self.tuning)
        return ("#if defined(__x86_64__) && __GNUC__ > 7", f'#pragma GCC target("{words}")', "#endif")


USUAL = CompilerSettings()
"""Sums may be reordered, and nothing is needed of the processor."""


def without(variant: str) -> str:
    """The macro that leaves the functions for one of several targets out.

    >>> without("avx512")
    'PLANISH_WITHOUT_AVX512'
    """
    return f"PLANISH_WITHOUT_{variant.upper()}"


def settings_for(target: Target, floats: Floats, variant: str = "") -> CompilerSettings:
    """The settings of functions for a target, for one of several in a file where it has the name of a variant."""
    features = _LEVELS.get(target.isa, ())
    tuning = tuple(x.removeprefix("-m") for x in target.tuning.get("gcc", ())) if features else ()
    return CompilerSettings(floats, features, tuning, _accumulators(target), variant)


def name_settings(settings: CompilerSettings) -> str:
    """A name by which settings are told apart.

    >>> name_settings(CompilerSettings("strict", (*_V4, "avx512vbmi"), ("prefer-vector-width=512",)))
    'planish_avx512_avx512vbmi_512_strict'
    """
    level = next((x for x in (_V4, _V3) if settings.features[: len(x)] == x), ())
    names = [{_V4: "avx512", _V3: "avx2"}[level]] if level else []
    names += [*settings.features[len(level) :], *(re.sub(r"\W", "_", x.rpartition("=")[2]) for x in settings.tuning)]
    names += [f"{settings.characters}_char"] if settings.characters else []
    names += [settings.floats] if settings.floats != "reassociate" else []
    return "_".join(["planish", *names])


def _accumulators(target: Target) -> Accumulators:
    """As many as additions are under way at a time, in at most half of the registers."""
    if not target.vector_bits:
        return Accumulators()
    wanted = 1 << (target.fma_latency * target.fma_units - 1).bit_length()
    loads = max(target.load_ports // target.fma_units, 1)
    return Accumulators(max(min(wanted, target.vector_registers // 2), 1), target.vector_bits // 8, loads)


def _extensions(name: str) -> tuple[str, ...]:
    """The extensions of x86 that an intrinsic needs; none of what is no instruction."""
    try:
        return load_collection("x86").entry(name).features
    except KeyError:
        return ()


def _option(extension: str) -> str:
    """What compilers call an extension of AVX-512 or beside it; "" for older ones, which all levels have."""
    known = [EXTENSIONS[x].option.removeprefix("-m") for x in extension.split("/") if x in EXTENSIONS]
    return next((x for x in known if x.startswith(_LATE)), "")


def _quote(text: str) -> str:
    return f'"{text}"'


def _macro(feature: str) -> str:
    """The macro by which compilers say that each processor has a feature.

    >>> _macro("avx512f")
    '__AVX512F__'
    """
    return f"__{feature.upper()}__"
