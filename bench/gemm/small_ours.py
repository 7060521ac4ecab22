"""Our products of small sizes as a shared library, a function for each, made by the library's schedule.

    library = build_small(((4, 4, 32), (33, 17, 256)))   # its symbol FINDER finds them, as gemm_race wants
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from os import cpu_count
from pathlib import Path

from bench.gemm.gemm_ours import FLAGS, FOLDER, run_tool
from bench.harness.contest import compiler_state
from planish.emit.dropin.kernel_file import emit_file
from planish.ir.types import BY_NAME
from planish.isa.instruction import Catalogue, Instruction
from planish.isa.shipped import shipped
from planish.library.kernels.gemm.small import GemmSize, make_small
from planish.library.kernels.vectors import find_vectors

Shape = tuple[int, int, int]

FINDER = "find_small"
CHUNK = 40
"""The sizes in a file: compilers take long over large ones."""


def build_small(shapes: Sequence[Shape], extension: str = "avx512", element: str = "f32") -> Path:
    """The library; RuntimeError where it cannot be made."""
    key = hashlib.sha256(repr((sorted(shapes), extension, element)).encode()).hexdigest()[:16]
    folder = FOLDER / compiler_state() / f"small-{key}"
    library = folder / "small.so"
    if library.exists():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    chunks = [sorted(shapes)[start : start + CHUNK] for start in range(0, len(shapes), CHUNK)]
    with ProcessPoolExecutor(cpu_count()) as pool:
        made = [pool.submit(_build_chunk, folder / f"{i}.c", x, extension, element) for i, x in enumerate(chunks)]
        objects = [str(x.result()) for x in made]
    source = folder / "find.c"
    source.write_text(_finder(shapes))
    run_tool(["gcc", *FLAGS, str(source), *objects, "-o", str(library)])
    return library


def name_of(shape: Shape) -> str:
    """The function of a size."""
    return f"small_{'x'.join(map(str, shape))}"


def _build_chunk(source: Path, shapes: Sequence[Shape], extension: str, element: str) -> Path:
    vectors = find_vectors(extension, BY_NAME[element])
    known: dict[str, Instruction] = {}
    kernels = [make_small(name_of((m, n, k)), GemmSize(vectors, m, n, k), known).kernel for m, n, k in shapes]
    catalogue = shipped().joined(Catalogue().with_instructions(known.values()))
    source.write_text(emit_file(*kernels, catalogue=catalogue, inline=True))
    target = source.with_suffix(".o")
    run_tool(["gcc", *(x for x in FLAGS if x != "-shared"), "-c", str(source), "-o", str(target)])
    return target


def _finder(shapes: Sequence[Shape]) -> str:
    """C that finds the function of a size whose rows follow one another."""
    names = [name_of(shape) for shape in shapes]
    rows = [f"  {{{m}, {n}, {k}, {name}}}," for (m, n, k), name in zip(shapes, names, strict=True)]
    return "\n".join([
        "#include <stddef.h>", *(f"void {name}();" for name in names),
        "static const struct { int m, n, k; void (*function)(); } all[] = {", *rows, "};",
        f"void *{FINDER}(int m, int n, int k, int lda, int ldb, int ldc)", "{",
        "  for (size_t i = 0; i < sizeof all / sizeof *all; i++)",
        "    if (all[i].m == m && all[i].n == n && all[i].k == k && lda == k && ldb == n && ldc == n)",
        "      return (void *)all[i].function;", "  return NULL;", "}", "",
    ])  # fmt: skip
