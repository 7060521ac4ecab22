r"""One drop-in with code for several targets: a nest runs the first version that the processor has the instructions of.

>>> from planish.emit.c.compiler_attributes import CompilerSettings
>>> from planish.emit.dropin.patched_file import Patch
>>> text = "void f(int n)\n{\n  for (;;) work();\n}\n"
>>> start, end = text.index("for"), text.index(";\n}") + 1
>>> patch = Patch(start, end, "if (planish_able) {\n    planish_f_1(n);\n  } else {\n  for (;;) work();\n  }")
>>> made = Replacement("static void planish_f_1(ptrdiff_t n);", patch, (), settings=CompilerSettings(variant="neon"))
>>> joined = compose_targets(text, [TargetVersions("neon", "aarch64", (made,))], "")
>>> print(joined[joined.index("void f("):], end="")
void f(int n)
{
<BLANKLINE>
#if defined(__aarch64__)
  if (planish_neon_able) {
    planish_neon_f_1(n);
  } else
#endif
  {
  for (;;) work();
  }
}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planish.core.span import Source
from planish.emit.c.compiler_attributes import without
from planish.emit.dropin.patched_file import Patch, assemble, in_braces, indentation
from planish.emit.dropin.replacement import Replacement, prologue_of
from planish.frontend.c.text.lexer import tokenize
from planish.isa.collection import load_collection

ARCHITECTURES = {"x86_64": "__x86_64__", "aarch64": "__aarch64__", "hexagon": "__hexagon__"}
"""The macros by which compilers say which processor they make code for."""
_NAMES = re.compile(r"\bplanish_(\w+)")
_DEFINED = re.compile(r"^[^\s#/].*|^[ \t]*#[ \t]*define[ \t]+planish_\w+", re.MULTILINE)
"""Lines of generated code on which names of the whole file are defined: what is inside functions is indented."""
_DECLARED = re.compile(r"\bplanish_\w+(?=[(\[;]| = | __attribute__|$)")
"""Such names on these lines; others are types."""
_INTRINSIC = re.compile(r"\bv\w+(?=\()")
_EXTENSIONS = {
    "DOTPROD": "__ARM_FEATURE_DOTPROD", "FP16": "__ARM_FEATURE_FP16_VECTOR_ARITHMETIC",
    "FHM": "__ARM_FEATURE_FP16_FML", "RDM": "__ARM_FEATURE_QRDMX", "I8MM": "__ARM_FEATURE_MATMUL_INT8",
    "BF16": "__ARM_FEATURE_BF16",
}  # fmt: skip
"""The macros by which compilers say that each processor has an extension of AArch64."""


@dataclass(frozen=True, slots=True)
class TargetVersions:
    """What stands for nests on one target, the `variant`, of a processor as `Target.architecture` calls it."""

    variant: str
    architecture: str
    replacements: tuple[Replacement, ...]


def compose_targets(source: Source | str, targets: Sequence[TargetVersions], banner: str) -> str:
    """The user's text in which each nest runs the first version, in the order of the targets, whose instructions the
    processor has, and that applies; else what is written there. Raises ValueError where nests of targets overlap."""
    targets = [x for x in targets if x.replacements]
    if not targets:
        return assemble(source, [], banner, "")
    text = source if isinstance(source, str) else source.text
    prologues = {x.variant: prologue_of(x.replacements) for x in targets}
    ours = _find_defined(prologues.values()) - _used_by_nests(text, targets)
    sections = {x: _own(own, x, ours) for x, own in prologues.items()}
    conditions = {
        x: _condition(x, [sections[y.variant] for y in targets if y.architecture == x])
        for x in dict.fromkeys(y.architecture for y in targets)
    }
    prologue = [
        f"#if {condition}\n{_tell(targets, x)}\n"
        + "\n".join(sections[y.variant] for y in targets if y.architecture == x)
        + "#endif\n"
        for x, condition in conditions.items()
    ]
    places = sorted({(y.patch.start, y.patch.end) for x in targets for y in x.replacements})
    patches = []
    for start, end in places:
        arms: dict[str, list[str]] = {}
        for x in targets:
            for made in (y for y in x.replacements if (y.patch.start, y.patch.end) == (start, end)):
                arms.setdefault(x.architecture, []).append(_arm(text, made.patch, x.variant, ours))
        patches.append(Patch(start, end, _join(text, start, end, {conditions[x]: y for x, y in arms.items()})))
    return assemble(source, patches, banner, "\n".join(prologue))


def _tell(targets: Sequence[TargetVersions], architecture: str) -> str:
    """A comment on the versions for an architecture."""
    own = [x.variant for x in targets if x.architecture == architecture]
    first = " The first of them that the processor can run is called." if len(own) > 1 else ""
    return f"/* Versions for {', '.join(own)}.{first} -D{without(own[0])} leaves those for {own[0]} out. */\n"


def _find_defined(prologues: Iterable[str]) -> frozenset[str]:
    """The names that texts before the user's define for the whole file: others, such as those of the user's headers,
    may only be used there."""
    lines = [x for text in prologues for x in _DEFINED.findall(text)]
    return frozenset(name for x in lines for name in _DECLARED.findall(x))


def _used_by_nests(text: str, targets: Sequence[TargetVersions]) -> frozenset[str]:
    """The names in nests that are replaced. A variant's code may have to use them: they are never its own ones."""
    places = {(y.patch.start, y.patch.end) for x in targets for y in x.replacements}
    return frozenset(token.text for start, end in places for token in tokenize(text[start:end]).tokens)


def _own(text: str, variant: str, ours: frozenset[str]) -> str:
    """Generated text in which names of generated code are those of a variant."""
    return _NAMES.sub(lambda x: f"planish_{variant}_{x[1]}" if x[0] in ours else x[0], text)


def _condition(architecture: str, sections: Sequence[str]) -> str:
    """The condition, for the preprocessor, under which the text for an architecture compiles."""
    asked = [f"defined({ARCHITECTURES[architecture]})"]
    if architecture == "aarch64":
        known = load_collection("arm")
        names = {x for y in sections for x in _INTRINSIC.findall(y)} & known.records.keys()
        needed = {y for x in names for y in known.entry(x).features}
        asked += [f"defined({_EXTENSIONS[x]})" for x in sorted(needed & _EXTENSIONS.keys())]
    return " && ".join(asked)


def _arm(text: str, patch: Patch, variant: str, ours: frozenset[str]) -> str:
    """`if (…) { … } else`: what runs on the processors of a variant. Where what is written there is the last branch, it
    is left to those that follow."""
    indent = indentation(text, patch.start)
    otherwise = f" else {in_braces(text[patch.start : patch.end], indent)}"
    if patch.text.startswith("if (planish_able") and patch.text.endswith(otherwise):
        return _own(patch.text.removesuffix(otherwise), variant, ours) + " else"
    inner = _own(patch.text, variant, ours)
    return f"if (planish_{variant}_able) {{\n{indent}{inner}\n{indent}}} else"


def _join(text: str, start: int, end: int, arms: dict[str, list[str]]) -> str:
    """The branches of all architectures, and what is written there as the last one."""
    indent = indentation(text, start)
    lines = [""]
    for n, (condition, own) in enumerate(arms.items()):
        lines += [f"#{'el' if n else ''}if {condition}", f"{indent}{' '.join(own)}"]
    lines += ["#endif", f"{indent}{in_braces(text[start:end], indent)}"]
    return "\n".join(lines)
