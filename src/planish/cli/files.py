"""Output files that appear whole or not at all.

>>> import tempfile
>>> folder = Path(tempfile.mkdtemp())
>>> written = write_files(folder / "out", {"a.c": "int x;"}, "utf-8")
>>> written[0].read_text()
'int x;'
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from planish.build.project import MADE_BY
from planish.core.diagnostic import PlanishError
from planish.core.files import check_ours, refusal, write_whole


def check_outputs(inputs: Sequence[str], folder: Path, force: bool) -> None:
    """That writing into `folder` harms nothing.

    Raises PlanishError: E0902 the folder is a file, E0903 an output is an input, or two inputs have the same output,
    E0904 a file is in the way that this program did not write (unless `force`).
    """
    if folder.exists() and not folder.is_dir():
        raise refusal("E0902", f"cannot write into {folder}: it is a file", "name a directory with -o")
    if folder.exists():
        check_writable(folder)
    given = {Path(name).resolve(): name for name in inputs}
    made: dict[str, str] = {}
    for name in inputs:
        stem = Path(name).stem
        if stem in made and Path(made[stem]).resolve() != Path(name).resolve():
            message = f"{made[stem]} and {name} would both become {folder / stem}.c"
            raise refusal("E0903", message, "build them into different directories with -o")
        made[stem] = name
        for output in (folder / f"{stem}.c", folder / f"{stem}.h"):
            if output.resolve() in given:
                message = f"the output {output} would replace the input {given[output.resolve()]}"
                raise refusal("E0903", message, "name another directory with -o")
            check_ours(output, MADE_BY, force=force)


def spell_dependences(rules: Sequence[tuple[Sequence[Path], Sequence[str]]]) -> str:
    r"""Outputs and the files that they are made of, as `make`, Ninja and CMake read them: spelt as they were given, and
    with an empty rule for each header, so that one that is gone is no error.

    >>> spell_dependences([([Path("o/a.c")], ["in/my a.c", "in/a.h"])])
    'o/a.c: in/my\\ a.c in/a.h\nin/a.h:\n'
    """
    def spell(path: Path | str) -> str:
        return re.sub(r"([ #])", r"\\\1", str(path)).replace("$", "$$")

    lines = [f"{' '.join(map(spell, made))}: {' '.join(map(spell, of))}" for made, of in rules]
    lines += [f"{x}:" for x in dict.fromkeys(spell(x) for _, (_, *headers) in rules for x in headers)]
    return "".join(f"{x}\n" for x in lines)


def spell_beside(header: str, source: str) -> str:
    """A header, where it lies beside the source or below, spelt as the source is: its folder as it was given.

    >>> spell_beside(str(Path("src/own/a.h").resolve()), "src/f.c"), spell_beside("/opt/b.h", "src/f.c")
    ('src/own/a.h', '/opt/b.h')
    """
    beside = Path(source).parent
    if Path(header).is_absolute() and not beside.is_absolute() and Path(header).is_relative_to(beside.resolve()):
        return str(beside / Path(header).relative_to(beside.resolve()))
    return header


def check_writable(folder: Path) -> None:
    """That files can be made in a folder; raises PlanishError E0902."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _unwritable(folder, error) from error


def write_files(folder: Path, contents: Mapping[str, str | bytes], encoding: str = "utf-8") -> tuple[Path, ...]:
    """As `write_whole`, into a folder that is made where it is missing; raises PlanishError E0902."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return write_whole(folder, contents, encoding)
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> PlanishError:
    message = f"cannot write into {folder}: {error.strerror or error}"
    return refusal("E0902", message, "check the space and the permissions there")
