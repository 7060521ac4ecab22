"""Every version that planish offers of a function, run beside the original: for one target, mode and number of threads.

    setting = Setting("aarch64-neon", "strict", 2)
    for found in run_versions(program, "fir", setting, folder): print(found)

>>> print(Found("filters.causal", "sliding", Setting("x86-avx2", "contract", 1), "ok", 3e-9, 42, 7))
filters.causal     x86-avx2      contract     1  ok         3.0e-09  sliding  (as written in 7 of 49)
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from json import dumps, loads
from pathlib import Path
from typing import Any

from bench.harness.places import RESULTS
from planish.build.emit import make_drop_ins
from planish.build.job import make_workbench
from planish.build.lower import known_arguments, lower_region
from planish.build.read import read_file
from planish.build.verify import PATIENCE
from planish.core.cache import Cache, key
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.emit.dropin.replacement import Replacement, compose
from planish.frontend.c.translation_unit import CFile, CFunction
from planish.ir.types import Floats
from planish.options import Options
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.passing import signature_of
from planish.run.calls.signature import CallCase, Signature
from planish.run.oracle.comparison import Verdict, compare
from planish.run.oracle.tolerance import Tolerance
from planish.run.processes.process import Limits
from planish.run.sizes.call_sizes import check_cases
from planish.run.toolchains.cross import compiler_for, is_foreign, takes
from planish.run.toolchains.emulator import find_emulator
from planish.run.toolchains.toolchain import REFERENCE_FLAGS, Compiler, compile_library, host_features
from planish.run.workbench import Workbench
from planish.target.load import load_target

NEEDED = {"x86-64-v4": "avx512vbmi", "x86-64-v3": "avx2"}
EMULATED_INSTANCES = 3_000_000
"""Calls with more elements than that are left out where a processor is emulated."""
LIMITS = Limits(seconds=400)
OTHER_DATA = (33, 130)
"""Calls with a size about so large are also made with numbers of either sign."""

_NOTE = r"""
extern int open(const char *, int, ...);
extern long write(int, const void *, unsigned long);
extern int close(int);
static void planish_note(int what)
{
  static int seen[2];
  if (seen[what]++ < 64) {
    int file = open(PLANISH_NOTES, 02001);
    if (file >= 0) (void)!write(file, what ? "f" : "d", 1), close(file);
  }
}
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """Where and how versions are made."""

    target: str
    fp: Floats
    threads: int

    def __str__(self) -> str:
        return f"{self.target:12}  {self.fp:11}  {self.threads}"


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A C file with the calls that its functions get besides those of every check: sizes by name, `given` ones are told
    to planish as well."""

    path: Path
    given: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    large: Mapping[str, Sequence[Mapping[str, int]]] = field(default_factory=dict)
    defines: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called in the table; an example is called after its folder, too."""
        folder = self.path.parent.name
        return self.path.stem if folder == "version_sweep" else f"{folder}-{self.path.stem}"


@dataclass(frozen=True, slots=True)
class Found:
    """What the oracle said of a version: "ok", or what is wrong. `done` and `fallen`: how often a nest was run by the
    version and as it is written, up to 64 times each in one check; both 0 where nothing is asked when it runs."""

    function: str
    version: str
    setting: Setting
    verdict: str
    worst: float
    done: int = 0
    fallen: int = 0
    message: str = ""

    @property
    def failed(self) -> bool:
        """Whether something is wrong."""
        return self.verdict not in ("ok", "weak", "skipped")

    def __str__(self) -> str:
        some = f"  (as written in {self.fallen} of {self.done + self.fallen})" if self.fallen else ""
        said = f": {' '.join(self.message.split())[:200]}" if self.message else ""
        return f"{self.function:18} {self.setting}  {self.verdict:9}  {self.worst:.1e}  {self.version}{some}{said}"


def missing_tools(target: str) -> str:
    """Why versions for a target cannot be run here; empty where they can."""
    known = load_target(target)
    need = NEEDED.get(known.isa)
    if need is not None:
        return "" if need in host_features().split() else f"this processor has no {need}"
    if not is_foreign(known):
        return ""
    try:
        compiler = compiler_for(known, None)
    except PlanishError as error:
        return error.diagnostic.message
    found = find_emulator(known.architecture)
    return found if isinstance(found, str) else "" if takes(compiler, known) else f"{compiler} cannot link for {target}"


def functions_of(program: Program) -> tuple[str, ...]:
    """The functions of a program that have loops and can be called."""
    file = _whole(program.path, program.defines)
    return tuple(f.name for f in file.functions if f.regions and signature_of(f) is not None)


def _options(program: Program, setting: Setting, function: str = "") -> Options:
    return Options(
        target=setting.target, fp=setting.fp, threads=setting.threads, sizes=program.given.get(function, {}),
        defines=program.defines, include_dirs=(program.path.parent,),
    )  # fmt: skip


def _read(path: Path, text: str, defines: tuple[str, ...], fp: Floats, target: str = "native") -> CFile:
    options = Options(target=target, fp=fp, defines=defines, include_dirs=(path.parent,))
    return read_file(Source(str(path), text), options)


@lru_cache(maxsize=4)
def _whole(path: Path, defines: tuple[str, ...]) -> CFile:
    return _read(path, path.read_text(), defines, "strict")


def cut_out(name: str, file: CFile) -> str:
    """The text with the body of one function and of those that it names, or that are named outside of bodies; the
    others, which would be compiled again with each version, are declared only."""
    text = file.source.text
    left = {f.name: f for f in file.functions if f.start < f.end and f.name != name}
    while True:
        others = sorted(left.values(), key=lambda f: f.start)
        kept = text
        for f in reversed(others):
            kept = f"{kept[: f.start]};" + "\n" * text.count("\n", f.start, f.end) + kept[f.end :]
        named = [x for x in left if len(re.findall(rf"\b{x}\b", kept)) > 1]
        if not named:
            return kept
        for x in named:
            del left[x]


def run_versions(
    program: Program, name: str, setting: Setting, folder: Path, failed: Path | None = None, remember: bool = True,
) -> Iterator[Found]:  # fmt: skip
    """The verdict on each version of a function; the text of one that fails is put into the folder `failed`.
    `remember`: what was found of an equal text is taken."""
    target, options = load_target(setting.target), _options(program, setting, name)
    called = f"{program.name}.{name}"
    try:
        text = cut_out(name, _whole(program.path, program.defines))
        file = _read(program.path, text, program.defines, setting.fp, setting.target)
        function = next(f for f in file.functions if f.name == name)
        plans = tuple(lower_region(r, options, target) for r in function.regions)
        versions, refused = make_drop_ins(plans, file, options)
    except Exception as bug:
        # That planish fails is a finding, too.
        yield Found(called, "", setting, "bug", 0.0, message=f"{type(bug).__name__}: {bug}")
        return
    signature = signature_of(function)
    assert signature is not None
    for remark in refused:
        yield Found(called, "", setting, "refused", 0.0, message=remark.message)
    known = tuple(known_arguments(p, function, file.source.text) for p in plans if p.prepared is not None)
    cases = _cases(function, known, program, is_foreign(target))
    bench = make_workbench(options, target, folder, file.source)
    judge = _Judge(bench, signature, cases, file.source.text, remember)
    for version in versions:
        text = _noted(file.source.text, version.shipped)
        found = judge.judge(text, version.slack)
        out = Found(called, version.label, setting, **found)
        if out.failed and failed is not None:
            failed.mkdir(parents=True, exist_ok=True)
            where = re.sub(r"\W+", "_", f"{called} {version.label} {setting}")
            (failed / f"{where}.c").write_text(version.text)
        yield out


def _cases(function: CFunction, known: Any, program: Program, emulated: bool) -> tuple[CallCase, ...]:
    """The calls of every check, some of them with numbers of either sign, those with the sizes that planish was told,
    and large ones."""
    cases = list(check_cases(function, known, program.given.get(function.name, {})))
    other = [x for x in cases if any(y <= z <= y + 2 for y in OTHER_DATA for z in x.values.values())]
    cases += [replace(x, distribution="normal", seed=x.seed + 100) for x in other]
    for sizes in program.large.get(function.name, ()):
        cases += check_cases(function, known, sizes)[-1:]
    if emulated:
        cases = [x for x in cases if sum(x.elements.values()) <= EMULATED_INSTANCES]
    return tuple(cases)


def _noted(text: str, made: Sequence[Replacement]) -> str:
    """The text with what notes, for each nest that asks something, whether the version does it."""
    noted = []
    for one in made:
        original = text[one.patch.start : one.patch.end]
        place = one.patch.text.rfind(original)
        head, tail = one.patch.text[:place], one.patch.text[place:]
        if "#ifdef" not in head and "} else {" in head:
            head = head.replace("} else {", "planish_note(0); } else {")
            before, _, after = head.rpartition("} else {")
            head = f"{before}}} else {{ planish_note(1);{after}"
        noted.append(replace(one, patch=replace(one.patch, text=head + tail)))
    return _NOTE + compose(text, noted, "")


@lru_cache(maxsize=4)
def _compiled(
    compiler: Compiler, text: str, defines: tuple[str, ...], folder: Path, include_dirs: tuple[Path, ...]
) -> Path:
    """The original as the oracle has it."""
    return compile_library(compiler, text, ("-w", *REFERENCE_FLAGS, *defines), folder, LIMITS, include_dirs)


@dataclass(frozen=True, slots=True)
class _Judge:
    """Runs texts of versions beside the original; `remember`: what was found of an equal one is taken."""

    bench: Workbench
    signature: Signature
    cases: tuple[CallCase, ...]
    text: str
    remember: bool = True

    def judge(self, text: str, slack: Mapping[str, float]) -> dict[str, Any]:
        """The fields of `Found`."""
        flags = self.bench.check_flags
        strict = self.bench.floats == "strict"
        calls = [(sorted(x.values.items()), sorted(x.elements.items()), x.seed, x.distribution) for x in self.cases]
        parts = (text, self.text, flags, strict, sorted(slack.items()), calls, self.bench.compiler.stamp)
        address, cache = key("everywhere", 2, *map(repr, parts)), Cache(RESULTS / "everywhere" / "known")
        known = cache.get(address) if self.remember else None
        if known is None:
            found = self._judged(text, slack, flags, strict)
            cache.put(address, dumps(found).encode())
            return found
        found = loads(known)
        assert isinstance(found, dict)
        return found

    def _judged(self, text: str, slack: Mapping[str, float], flags: tuple[str, ...], strict: bool) -> dict[str, Any]:
        notes = self.bench.folder / "notes"
        notes.write_text("")
        try:
            reference = self._reference()
            library = self._compile(text, (*flags, f'-DPLANISH_NOTES="{notes}"'))
        except PlanishError as error:
            return _fields("refused", 0.0, error.diagnostic.message)
        wild = [replace(x, distribution="wild") for x in self.cases[3:13:2]]
        wild = wild if strict and any(p.type.is_float for p in self.signature.parameters) else []
        tolerance = Tolerance(slack=slack)
        verdict = self._compare(reference, library, (*self.cases, *wild), "exact" if strict else tolerance)
        if wild and verdict.status != "ok":
            verdict = self._apart(reference, library, wild)
        if strict and verdict.status == "mismatch" and self._is_compiler(reference, flags):
            # Some compilers contract although they are told not to; no version can do anything about that.
            verdict = replace(verdict, status="ok", message=f"as the original with these flags: {verdict.message}")
        noted = notes.read_text()
        found = _fields(verdict.status, verdict.worst_relative, verdict.message)
        return {**found, "done": noted.count("d"), "fallen": noted.count("f")}

    def _apart(self, reference: Path, library: Path, wild: Sequence[CallCase]) -> Verdict:
        """The verdict on the calls without wild numbers, and then on those, which may prove nothing."""
        verdict = self._compare(reference, library, self.cases, "exact")
        if verdict.status == "ok":
            other = self._compare(reference, library, wild, "exact")
            if other.status not in ("ok", "weak", "not comparable"):
                return replace(other, message=f"with infinities and such: {other.message}")
        return verdict

    def _is_compiler(self, reference: Path, flags: tuple[str, ...]) -> bool:
        """Whether the original differs from itself where it is compiled as versions are."""
        library = self._compile(self.text, flags)
        return self._compare(reference, library, self.cases, "exact").status == "mismatch"

    def _reference(self) -> Path:
        defines = tuple(f"-D{x}" for x in self.bench.defines)
        compiler, folder = self.bench.compiler, self.bench.folder
        return _compiled(compiler, self.text + entry_text(self.signature), defines, folder, self.bench.include_dirs)

    def _compile(self, text: str, flags: Sequence[str]) -> Path:
        full, limits = text + entry_text(self.signature), Limits(300)
        folder, include = self.bench.folder, self.bench.include_dirs
        return compile_library(self.bench.compiler, full, ("-w", *flags), folder, limits, include)

    def _compare(self, reference: Path, library: Path, cases: Sequence[CallCase], tolerance: Any) -> Verdict:
        """The verdict on the calls that the original comes through."""
        left = tuple(cases)
        tries = 0
        while True:
            emulator = self.bench.runner.command
            verdict = compare(reference, library, self.signature, left, tolerance, LIMITS, PATIENCE, emulator)
            if verdict.status == "timeout" and tries < 2:
                # The machine may have been stopped meanwhile, which clocks do not know.
                tries += 1
                continue
            if verdict.status != "not comparable" or not left:
                return verdict
            left = left[: verdict.cases_run] + left[verdict.cases_run + 1 :]


def _fields(verdict: str, worst: float, message: str) -> dict[str, Any]:
    return {"verdict": verdict, "worst": worst, "message": message, "done": 0, "fallen": 0}


def load_programs(folder: Path) -> tuple[Program, ...]:
    """The C files of a folder, with the calls that its calls.toml names."""
    table = folder / "calls.toml"
    calls: dict[str, Any] = tomllib.loads(table.read_text()) if table.exists() else {}
    out = []
    for path in sorted(folder.glob("*.c")):
        known = calls.get(path.stem, {})
        given = {name: x["given"] for name, x in known.items() if "given" in x}
        large = {name: x["large"] for name, x in known.items() if "large" in x}
        out.append(Program(path, given, large))
    return tuple(out)


def pack(found: Found) -> dict[str, Any]:
    """As JSON has it."""
    return asdict(found)


def unpack(data: Mapping[str, Any]) -> Found:
    """What `pack` made."""
    return Found(**{**data, "setting": Setting(**data["setting"])})
