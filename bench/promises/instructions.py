"""What is promised of the instructions: how many are known, that their classes are what they are, how long it takes.

    python bench/claims.py instructions            # learns anew from the packages' files where these are here (minutes)
    python bench/claims.py instructions --quick    # what has been learnt, and a sample of each class
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from bench.promises.claim import Claim, Note, at_least, at_most, below
from bench.sweeps.hostile_specifications import hostile_files, learn_from
from planish.isa.classes.operation_classes import Class, ClassMember, find_classes
from planish.isa.classes.proof import are_same
from planish.isa.collection import Collection, collection_names, load_collection
from planish.isa.costs.tables import PROCESSORS, load_costs
from planish.isa.entry import Entry
from planish.isa.exports.irdl import write_irdl
from planish.isa.exports.operations import find_operations
from planish.isa.exports.tablegen import write_tablegen
from planish.isa.semantics.evaluate import Given, Memory, evaluate
from planish.isa.shipped import extension, extensions
from planish.isa.vendors.specification import newest
from planish.report.instructions import count_entries
from planish.run.instructions.hexagon import hexagon_machines
from planish.run.instructions.judge import differing
from planish.run.instructions.machines import arm_machines, x86_machines
from planish.run.instructions.portable import check_operations, offered, plainly
from planish.run.instructions.trials import reached
from planish.run.instructions.vectors import make_inputs
from planish.run.instructions.vendors import VENDORS

BARS = {"x86": 3800, "arm": 2200, "hvx": 380, "sve": 150}
_ROWS, _FEW = 10_000, 64
_EACH = 20
_STEP = 20
_MUTATIONS = 200
_INCLUDES = "/usr/lib/llvm-19/include"
_HYDRIDE_CLASSES, _HYDRIDE_INSTRUCTIONS = 397, 3557


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """The claims of the issue, one after another."""
    loaded = {name: load_collection(name) for name in collection_names()}
    for name, bar in BARS.items():
        if name in loaded:
            yield from _counted(loaded[name], bar)
        else:
            yield at_least(f"isa.{name}.verified", 0, bar)
    yield from _loading(loaded)
    started = time.perf_counter()
    everything = find_classes(x for collection in loaded.values() for x in collection)
    yield below("isa.similarity.minutes", (time.perf_counter() - started) / 60, 20)
    yield from _classes(everything)
    yield from _members(everything, quick)
    yield from _header(everything, _EACH if quick else 1)
    yield from _exporters(everything)
    yield from _schedules()
    yield from _hostile(_MUTATIONS // 10 if quick else _MUTATIONS)
    if not quick and not stored:
        yield from _learning(loaded)


def _counted(collection: Collection, bar: int) -> Iterator[Claim | Note]:
    counts = count_entries(collection)
    kinds = ("integer", "float", "masked", "memory")
    yield at_least(f"isa.{collection.isa}.verified", sum(counts[x] for x in kinds), bar)
    others = ", ".join(f"{counts[x]} {x}" for x in (*kinds, "unproven", "excluded", "refused"))
    yield Note(f"{collection.isa}: {others}; from {collection.source}")
    unexplained = [x.name for x in collection if x.status != "verified" and not x.reason]
    yield at_most(f"isa.{collection.isa}.left_out_without_a_reason", len(unexplained), 0)


_LOADED = """
import sys, time
from planish.isa.collection import load_collection
started = time.perf_counter()
load_collection(sys.argv[1])
print(1000 * (time.perf_counter() - started))
"""


def _loading(names: Iterable[str]) -> Iterator[Claim | Note]:
    """In processes of their own, since what one holds already makes it look for what it can drop."""
    for name in names:
        times = []
        for _ in range(5):
            told = subprocess.run([sys.executable, "-c", _LOADED, name], check=True, capture_output=True, text=True)
            times.append(float(told.stdout))
        yield below(f"isa.{name}.loading_ms", sorted(times)[2], 50)


def _classes(everything: tuple[Class, ...]) -> Iterator[Claim | Note]:
    plain = [(x, [y for y in x.members if y.entry.kinds[0] == "integer"]) for x in everything]
    members, classes = sum(len(y) for _, y in plain), sum(1 for _, y in plain if y)
    yield at_least("isa.classes.plain_instructions", members, _HYDRIDE_INSTRUCTIONS)
    yield at_most("isa.classes.plain", classes, _HYDRIDE_CLASSES)
    hydride = _HYDRIDE_INSTRUCTIONS / _HYDRIDE_CLASSES
    yield Note(f"{members / classes:.1f} instructions in a class; Hydride {hydride:.1f}")
    total = sum(len(x.members) for x in everything)
    ratio = total / len(everything)
    yield Note(f"of everything: {total} instructions in {len(everything)} classes, {ratio:.1f} in each")
    sizes = Counter(min(len(x.members), 10) for x in everything)
    yield Note(f"classes of one member: {sizes[1]}; of ten or more: {sizes[10]}")


def _members(everything: tuple[Class, ...], quick: bool) -> Iterator[Claim | Note]:
    """Members beside what their class does with their numbers: proven for all inputs, and some of them run."""
    members = [member for x in everything for member in x.members]
    chosen, rows = (members, _FEW) if quick else (members[::_STEP], _ROWS)
    with ProcessPoolExecutor() as pool:
        proven = pool.map(_is_proven, members, chunksize=20)
        unproven = [x.entry.name for x, same in zip(members, proven, strict=True) if not same]
        yield at_most("isa.classes.members_not_proven", len(unproven), 0)
        yield Note(f"{len(members) - len(unproven)} members have the same expression for each bit as their class; "
                   f"not: {', '.join(unproven[:10]) or 'none'}")  # fmt: skip
        alike = pool.map(partial(_alike, rows=rows), chosen, chunksize=20)
        wrong = [x.entry.name for x, same in zip(chosen, alike, strict=True) if not same]
    yield at_most("isa.classes.members_that_differ", len(wrong), 0)
    yield Note(f"{rows} inputs for each of {len(chosen)} members; differing: {', '.join(wrong[:10]) or 'none'}")


def _is_proven(member: ClassMember) -> bool:
    return are_same(member.definition(), member.entry.definition)


def _alike(member: ClassMember, rows: int) -> bool:
    made, own = member.definition(), member.entry.definition
    if made == own:
        return True
    for at in range(0, rows, 1000):
        given = _given(member.entry, min(1000, rows - at), at)
        one, other = evaluate(own, given), evaluate(made, given)
        if differing(own, one, other.result, other.memory).any() or not np.array_equal(one.defined, other.defined):
            return False
    return True


def _given(entry: Entry, rows: int, turn: int) -> dict[str, Given]:
    definition = entry.definition
    given: dict[str, Given] = dict(make_inputs(definition, f"{entry.name} {turn}", rows, reached(definition)))
    chance = np.random.default_rng(turn)
    for operand in definition.operands:
        if operand.role == "immediate":
            values = np.array(entry.values.get(operand.name, range(256)))
            given[operand.name] = chance.choice(values, (rows, 1)).astype(np.uint8)
    if not given:
        given[""] = Memory(np.zeros((rows, 1), np.uint8), 0)
    return given


def _header(everything: tuple[Class, ...], each: int) -> Iterator[Claim | Note]:
    """The functions of the portable header beside their definitions, on every machine that is here."""
    operations = find_operations(everything)
    machines = [("x86", x) for x in x86_machines()] + [("x86", plainly(x)) for x in x86_machines()]
    machines += [("arm", x) for x in arm_machines()] + [("hvx", x) for x in hexagon_machines()]
    for isa, machine in machines:
        chosen = offered(operations, machine)[::each]
        verdicts = check_operations(chosen, operations, machine)
        wrong = [name for name, x in verdicts.items() if x.kind != "verified"]
        own = sum(any(y.entry.isa == isa for y in x.members) for x in chosen)
        yield Note(f"{machine.name}: {len(chosen)} functions of {len(operations)}, {own} with instructions of its own; "
                   f"wrong: {', '.join(wrong[:10]) or 'none'}")  # fmt: skip
        yield at_most(f"isa.header.{machine.name.replace(' ', '_').replace(',', '')}.wrong", len(wrong), 0)
    lacking = [x for x, found in (("Neon", arm_machines()), ("HVX", hexagon_machines())) if not found]
    if lacking:
        yield Note(f"not tried, since no emulator or compiler is here: {', '.join(lacking)}")


def _exporters(everything: tuple[Class, ...]) -> Iterator[Claim | Note]:
    """What LLVM's and MLIR's own tools say of what is written for them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "planish.td").write_text(write_tablegen(everything))
        Path(folder, "planish.irdl.mlir").write_text(write_irdl(everything))
        Path(folder, "empty.mlir").write_text("module {}\n")
        tools = (
            ("tablegen", ["llvm-tblgen-19", "-gen-dag-isel", f"-I{_INCLUDES}", "planish.td", "-o", "x"]),
            ("irdl", ["mlir-opt-19", "--irdl-file=planish.irdl.mlir", "empty.mlir", "-o", "y"]),
        )
        for name, command in tools:
            lacking = name == "tablegen" and not Path(_INCLUDES, "llvm/Target/Target.td").exists()
            if lacking or shutil.which(command[0]) is None:
                what = "LLVM's own definitions (llvm-19-dev)" if lacking else command[0]
                yield Note(f"{what}: not here, so that what is written for {name} is not checked")
                continue
            done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
            yield at_most(f"isa.{name}.refused", int(done.returncode != 0), 0)


def _schedules() -> Iterator[Claim | Note]:
    """Instructions of schedules that are found by their definitions, and those whose C is written by hand."""
    known = [x for name in extensions() for x in extension(name).instructions.values()]
    own = [x for x in known if isinstance(x.text, str)]
    yield Note(f"{len(known) - len(own)} of {len(known)} instructions of schedules are found by their definitions; "
               f"{len(own)} have C of their own: {', '.join(sorted({_family(x.name) for x in own}))}")  # fmt: skip
    yield at_most("isa.replace.hand_written", len(own), 0)
    for isa in PROCESSORS:
        costs = load_costs(isa)
        if costs is not None:
            yield Note(f"{isa}: costs of {len(costs.records)} instructions on {', '.join(PROCESSORS[isa].values())}")


def _family(name: str) -> str:
    return "_".join(name.split("_")[1:-1])


def _hostile(mutations: int) -> Iterator[Claim | Note]:
    """Files that are broken or mean harm, learnt from one after another."""
    told = [learn_from(x) for x in hostile_files(mutations)]
    slowest, largest = max(told, key=lambda x: x.seconds), max(told, key=lambda x: x.mebibytes)
    yield below("isa.hostile.seconds", slowest.seconds, 5)
    yield below("isa.hostile.mebibytes", largest.mebibytes, 1024)
    yield at_most("isa.hostile.crashes", sum(x.code not in (0, 1) for x in told), 0)
    yield Note(f"{len(told)} files; the slowest: {slowest.name}, the largest: {largest.name}")


def _learning(loaded: dict[str, Collection]) -> Iterator[Claim | Note]:
    lacking = ", ".join(sorted({x.package for x in VENDORS if x.places and newest(Path("/"), *x.places) is None}))
    if lacking:
        yield Note(f"learning is not timed: {lacking} is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "planish", "isa", "learn", "-q", "-o", f"{folder}/lib"]
        times = []
        for _ in range(2):
            started = time.perf_counter()
            subprocess.run(command, check=True, env={"XDG_CACHE_HOME": folder, "PATH": "/usr/bin:/bin"})
            times.append((time.perf_counter() - started) / 60)
        same = all(
            Collection.unpacked(Path(folder, "lib", f"{x}.json.gz").read_bytes()).records == loaded[x].records
            for x in loaded
        )
    yield below("isa.learn.minutes", times[0], 10)
    yield below("isa.learn.again_minutes", times[1], 1)
    yield at_least("isa.learn.as_shipped", int(same), 1)
