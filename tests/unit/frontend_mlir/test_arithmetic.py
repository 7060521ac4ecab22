"""Each operation of `arith` and `math`, on each type that it has, means what LLVM makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontend_mlir.lowered import missing_tools
from tests.unit.frontend_mlir.test_differential import check_file

INTEGERS = ("i8", "i16", "i32", "i64")
FLOATS = ("f32", "f64")
WHOLE = ("addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxsi", "minui", "maxui")
DIVISIONS = ("divui", "remui", "ceildivui", "divsi", "remsi", "floordivsi", "ceildivsi")
SHIFTS = ("shli", "shrsi", "shrui")
REAL = ("addf", "subf", "mulf", "divf", "remf", "minimumf", "maximumf", "minnumf", "maxnumf")
FUNCTIONS = (
    "absf", "atan", "cbrt", "ceil", "cos", "exp", "exp2", "expm1", "floor", "round", "roundeven", "sin", "tan", "tanh",
    "trunc",
)  # fmt: skip
POSITIVE = ("log", "log10", "log1p", "log2", "sqrt", "rsqrt")
ORDERS = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_ORDERS = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
CASTS = (
    ("extsi", "i8", "i32"), ("extsi", "i1", "i16"), ("extui", "i8", "i64"), ("extui", "i1", "i32"),
    ("trunci", "i64", "i8"), ("trunci", "i32", "i1"), ("sitofp", "i32", "f64"), ("sitofp", "i1", "f32"),
    ("uitofp", "i16", "f32"), ("uitofp", "i64", "f64"), ("uitofp", "i1", "f32"), ("extf", "f32", "f64"),
    ("truncf", "f64", "f32"), ("fptosi", "f32", "i32"), ("index_cast", "i32", "index"), ("index_cast", "index", "i16"),
    ("index_castui", "i32", "index"), ("index_castui", "index", "i8"),
)  # fmt: skip


def loop(name: str, inputs: tuple[str, ...], output: str, lines: str) -> str:
    """A function that computes `%r` from `%x0`, `%x1`, … for each of twelve elements."""
    parameters = "".join(f"%p{n}: memref<12x{t}>, " for n, t in enumerate(inputs))
    loads = "".join(f"    %x{n} = affine.load %p{n}[%i] : memref<12x{t}>\n" for n, t in enumerate(inputs))
    return (
        f"func.func @{name}({parameters}%out: memref<12x{output}>) {{\n  affine.for %i = 0 to 12 {{\n{loads}{lines}"
        f"    affine.store %r, %out[%i] : memref<12x{output}>\n  }}\n  return\n}}\n"
    )


def integers() -> str:
    out = []
    for t in INTEGERS:
        out += [loop(f"{x}_{t}", (t, t), t, f"    %r = arith.{x} %x0, %x1 : {t}\n") for x in WHOLE]
        out += [
            loop(
                f"{x}_{t}", (t, t), t,
                f"    %w = arith.constant {t[1:]} : {t}\n    %y = arith.remui %x1, %w : {t}\n"
                f"    %r = arith.{x} %x0, %y : {t}\n",
            )
            for x in SHIFTS
        ]  # fmt: skip
        # Divisors are odd, and not -1.
        out += [
            loop(
                f"{x}_{t}", (t, t), t,
                f"    %one = arith.constant 1 : {t}\n    %y = arith.ori %x1, %one : {t}\n"
                f"    %m = arith.constant -1 : {t}\n    %bad = arith.cmpi eq, %y, %m : {t}\n"
                f"    %d = arith.select %bad, %one, %y : {t}\n    %r = arith.{x} %x0, %d : {t}\n",
            )
            for x in DIVISIONS
        ]  # fmt: skip
        out += [loop(f"cmp_{x}_{t}", (t, t), "i1", f"    %r = arith.cmpi {x}, %x0, %x1 : {t}\n") for x in ORDERS]
        out.append(loop(f"absi_{t}", (t,), t, f"    %r = math.absi %x0 : {t}\n"))
    out += [
        loop(f"{x}_i1", ("i1", "i1"), "i1", f"    %r = arith.{x} %x0, %x1 : i1\n")
        for x in ("andi", "ori", "xori", "addi", "subi", "muli")
    ]
    out += [loop(f"cmp_{x}_i1", ("i1", "i1"), "i1", f"    %r = arith.cmpi {x}, %x0, %x1 : i1\n") for x in ORDERS]
    return "".join(out)


def floats(corners: bool) -> str:
    out = []
    for t in FLOATS:
        out += [loop(f"{x}_{t}", (t, t), t, f"    %r = arith.{x} %x0, %x1 : {t}\n") for x in REAL]
        out += [
            loop(f"cmp_{x}_{t}", (t, t), "i1", f"    %r = arith.cmpf {x}, %x0, %x1 : {t}\n") for x in FLOAT_ORDERS
        ]
        # LLVM makes exp(x) - 1 of expm1, which loses the sign of zero.
        functions = [x for x in FUNCTIONS if not corners or x != "expm1"]
        out += [loop(f"{x}_{t}", (t,), t, f"    %r = math.{x} %x0 : {t}\n") for x in functions]
        if not corners:
            out += [
                loop(f"{x}_{t}", (t,), t, f"    %y = math.absf %x0 : {t}\n    %r = math.{x} %y : {t}\n")
                for x in POSITIVE
            ]
            out.append(
                loop(f"powf_{t}", (t, t), t, f"    %y = math.absf %x0 : {t}\n    %r = math.powf %y, %x1 : {t}\n")
            )
            lines = f"    %y = math.absf %x0 : {t}\n    %r = arith.fptoui %y : {t} to i32\n"
            out.append(loop(f"fptoui_{t}", (t,), "i32", lines))
        out += [loop(f"{x}_{t}", (t, t), t, f"    %r = math.{x} %x0, %x1 : {t}\n") for x in ("atan2", "copysign")]
        out.append(loop(f"negf_{t}", (t,), t, f"    %r = arith.negf %x0 : {t}\n"))
        out.append(loop(f"fma_{t}", (t, t, t), t, f"    %r = math.fma %x0, %x1, %x2 : {t}\n"))
        out.append(
            loop(f"select_{t}", ("i1", t, t), t, f"    %r = arith.select %x0, %x1, %x2 : {t}\n")
        )  # fmt: skip
    heads = "".join(f"// {name}: corners\n" for name in _names(out)) if corners else ""
    return heads + "".join(out)


def _names(functions: list[str]) -> list[str]:
    return [x.partition("@")[2].partition("(")[0] for x in functions]


def casts() -> str:
    return "".join(
        loop(f"{x}_{a}_{b}", (a,), b, f"    %r = arith.{x} %x0 : {a} to {b}\n") for x, a, b in CASTS
    )  # fmt: skip


TEXTS = {"integers": integers(), "floats": floats(False), "corners": floats(True), "casts": casts()}


@pytest.mark.parametrize("name", TEXTS)
def test_each_operation(name: str, tmp_path: Path) -> None:
    if missing_tools():
        pytest.skip(f"no {missing_tools()} here")
    path = tmp_path / f"{name}.mlir"
    path.write_text(TEXTS[name])
    check_file(path, tmp_path)
