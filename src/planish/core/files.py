"""Input files, read with care.

>>> import tempfile
>>> path = Path(tempfile.mkdtemp()) / "a.c"
>>> _ = path.write_text("int x;")
>>> read_input(str(path)).source.text
'int x;'
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source

MOST_BYTES = 64 << 20
"""The largest file that is read."""


@dataclass(frozen=True, slots=True)
class Input:
    """A text file that was read, and the encoding with which its bytes come back."""

    source: Source
    encoding: str


def read_input(name: str, wanted: str = "a file of C source") -> Input:
    """The text of a file; `wanted` says what should be in it.

    Raises PlanishError: E0101 no such file, E0102 a directory or no regular file, E0103 not readable, E0107 not a text,
    E0108 empty, E0109 too large.
    """
    path = Path(name)
    try:
        if path.is_dir():
            raise refusal("E0102", f"{name} is a directory", f"give {wanted}")
        if not path.exists():
            raise refusal("E0101", f"there is no file {name}", f"check the path; it should lead to {wanted}")
        if not path.is_file():
            raise refusal("E0102", f"{name} is no regular file", f"give {wanted}")
        if path.stat().st_size > MOST_BYTES:
            raise refusal("E0109", f"{name} has more than {MOST_BYTES >> 20} MiB", f"give {wanted}")
        data = path.read_bytes()
    except OSError as error:
        message = f"cannot read {name}: {error.strerror or error}"
        raise refusal("E0103", message, "check its permissions") from error
    if b"\0" in data:
        raise refusal("E0107", f"{name} is not a text file", f"give {wanted}")
    if not data.strip():
        raise refusal("E0108", f"{name} is empty", f"give {wanted}")
    encoding = "utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        # Comments in an old encoding: every byte is a character of Latin-1, so all come back as they were.
        text, encoding = data.decode("latin-1"), "latin-1"
    return Input(Source(name, text), encoding)


def refusal(code: str, message: str, advice: str) -> PlanishError:
    """What is wrong with a file, and what to do."""
    return PlanishError(Diagnostic(code, message, help=advice))


def tell_no_scratch(error: OSError) -> Diagnostic:
    """E0905: there is no place for a temporary file."""
    message = f"no temporary file can be made: {error.strerror or error}"
    advice = "name a folder that can be written in TMPDIR, and check the space and the limits"
    return Diagnostic("E0905", message, help=advice)
