"""Every example in the README and in docs/ runs as it stands there.

A fence says how: `c NAME` and `mlir NAME` write files that the examples of the page use, `toml NAME` a machine,
`sa NAME` a program of a VLIW machine, `python torch` needs PyTorch, `python emulator` a compiler of C++,
`tdl NAME` tactics that are right; `python` runs (as a session where it has prompts); `planish` is a kernel; `console`
holds a command after `$`, and what it prints, with `…` standing for any lines; `console NAME` needs that BLAS, or what
makes and runs code for that machine. Builds that are timed take longest, and are left to `-m slow`.
"""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest
from tests.property.sampling import slow

from planish.build.read import read_file
from planish.cli.entry import main
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.ir.checker import check_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.options import Options
from planish.raising.nests import raise_kernel
from planish.raising.tdl.examples import check_tactic
from planish.raising.tdl.reader import load_tactics, read_tactics
from planish.run.devices.emulator import find_emulating_compiler
from planish.run.toolchains.blas import BlasName, find_blas
from planish.run.toolchains.cross import compiler_for, runner_for
from planish.run.toolchains.toolchain import choose_compiler
from planish.target.description import kind_of
from planish.target.load import load_target
from planish.vliw.description import load_machine
from planish.vliw.text import machine_of, parse_program

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_FENCE = re.compile(r"^```(\w*)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PLAIN = {"text", "sh", "make", "meson", "bazel", "rust", "fortran"}


@dataclass(frozen=True, slots=True)
class Example:
    """A fenced block: its language, its file name, its text and the line it begins on."""

    language: str
    name: str
    text: str
    line: int


def examples(page: Path) -> Iterator[Example]:
    text = page.read_text()
    for found in _FENCE.finditer(text):
        yield Example(found[1], found[2] or "", found[3], text.count("\n", 0, found.start()) + 2)


def is_timed(example: Example) -> bool:
    """Whether it is a build that races versions with the clock."""
    command = example.text.partition("\n")[0]
    return example.language == "console" and " build " in command and "--no-measure" not in command


CASES = [(page, False) for page in PAGES]
CASES += [slow(page, True) for page in PAGES if any(map(is_timed, examples(page)))]
"""The pages, and whether their timed builds are run as well."""


@pytest.mark.parametrize(("page", "timed"), CASES, ids=lambda x: x.name if isinstance(x, Path) else "timed" * x)
def test_every_example_runs(
    page: Path, timed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    found = [x for x in examples(page) if timed or not is_timed(x)]
    for example in found:
        if example.name and example.language not in ("console", "python"):
            Path(example.name).write_text(example.text)
    names: dict[str, object] = {}
    for example in found:
        match example.language:
            case "c" | "mlir":
                assert any(f.regions for f in read_file(Source(example.name, example.text), Options()).functions)
            case "toml" if kind_of(example.text) == "vliw":
                assert load_machine(example.name).name == Path(example.name).stem
            case "sa":
                source = Source(example.name, example.text)
                assert parse_program(source, load_machine(machine_of(source))).body
            case "toml":
                assert load_target(example.name).name == Path(example.name).stem
            case "tdl":
                for tactic in read_tactics(Source(example.name, example.text), load_tactics()):
                    assert not check_tactic(tactic, raise_kernel), tactic.name
            case "planish":
                kernel = parse_kernel(example.text)
                check_kernel(kernel, "documentation")
                assert print_kernel(kernel) == example.text
            case "python":
                if example.name != "torch":
                    if example.name:
                        need(example.name, tmp_path)
                    run_python(example, page, names)
            case "console":
                if example.name:
                    need(example.name, tmp_path)
                run_console(example, capsys)
            case _:
                assert example.language in _PLAIN, f"{page.name}:{example.line}: what is {example.language}?"


PYTORCH = [page for page in PAGES if any(x.name == "torch" for x in examples(page))]


@pytest.mark.parametrize("page", PYTORCH, ids=lambda x: x.name)
def test_examples_of_pytorch_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="PyTorch is not here")
    need("emulator", tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in examples(page):
        if example.language == "c":
            Path(example.name).write_text(example.text)
        if example.language == "python" and example.name:
            run_python(example, page, names)


def need(name: str, folder: Path) -> None:
    """Skips where there is no BLAS of that name here, or nothing that makes and runs code for that machine."""
    if name == "emulator":
        if find_emulating_compiler() is None:
            pytest.skip("no compiler of C++ is here")
        return
    try:
        if name in get_args(BlasName):
            find_blas(name, False, choose_compiler(None))
            return
        machine = load_target(name)
        missing = runner_for(machine, compiler_for(machine, None), folder).missing
    except PlanishError as error:
        missing = error.diagnostic.message
    if missing:
        pytest.skip(missing)


def run_python(example: Example, page: Path, names: dict[str, object]) -> None:
    where = f"{page.name}:{example.line}"
    if ">>>" not in example.text:
        # A file, because kernels are read from the text that they stand in.
        file = Path(f"example_{example.line}.py")
        file.write_text(example.text)
        exec(compile(example.text, str(file.resolve()), "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(example.text, names, where, str(page), example.line)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, clear_globs=False)
    names.update(test.globs)
    assert runner.summarize(verbose=False).failed == 0, where


def run_console(example: Example, capsys: pytest.CaptureFixture[str]) -> None:
    command, _, wanted = example.text.partition("\n")
    assert command.startswith("$ planish "), command
    capsys.readouterr()
    assert main(shlex.split(command)[2:]) == 0, capsys.readouterr().err
    printed = capsys.readouterr()
    place, text = 0, printed.out + printed.err
    for part in (p.strip() for p in re.split(r"^…$", wanted, flags=re.MULTILINE)):
        at = text.find(part, place)
        assert at >= 0, f"not printed: {part}\n{text}"
        place = at + len(part)


def test_the_options_page_lists_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--help"]) == 0
    told = set(re.findall(r"(?<![\w-])(--?[a-zA-Z][\w-]*)", capsys.readouterr().out)) - {"--help"}
    section = (ROOT / "docs" / "options.md").read_text().partition("## Options")[2].partition("\n## ")[0]
    listed = set(re.findall(r"(?<![\w-])(--?[a-zA-Z][\w-]*)", section))
    options = {x for x in told if f"`{x}" not in section and x not in listed}
    assert not options


def test_links_lead_somewhere() -> None:
    for page in {*PAGES, *ROOT.glob("*.md")}:
        for target, heading in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)", page.read_text()):
            file = page.parent / target if target else page
            assert file.exists(), f"{page.name}: {target}"
            assert not heading or heading in anchors(file), f"{page.name}: {target}#{heading}"


def anchors(page: Path) -> set[str]:
    """What links name the headings of a page by: lower case, hyphens for spaces, no punctuation."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", x.lower()).replace(" ", "-") for x in headings}


def test_the_layers_are_those_that_are_enforced() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    shown = re.search(r"^core < .*$", text, re.MULTILINE)
    assert shown is not None
    order = [part.strip() for row in shown[0].split("<") for part in row.split("|")]
    rows = re.findall(r'^    "(.*)",$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    enforced = [x.strip(" ()") for row in reversed(rows) for x in row.split("|") if "(" in row or "|" in row or row]
    enforced = [x for x in enforced if (ROOT / "src/planish" / x).exists() or (ROOT / f"src/planish/{x}.py").exists()]
    assert enforced == order
    for name in order:
        assert re.search(rf"^  {name}(?:/|\.py)? ", text, re.MULTILINE), name
