"""Objects of drop-ins: compiled with the user's flags, and compared with the object that the user's command made.

>>> symbols_of("/usr/bin/nm-that-is-not-there", "x.o") is None
True
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from planish.wrapper.preprocessing import SECONDS, PreprocessingError, preprocess_by

NM = "nm"
"""What lists the symbols of an object."""
_ALLOWED = frozenset(
    (
        "abort", "aligned_alloc", "free", "madvise", "malloc", "memcpy", "memmove", "memset", "__cpu_model",
        "__cpu_features2", "__cpu_indicator_init", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail", "__tls_get_addr",
    )
)  # fmt: skip
"""What new code may need besides what the original needs: C's memory, and what compilers bring themselves."""
_FIRST = re.compile(r'^# \d+ "([^"]*)"')
_COMPILE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class ObjectSymbols:
    """The names that an object defines for others, and those that it needs of others."""

    defined: frozenset[str]
    needed: frozenset[str]

    def may_replace(self, other: ObjectSymbols, named: frozenset[str] = frozenset()) -> bool:
        """Whether an object with these symbols may take the place of one with the others. What the source has `named`
        may be needed: a compiler makes one call of two, as sincos.

        >>> a = ObjectSymbols(frozenset({"f"}), frozenset({"g"}))
        >>> ObjectSymbols(frozenset({"f"}), frozenset({"malloc"})).may_replace(a)
        True
        >>> ObjectSymbols(frozenset({"f"}), frozenset({"pow"})).may_replace(a)
        False
        """
        return self.defined == other.defined and self.needed <= other.needed | _ALLOWED | named


def symbols_of(nm: str, path: str) -> ObjectSymbols | None:
    """The symbols of an object; None where they cannot be listed."""
    try:
        done = subprocess.run(
            [nm, "-P", "-g", path], stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    defined: set[str] = set()
    needed: set[str] = set()
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        words = line.split()
        if len(words) > 1:
            (needed if words[1] in "Uwv" else defined).add(words[0])
    return ObjectSymbols(frozenset(defined), frozenset(needed))


def compile_drop_in(
    text: bytes, compiler: str, flags: Sequence[str], text_flags: Sequence[str], source: str, output: str,
    scratch: Path,
) -> str:  # fmt: skip
    """Compiles a drop-in's text as the user's command compiles `source`, in two steps: headers beside the source are
    found, and debuggers see the user's file. Why it could not, or ""."""
    written, made = scratch / "drop_in.c", scratch / "drop_in.i"
    written.write_bytes(text)
    beside = ["-iquote", os.path.dirname(source) or "."]
    try:
        expanded = preprocess_by(compiler, [*beside, *flags], str(written))
    except PreprocessingError as error:
        return f"the drop-in is not preprocessed: {error}"
    made.write_bytes(_renamed(expanded, str(written), source).encode("utf-8", "surrogateescape"))
    command = [compiler, *text_flags, "-w", "-c", "-x", "cpp-output", str(made), "-o", output]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_COMPILE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the drop-in does not compile: {error}"
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"the drop-in does not compile: {said[0] if said else done.returncode}" if done.returncode else ""


def _renamed(text: str, written: str, source: str) -> str:
    """The text with the user's name of the file in the markers that name the written one: it names the unit."""
    out = []
    for line in text.split("\n"):
        found = _FIRST.match(line)
        if found is not None and found[1] == written.replace("\\", "\\\\"):
            line = line.replace(found[1], source.replace("\\", "\\\\").replace('"', '\\"'), 1)
        out.append(line)
    return "\n".join(out)
