"""Learns the instructions of an architecture: each is read, and run beside its definition, in parallel and once.

    collection = learn("x86", open_listing, "x86-intel.xml", machines, lacking, Cache(), tell)

What was found is kept in the cache under what it depends on, so that an interrupted run goes on where it was, and a
changed file costs as much as what has changed in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TypeVar

from planish.core.cache import Cache, key
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.isa.collection import Collection
from planish.isa.entry import Entry, IntrinsicSignature
from planish.isa.semantics.scalable import at_length
from planish.isa.vendors.specification import Opener, Specification
from planish.run.instructions.compile import Machine
from planish.run.instructions.limits import Patience, start_reader
from planish.run.instructions.stamp import stamp_of
from planish.run.instructions.verify import NOT_EVALUATED, InstructionVerdict, verify
from planish.run.processes.workers import CORES, Workers, leave_interrupts

ROWS = 256
"""How many inputs each instruction is tried with, for each value of its immediates."""

_READ_BATCH, _TRIED_BATCH = 60, 60
_READERS = "planish.isa", "planish.run.instructions"
_NOT_READERS = ("lib", "sets", "exports", "similarity", "spelling", "costs")
"""Folders whose change does not change what is read or tried."""

_PATIENCE = Patience(seconds=2.0, enough=1.0, earned=0.02)
"""How long it may take to read an instruction; each process that reads has its own."""

Progress = Callable[[str, int], None]
"""Called with what is being done and the number of instructions that are done with it."""


_A = TypeVar("_A")


def learn(
    isa: str, opener: Opener, path: str, machines: Sequence[Machine], lacking: Callable[[Entry], str | None],
    store: Cache, tell: Progress, workers: Workers = CORES,
) -> Collection:
    """The collection of all instructions of the specification at a path; `lacking` says what an entry needs that is not
    here. PlanishError where there is no specification, E0661 where nothing of it can be read in reasonable time."""
    entries = _read_all(isa, opener, path, store, tell, workers)
    known = [_without(x, lacking(x)) if x.status == "unproven" else x for x in entries]
    return Collection.of(isa, opener(path).source, _try_all(known, machines, store, tell, workers))


def _without(entry: Entry, feature: str | None) -> Entry:
    return entry.judged("unproven", f"not executed here: {feature}") if feature else entry


def _read_all(isa: str, opener: Opener, path: str, store: Cache, tell: Progress, workers: Workers) -> list[Entry]:
    found: list[Entry] = []
    addresses = {
        name: key("instruction", stamp_of(*_READERS, without=_NOT_READERS), name, identity)
        for name, identity in opener(path).identities.items()
    }
    left = []
    for name, address in addresses.items():
        kept = store.get(address)
        if kept is None:
            left.append(name)
        else:
            found.append(Entry.parsed(json.loads(kept)))
    tell("reading", len(found))
    batches = [(isa, opener, path, part) for part in _parts(left, _READ_BATCH)]
    for entries in workers.run(_read_batch, batches, start_reader):
        if not entries:
            message = f"{path} has {len(addresses)} instructions, and none of the first ones can be read"
            advice = "is it a file of another version or form? `planish isa learn --help` says which ones are read"
            raise PlanishError(Diagnostic("E0661", message, help=advice))
        for entry in entries:
            if entry.status != "refused":  # that is found again soon, or may not be
                store.put(addresses[entry.name], json.dumps(entry.plain()).encode())
        found += entries
        tell("reading", len(entries))
    return found


def _try_all(
    entries: Sequence[Entry], machines: Sequence[Machine], store: Cache, tell: Progress, workers: Workers
) -> list[Entry]:
    """The entries with what came of running them: verified where one machine's results are those of the definition, for
    each length of registers that machines have."""
    tried = list(entries)
    *others, last = sorted({x.length for x in machines}, reverse=True) or [0]
    for length in (*others, last):
        scaled = [replace(x, text=at_length(x.text, length)) for x in tried]
        alike = [x for x in machines if x.length == length]
        judged = _try(scaled, alike, store, tell if length == last else _silently(tell), workers)
        tried = [
            x if y.status == "verified" and length != last else replace(y, text=x.text)
            for x, y in zip(tried, judged, strict=True)
        ]
    return tried


def _try(
    entries: Sequence[Entry], machines: Sequence[Machine], store: Cache, tell: Progress, workers: Workers
) -> list[Entry]:
    judged: dict[str, Entry] = {}
    left = [x for x in entries if x.status == "unproven" and not x.reason]
    last: dict[str, InstructionVerdict] = {}
    for place, machine in enumerate(machines):
        verdicts = _try_on(machine, left, store, tell if place == 0 else _silently(tell), workers)
        for entry in left:
            verdict = verdicts[entry.name]
            if verdict.kind == "verified":
                before = f"{last[entry.name].kind} with {machines[0].name}" if entry.name in last else ""
                judged[entry.name] = entry.judged("verified", _sample(verdict, machine if place else None, before))
            elif entry.name not in last or last[entry.name].kind == "not compiled":
                last[entry.name] = replace(verdict, message=f"{machine.name}: {verdict.message}")
        left = [x for x in left if x.name not in judged]
    for entry in left:
        if entry.name in last:
            verdict = last[entry.name]
            judged[entry.name] = entry.judged("excluded", f"{verdict.kind}: {verdict.message}")
    tried = [judged.get(x.name, x) for x in entries]
    return [_without(x, "nothing runs it") if x.status == "unproven" and not x.reason else x for x in tried]


def _read_batch(work: tuple[str, Opener, str, Sequence[str]]) -> list[Entry]:
    """The entries of some names; none where reading takes long and comes to nothing."""
    isa, opener, path, names = work
    found = []
    for name in names:
        if _PATIENCE.is_over:
            return []
        found.append(_read_one(isa, opener(path), name))
    return found


def _read_one(isa: str, specification: Specification, name: str) -> Entry:
    """The entry of an instruction; what a stranger's text does to a reader refuses that entry, and no other."""
    try:
        return _PATIENCE.wait_for(lambda: specification.entry(name), lambda x: x.status == "refused")
    except Exception as error:
        reason = f"it cannot be read: {type(error).__name__}: {error}"[:200]
        return Entry(name, isa, IntrinsicSignature("", ()), status="refused", reason=reason)


def _silently(tell: Progress) -> Progress:
    return lambda message, _: tell(message, 0)


def _sample(verdict: InstructionVerdict, machine: Machine | None, before: str) -> str:
    """What has to be known of a verdict: values that were not tried, bits of which nothing is said, another machine."""
    parts = [f"{verdict.values} of {verdict.possible} values"] if verdict.values < verdict.possible else []
    parts += [f"says nothing of {verdict.silent} bits"] if verdict.silent else []
    return ", ".join([*parts, *([f"with {machine.name}, {before}"] if machine else [])])


def _try_on(
    machine: Machine, entries: Sequence[Entry], store: Cache, tell: Progress, workers: Workers
) -> dict[str, InstructionVerdict]:
    found: dict[str, InstructionVerdict] = {}
    left: list[Entry] = []
    for entry in entries:
        kept = store.get(_trial_address(entry, machine))
        if kept is None:
            left.append(entry)
        else:
            found[entry.name] = InstructionVerdict(**json.loads(kept))
    tell(f"trying with {machine.name}", len(found))
    by_name = {x.name: x for x in left}
    batches = [(part, machine) for part in _parts(left, _TRIED_BATCH)]
    for verdicts in workers.run(_try_batch, batches, leave_interrupts):
        for verdict in verdicts:
            found[verdict.name] = verdict
            if verdict.kind != NOT_EVALUATED:
                store.put(_trial_address(by_name[verdict.name], machine), json.dumps(asdict(verdict)).encode())
        tell(f"trying with {machine.name}", len(verdicts))
    return found


def _try_batch(work: tuple[Sequence[Entry], Machine]) -> list[InstructionVerdict]:
    entries, machine = work
    return list(verify(entries, machine, ROWS).values())


def _parts(items: Sequence[_A], size: int) -> list[Sequence[_A]]:
    # Each part has some of all over the list, so that parts take about as long.
    count = -(-len(items) // size)
    return [items[at::count] for at in range(count)]


def _trial_address(entry: Entry, machine: Machine) -> str:
    values = sorted((name, tuple(x)) for name, x in entry.values.items())
    stamp = stamp_of(*_READERS, without=_NOT_READERS)
    return key("trial", stamp, ROWS, machine.name, machine.compiler, machine.command, machine.processor,
               entry.name, entry.text, entry.signature.result, entry.signature.parameters, values)  # fmt: skip
