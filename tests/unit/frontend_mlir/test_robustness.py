"""Text that is damaged in any way is refused with a diagnostic, or understood; nothing else is raised."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.frontend.mlir.reader import read_mlir

FILES = sorted((Path(__file__).parent / "kernels").glob("*.mlir"))
PIECES = (
    "}", "{", "(", ")", "<", ">", "%", "%i", "->", ":", ",", "f32", "memref<?xf32>", "-1", "99999999999999999999999",
    "affine_map<(d0) -> (d0)>", '"', "\n", "^bb0", "#rows", "index", "tensor<4xf32>", "func.return", "0.0", "loc(",
)  # fmt: skip


def read(text: str) -> str:
    """The code of the refusal, or "" where the text is read."""
    try:
        read_mlir(Source("broken.mlir", text))
    except PlanishError as error:
        assert error.diagnostic.code.startswith("E08") or error.diagnostic.code == "E0710", error
        return error.diagnostic.code
    return ""


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_damaged_text_is_no_crash(path: Path) -> None:
    whole = path.read_text()
    text = whole[: whole.find("\n}\n", 3000) + 3]
    dice = random.Random(path.name)
    refused = 0
    for _ in range(60):
        damaged = damage(text, dice)
        refused += read(damaged) != ""
    assert refused > 20


def damage(text: str, dice: random.Random) -> str:
    """The text cut off, without a piece, with a piece too much, or with two places exchanged."""
    a, b = sorted(dice.randrange(len(text)) for _ in range(2))
    match dice.randrange(5):
        case 0:
            return text[:a]
        case 1:
            return text[:a] + text[min(b, a + dice.randrange(1, 30)) :]
        case 2:
            return f"{text[:a]} {dice.choice(PIECES)} {text[a:]}"
        case 3:
            words = text.split(" ")
            i, j = dice.randrange(len(words)), dice.randrange(len(words))
            words[i], words[j] = words[j], words[i]
            return " ".join(words)
        case _:
            lines = text.split("\n")
            del lines[dice.randrange(len(lines))]
            return "\n".join(lines)


HEAD = "func.func @f(%A: memref<?xf32>, %n: index) {\n"
DEEP = {
    "regions": HEAD + "affine.for %i = 0 to 4 {\n" * 500 + "}\n" * 500 + "return\n}",
    "open": HEAD + "scf.if %p {\n" * 3000,
    "brackets": HEAD + "(" * 100000,
    "map": "#m = affine_map<(d0) -> (" + "(" * 400 + "d0" + ")" * 400 + ")>\n" + HEAD + "return\n}",
    "sum": "#m = affine_map<(d0) -> (" + "d0 + " * 20000 + "d0)>\n" + HEAD + "return\n}",
    "minus": "#m = affine_map<(d0) -> (" + "-" * 5000 + "d0)>\n" + HEAD + "return\n}",
    "attributes": HEAD[:-2] + "attributes {x = " + "[" * 5000 + "]" * 5000 + "} {\nreturn\n}",
    "string": HEAD + 'func.call @g() {x = "open\n} : () -> ()\nreturn\n}',
    "types": "func.func @f(%A: " + "tuple<" * 3000 + ">" * 3000 + ") {\nreturn\n}",
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_text_is_refused(name: str) -> None:
    assert read(DEEP[name]) in ("E0861", "E0870")


def chain(operation: str, count: int, type: str) -> str:
    lines = [f"%x{n + 1} = {operation} %x{n}, %x{n} : {type}\n" for n in range(count)]
    return (
        f"func.func @f(%x0: {type}, %A: memref<?x{type}>) {{\n  %c0 = arith.constant 0 : index\n{''.join(lines)}"
        f"  memref.store %x{count}, %A[%c0] : memref<?x{type}>\n  return\n}}"
    )


def test_values_that_double_do_not_explode() -> None:
    assert read(chain("arith.addf", 3000, "f32")) == ""
    assert read(chain("arith.addi", 60, "i32")) == ""
    assert read(chain("arith.addi", 40, "index")) == ""
    assert read(chain("arith.muli", 3, "index")) == ""


def test_an_index_that_grows_is_refused() -> None:
    text = chain("arith.muli", 40, "index").replace("%x0, %x0", "%x0, %n").replace("(%x0:", "(%n: index, %x0:")
    assert read(text) == "E0870"


def test_every_prefix_of_a_file() -> None:
    text = FILES[0].read_text()[:900]
    for end in range(0, len(text), 7):
        read(text[:end])
