"""Costs of instructions from LLVM's scheduling models: Clang says what an intrinsic becomes, llvm-mca what that costs
on each processor.

    costs = read_costs(entries, "x86")
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.isa.costs.tables import PROCESSORS, Cost, Costs, collect_costs
from planish.isa.entry import Entry
from planish.isa.exports.guards import processor_guard
from planish.isa.vendors.x86.features import EXTENSIONS
from planish.run.instructions.trials import make_trials
from planish.run.processes.process import Limits, run_process
from planish.run.toolchains.toolchain import find_compilers

_LIMITS = Limits(seconds=300)
_ANALYSERS = ("llvm-mca-19", "llvm-mca")
_ARM = ("--target=aarch64-linux-gnu", "-march=armv8.2-a+crypto+fp16+dotprod+i8mm+bf16", "-ffreestanding")
_HEADERS = {"x86": "x86intrin.h", "arm": "arm_neon.h"}
_TRIPLES = {"x86": "x86_64-linux-gnu", "arm": "aarch64-linux-gnu"}
_TYPES = "#define __int64 long long\n#define __int32 int\n#define __int16 short\n#define __int8 signed char\n"
_ATTEMPTS = 12
_MOVES = re.compile(r"v?mov(a|u|d|q|s|z|n|dq).*|kmov.|ret|retq|ldr|str|fmov|mov|vzeroupper|and|movzbl|set\w+|nop")


def read_costs(entries: Sequence[Entry], isa: str) -> Costs:
    """The costs of those entries that are one instruction; PlanishError E0660 where a tool is missing."""
    compiler = next((x for x in find_compilers() if x.kind == "clang"), None)
    analyser = next((path for x in _ANALYSERS if (path := shutil.which(x))), None)
    if compiler is None or analyser is None:
        lacking = "clang" if compiler is None else "llvm-mca"
        message = f"{lacking} is not here, which says what instructions cost"
        raise PlanishError(Diagnostic("E0660", message, help="install Debian's packages clang-19 and llvm-19"))
    options = _ARM if isa == "arm" else tuple(x.option for x in EXTENSIONS.values())
    with TemporaryDirectory(prefix="planish-costs-") as name:
        folder = Path(name)
        written = _assembly(entries, isa, (str(compiler.path), *options), folder)
        version = re.search(r"\d+\.\d+\.\d+", run_process([analyser, "--version"], _LIMITS).stdout)
        found: list[tuple[str, str, Cost]] = []
        for processor in PROCESSORS[isa]:
            there = _there(entries, str(compiler.path), isa, processor, folder)
            own = {x: line for x, line in written.items() if x in there}
            found += list(_analysed(own, analyser, _TRIPLES[isa], processor, folder))
    told = f"the scheduling models of LLVM {version[0] if version else ''}".strip()
    return collect_costs(told, found)


def _there(entries: Sequence[Entry], compiler: str, isa: str, processor: str, folder: Path) -> frozenset[str]:
    """The entries that a processor has, as Clang knows it."""
    source, target = folder / "there.c", folder / "there.i"
    source.write_text("".join(f"#if {processor_guard(x)}\nhas {x.name}\n#endif\n" for x in entries))
    which = f"-march={processor}" if isa == "x86" else f"-mcpu={processor}"
    command = [compiler, f"--target={_TRIPLES[isa]}", which, "-E", "-P", str(source), "-o", str(target)]
    finished = run_process(command, _LIMITS, directory=folder)
    if finished.code != 0:
        message = f"Clang does not know {processor}: {finished.stderr[:200]}"
        raise PlanishError(Diagnostic("E0660", message, help="try another version"))
    return frozenset(re.findall(r"has (\w+)", target.read_text()))


def _assembly(entries: Sequence[Entry], isa: str, compiler: tuple[str, ...], folder: Path) -> dict[str, str]:
    """The instruction that each entry becomes, where it is one."""
    functions = {x.name: text for x in entries if (text := _function(x)) is not None}
    left = list(functions)
    source, target = folder / "all.c", folder / "all.s"
    for _ in range(_ATTEMPTS):
        head = f"#include <{_HEADERS[isa]}>\n{_TYPES}"
        source.write_text(head + "\n".join(functions[x] for x in left) + "\n")
        finished = run_process([*compiler, "-w", "-O2", "-ferror-limit=0", "-S", str(source), "-o", str(target)],
                               _LIMITS, directory=folder)  # fmt: skip
        if finished.code == 0:
            return _chosen(entries, left, target.read_text())
        first = head.count("\n") + 1
        wrong = {int(x) - first for x in re.findall(r"all\.c:(\d+):\d+: (?:fatal )?error", finished.stderr)}
        if not wrong:
            break
        left = [x for at, x in enumerate(left) if at not in wrong]
    message = f"Clang does not take the instructions of {isa}: {finished.stderr[:200]}"
    raise PlanishError(Diagnostic("E0660", message, help="try another version"))


def _function(entry: Entry) -> str | None:
    """A function that is nothing but an instruction, on one line."""
    trials, _ = make_trials(entry)
    if not trials:
        return None
    immediates = trials[len(trials) // 2].immediates
    parameters = [(kind, name) for kind, name in entry.signature.parameters if name not in immediates]
    given = ", ".join(f"{kind} p{at}" for at, (kind, _) in enumerate(parameters)) or "void"
    places = {name: f"p{at}" for at, (_, name) in enumerate(parameters)}
    texts = places | {name: str(value) for name, value in immediates.items()}
    arguments = [texts[name] for _, name in entry.signature.parameters]
    call = f"{entry.name}({', '.join(arguments)})"
    returned = "" if entry.signature.result == "void" else "return "
    return f"{entry.signature.result} f_{entry.name}({given}) {{ {returned}{call}; }}"


def _chosen(entries: Sequence[Entry], names: Sequence[str], text: str) -> dict[str, str]:
    mnemonics = {x.name: x.mnemonic.lower() for x in entries}
    found = {}
    for name in names:
        body = re.search(rf"^f_{re.escape(name)}:(.*?)^\.Lfunc_end", text, re.M | re.S)
        lines = [_uncommented(x) for x in re.findall(r"^\t([a-z][^\n]*)", body[1], re.M)] if body else []
        own = [x for x in lines if _is(x.split()[0], mnemonics[name])]
        others = [x for x in lines if not _MOVES.fullmatch(x.split()[0])]
        chosen = own if len(own) == 1 else others
        if len(chosen) == 1 and "%rip" not in chosen[0] and "(%rsp" not in chosen[0]:
            found[name] = chosen[0]
    return found


def _uncommented(line: str) -> str:
    # `#` begins a comment on x86 and a number on Arm, where it follows what it belongs to.
    return re.split(r"//|\s+# ", line)[0].strip()


def _is(written: str, mnemonic: str) -> bool:
    plain = written.removeprefix("v")
    return mnemonic.removeprefix("v") in (plain, plain[:-1], written)


def _analysed(
    written: Mapping[str, str], analyser: str, triple: str, processor: str, folder: Path
) -> Iterator[tuple[str, str, Cost]]:
    source, target = folder / "all.s", folder / f"{processor}.json"
    lines = sorted(set(written.values()))
    numbers = {line: at for at, line in enumerate(lines)}
    regions = (f"# LLVM-MCA-BEGIN r{at}\n{line}\n# LLVM-MCA-END\n" for at, line in enumerate(lines))
    source.write_text("".join(regions))
    command = [analyser, f"-mtriple={triple}", f"-mcpu={processor}", "-instruction-tables", "-instruction-info",
               "--json", "-skip-unsupported-instructions=any", str(source), "-o", str(target)]  # fmt: skip
    finished = run_process(command, _LIMITS, directory=folder)
    if finished.status != "ended" or not target.exists():
        raise PlanishError(Diagnostic("E0660", f"llvm-mca says nothing of {processor}: {finished.stderr[:200]}",
                                      help="try another version"))  # fmt: skip
    told = json.loads(target.read_text("utf-8", "replace"))
    resources = [x.split(".")[0] for x in told["TargetInfo"]["Resources"]]
    costs: dict[int, Cost] = {}
    for region in told["CodeRegions"]:
        info = region.get("InstructionInfoView", {}).get("InstructionList", [])
        if len(info) == 1:
            costs[int(region["Name"][1:])] = _cost(info[0], region, resources)
    for name, line in written.items():
        if numbers[line] in costs:
            yield name, processor, costs[numbers[line]]


def _cost(info: Mapping[str, float], region: Mapping[str, object], resources: Sequence[str]) -> Cost:
    view = region["ResourcePressureView"]
    assert isinstance(view, dict)
    ports: dict[str, float] = {}
    for x in view["ResourcePressureInfo"]:
        if x["InstructionIndex"] == 0:
            name = resources[x["ResourceIndex"]]
            ports[name] = round(ports.get(name, 0) + x["ResourceUsage"], 3)
    throughput = round(float(info["RThroughput"] or 0), 3)
    return Cost(int(info["NumMicroOpcodes"]), int(info["Latency"]), throughput, tuple(sorted(ports.items())))
