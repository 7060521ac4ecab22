"""Runs what was prepared on the device of this machine: compiles it, checks it, times it; Planish is not needed.

    python3 bench/gpu_device.py run .gpu --out gpu.json --seconds 400
    python3 bench/gpu_device.py run .gpu --out dry.json --dry    # all but the launches; no device is needed

Items are done by a process of its own, which is started anew where a kernel has put the device out of order.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.devices.manifest import Manifest, read_manifest
from bench.devices.native import anchor_heads, compile_all, object_of
from bench.devices.state import State
from bench.devices.table import lines_of

ROOT = Path(__file__).resolve().parents[2]
MOST_WORKERS = 12
SANITIZED = 30.0
"""Seconds that are kept for compute-sanitizer."""
STUCK = 75.0
"""Seconds after which an item is given up, with its process."""


def main(arguments: list[str]) -> int:
    """Run; 1 where something was not compiled or a kernel computed something wrong."""
    parser = argparse.ArgumentParser(prog="gpu_device.py run")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--only", default="", help="programs, or PROGRAM.VERSION, with commas between")
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--place", default="cuda", help="cpu: kernels in the emulator, at small sizes")
    parser.add_argument("--dry", action="store_true", help="compile and load, launch nothing")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    given = parser.parse_args(arguments)
    begun = time.time()
    manifest = read_manifest(given.folder)
    with tempfile.TemporaryDirectory(prefix="planish-gpu-") as name:
        folder = Path(name) / "gpu"
        shutil.copytree(given.folder, folder)
        manifest = _only(manifest, given.only, folder)
        given.out.unlink(missing_ok=True)
        state = State(given.out)
        state.content["facts"] = _facts(manifest)
        state.content["host"] = {x.name: x.refused for x in manifest.built if not x.launches}
        state.content["compiled"] = compile_all(manifest, folder, given.place, given.jobs)
        state.save()
        failed = [x for x, y in state.content["compiled"].items() if "error" in y]
        print(f"compiled in {time.time() - begun:.1f} s; not compiled: {', '.join(failed) or 'nothing'}", flush=True)
        for x in failed:
            print(f"{x}: {state.content['compiled'][x]['error'][-600:]}", flush=True)
        if given.dry:
            return 1 if _load_all(manifest, folder) or failed else 0
        until = begun + given.seconds
        _work(given, folder, until - (SANITIZED if given.place == "cuda" else 0.0))
        if given.place == "cuda" and shutil.which("compute-sanitizer"):
            _sanitize(given, folder, until)
    state = State(given.out)
    state.content["seconds"] = round(time.time() - begun, 1)
    state.save()
    for line in lines_of(state.content):
        print(line)
    wrong = any(x.get("wrong") for x in state.content["items"].values())
    return 1 if failed or wrong or state.content["faults"] else 0


def _only(manifest: Manifest, only: str, folder: Path) -> Manifest:
    """The versions that are wanted, written to the folder as its manifest."""
    wanted = set(filter(None, only.split(",")))
    built = tuple(x for x in manifest.built if not wanted or {x.program, x.name} & wanted)
    kept = Manifest(built, manifest.commit, manifest.facts)
    kept.write(folder)
    return kept


def _facts(manifest: Manifest) -> dict[str, str]:
    """The card, its driver, the compiler, the day."""
    out = {"commit": manifest.commit, "date": time.strftime("%Y-%m-%d"), "python": sys.version.split()[0]}
    for key, command in (
        ("card", ["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm,memory.total", "--format=csv,noheader"]),
        ("nvcc", ["nvcc", "--version"]),
        ("gcc", ["gcc", "--version"]),
    ):
        if shutil.which(command[0]):
            said = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip().splitlines()
            out[key] = (said[-1] if key == "nvcc" else said[0]) if said else ""
    return out


def _load_all(manifest: Manifest, folder: Path) -> int:
    """How many functions are missing in the objects, by a process without torch; nothing is launched."""
    missing = 0
    heads = anchor_heads((folder / "anchors.cu").read_text())
    wanted = [(folder / "objects" / "anchors.so", list(heads))]
    wanted += [(object_of(x, folder), [y.name for y in (*x.launches, *x.workspaces)]) for x in manifest.built if x.text]
    for path, names in wanted:
        said = subprocess.run(["nm", "-D", "--defined-only", str(path)], capture_output=True, text=True).stdout
        there = {x.split()[-1] for x in said.splitlines() if x.split()}
        for name in names:
            if name not in there:
                print(f"{path.name}: no {name}")
                missing += 1
    print(f"{sum(len(x[1]) for x in wanted)} functions in {len(wanted)} objects, {missing} missing")
    return missing


def _work(given: argparse.Namespace, folder: Path, until: float) -> None:
    """Start processes until all items are done; one that is stuck, or that dies, has failed its item."""
    command = [sys.executable, "-u", "-m", "bench.devices.worker", str(folder), str(given.out.resolve())]
    command += ["--until", str(until), "--place", given.place] + ["--no-compile"] * given.no_compile
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for _ in range(MOST_WORKERS):
        process = subprocess.Popen(command, cwd=ROOT, env=environment)
        code = _watch(process, given.out, until)
        state = State(given.out)
        if code == 0:
            return
        if item := state.content["current"]:
            state.fail(item, f"its process ended with {code}")
        elif code != 75:
            state.content["faults"].append({"item": "", "what": f"a process ended with {code}"})
            state.save()
            return
        if time.time() > until:
            return


def _sanitize(given: argparse.Namespace, folder: Path, until: float) -> None:
    """Small calls under compute-sanitizer, as long as there is time."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for tool in ("memcheck", "racecheck"):
        state, limit = State(given.out), until - time.time()
        if limit < 8:
            state.finish(f"sanitizer {tool}", {"skipped": "no time was left"})
            continue
        command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", sys.executable, "-u", "-m"]
        command += ["bench.devices.sanitize", str(folder)]
        begun = time.time()
        try:
            ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            state.finish(f"sanitizer {tool}", {"skipped": f"it did not end in {limit:.0f} s"})
            continue
        said = (ran.stdout + ran.stderr).strip()
        found = {"code": ran.returncode, "took": round(time.time() - begun, 1), "said": said[-3000:]}
        # An unsupported device makes the tool fail as well: only what it reports of accesses is wrong.
        if ran.returncode and " planish_" in said:
            found["wrong"] = said[:600]
        state.finish(f"sanitizer {tool}", found)
        print(f"sanitizer {tool}: code {ran.returncode}, {found['took']} s\n{said[-400:]}", flush=True)


def _watch(process: subprocess.Popen[bytes], out: Path, until: float) -> int:
    """The code with which a process ends; it is ended where an item takes too long, or all of the time is over."""
    while True:
        try:
            return process.wait(2.0)
        except subprocess.TimeoutExpired:
            now, begun = time.time(), State(out).content["begun"]
            if now > until + 15 or (begun and State(out).content["current"] and now - begun > STUCK):
                process.kill()
                process.wait()
                return -9
