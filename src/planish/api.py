"""The Python interface: C files and annotated Python functions become verified functions on NumPy arrays.

>>> import numpy as np
>>> loop = "for (int i = 0; i < n; i++) y[i] += a * x[i];"
>>> axpy = compile("void axpy(int n, float a, const float *x, float *y) { " + loop + " }", measure=False)
>>> x, y = np.ones(1000, np.float32), np.ones(1000, np.float32)
>>> axpy(1000, 2.0, x, y)
>>> axpy(a=2.0, x=x, y=y)
>>> float(y.sum()), axpy.report.transformed
(5000.0, True)
"""

from __future__ import annotations

import functools
import json
import os
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, get_args, overload

from planish.build.assemble import assemble_file
from planish.build.dump import STAGES, stage_text
from planish.build.functions import build_functions
from planish.build.job import make_workbench
from planish.build.read import read_file
from planish.compiled import CompiledFunction, PendingFunction, Report
from planish.core.cache import Cache, key
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import read_input
from planish.core.progress import Progress, keep_quiet
from planish.core.span import Source
from planish.device_functions import compile_for_gpu, is_gpu
from planish.emit.dropin.standalone import emit_standalone
from planish.frontend.c.translation_unit import CFile, CFunction
from planish.frontend.python.reader import PythonKernel, read_python, read_python_source
from planish.frontend.python.text import is_python
from planish.ir.types import Floats
from planish.isa.instruction import Catalogue, Instruction, make_instruction
from planish.isa.shipped import shipped
from planish.options import Options
from planish.poly.isl.affine import NotAffineError
from planish.report.account import account_for, completed, parse_account, print_account
from planish.report.store import build_address
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.arguments import interface_of_c, interface_of_kernel
from planish.run.calls.callable import NativeFunction
from planish.run.calls.fast_call import make_fast_call
from planish.run.toolchains.cross import is_foreign
from planish.run.toolchains.missing_headers import pointing_at_headers
from planish.run.toolchains.toolchain import compile_library
from planish.run.workbench import Workbench
from planish.schedule.auto.plan import prepare
from planish.schedule.program import Program
from planish.schedule.script import print_script
from planish.target.load import load_target
from planish.tuning.background import BackgroundTuning
from planish.tuning.choices import choose_for
from planish.tuning.points.feedback import read_feedback
from planish.tuning.searches.registry import SEARCHES
from planish.tuning.session import TunedResult, TuningWishes, tune_file, tune_read
from planish.tuning.store.trial_store import TrialStore, default_store
from planish.tuning.tuner import TuningBudget

__all__ = [
    "CompiledFunction", "Instruction", "KernelFunction", "Program", "Report", "compile", "instr", "instructions",
    "kernel", "program", "tune",
]  # fmt: skip


def compile(
    source: str | os.PathLike[str],
    function: str | None = None,
    *,
    target: str = "native",
    fp: Floats = "reassociate",
    threads: int = 1,
    measure: bool | None = None,
    sizes: Mapping[str, int] | None = None,
    defines: Sequence[str] = (),
    include_dirs: Sequence[str | os.PathLike[str]] = (),
    compiler: str | None = None,
    script: str | Program | None = None,
    cache: Cache | None = None,
    emulate: bool = False,
) -> CompiledFunction:
    """The function of that name in a file (C; Python or MLIR where its name ends in .py or .mlir) or in a text of C or
    Python, which is not run.

    The name may be left out where there is one function only. The version that seems best races the original in a few
    short calls and is used where it is not slower. With `measure` all versions are timed, and the original is kept
    where none is faster; where it is false, nothing is timed. `sizes` are additional sizes to check and those to time
    with. What runs was shown to compute the same as the original in a process of its own first. Builds are remembered
    in `cache` (the user's, if None).
    `script` schedules its one nest: the text of a script, or a program that steps have made of it (see `program`).
    With the `target` "cuda", or one of its architectures as in "cuda-sm90", nests run on the GPU, on arrays of CuPy,
    PyTorch and JAX; with `emulate` they run on this processor, slowly.
    Raises PlanishError for input that cannot be read or compiled, and E0851 where no GPU is here.
    """
    options = _options(target, fp, threads, measure, sizes, defines, include_dirs, compiler, function)
    if isinstance(script, Program):
        options = replace(options, catalogue=script.catalogue)
    if script is not None:
        steps = print_script(script.steps) if isinstance(script, Program) else script
        # A schedule of the user's own is taken as it is.
        options = replace(options, script=Source("<script>", steps), race=False)
    text = _read(source)
    if text.name.endswith(".py"):
        return _compile_kernel(read_python_source(text.text, text.name, function), options, cache or Cache(), emulate)
    file = read_file(text, replace(options, target="generic") if is_gpu(target) else options)
    chosen = _choose(file, function)
    unit = PendingFunction(file, chosen, interface_of_c(chosen, file.source.text))
    return _compile(unit, replace(options, functions=(chosen.name,)), cache or Cache(), emulate)


def tune(
    source: str | os.PathLike[str],
    function: str | None = None,
    *,
    seconds: float | None = None,
    trials: int | None = None,
    search: str = "auto",
    feedback: str = "time",
    seed: int = 1,
    fresh: bool = False,
    target: str = "native",
    fp: Floats = "reassociate",
    threads: int = 1,
    sizes: Mapping[str, int] | None = None,
    defines: Sequence[str] = (),
    include_dirs: Sequence[str | os.PathLike[str]] = (),
    compiler: str | None = None,
    store: str | os.PathLike[str] | None = None,
    tell: Progress = keep_quiet,
) -> tuple[TunedResult, ...]:
    """Searches for faster schedules of the nests of a C file or text, for some seconds, or trials, of each nest (60 s
    where neither is given); what comes of each nest.

    Every trial is kept in the `store` (the user's, if None) at once; `compile` and `planish build` take the best one
    from then on. A later call goes on where this one ended, unless `fresh`. `search` is one of "auto", "exhaustive",
    "random", "evolutionary", "model", "tpe"; `feedback` what points are compared by, "time", "size", or both with a
    comma, the first of which decides. Raises PlanishError for input that cannot be read, E0927 where there is
    nothing to tune, and where the store cannot be used.
    """
    if search not in ("auto", *SEARCHES):
        raise ValueError(f"search must be one of auto, {', '.join(SEARCHES)}, but is {search!r}")
    options = _options(target, fp, threads, True, sizes, defines, include_dirs, compiler, function)
    budget = TuningBudget(60.0 if seconds is None and trials is None else seconds, trials)
    kept = TrialStore(default_store() if store is None else Path(store))
    wishes = TuningWishes(budget, search, seed, fresh, feedback=read_feedback(feedback))
    return tuple(tune_file(_read(source), options, wishes, kept, tell))


def program(
    source: str | os.PathLike[str], function: str | None = None, *, fp: Floats = "reassociate",
    defines: Sequence[str] = (), include_dirs: Sequence[str | os.PathLike[str]] = (),
    instructions: Sequence[Instruction] = (),
) -> Program:  # fmt: skip
    """The one nest of a function, to be scheduled by hand: steps are applied to it, and `compile` takes the result.
    `instructions` are those that steps may use besides the ones that come with planish (see `instr`).

    Raises PlanishError for input that cannot be read, E0623 where there are several nests, E0612 where bounds or
    subscripts are not affine.
    """
    options = _options("native", fp, 1, False, None, defines, include_dirs, None, function)
    text = _read(source)
    if text.name.endswith(".py"):
        read = read_python_source(text.text, text.name, function)
        file = emit_standalone(read.kernel, origin=read.source, fp=options.fp)
    else:
        file = read_file(text, options)
    file = file.without_early_exits()
    chosen = _choose(file, None if text.name.endswith(".py") else function)
    if len(chosen.regions) != 1:
        message = f"`{chosen.name}` has {len(chosen.regions)} nests, and one is scheduled at a time"
        raise PlanishError(Diagnostic("E0623", message, chosen.span, "make it a function of its own"), file.source)
    try:
        own = Catalogue().with_instructions(instructions)
        return Program.of(prepare(chosen.regions[0].kernel).kernel, fp, own)
    except NotAffineError as error:
        message = f"the nest of `{chosen.name}` cannot be scheduled: {error.reason}"
        raise PlanishError(Diagnostic("E0612", message, chosen.regions[0].span), file.given) from error


def instr(
    template: str, *, memory: Mapping[str, str] | None = None, fused: bool = False, immediate: Sequence[str] = (),
    header: str = "",
) -> Callable[[Callable[..., Any]], Instruction]:  # fmt: skip
    """A decorator: the function, a loop over lanes with annotated parameters, says what an instruction does, and
    `template` how it is written in C: `{x}` stands for the parameter x (an address in memory, a register, a value).

    `memory` says which arrays are in registers, and of which kind; `fused`: a product and a sum are rounded once;
    `immediate`: sizes that have to be constants. Raises PlanishError E0630 for what is no instruction, E0633 for an
    unknown kind of memory, and what `kernel` raises.
    """

    def declare(function: Callable[..., Any]) -> Instruction:
        read = read_python(function).kernel
        kinds = dict(memory or {})
        for kind in kinds.values():
            shipped().memory(kind)
        arrays = tuple(replace(x, memory=kinds.get(x.name, x.memory)) for x in read.arrays)
        definition = replace(read, arrays=arrays)
        return make_instruction(
            read.name, definition, template, fused=fused, immediate=tuple(immediate), header=header
        )

    return declare


def instructions(extension: str | None = None) -> tuple[str, ...]:
    """The names of the instructions that come with planish, or of one vector extension ("avx512")."""
    return tuple(name for name in shipped().instructions if extension is None or name.startswith(f"{extension}_"))


def _options(
    target: str, fp: str, threads: int, measure: bool | None, sizes: Mapping[str, int] | None,
    defines: Sequence[str], include_dirs: Sequence[str | os.PathLike[str]], compiler: str | None,
    function: str | None = None,
) -> Options:  # fmt: skip
    floats = next((f for f in get_args(Floats) if f == fp), None)
    if floats is None:
        raise ValueError(f"fp must be one of {', '.join(get_args(Floats))}, but is {fp!r}")
    if threads < 1:
        raise ValueError(f"threads must be at least 1, but is {threads}")
    return Options(
        target=target, threads=threads, fp=floats, measure=bool(measure), sizes=dict(sizes or {}),
        defines=tuple(defines), include_dirs=tuple(Path(d) for d in include_dirs), compiler=compiler,
        race=measure is None, functions=() if function is None else (function,),
    )  # fmt: skip


def _read(source: str | os.PathLike[str]) -> Source:
    """The text and its name: a string with a line break or a brace, or with nothing in it, is a text, else a path."""
    if isinstance(source, str) and (not source.strip() or "\n" in source or "{" in source):
        return Source("<text>.py" if is_python(source) else "<text>.c", source)
    return read_input(os.fspath(source)).source


def _choose(file: CFile, name: str | None) -> CFunction:
    if name is not None:
        return file.function(name)
    public = [f for f in file.functions if not f.static] or list(file.functions)
    if len(public) > 1:
        names = ", ".join(f.name for f in public)
        advice = f'choose one, as in function="{public[0].name}"'
        message = f"{file.given.name} defines several functions: {names}"
        raise PlanishError(Diagnostic("E0121", message, public[1].span, advice), file.given)
    return public[0]


def _compile_kernel(
    read: PythonKernel, options: Options, cache: Cache, emulate: bool = False
) -> CompiledFunction:  # fmt: skip
    file = emit_standalone(read.kernel, origin=read.source, fp=options.fp)
    function = file.functions[0]
    interface = interface_of_kernel(read.kernel, read.signature, function.name, read.asserted)
    unit = PendingFunction(file, function, interface)
    return _compile(unit, replace(options, functions=(function.name,)), cache, emulate)


def _compile(unit: PendingFunction, options: Options, cache: Cache, emulate: bool) -> CompiledFunction:
    if is_gpu(options.target):
        return compile_for_gpu(unit, options, cache, emulate)
    if emulate:
        raise ValueError(f"emulate=True is for kernels of GPUs, but the target is {options.target!r}")
    target = load_target(options.target)
    if is_foreign(target):
        message = f"code for {target.name} cannot be called here, where the processor is of another kind"
        advice = f"`planish build FILE.c --target {options.target}` writes C for it, which an emulator checks"
        raise PlanishError(Diagnostic("E0122", message, help=advice))
    options = choose_for((unit.function,), options, TrialStore(default_store()))
    address = key("call", build_address(unit.file.source, options), unit.function.name)
    known = cache.get(address)
    entry = known if known is not None else _build(unit, options)
    head, _, library = entry.partition(b"\n")
    data: dict[str, Any] = json.loads(head)
    account = parse_account(data["account"])
    if known is None and account.lasting:
        cache.put(address, entry)
    unbounded = tuple(a.name for a in unit.interface.arguments if not a.bounded)
    report = Report(account.functions[0], account.floats, account.compile, unbounded, known is not None)
    native = NativeFunction(library, unit.interface, options.threads)
    return CompiledFunction(native, report, account.text, data["stages"], call=make_fast_call(native))


def _build(unit: PendingFunction, options: Options) -> bytes:
    """One line of JSON (the account and the stages), then the library."""
    target = load_target(options.target)
    with tempfile.TemporaryDirectory(prefix="planish-") as folder:
        bench = make_workbench(options, target, Path(folder), unit.file.given)
        if unit.function.outside:
            _build_original(unit, bench, ("-O0", *bench.flags, *(f"-D{x}" for x in bench.defines)))
        with pointing_at_headers(unit.file.missing, unit.file.given):
            (result,) = build_functions((unit.function,), unit.file, options, target, bench)
        whole = assemble_file(unit.file, options, (result,), bench)
        library = result.selection.library if result.selection is not None else None
        if library is None:
            library = _build_original(unit, bench, bench.check_flags)
        code = library.read_bytes()
    account = account_for(whole, options)
    stages: dict[str, str] = {}
    for stage in STAGES:
        stages[stage] = whole.text if stage == "c" else stage_text(stage, result.plans, unit.file, options)
    head = {"account": print_account(completed(account, unit.function)), "stages": stages}
    return json.dumps(head).encode() + b"\n" + code


def _build_original(unit: PendingFunction, bench: Workbench, flags: Sequence[str]) -> Path:
    text = unit.file.source.text + entry_text(unit.interface.signature)
    flags = ("-w", *flags)
    # In the user's own process nothing may be a stub: what is not defined is refused here.
    return compile_library(bench.compiler, text, flags, bench.folder, include_dirs=bench.include_dirs, whole=True)


class KernelFunction:
    """A Python function of nested loops, compiled when it is first called or asked about.

    `python` is the function as it was written: it runs as ordinary Python. The rest is as in `CompiledFunction`.
    """

    def __init__(
        self, function: Callable[..., Any], options: Options, cache: Cache | None, tune: float = 0.0,
        emulate: bool = False,
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, function)
        self.python = function
        self._read = read_python(function)
        self._options, self._cache, self._seconds, self._emulate = options, cache, tune, emulate
        self._lock = threading.Lock()
        self._compiled: CompiledFunction | None = None
        self.tuning: BackgroundTuning | None = None

    @property
    def compiled(self) -> CompiledFunction:
        """The compiled function, with what tuning beside the program has found once that has ended; raises PlanishError
        where it cannot be compiled."""
        with self._lock:
            tuned = self.tuning is not None and self.tuning.has_ended()
            if self._compiled is None or tuned:
                self._compiled = _compile_kernel(self._read, self._options, self._cache or Cache(), self._emulate)
                self.tuning = None
                if self._seconds and not tuned:
                    read = replace(self._read, function=None)
                    request = (read, self._options, self._seconds, (self._cache or Cache()).root)
                    self.tuning = BackgroundTuning("planish.api:tune_apart", request)
            return self._compiled

    @property
    def source(self) -> str:
        """The C text that runs."""
        return self.compiled.source

    @property
    def report(self) -> Report:
        """What was done, and how it was verified."""
        return self.compiled.report

    @property
    def stages(self) -> Mapping[str, str]:
        """The text of each stage of the compilation."""
        return self.compiled.stages

    def __call__(self, *arguments: Any, **named: Any) -> None:
        """Runs the compiled function on NumPy arrays; raises TypeError and ValueError for what does not fit."""
        # What is compiled, and not tuned beside the program, needs no lock.
        compiled = self._compiled if self.tuning is None else None
        (compiled or self.compiled)(*arguments, **named)

    def as_torch_op(self, name: str, **options: Any) -> Any:
        """An operator of PyTorch (see `CompiledFunction.as_torch_op`)."""
        return self.compiled.as_torch_op(name, **options)

    def __repr__(self) -> str:
        return f"<planish kernel {self.python.__name__}{self._read.signature}>"

    def _repr_html_(self) -> str:
        # To be shown is no reason to be compiled, which may take a minute.
        if self._compiled is None:
            said = "not compiled yet: a call compiles it, and so does <code>.report</code>"
            return f"<div><code>{escape(repr(self))}</code>: {said}</div>"
        return self._compiled._repr_html_()


def tune_apart(request: tuple[PythonKernel, Options, float, Path]) -> None:
    """Tunes a kernel for some seconds, and builds it with what was found for the cache in a folder: what the process
    beside a program does."""
    read, options, seconds, folder = request
    file = emit_standalone(read.kernel, origin=read.source, fp=options.fp)
    wishes = TuningWishes(TuningBudget(seconds))
    own = replace(options, functions=(file.functions[0].name,))
    for _ in tune_read(file, own, wishes, TrialStore(default_store())):
        pass
    _compile_kernel(read, options, Cache(folder))


@overload
def kernel(function: Callable[..., Any], /) -> KernelFunction: ...


@overload
def kernel(
    *, target: str = "native", fp: Floats = "reassociate", threads: int = 1, measure: bool | None = None,
    sizes: Mapping[str, int] | None = None, compiler: str | None = None, cache: Cache | None = None, tune: float = 0.0,
    emulate: bool = False,
) -> Callable[[Callable[..., Any]], KernelFunction]: ...  # fmt: skip


def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    target: str = "native",
    fp: Floats = "reassociate",
    threads: int = 1,
    measure: bool | None = None,
    sizes: Mapping[str, int] | None = None,
    compiler: str | None = None,
    cache: Cache | None = None,
    tune: float = 0.0,
    emulate: bool = False,
) -> KernelFunction | Callable[[Callable[..., Any]], KernelFunction]:
    """A decorator: `@kernel` or `@kernel(fp="strict")` on a function of annotated parameters and nested loops.

    The function is read at once, so that what it must not contain is told at its definition (PlanishError E03xx with
    the line); it is compiled when first called. The options are those of `compile`. `tune`: seconds of tuning beside
    the program from the first call on; calls behind its end take what it found, if that was faster by the clock.
    """
    if tune < 0:
        raise ValueError(f"tune must be a number of seconds, but is {tune}")
    options = _options(target, fp, threads, measure, sizes, (), (), compiler)
    if function is not None:
        return KernelFunction(function, options, cache, tune, emulate)
    return lambda plain: KernelFunction(plain, options, cache, tune, emulate)
