"""Assembles a drop-in: the file with what was selected for each function, its banner, and its header.

>>> FileResult.__slots__
('file', 'text', 'header', 'functions', 'remarks', 'command', 'link', 'emulator')
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planish.build.functions import FunctionResult
from planish.core.diagnostic import Remark
from planish.core.span import Source
from planish.emit.dropin.header import emit_header, share_types
from planish.emit.dropin.patched_file import emit_banner
from planish.emit.dropin.replacement import compose
from planish.frontend.c.translation_unit import CFile
from planish.options import Options
from planish.run.workbench import Workbench
from planish.version import VERSION


@dataclass(frozen=True, slots=True, eq=False)
class FileResult:
    """What became of one file, as it was read: the drop-in's text, its header, and the account of each function; the
    `command` that compiles it and the flags that `link` it; `emulator`: what ran the checks, where this processor did
    not."""

    file: CFile
    text: str
    header: str
    functions: tuple[FunctionResult, ...]
    remarks: tuple[Remark, ...]
    command: str = ""
    link: str = ""
    emulator: str = ""

    @property
    def source(self) -> Source:
        """The text that the user wrote."""
        return self.file.given


def assemble_file(file: CFile, options: Options, results: tuple[FunctionResult, ...], bench: Workbench) -> FileResult:
    """The final text and header of a file."""
    replacements = [r for result in results for r in result.replacements]
    used = [(r.selection, r.selection.version) for r in results if r.selection is not None and r.selection.version]
    link = " ".join(dict.fromkeys(f for _, version in used for f in version.link))
    command = f"{bench.compiler.name} {' '.join(bench.command_flags)}"
    banner = emit_banner(VERSION, options.describe(), file.given.text, command, link)
    text, stem = compose(file.source, replacements, banner), Path(file.given.name).stem
    text, header = share_types(text, stem, file.interface), banner + emit_header(stem, file.interface)
    return FileResult(file, text, header, results, file.remarks, command, link, bench.runner.emulator)
