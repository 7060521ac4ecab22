"""What a build had no time for, done without a limit, so that the next build takes it from the cache.

finish_record("build.jsonl", print)
"""

from __future__ import annotations

import os
import tempfile
from contextlib import chdir
from pathlib import Path

from planish.core.progress import Progress
from planish.wrapper.command_line import read_command
from planish.wrapper.driver import WrapperWishes, translate_source
from planish.wrapper.preprocessing import PreprocessingError, preprocess_by
from planish.wrapper.record import SourceRecord, read_records


def finish_record(path: str, tell: Progress) -> int:
    """Finishes the files of a record that are unfinished; 0. Raises PlanishError where the file is no record."""
    left = [x for x in read_records(path) if x.unfinished]
    for number, record in enumerate(left, 1):
        tell(f"{number} of {len(left)}: {record.source}")
        tell(f"  {_finish(record)}")
    tell("build again to use it" if left else "nothing is left to do")
    return 0


def _finish(record: SourceRecord) -> str:
    command = read_command(record.command[1:])
    source = next((x for x in command.sources if x.name == record.source), None)
    if source is None or not os.path.isdir(record.folder):
        return "its command, or its folder, is not there any more"
    wishes = WrapperWishes(record.command[0], record.floats, None)
    with chdir(record.folder), tempfile.TemporaryDirectory(prefix="planish-") as scratch:
        try:
            expanded = preprocess_by(wishes.compiler, command.flags_for_sources(), source.name)
            made, _ = translate_source(source, command, wishes, expanded, Path(scratch), lambda: True)
        except (PreprocessingError, OSError) as error:
            return f"as written: {error}"
    taken = [x.name for x in made.functions if x.taken]
    return f"replaced: {', '.join(taken)}" if taken else f"as written: {made.reason}"
