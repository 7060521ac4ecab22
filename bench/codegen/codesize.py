"""Tables I and II of the paper again: bytes of machine code and executed instructions, isl's code beside ours.

    python -m bench.codegen.codesize        # prints the table; needs gcc or clang, nm and valgrind

Each input becomes one function per tool, whose statements are `A[x]++` on arrays at fixed addresses as in the paper;
`nm -S` tells its size, callgrind the instructions of one call. isl's C is printed by isl itself with its own macros.
Both are compiled with `int` for parameters and iterators as in the paper, and with `ptrdiff_t` as in our drop-ins:
the type alone changes both figures.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import islpy as isl

from bench.codegen.astgen_cases import find_inputs
from planish.astgen.code_size.isl_codegen import run_isl
from planish.astgen.formats import CodegenInput, generate_input, load_input, parse_input
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.ir.expr import Binary, Compare, Const, Expr, index
from planish.ir.index.interval import Interval
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Array, Kernel, Reduce, Stmt
from planish.ir.types import U32
from planish.run.toolchains.toolchain import Compiler, find_compilers

Figures = Mapping[str, tuple[int, int]]
"""Bytes and executed instructions by kind of compiler (of the paper: clang 3.6, gcc 4.9)."""

ROW_LENGTH = 256
"""How many elements lie between the rows of a two-dimensional array of the statements."""

FLAGS = {
    "gcc": ("-fno-tree-vectorize", "-fno-tree-slp-vectorize"),
    "clang": ("-fno-vectorize", "-fno-slp-vectorize", "-Wno-parentheses-equality"),
}
COMMON = ("-O3", "-std=gnu11", "-march=sandybridge", "-fno-unroll-loops", "-fno-pic", "-w")
"""The paper's flags: -O3 -march=corei7-avx without vectorisation and unrolling. We do not pass its -fno-inline: no
function here calls one that matters, and small functions are our counterpart of isl's macros."""

THREADS = "[t1] -> { : 0 <= t1 < 128 }"
EXISTENTIAL = "{ S[i] -> [i] : exists a, b: i = 2a + 3b and 0 <= a < 3 and 0 <= b and 0 <= i < 8 }"
BOUNDS = """[t1, t2] -> { S[i, j] -> [i, j] : exists a, b: 0 <= i <= 1 and t1 = j + 128a and 0 <= j + 2b < 128
 and 510 <= t2 + 2b <= 514 and 0 <= 2b - t2 <= 5 }"""
NEAR = "[t1, t2] -> { : 125 <= t1 <= 127 and 254 <= t2 <= 256 }"
UNROLLED = "{ [i] -> unroll[x]; [i, j] -> unroll[x] }"
FIGURE_7 = """[n] -> { S0[i] -> [i] : exists a: 1 <= i <= n and i = 4a;
 S1[i] -> [i] : exists a: 1 <= i <= n and i = 4a + 2 }"""


@dataclass(frozen=True, slots=True)
class Case:
    """An input, the parameter values with which it is called, and what the paper measured of other tools' code."""

    name: str
    input: CodegenInput
    sizes: Mapping[str, int]
    paper: Mapping[str, Figures]


def _case(
    name: str, parts: tuple[str, str, str], sizes: Mapping[str, int], paper: Mapping[str, tuple[int, int, int, int]]
) -> Case:
    figures = {tool: {"clang": (x[0], x[1]), "gcc": (x[2], x[3])} for tool, x in paper.items()}
    return Case(name, parse_input("\n".join(parts), f"{name}.in"), sizes, figures)


def written_cases() -> list[Case]:
    """The inputs that the paper gives as formulas. Of "multiple bounds" it does not state the context; we take the one
    of isl's own test of it. The values of parameters are our choice, each lets the statements run."""
    shifted = "[t1] -> {{ S[i] -> [i] : 7 <= i <= {last} and i mod 128 = t1 }}"
    near = {"t1": 126, "t2": 255}
    generated = {"CodeGen+": (116, 14, 145, 15)}
    return [
        _case(
            "modulo, simple",
            ("[n] -> { S[i] -> [i] : i = n mod 128 }", "[n] -> { : n >= 0 }", "{ }"),
            {"n": 1000},
            {"CodeGen+": (100, 15, 66, 5), "isl": (38, 9, 28, 8), "isl, unsigned": (12, 3, 11, 3)},
        ),
        _case(
            "modulo, shifted",
            (shifted.format(last=134), THREADS, "{ }"),
            {"t1": 50},
            {**generated, "isl": (45, 10, 33, 9), "isl, unsigned": (16, 4, 16, 4)},
        ),
        _case(
            "modulo, conditional",
            (shifted.format(last=130), THREADS, "{ }"),
            {"t1": 50},
            {**generated, "isl": (78, 19, 63, 18), "isl, unsigned": (29, 8, 29, 8)},
        ),
        _case("two existentials", (EXISTENTIAL, "{ : }", "{ }"), {}, {"isl": (49, 8, 49, 8)}),
        _case("two existentials, unrolled", (EXISTENTIAL, "{ : }", UNROLLED), {}, {"isl": (49, 8, 49, 8)}),
        _case("multiple bounds", (BOUNDS, NEAR, "{ }"), near, {"isl": (260, 1966, 367, 2120)}),
        _case("multiple bounds, unrolled", (BOUNDS, NEAR, UNROLLED), near, {"isl": (140, 20, 150, 21)}),
        _case("figure 7", (FIGURE_7, "{ : }", "[n] -> { [i] -> separate[x] }"), {"n": 100}, {}),
    ]


STORED = {
    "cloog/youcefn.st": ("figure 8", {"n": 100, "m": 120}),
    "pldi2012/figure7_b.in": ("Chen's figure 7 (b)", {"n": 5}),
    "pldi2012/figure7_c.in": ("Chen's figure 7 (c)", {"n": 5}),
    "pldi2012/figure7_d.in": ("Chen's figure 7 (d)", {"n": 5}),
    "pldi2012/figure8_a.in": ("Chen's figure 8 (a)", {"n": 100}),
    "pldi2012/figure8_b.in": ("Chen's figure 8 (b)", {"n": 100}),
}
"""What is read from isl's own tests where they are there."""


def stored_cases() -> list[Case]:
    """The inputs of the other figures."""
    found = {"/".join(path.parts[-2:]): path for path in find_inputs(None)}
    return [
        Case(name, load_input(str(found[path])), sizes, {}) for path, (name, sizes) in STORED.items() if path in found
    ]


@dataclass(frozen=True, slots=True)
class Row:
    """What one function takes: `tool` is "ours" or "isl", `type` that of parameters and iterators."""

    case: str
    tool: str
    type: str
    compiler: str
    size: int
    instructions: int


@dataclass(frozen=True, slots=True)
class Function:
    """The C text of one function, and the values it is called with."""

    case: str
    tool: str
    type: str
    name: str
    text: str
    values: tuple[int, ...]


TOOLS = ("ours", "isl")
TYPES = ("int", "ptrdiff_t")


def missing() -> str:
    """Why nothing can be measured here; "" where it can."""
    for program in ("nm", "valgrind"):
        if shutil.which(program) is None:
            return f"there is no {program} here"
    return "" if pick_compilers() else "there is neither gcc nor clang here"


def pick_compilers() -> list[Compiler]:
    """One gcc and one clang, as far as they are there."""
    found = find_compilers()
    return [next(x for x in found if x.kind == kind) for kind in ("gcc", "clang") if any(x.kind == kind for x in found)]


def measure_tables(cases: Sequence[Case] | None = None) -> list[Row]:
    """Bytes and instructions of all cases, tools and compilers; RuntimeError where a tool refuses (see `missing`)."""
    functions = list(write_functions([*written_cases(), *stored_cases()] if cases is None else cases))
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for compiler in pick_compilers():
            rows += measure(functions, compiler, Path(folder))
    return rows


def write_functions(cases: Sequence[Case]) -> Iterator[Function]:
    """The functions of every case."""
    for number, case in enumerate(cases):
        values = tuple(case.sizes[x] for x in case.input.parameters)
        for tool, write in zip(TOOLS, (write_ours, write_isl), strict=True):
            for type in TYPES:
                name = f"measured_{number}_{tool}_{type}"
                yield Function(case.name, tool, type, name, write(case, name, type), values)


def cell(statement: str) -> str:
    """The array that a statement counts in."""
    return f"cells_{statement}"


def _flat(at: Sequence[Expr]) -> Expr:
    out: Expr = index(0)
    for x in at:
        out = Binary("add", Binary("mul", index(ROW_LENGTH), out), x)
    return simplify(out)


def _declared(case: Case) -> str:
    """The statements' arrays, of unknown extent: a compiler can conclude nothing from them."""
    return "".join(f"extern uint32_t {cell(x)}[];\n" for x in statement_names(case))


def statement_names(case: Case) -> list[str]:
    """The names of the statements of an input."""
    names: set[str] = set()
    case.input.instances().foreach_set(lambda part: names.add(part.get_tuple_name()))
    return sorted(names)


def write_ours(case: Case, name: str, type: str) -> str:
    """Our code for a case as it stands in a drop-in (but for the type), its statements counting."""

    def count(statement: str, at: tuple[Expr, ...]) -> Stmt:
        return Reduce(cell(statement), (_flat(at),), "add", Const(1, U32))

    nest = generate_input(case.input, count)
    bounds = parameter_ranges(case.input)
    body = simplify_block(nest, bounds)
    arrays = tuple(Array(cell(x), U32, (None,)) for x in statement_names(case))
    assumed = tuple(Compare("ge", index(x), index(low)) for x, (low, _) in bounds.items() if low > -BIG)
    kernel = Kernel(name, case.input.parameters, arrays=arrays, body=body, assumptions=assumed)
    text = emit_function(kernel, name)
    # The arrays lie at fixed addresses as in the paper, so the parameters that point to them go.
    parameters = ", ".join(f"ptrdiff_t {x}" for x in case.input.parameters) or "void"
    function = f"void {name}({parameters})\n{{\n{text.partition(chr(10) + '{' + chr(10))[2]}"
    return emit_prologue([_declared(case) + re.sub(r"\bptrdiff_t\b", type, function)])


BIG = 1 << 40


def parameter_ranges(found: CodegenInput) -> dict[str, Interval]:
    """The constant bounds that the context gives each parameter, BIG where it gives none."""
    out: dict[str, Interval] = {}
    known = found.context.intersect_params(isl.Set.universe(found.context.get_space().params()))
    for position in range(known.dim(isl.dim_type.param)):
        name = known.get_dim_name(isl.dim_type.param, position)
        alone = isl.Set.from_params(known).move_dims(isl.dim_type.set, 0, isl.dim_type.param, position, 1)
        alone = alone.project_out(isl.dim_type.param, 0, alone.dim(isl.dim_type.param))
        low, high = alone.dim_min_val(0), alone.dim_max_val(0)
        out[name] = int(low.to_python()) if low.is_int() else -BIG, int(high.to_python()) if high.is_int() else BIG
    return out


def write_isl(case: Case, name: str, type: str) -> str:
    """isl's code for a case as isl prints it, with its macros."""
    tree = run_isl(case.input)
    printer = isl.Printer.to_str(tree.get_ctx()).set_output_format(isl.format.C)
    macros = tree.print_macros(printer).get_str()
    printer = isl.Printer.to_str(tree.get_ctx()).set_output_format(isl.format.C)
    code = re.sub(r"\bfor \(int ", f"for ({type} ", printer.print_ast_node(tree).get_str())
    counting = ""
    for statement in statement_names(case):
        places = [f"x{i}" for i in range(statement_rank(case, statement))]
        place = "0"
        for x in places:
            place = f"({place}) * {ROW_LENGTH} + ({x})" if place != "0" else f"({x})"
        counting += f"#define {statement}({', '.join(places)}) {cell(statement)}[{place}]++\n"
    parameters = ", ".join(f"{type} {x}" for x in case.input.parameters) or "void"
    head = "#include <stddef.h>\n#include <stdint.h>\n"
    return f"{head}{_declared(case)}{macros}{counting}void {name}({parameters})\n{{\n{code}}}\n"


def statement_rank(case: Case, statement: str) -> int:
    """How many dimensions a statement has."""
    ranks: list[int] = []

    def visit(part: isl.Set) -> None:
        if part.get_tuple_name() == statement:
            ranks.append(part.dim(isl.dim_type.set))

    case.input.instances().foreach_set(visit)
    return ranks[0]


def measure(functions: Sequence[Function], compiler: Compiler, folder: Path) -> list[Row]:
    """All functions with one compiler, in one program that calls each of them once."""
    objects = []
    for function in functions:
        source = folder / f"{function.name}.c"
        source.write_text(function.text)
        objects.append(_compile(source, compiler))
    sizes = {function.name: read_size(path, function.name) for function, path in zip(functions, objects, strict=True)}
    counts = count_instructions(functions, objects, compiler, folder)
    return [Row(x.case, x.tool, x.type, compiler.kind, sizes[x.name], counts[x.name]) for x in functions]


def _compile(source: Path, compiler: Compiler) -> Path:
    out = source.with_suffix(".o")
    _run([str(compiler.path), *COMMON, *FLAGS[compiler.kind], "-c", str(source), "-o", str(out)])
    return out


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} ends with code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def read_size(path: Path, name: str) -> int:
    """The bytes of a function in an object file."""
    for line in _run(["nm", "-S", str(path)]).splitlines():
        match line.split():
            case [_, size, _, found] if found == name:
                return int(size, 16)
            case _:
                pass
    raise RuntimeError(f"nm finds no {name} in {path}")


def count_instructions(
    functions: Sequence[Function], objects: Sequence[Path], compiler: Compiler, folder: Path
) -> dict[str, int]:
    """The instructions that one call of each function executes, with what it calls."""
    main, program, counted = folder / "main.c", folder / "main", folder / "callgrind.out"
    cells = sorted({x for function in functions for x in re.findall(r"\bextern uint32_t (\w+)\[\]", function.text)})
    declared = "".join(f"void {x.name}();\n" for x in functions)
    calls = "".join(f"  {x.name}({', '.join(f'({x.type}){v}' for v in x.values)});\n" for x in functions)
    room = 1 << 16
    main.write_text(
        f"#include <stddef.h>\n#include <stdint.h>\nuint32_t storage[{(len(cells) + 1) * room}];\n"
        f"{declared}int main(void)\n{{\n{calls}  return 0;\n}}\n"
    )
    # Each array begins in the middle of its share, since the inputs have negative subscripts.
    places = [f"-Wl,--defsym={x}=storage+{(i * room + room // 2) * 4}" for i, x in enumerate(cells)]
    path = _compile(main, compiler)
    _run([str(compiler.path), "-no-pie", str(path), *map(str, objects), *places, "-o", str(program)])
    _run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={counted}", "--compress-strings=no", str(program)])
    return read_costs(counted.read_text(), {x.name for x in functions})


def read_costs(text: str, names: set[str]) -> dict[str, int]:
    """The inclusive costs of functions that are called once each, from callgrind's file."""
    out: dict[str, int] = {}
    called = ""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("cfn="):
            called = line.removeprefix("cfn=")
        elif line.startswith("calls="):
            cost = int(next(lines).split()[-1])
            if called in names:
                out[called] = cost
    if out.keys() != names:
        raise RuntimeError(f"callgrind did not see {', '.join(sorted(names - out.keys()))}")
    return out


def losses(rows: Sequence[Row]) -> list[str]:
    """The cells in which ours takes more than isl's with the same type, in words."""
    rivals = {(x.case, x.type, x.compiler): x for x in rows if x.tool == "isl"}
    out = []
    for row in (x for x in rows if x.tool == "ours"):
        rival = rivals[row.case, row.type, row.compiler]
        where = f"{row.case}, {row.type}, {row.compiler}"
        if row.size > rival.size:
            out.append(f"{where}: {row.size} bytes, isl {rival.size}")
        if row.instructions > rival.instructions:
            out.append(f"{where}: {row.instructions} instructions, isl {rival.instructions}")
    return out


def describe(cases: Sequence[Case], rows: Sequence[Row]) -> Iterator[str]:
    """The table: bytes/instructions with the paper's compilers, then with those here."""
    kinds = ("clang", "gcc")
    yield "bytes/instructions; the paper's: clang 3.6 and gcc 4.9; here: " + ", ".join(
        f"{x.name} {x.version}" for x in pick_compilers()
    )
    yield f"{'':28}" + "".join(f"{kind:>14}" for kind in kinds)
    for case in cases:
        yield f"{case.name} ({', '.join(f'{k} = {v}' for k, v in case.sizes.items()) or 'no parameters'})"
        for tool, figures in case.paper.items():
            yield _line(f"paper, {tool}", ["{}/{}".format(*figures[kind]) for kind in kinds])
        for type in TYPES:
            for tool in TOOLS:
                here = [x for x in rows if (x.case, x.tool, x.type) == (case.name, tool, type)]
                found = {x.compiler: f"{x.size}/{x.instructions}" for x in here}
                yield _line(f"{tool}, {type}", [found.get(kind, "-") for kind in kinds])


def _line(label: str, cells: Sequence[str]) -> str:
    return f"    {label:24}" + "".join(f"{x:>14}" for x in cells)


def main() -> int:
    """Print the table and where ours takes more."""
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        return 0
    cases = [*written_cases(), *stored_cases()]
    rows = measure_tables(cases)
    print("\n".join(describe(cases, rows)))
    lost = losses(rows)
    print("\n".join(["", "ours takes more:", *lost] if lost else ["", "ours is at or below isl in every cell"]))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
