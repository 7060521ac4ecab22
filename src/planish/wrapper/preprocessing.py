"""What the user's compiler makes of a file before it parses it, and the macros that it defines by itself.

>>> changed_macros({"__SSE__": "1"}, {"__SSE__": "1", "__AVX__": "1"})
('__AVX__=1',)
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from hashlib import sha256

SECONDS = 20.0
"""How long a preprocessor may take."""

_MARKER = re.compile(r'# \d+ "([^"]*)"')
_WORD = re.compile(r"[A-Za-z_]\w*")
_DEFINE = re.compile(r"#define (\w+(?:\([^)]*\))?)(?: (.*))?")


class PreprocessingError(Exception):
    """The compiler does not take the file, or takes too long."""


def preprocess_by(compiler: str, flags: Sequence[str], source: str, defines: Sequence[str] = ()) -> str:
    """The text of a file after the preprocessor, with line markers. Raises PreprocessingError."""
    macros = [f"-D{x}" for x in defines]
    return _run([compiler, *flags, *macros, "-w", "-E", "-x", "c", source])


def digest_text(expanded: str) -> str:
    """What tells texts after the preprocessor apart."""
    return sha256(expanded.encode("utf-8", "surrogateescape")).hexdigest()


def predefined_macros(compiler: str, flags: Sequence[str]) -> dict[str, str]:
    """The macros that a compiler defines by itself under flags. Raises PreprocessingError."""
    text = _run([compiler, *flags, "-dM", "-E", "-x", "c", "/dev/null"])
    return {x[1]: x[2] or "" for x in map(_DEFINE.fullmatch, text.splitlines()) if x is not None}


def own_words(text: str, name: str) -> frozenset[str]:
    """The words in the lines that come from a file, after the preprocessor.

    >>> sorted(own_words('# 1 "a.h"\\nint x;\\n# 1 "a.c"\\nreturn f(y);\\n', "a.c"))
    ['f', 'return', 'y']
    """
    words: set[str] = set()
    inside = False
    for line in text.split("\n"):
        if (marker := _MARKER.match(line)) is not None:
            inside = marker[1] == name
        elif inside:
            words.update(_WORD.findall(line))
    return frozenset(words)


def changed_macros(usual: Mapping[str, str], given: Mapping[str, str]) -> tuple[str, ...]:
    """The macros that are defined otherwise than usual, as -D takes them."""
    return tuple(f"{name}={value}" for name, value in given.items() if usual.get(name) != value)


def _run(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PreprocessingError(str(error)) from error
    if done.returncode:
        raise PreprocessingError(done.stderr.decode("utf-8", "replace").strip())
    return done.stdout.decode("utf-8", "surrogateescape")
