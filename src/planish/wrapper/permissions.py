"""What a compiler's flags permit: whether nests may be replaced at all, and what may happen to floating-point results.

>>> from planish.wrapper.command_line import read_command
>>> read_permissions(read_command(["-O2", "-c", "x.c"]), "gcc").floats
'contract'
>>> read_permissions(read_command(["-O2", "-std=c11", "-c", "x.c"]), "gcc").floats
'strict'
>>> read_permissions(read_command(["-O2", "-fwrapv", "-c", "x.c"]), "gcc").plain
'-fwrapv gives integers another meaning'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from planish.ir.types import Floats
from planish.wrapper.command_line import CommandLine

_OTHERWISE = (
    (r"-fno-strict-aliasing", "lets pointers of different types meet"),
    (r"-fwrapv(-pointer)?|-ftrapv|-fno-strict-overflow", "gives integers another meaning"),
    (r"-fsanitize(=.*|-.*)", "asks for checks of the accesses as they are written"),
    (r"-frounding-math|-fsignaling-nans|-fnon-call-exceptions", "makes more of floats visible"),
    (r"--coverage|-coverage|-ftest-coverage|-fprofile-.*|-fauto-profile.*|-pg|-p|-finstrument-functions.*",
     "counts what runs"),
    (r"-ffreestanding|-fno-builtin|-nostdinc|-fno-hosted|-mgeneral-regs-only|-mno-(sse|avx|mmx).*|-msoft-float",
     "leaves the library, or registers, out"),
    (r"-m(16|32|x32|96bit-long-double)|-m(long-double|double)-.*|-mabi=.*|-fshort-.*|-fpack-struct.*|-malign-double",
     "gives types another layout"),
    (r"-funsigned-char|-funsigned-bitfields|-fms-extensions|-fplan9-extensions|-traditional.*|-fgnu89-inline|-fgimple",
     "reads C otherwise"),
    (r"-flto(=.*)?|-ffat-lto-objects|-save-temps.*|-gsplit-dwarf|-fdump-.*|-fstack-usage|-fcallgraph-info.*|-aux-info",
     "makes other files than an object"),
    (r"-include|-imacros|--include(=.*)?|-I-|-Xpreprocessor|-Wp,.*|-A.*|-iprefix|-iwithprefix.*|-isysroot|--sysroot(=.*)?",
     "changes what the preprocessor reads"),
    (r"-Xclang|-mllvm|-fplugin.*|-wrapper|-specs=.*|--specs=.*|-B.*|-arch|-target|--target=.*",
     "is not understood"),
    (r"-fexec-charset=.*|-fwide-exec-charset=.*|-finput-charset=.*", "changes characters"),
    (r"-fopenacc.*|-fgnu-tm|-fcf-protection-.*", "is not understood"),
    (r"-aux-info|-pipe-.*|-time.*|-ftime-report.*|-Q|-v", "prints of what the compiler does"),
)  # fmt: skip
_PLAIN = tuple((re.compile(pattern), why) for pattern, why in _OTHERWISE)
_FREE = ("-ffast-math", "-Ofast", "-funsafe-math-optimizations")
_BOUND = ("-fno-fast-math", "-fno-unsafe-math-optimizations", "-fno-associative-math")
_ISO = re.compile(r"-std=(c|iso)\w*(:\w+)?|--std=c\w+|-ansi")
_CONTRACT = re.compile(r"-ffp-contract=(\w+)")


@dataclass(frozen=True, slots=True)
class Permissions:
    """Why a command is left to the compiler alone ("": it need not be), and what may happen to floats."""

    plain: str
    floats: Floats


def read_permissions(command: CommandLine, kind: str) -> Permissions:
    """What a command for a compiler of that kind (gcc, clang) permits."""
    return Permissions(next(_reasons(command), ""), _floats(command, kind))


def _reasons(command: CommandLine) -> Iterator[str]:
    if command.unreadable:
        yield command.unreadable
    if command.mode in ("preprocess", "nothing"):
        yield "nothing is compiled"
    if command.mode == "assembly":
        yield "assembly is asked for, which is that of the source"
    if not command.sources:
        yield "there is no C file among the arguments"
    if any(x.name == "-" for x in command.sources):
        yield "the source is read from a stream"
    if command.output == "-" or command.output == "/dev/null":
        yield "the output is no file"
    if len(command.sources) > 1 and command.mode != "link" and command.output is not None:
        yield "several sources have one output"
    words = [part.words[0] for part in command.parts if part.kind not in ("source", "input", "depend", "warning")]
    for word in words:
        for pattern, why in _PLAIN:
            if pattern.fullmatch(word):
                yield f"{word} {why}"
    if any(part.words[0].startswith("-Wa,") and "=" in part.words[0] for part in command.parts):
        yield "-Wa, may write other files"
    level = next((x for x in reversed(words) if re.fullmatch(r"-O\w*", x)), "-O0")
    if level in ("-O0", "-Og", "-Os", "-Oz"):
        yield f"{level} does not ask for speed" if level in words else "no level of optimisation is asked for"


def _floats(command: CommandLine, kind: str) -> Floats:
    """gcc fuses products and sums unless the dialect is ISO C; clang within expressions, which `contract` is not."""
    words = [x.words[0] for x in command.parts if x.kind == "option"]
    free = contract = False
    if kind == "gcc":
        contract = not any(map(_ISO.fullmatch, words))
    for word in words:
        if word in _FREE:
            free = True
        elif word in _BOUND:
            free = False
        elif found := _CONTRACT.fullmatch(word):
            contract = found[1] == "fast"
    return "reassociate" if free else "contract" if contract else "strict"
