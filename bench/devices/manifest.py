"""What was prepared for a device: the kernels of each version of a program, and the functions that launch them.

>>> head = "int planish_f_1_launch(ptrdiff_t n, const float *a, float *b, cudaStream_t stream);"
>>> [(x.name, [(y.type, y.name) for y in x.parameters]) for x in read_launches(head)]
[('planish_f_1_launch', [('ptrdiff_t', 'n'), ('float *', 'a'), ('float *', 'b'), ('cudaStream_t', 'stream')])]
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FILE = "manifest.json"
_FUNCTION = re.compile(r"^(?:int|size_t) (planish_\w+_(?:launch|workspace))\((.*)\);$", re.M)
_COMMAND = re.compile(r"compile: (nvcc .*) -c \S+\.cu \*/")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a C function: its type without `const`, "float *" for all pointers to floats, and its name."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class HostFunction:
    """A function of the host: its name and its parameters."""

    name: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Built:
    """A version of a program as it was prepared: files in the folder, what launches it in order, what gives the bytes
    of its workspaces, what was said of it, and the sizes at which it is timed where its program has no table of them.
    Without launches it stayed on the host."""

    program: str
    version: str
    source: str
    text: str = ""
    flags: tuple[str, ...] = ()
    launches: tuple[HostFunction, ...] = ()
    workspaces: tuple[HostFunction, ...] = ()
    said: str = ""
    refused: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name among all of them."""
        return f"{self.program}.{self.version}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that was prepared, and from which commit."""

    built: tuple[Built, ...]
    commit: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write it into a folder."""
        (folder / FILE).write_text(json.dumps(asdict(self), indent=1) + "\n")


def read_parameters(text: str) -> tuple[Parameter, ...]:
    """The parameters of a C head, without its parentheses; arrays are pointers."""
    out: list[Parameter] = []
    for part in _split(text):
        plain = re.sub(r"\b(?:const|restrict|__restrict__|static)\b", " ", part)
        bare = re.sub(r"\[[^\]]*\]", "", plain)
        words = re.findall(r"\w+|\*", bare)
        if words in ([], ["void"]):
            continue
        pointer = "*" in words or "[" in plain
        kind = " ".join(x for x in words[:-1] if x != "*")
        out.append(Parameter(f"{kind} *" if pointer else kind, words[-1]))
    return tuple(out)


def _split(text: str) -> list[str]:
    """Parts between commas that are in no brackets."""
    out, depth = [""], 0
    for x in text:
        depth += (x in "([") - (x in ")]")
        if x == "," and depth == 0:
            out.append("")
        else:
            out[-1] += x
    return out


def read_launches(header: str, kind: str = "launch") -> tuple[HostFunction, ...]:
    """The functions of a `…_device.h` that launch kernels, or that give the bytes of their workspaces."""
    met = _FUNCTION.finditer(header)
    return tuple(HostFunction(x[1], read_parameters(x[2])) for x in met if x[1].endswith(f"_{kind}"))


def read_flags(text: str) -> tuple[str, ...]:
    """The flags of nvcc that a text of kernels names in its first line."""
    met = _COMMAND.search(text.split("\n", 1)[0])
    return tuple(met[1].split()[1:]) if met else ()


def value_of(values: Mapping[str, Any], name: str) -> Any:
    """A value by the name of a parameter; names that begin with `_` in the source begin with `v_` in a launch. Raises
    KeyError where there is none."""
    return values[name] if name in values else values[name.removeprefix("v")]


def find_head(source: str, function: str) -> HostFunction:
    """The head of a function that a C file defines. Raises ValueError where there is none."""
    met = re.search(rf"\b(\w+)\s+{function}\s*\(([^{{;]*)\)\s*\{{", source)
    if met is None:
        raise ValueError(f"no function {function}")
    return HostFunction(function, (Parameter(met[1], ""), *read_parameters(met[2])))




def read_manifest(folder: Path) -> Manifest:
    """Read it again. Raises FileNotFoundError where nothing was prepared."""
    read = json.loads((folder / FILE).read_text())
    return Manifest(tuple(_built(x) for x in read["built"]), read["commit"], read["facts"])


def _built(read: Mapping[str, object]) -> Built:
    fields = dict(read)
    fields["flags"] = tuple(_items(fields["flags"]))
    for name in ("launches", "workspaces"):
        fields[name] = tuple(
            HostFunction(x["name"], tuple(Parameter(**y) for y in x["parameters"])) for x in _items(fields[name])
        )  # fmt: skip
    return Built(**fields)  # type: ignore[arg-type]


def _items(value: object) -> Sequence:
    assert isinstance(value, list)
    return value
