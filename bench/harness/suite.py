"""What is raced: a folder of C files, the sizes of each dataset, and how long the arrays behind bare pointers are.

>>> evaluate_length("n + taps - 1", {"n": 50, "taps": 7})
56
>>> smaller_dataset("LARGE"), smaller_dataset("MINI")
('MEDIUM', 'MINI')
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from planish.core.span import Source
from planish.frontend.c.translation_unit import CFunction
from planish.run.calls.signature import CallCase
from planish.run.sizes.call_sizes import make_case

DATASETS = ("MINI", "SMALL", "MEDIUM", "LARGE")

Lengths = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Suite:
    """A folder of C files with a `sizes.toml`.

    `by_macro`: the dataset is also told to the compiler (-DLARGE_DATASET). `lengths` gives, by function and parameter,
    the number of elements behind a pointer as an expression over the sizes; arrays that declare theirs need none.
    """

    name: str
    folder: Path
    by_macro: bool = False
    lengths: Lengths = field(default_factory=dict)

    def files(self, only: Sequence[str] = ()) -> tuple[Path, ...]:
        """The C files in alphabetical order, or those of the given names; raises ValueError for an unknown name."""
        found = {path.stem: path for path in sorted(self.folder.glob("*.c"))}
        unknown = [name for name in only if name not in found]
        if unknown:
            raise ValueError(f"no kernel {', '.join(unknown)} in {self.name}; it has {', '.join(found)}")
        return tuple(found[name] for name in only or found)

    def sizes(self, file: Path, dataset: str) -> dict[str, int]:
        """The run-time sizes of a file's functions, by parameter; raises ValueError where the table lacks them."""
        table = _read_table(self.folder / "sizes.toml").get(file.stem, {})
        sizes = table.get(dataset.lower())
        if sizes is None:
            raise ValueError(f"sizes.toml of {self.name} has no {dataset} entry for {file.stem}")
        return dict(sizes)

    def defines(self, dataset: str) -> tuple[str, ...]:
        """What the dataset adds to the compiler's command line, without -D."""
        return (f"{dataset}_DATASET",) if self.by_macro else ()

    def case(self, function: CFunction, sizes: Mapping[str, int]) -> CallCase:
        """One call of a function: every array has exactly the elements that its documentation names."""
        case = make_case(function, (), sizes, seed=1)
        lengths = {name: evaluate_length(text, sizes) for name, text in self.lengths.get(function.name, {}).items()}
        return replace(case, elements={**case.elements, **lengths})


def read_source(file: Path) -> Source:
    """A C file as the pipeline takes it."""
    return Source(str(file), file.read_text())


def smaller_dataset(dataset: str) -> str:
    """The dataset below, with which contestants are checked in little time; the smallest one is its own."""
    return DATASETS[max(0, DATASETS.index(dataset) - 1)]


def evaluate_length(text: str, sizes: Mapping[str, int]) -> int:
    """The value of an expression of sizes, integers, +, -, * and // (rounded down); ValueError for anything else."""
    return _value(ast.parse(text, mode="eval").body, sizes)


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name) if name in sizes:
            return sizes[name]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _value(left, sizes) + _value(right, sizes)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _value(left, sizes) - _value(right, sizes)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _value(left, sizes) * _value(right, sizes)
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return _value(left, sizes) // _value(right, sizes)
        case _:
            raise ValueError(f"cannot evaluate the length {ast.unparse(node)}")


@lru_cache(maxsize=8)
def _read_table(path: Path) -> dict[str, dict[str, dict[str, int]]]:
    return tomllib.loads(path.read_text())
