"""What a compiler makes of a drop-in: the instructions of a function, each with the line of C that it comes from.

>>> text = '''
... 	.file 1 "/tmp/x/kernel.c"
... twice:
... .LFB0:
... 	.loc 1 3 5
... 	vaddpd	%ymm0, %ymm0, %ymm0
... 	jmp	.L2
... .L2:
... 	ret
... 	.size	twice, .-twice
... '''
>>> [(x.text, x.line) for x in list_instructions(text)["twice"]]
[('vaddpd  %ymm0, %ymm0, %ymm0', 3), ('jmp     .L2', 3), ('.L2:', 0), ('ret', 3)]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from planish.core.diagnostic import PlanishError
from planish.run.toolchains.toolchain import assemble_with
from planish.run.workbench import Workbench

_FILE = re.compile(r'\s*\.file\s+(\d+)\s.*kernel\.c"')
_PLACE = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_LABEL = re.compile(r"([.\w$]+):")
_SIZE = re.compile(r"\s*\.size\s+([\w$.]+),")
_TARGETS = re.compile(r"\.L\w+")
_COMMENT = re.compile(r"\s+(?:#|//|@ ).*$")
_FUNCTION = re.compile(r"\s*\.type\s+([\w$.]+),\s*[@%]function")


@dataclass(frozen=True, slots=True)
class AssemblyLine:
    """An instruction, or a label that one jumps to, and the line of C that it comes from (0: none is known)."""

    text: str
    line: int


def read_assembly(text: str, bench: Workbench, folder: Path) -> dict[str, tuple[AssemblyLine, ...]] | str:
    """The instructions of each function of a drop-in, by the command that its user is told; why there are none where
    the compiler makes none."""
    try:
        made = assemble_with(bench.compiler, text, bench.command_flags, folder, bench.include_dirs)
    except PlanishError as error:
        return error.diagnostic.message.splitlines()[0]
    return list_instructions(made)


def list_instructions(text: str) -> dict[str, tuple[AssemblyLine, ...]]:
    """The instructions of each function in the text that a compiler printed."""
    out: dict[str, tuple[AssemblyLine, ...]] = {}
    lines = text.splitlines()
    own = {x[1] for x in map(_FILE.match, lines) if x is not None}
    functions = {x[1] for x in map(_FUNCTION.match, lines) if x is not None}
    begin, name = 0, ""
    for number, line in enumerate(lines):
        label, size = _LABEL.match(line), _SIZE.match(line)
        if label is not None and not label[1].startswith(".L") and (not functions or label[1] in functions):
            begin, name = number + 1, label[1]
        elif size is not None and size[1] == name:
            # Compilers give names as `f.constprop.0` to copies, and `f.cold` to parts that seldom run.
            plain = name.partition(".")[0]
            out[plain] = (*out.get(plain, ()), *_instructions(lines[begin:number], own))
    return out


def _instructions(lines: list[str], own: set[str]) -> Iterator[AssemblyLine]:
    """Those of one function, without directives and labels that nothing goes to."""
    code = (x for x in lines if not x.lstrip().startswith("."))
    wanted = {x for line in code for x in _TARGETS.findall(line)}
    place = 0
    for line in lines:
        if (found := _PLACE.match(line)) is not None:
            place = int(found[2]) if found[1] in own else 0
        elif (label := _LABEL.match(line)) is not None:
            if label[1] in wanted:
                yield AssemblyLine(f"{label[1]}:", 0)
        elif (text := _COMMENT.sub("", line).strip()) and not text.startswith((".", "#", "//")):
            name, _, rest = text.partition("\t")
            yield AssemblyLine(f"{name:7} {rest.strip()}" if rest else name, place)
