"""Specifications of instructions that are broken or mean harm: how long `planish isa learn` takes to say so.

    python -m bench.sweeps.hostile_specifications       # prints a line for each file
    python -m bench.sweeps.hostile_specifications 200   # so many mutations of a small one, too

>>> [x.name for x in hostile_files(mutations=1)][:2]
['empty', 'no-xml']
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_XML = '<intrinsics_list version="9.9">\n{}\n</intrinsics_list>'
_INTRINSIC = """<intrinsic tech="SSE2" name="{name}"><CPUID>SSE2</CPUID><category>Arithmetic</category>
<return type="__m128i" varname="dst" etype="UI8"/><parameter type="__m128i" varname="a" etype="UI8"/>
<parameter type="__m128i" varname="b" etype="UI8"/><operation>{operation}</operation>
<instruction name="PADDB" form="xmm, xmm"/></intrinsic>"""
_SUM = "FOR j := 0 to 15\ni := j*8\ndst[i+7:i] := a[i+7:i] + b[i+7:i]\nENDFOR"
_SECONDS, _BYTES = 60, 4 << 30


@dataclass(frozen=True, slots=True)
class Hostile:
    """A file: the option of `isa learn` that takes it, and its text."""

    name: str
    option: str
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """What came of a file: the exit code, seconds, and MiB at most."""

    name: str
    code: int
    seconds: float
    mebibytes: float


def hostile_files(mutations: int) -> Iterator[Hostile]:
    """Files with one thing that is wrong with them, then mutations of a small one that is right."""
    yield from (Hostile(name, "--x86", text) for name, text in _x86())
    yield from (Hostile(name, "--arm", text) for name, text in _arm())
    chance = random.Random(1)
    plain = _XML.format("\n".join(_INTRINSIC.format(name=f"_mm_add_epi{8 << i}", operation=_SUM) for i in range(4)))
    for number in range(mutations):
        text = list(plain if number % 4 == 0 else _SUM)  # the file itself, or the operation of one entry
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(text) or 1)
            match chance.randrange(4):
                case 0:
                    del text[at : at + chance.randrange(1, 200)]
                case 1:
                    text[at : at + 1] = chr(chance.randrange(32, 0x250))
                case 2:
                    text[at:at] = list(str(10 ** chance.randrange(1, 40)))
                case _:
                    text[at:at] = text[at // 2 : at] * chance.randrange(1, 4)
        made = "".join(text)
        if number % 4:
            escaped = made.replace("&", "&amp;").replace("<", "&lt;")
            made = _XML.format(_INTRINSIC.format(name="_mm_add_epi8", operation=escaped))
        yield Hostile(f"mutation-{number}", "--x86", made)


def _x86() -> Iterator[tuple[str, str]]:
    def one(operation: str, count: int = 1) -> str:
        return _XML.format("\n".join(_INTRINSIC.format(name=f"_mm_x{i}", operation=operation) for i in range(count)))

    yield "empty", ""
    yield "no-xml", "\x01\x02" * 5000
    yield "truncated", one(_SUM)[:300]
    yield "deep-xml", "<a>" * 100_000
    yield "entity-bomb", "<!DOCTYPE l [" + "".join(
        f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(12)) + "]><intrinsics_list>&e12;</intrinsics_list>"
    yield "huge-attribute", f'<intrinsics_list version="{"9" * 20_000_000}"></intrinsics_list>'
    yield "endless-loop", one("i := 0\nDO WHILE i == i\ni := i * 1\nOD\ndst := a")
    yield "many-endless-loops", one("FOR j := 0 to 59999\ni := j*j*j\ndst[127:0] := a + i*b\nENDFOR", 400)
    yield "nested-loops", one("FOR j := 0 to 999\n" * 6 + "dst := a\n" + "ENDFOR\n" * 6, 100)
    yield "huge-number", one(f"dst[7:0] := {'9' * 100_000}", 20)
    yield "huge-slice", one("dst[9999999999:0] := a", 50)
    yield "huge-power", one("x := a[31:0]\n" + "x := x*x\n" * 60 + "dst[31:0] := x", 100)
    yield "doubling", one("x := a\n" + "x := x + (x * x)\n" * 40 + "dst := x", 100)
    yield "deep-conditions", one("IF a[0]\n" * 5000 + "dst := a", 20)
    yield "deep-brackets", one(f"dst := {'(' * 20_000}a{')' * 20_000}", 20)
    yield "shift-bomb", one("dst[127:0] := a << (b << (a << b))", 200)
    yield "many-entries", one("dst := a ???", 20_000)
    yield "code-in-a-name", _XML.format(_INTRINSIC.format(name="_mm_x(a,b);system(&quot;true&quot;);", operation=_SUM))


def _arm() -> Iterator[tuple[str, str]]:
    yield "open-comments", "<html><body>" + "<!--" * 50_000
    yield "deep-html", "<html><body>" + "<div>" * 200_000
    yield "no-table", "<html><body><p>nothing</p></body></html>"


def learn_from(file: Hostile) -> Told:
    """Learns from a file, in a process and a cache of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "specification")
        path.write_text(file.text)
        command = [sys.executable, "-m", "planish", "isa", "learn", file.option, str(path), "-o", f"{folder}/lib", "-q"]
        started = time.perf_counter()
        meter = [sys.executable, "-c", _METER, *command]
        done = subprocess.run(
            meter, capture_output=True, text=True, timeout=_SECONDS, preexec_fn=_bound,
            env={"XDG_CACHE_HOME": folder, "PATH": "/usr/bin:/bin", "PYTHONPATH": "src"},
        )  # fmt: skip
        seconds = time.perf_counter() - started
        code, kibibytes = (int(x) for x in done.stdout.split()[-2:])
    return Told(file.name, code, seconds, kibibytes / 1024)


_METER = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def _bound() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))


if __name__ == "__main__":
    for hostile in hostile_files(int(sys.argv[1]) if len(sys.argv) > 1 else 0):
        told = learn_from(hostile)
        print(f"{told.name:24} exit {told.code:3}  {told.seconds:5.2f} s  {told.mebibytes:6.0f} MiB")
