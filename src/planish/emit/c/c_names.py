"""How C spells the names of a kernel, beside what C, its headers and Planish call something themselves.

>>> spell_names({"x", "int", "_y", "size_t"}, RESERVED | {"x"})
{'_y': 'v_y', 'int': 'int_', 'size_t': 'size_t_', 'x': 'x_'}
"""

from __future__ import annotations

from collections.abc import Collection

from planish.ir.expr import PURE_FUNCTIONS

_KEYWORDS = frozenset(
    {
        "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
        "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
        "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "asm",
        "bool", "true", "false", "complex", "imaginary", "I", "NULL", "EOF", "INFINITY", "NAN", "linux", "unix",
        "typeof", "nullptr", "constexpr", "alignas", "alignof", "static_assert", "thread_local", "noreturn", "errno",
        "malloc", "free", "abs", "llabs", "size_t", "ptrdiff_t", "uintptr_t", "i386",
    }
)  # fmt: skip
RESERVED = _KEYWORDS | {f"{x}{suffix}" for x in PURE_FUNCTIONS for suffix in ("", "f", "l")}
"""Names of C itself, and of headers that kernels may need."""

_PREFIXES = ("_", "planish_")


def spell_names(wanted: Collection[str], taken: Collection[str]) -> dict[str, str]:
    """A spelling for each wanted name, no two of them alike, and none of them one that is taken."""
    spelt: dict[str, str] = {}
    others = {*taken}
    for name in sorted(wanted):
        spelling = name
        while spelling in others or (spelling != name and spelling in wanted) or _is_reserved(spelling):
            spelling = f"v{spelling}" if spelling.startswith(_PREFIXES) else f"{spelling}_"
        spelt[name] = spelling
        others.add(spelling)
    return spelt


def _is_reserved(spelling: str) -> bool:
    return spelling.startswith(_PREFIXES) or spelling.endswith("_t")
