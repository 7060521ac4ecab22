"""Input files, read with care, and output files, which replace nobody else's and appear whole or not at all.

>>> import tempfile
>>> path = Path(tempfile.mkdtemp()) / "a.c"
>>> _ = path.write_text("int x;")
>>> read_input(str(path)).source.text
'int x;'
>>> write_whole(path.parent, {"b.c": "int y;"})[0].read_text()
'int y;'
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source

MOST_BYTES = 64 << 20
"""The largest file that is read."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


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
    encoding = "utf-8-sig" if data.startswith(_BYTE_ORDER_MARK) else "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        # Comments in an old encoding: every byte is a character of Latin-1, so all come back as they were.
        text, encoding = data.decode("latin-1"), "latin-1"
    return Input(Source(name, text), encoding)


def has_mark(path: Path, mark: str, within: int = 0) -> bool:
    """Whether a file has the mark of the program that wrote it: at its beginning, or in its first `within` bytes."""
    try:
        with path.open("rb") as file:
            head = file.read(max(within, len(_BYTE_ORDER_MARK + mark.encode())))
    except OSError:
        return False
    return mark.encode() in head if within else head.removeprefix(_BYTE_ORDER_MARK).startswith(mark.encode())


def check_ours(output: Path, mark: str, within: int = 0, *, force: bool = False) -> None:
    """That a file may be written; raises PlanishError E0904 where one is there that has no `mark` of this program."""
    if not force and output.exists() and not has_mark(output, mark, within):
        message = f"{output} is in the way, and Planish did not write it"
        raise refusal("E0904", message, "give another place with -o, or replace it with --force")


def write_whole(folder: Path, contents: Mapping[str, str | bytes], encoding: str = "utf-8") -> tuple[Path, ...]:
    """Writes files into a folder and returns their paths; raises OSError.

    All are written beside their place first, so that a full disk or an interrupt leaves what was there before.
    """
    waiting: list[tuple[str, Path]] = []
    try:
        for name, content in contents.items():
            handle, part = tempfile.mkstemp(prefix=".planish-", suffix=".part", dir=folder)
            waiting.append((part, folder / name))
            with os.fdopen(handle, "wb") as file:
                file.write(content.encode(encoding) if isinstance(content, str) else content)
            os.chmod(part, 0o666 & ~_umask())
        for part, path in waiting:
            os.replace(part, path)
        return tuple(path for _, path in waiting)
    finally:
        for part, _ in waiting:
            if os.path.exists(part):
                os.unlink(part)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def refusal(code: str, message: str, advice: str) -> PlanishError:
    """What is wrong with a file, and what to do."""
    return PlanishError(Diagnostic(code, message, help=advice))


def tell_no_scratch(error: OSError) -> Diagnostic:
    """E0905: there is no place for a temporary file."""
    message = f"no temporary file can be made: {error.strerror or error}"
    advice = "name a folder that can be written in TMPDIR, and check the space and the limits"
    return Diagnostic("E0905", message, help=advice)
