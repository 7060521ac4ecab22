"""What raising is measured on: programs in C with the operations that stand in them, place by place.

A `.c` file says of each place what it is, in a comment on that line or on a line of its own above it:

    C[i][j] += alpha * A[i][k] * B[k][j]; /*= gemm A B -> C: ik,kj->ij alpha=alpha beta=1 */

`beta` is what the output is scaled by before the sum is added: 0 where it is written without being read.

>>> next(x for x in read_folder("gemm") if x.name == "transposed_right").sites[0].einsum
'ik,jk->ij'
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from contractions import SPECIFICATIONS, Form, write_contraction

HERE = Path(__file__).parent
POLYBENCH = HERE.parents[1] / "examples" / "polybench"
_HEAD = re.compile(r"^ ?\* (sizes|defines): (.*?)(?: \*/)?$", re.MULTILINE)
_MARK = re.compile(r"/\*= (?P<operation>[\w-]+) (?P<inputs>[\w ]*?) ?-> (?P<output>\w+):(?P<rest>.*?)\*/")


@dataclass(frozen=True, slots=True)
class Site:
    """A place at which an operation stands: the line of the statement that does its work.

    `inputs` and `output` are names of arrays as the file has them, `einsum` has the inputs in this order ("": it is no
    product), `scalars` what the operation's other parameters are, as C. It may be found as a part of the operation
    `within`. `note` says why where it is not obvious.
    """

    line: int
    operation: str
    inputs: tuple[str, ...]
    output: str
    einsum: str = ""
    scalars: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A C file of the corpus: `sizes` are arguments, and `defines` macros, with which it is small enough to interpret.

    `path` is where the text stands, also where it was generated: names and messages show it.
    """

    name: str
    group: str
    path: Path
    text: str
    sizes: Mapping[str, int]
    sites: tuple[Site, ...]
    defines: tuple[str, ...] = ()

    @property
    def include_dirs(self) -> tuple[Path, ...]:
        """Where the headers that it includes are."""
        return (self.path.parent,)


def corpus() -> tuple[Entry, ...]:
    """All entries: 24 matrix products, Darknet's four, 16 programs, operations, styles, 148 contractions, PolyBench."""
    groups = (*map(read_folder, ("gemm", "darknet", "programs", "operations", "styles")), contractions(), polybench())
    return tuple(entry for group in groups for entry in group)


def read_folder(name: str) -> tuple[Entry, ...]:
    """The entries of a folder of C files."""
    return tuple(read_entry(path.read_text(), path, name) for path in sorted((HERE / name).glob("*.c")))


def read_entry(text: str, path: Path, group: str) -> Entry:
    """An entry from C with marks."""
    head = dict(_HEAD.findall(text))
    sizes = {k: int(v) for k, v in (x.split("=") for x in head["sizes"].split())}
    defines = tuple(head.get("defines", "").split())
    return Entry(path.stem, group, path, text, sizes, tuple(read_sites(text)), defines)


def read_sites(text: str) -> Iterator[Site]:
    """The places that marks in a file tell of, in order."""
    for number, line in enumerate(text.splitlines(), 1):
        if (mark := _MARK.search(line)) is None:
            continue
        words = mark["rest"].split()
        scalars = dict(x.split("=", 1) for x in words if "=" in x)
        einsum = next((x for x in words if "->" in x), "")
        at = number + 1 if line.lstrip().startswith("/*=") else number
        yield Site(at, mark["operation"], tuple(mark["inputs"].split()), mark["output"], einsum, scalars)


def contractions() -> tuple[Entry, ...]:
    """Each specification with subscripts for each index, and as subscripts into a row of elements."""
    forms: tuple[Form, ...] = ("nd", "linear")
    out = []
    for number, spec in enumerate(SPECIFICATIONS):
        for form in forms:
            text = write_contraction(spec, form, number)
            out.append(read_entry(text, HERE / "contractions" / f"{spec}-{form}.c", "contractions"))
    return tuple(out)


def polybench() -> tuple[Entry, ...]:
    """The 30 kernels of the examples with what `polybench.toml` says of them; those without a site are here too."""
    table = tomllib.loads((HERE / "polybench.toml").read_text())
    sizes = tomllib.loads((POLYBENCH / "sizes.toml").read_text())
    out = []
    for path in sorted(POLYBENCH.glob("*.c")):
        sites = tuple(_site(x) for x in table[path.stem].get("site", []))
        small = sizes[path.stem]["mini"]
        out.append(Entry(path.stem, "polybench", path, path.read_text(), small, sites, ("MINI_DATASET",)))
    return tuple(out)


def _site(row: Mapping[str, object]) -> Site:
    known = {"line", "is", "reads", "writes", "einsum", "note", "within"}
    line, scalars = row["line"], {k: str(v) for k, v in row.items() if k not in known}
    einsum, note, within = (str(row.get(x, "")) for x in ("einsum", "note", "within"))
    assert isinstance(line, int)
    inputs = tuple(str(row["reads"]).split())
    return Site(line, str(row["is"]), inputs, str(row["writes"]), einsum, scalars, note, within)
