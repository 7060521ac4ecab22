"""The programs that are made kernels, what their arguments are, what they should compute, and which anchors they meet.

>>> program = next(x for x in PROGRAMS if x.name == "gemm")
>>> program.sizes_at(7, 1)
{'m': 7, 'n': 10, 'k': 13, 'lda': 18, 'ldb': 16, 'ldc': 22}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parents[1] / "programs" / "gpu"
Values = Mapping[str, Any]
"""Sizes, scalars and tensors by their names in the C text."""


@dataclass(frozen=True, slots=True)
class Version:
    """A way to build a program: options of `planish build`, and a script beside the sources."""

    name: str = "own"
    options: tuple[str, ...] = ()
    script: str = ""


@dataclass(frozen=True, slots=True)
class Tensor:
    """An array: its shape in terms of sizes, its role (`in`, `out`: poisoned before, `inout`, `sum`: one cell that is
    zero before), its type as torch and NumPy name it."""

    shape: tuple[str, ...]
    role: str = "in"
    type: str = "float32"


@dataclass(frozen=True, slots=True)
class Anchor:
    """What a program is measured beside: `make(torch, values, own)` gives a call without arguments that computes the
    same; `own` are the launches of anchors.cu. `work`: how much it does, as a share of what the program does.
    `steps`: what stands for `bar` where the program meets another one."""

    name: str
    make: Callable[[Any, Values, Any], Callable[[], object]]


@dataclass(frozen=True, slots=True)
class Measure:
    """A size at which a program is timed, and its bars beside anchors (by card: "" is for every one)."""

    size: int
    bars: Mapping[str, float] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    label: str = ""
    card_bars: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """How it is named in claims."""
        return self.label or str(self.size)


@dataclass(frozen=True, slots=True)
class Program:
    """A C function, its arguments, its reference in float64 (`reference(torch, values)` gives changed arrays by name),
    and the work of a call: `flops` or `bytes` in terms of sizes."""

    name: str
    part: str
    sizes: Callable[[int, int], dict[str, int]]
    tensors: Mapping[str, Tensor]
    work: Callable[[Mapping[str, int]], float]
    unit: str
    reference: Callable[[Any, Values], Values] | None = None
    anchors: tuple[Anchor, ...] = ()
    measures: tuple[Measure, ...] = ()
    scalars: Mapping[str, float] = field(default_factory=dict)
    checks: tuple[int, ...] = (0, 1, 7, 37, 131, 256)
    tolerance: float = 2e-5
    versions: tuple[Version, ...] = (Version(),)
    function: str = ""
    source_name: str = ""

    @property
    def source(self) -> str:
        """The stem of its C file."""
        return self.source_name or self.name

    def sizes_at(self, size: int, skew: int) -> dict[str, int]:
        """Its sizes: all alike, or (skew 1) different from each other."""
        return self.sizes(size, skew)


def _matrix_sizes(n: int, s: int) -> dict[str, int]:
    return {"m": n, "n": n + 3 * s, "k": n + 6 * s}


def _strided_sizes(n: int, s: int) -> dict[str, int]:
    return {**_matrix_sizes(n, s), "lda": n + 11 * s, "ldb": n + 9 * s, "ldc": n + 15 * s}


def _square(n: int, s: int) -> dict[str, int]:
    return {"n": n, "m": n + 5 * s}


def _images(batch: int, outputs: int, inputs: int, h: int, w: int) -> dict[str, int]:
    """With a border of one element on each side of an input."""
    return {"batch": batch, "outputs": outputs, "inputs": inputs, "h": h, "w": w, "H": h + 2, "W": w + 2}


def _flat(n: int, s: int) -> dict[str, int]:
    return {"n": n + s}


def _product(torch: Any, v: Values) -> Any:
    return v["a"][:, : v["k"]] @ v["b"][:, : v["n"]]


def _strided_reference(torch: Any, v: Values) -> Values:
    out = v["c"].clone()
    out[:, : v["n"]] = _product(torch, v)
    return {"c": out}


def _mm(left: Callable[[Any], Any], right: Callable[[Any], Any]) -> Callable[[Any, Values, Any], Callable[[], object]]:
    """A call of the library's product, into an array of its own."""

    def make(torch: Any, v: Values, own: Any) -> Callable[[], object]:
        a, b = left(v["a"]), right(v["b"])
        out = torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=a.dtype)
        return lambda: torch.mm(a, b, out=out)

    return make


def _same(x: Any) -> Any:
    return x


def _turned(x: Any) -> Any:
    return x.t()


def _converted(type: str) -> Callable[[Any, Values, Any], Callable[[], object]]:
    def make(torch: Any, v: Values, own: Any) -> Callable[[], object]:
        a, b = (v[x].to(getattr(torch, type)) for x in "ab")
        return lambda: torch.mm(a, b)

    return make


def _tf32(torch: Any, v: Values, own: Any) -> Callable[[], object]:
    a, b = v["a"], v["b"]

    def call() -> None:
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.mm(a, b)
        torch.backends.cuda.matmul.allow_tf32 = False

    return call


def _cublas(left: Callable[[Any], Any] = _same, right: Callable[[Any], Any] = _same) -> Anchor:
    return Anchor("cublas", _mm(left, right))


def _eager(f: Callable[..., Any], *names: str, name: str = "eager") -> Anchor:
    """torch, as it is."""
    return Anchor(name, lambda torch, v, own: lambda: f(torch, *(v[x] for x in names)))


_COMPILED: dict[str, Any] = {}
"""What torch has compiled, by name: it is compiled once for all buffers."""


def _compiled(key: str, f: Callable[..., Any], *names: str) -> Anchor:
    """The same by torch.compile."""

    def make(torch: Any, v: Values, own: Any) -> Callable[[], object]:
        if key not in _COMPILED:
            _COMPILED[key] = torch.compile(lambda *x: f(torch, *x), dynamic=False)
        made, given = _COMPILED[key], [v[x] for x in names]
        return lambda: made(*given)

    return Anchor("compile", make)


def _copy(elements: Callable[[Values], int]) -> Anchor:
    """The ceiling: a copy of our own that moves as many bytes as the program."""

    def make(torch: Any, v: Values, own: Any) -> Callable[[], object]:
        n = elements(v) // 4 * 4
        a, b = (torch.zeros(n, device=own.place) for _ in range(2))
        return own.bind("anchor_copy", n, a, b)

    return Anchor("copy", make)


def _own_step(name: str, *sizes: str) -> Anchor:
    """A step of our own with one point a thread, as often as the program makes one."""

    def make(torch: Any, v: Values, own: Any) -> Callable[[], object]:
        dims = [v[x] for x in sizes]
        calls = [own.bind(name, *dims, v["a"], v["b"]), own.bind(name, *dims, v["b"], v["a"])]
        times = v.get("steps")

        def call() -> None:
            for _ in range(times or 0):
                calls[0]()
                calls[1]()

        return call if times is not None else calls[0]

    return Anchor("one_step", make)


def _heat_reference(weights: tuple[float, float, float]) -> Callable[[Any, Values], Values]:
    """A step on a plane, or pairs of them."""

    def step(a: Any, b: Any) -> None:
        centre, sides, corners = weights
        b[1:-1, 1:-1] = centre * a[1:-1, 1:-1] + sides * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        if corners:
            b[1:-1, 1:-1] += corners * (a[:-2, :-2] + a[:-2, 2:] + a[2:, :-2] + a[2:, 2:])

    return _steps_of(step)


def _steps_of(step: Callable[[Any, Any], None]) -> Callable[[Any, Values], Values]:
    def reference(torch: Any, v: Values) -> Values:
        if "steps" not in v:
            b = v["b"].clone()
            step(v["a"], b)
            return {"b": b}
        a, b = v["a"].clone(), v["b"].clone()
        for _ in range(v["steps"]):
            step(a, b)
            step(b, a)
        return {"a": a, "b": b}

    return reference


def _space_step(a: Any, b: Any) -> None:
    c = slice(1, -1)
    near = a[:-2, c, c] + a[2:, c, c] + a[c, :-2, c] + a[c, 2:, c] + a[c, c, :-2] + a[c, c, 2:]
    b[1:-1, 1:-1, 1:-1] = 0.4 * a[1:-1, 1:-1, 1:-1] + 0.1 * near


GEMM_BARS = {1024: 0.85, 2048: 0.85, 3001: 0.7, 4096: 0.85, 8192: 0.85}


def _gemm_measures(*sizes: int) -> tuple[Measure, ...]:
    return tuple(Measure(x, {"cublas": GEMM_BARS[x]}) for x in sizes)


def _gemm(name: str, a: tuple[str, str], b: tuple[str, str], left: Any, right: Any, measures: Any) -> Program:
    tensors = {"a": Tensor(a), "b": Tensor(b), "c": Tensor(("m", "n"), "out")}
    return Program(
        name, "gemm", _matrix_sizes, tensors, _flops, "TFLOPS", lambda t, v: {"c": left(v["a"]) @ right(v["b"])},
        (_cublas(left, right),), measures,
    )  # fmt: skip


def _flops(v: Mapping[str, int]) -> float:
    return 2e-12 * v["m"] * v["n"] * v["k"]


def _bytes(passes: int, *dims: str) -> Callable[[Mapping[str, int]], float]:
    """Gigabytes of so many passes over an array."""

    def work(v: Mapping[str, int]) -> float:
        count = 4e-9 * passes
        for x in dims:
            count *= v[x]
        return count

    return work


def _points(*dims: str) -> Callable[[Mapping[str, int]], float]:
    """Gigapoints of all steps."""

    def work(v: Mapping[str, int]) -> float:
        count = 1e-9 * 2 * v.get("steps", 0.5)
        for x in dims:
            count *= max(v[x] - 2, 0)
        return count

    return work


def _layer_norm(torch: Any, x: Any) -> Any:
    return torch.nn.functional.layer_norm(x, (x.shape[1],), eps=1e-5)


def _atax(torch: Any, a: Any, x: Any) -> Any:
    return a.t() @ (a @ x)


def _rms_norm(torch: Any, gain: Any, x: Any) -> Any:
    return gain * (x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-6))


def _log_softmax_in_place(torch: Any, v: Values) -> Values:
    out = v["z"].clone()
    if v["cols"]:
        out[:, : v["cols"]] = out[:, : v["cols"]].log_softmax(1)
    return {"z": out}


def _rows(name: str, f: Callable[..., Any], out: str, passes: int, bars: Mapping[str, float]) -> Program:
    """A program on the rows of a matrix: one tensor in, one out."""
    vector = out == "sums"
    given = "a" if vector else "x"
    tensors = {given: Tensor(("n", "m")), out: Tensor(("n",) if vector else ("n", "m"), "out")}
    return Program(
        name, "rows", _square, tensors, _bytes(passes, "n", "m"), "GB/s",
        lambda t, v: {out: f(t, v[given])} if v["m"] else {},
        (_eager(f, given), _compiled(name, f, given)), (Measure(8192, bars),),
        {"eps": 1e-5} if name == "layer_norm" else {}, tolerance=1e-4,
    )  # fmt: skip


def _repeated(n: int, bar: float, bar_h200: float) -> tuple[Measure, ...]:
    """32 and 128 steps beside so many of our own, one after the other."""
    cards = {"H200": {"one_step": bar_h200}}
    return tuple(Measure(n, {"one_step": bar}, {"n": n, "steps": x // 2}, f"{n}x{x}", cards) for x in (32, 128))


def _heat(name: str, weights: tuple[float, float, float]) -> tuple[Program, Program]:
    """A step on a plane, and pairs of steps."""
    one = Program(
        name, "stencils", _square, {"a": Tensor(("n", "m")), "b": Tensor(("n", "m"), "out")},
        _points("n", "m"), "Gpoint/s", _heat_reference(weights),
        (_copy(lambda v: v["n"] * v["m"]), _own_step(f"anchor_{name}", "n", "m")),
        (Measure(4096, {"copy": 0.85}), Measure(8192, {"copy": 0.85}), Measure(16384, {"copy": 0.85})),
    )  # fmt: skip
    many = Program(
        f"{name}_steps", "time_tiles", lambda n, s: {"n": n, "steps": 1 + 3 * s if n > 4 else s},
        {"a": Tensor(("n", "n"), "inout"), "b": Tensor(("n", "n"), "inout")}, _points("n", "n"), "Gpoint/s",
        _heat_reference(weights), (_own_step(f"anchor_{name}", "n", "n"),),
        _repeated(16384, 2.0, 1.6),
    )  # fmt: skip
    return one, many


_FIVE, _FIVE_STEPS = _heat("heat2d_5", (0.5, 0.125, 0.0))
_NINE, _NINE_STEPS = _heat("heat2d_9", (0.25, 0.125, 0.0625))

PROGRAMS: tuple[Program, ...] = (
    Program(
        "gemm", "gemm", _strided_sizes,
        {"a": Tensor(("m", "lda")), "b": Tensor(("k", "ldb")), "c": Tensor(("m", "ldc"), "out")}, _flops, "TFLOPS",
        _strided_reference,
        (_cublas(), Anchor("cublas_tf32", _tf32), Anchor("cublas_bf16", _converted("bfloat16"))),
        _gemm_measures(1024, 2048, 3001, 4096, 8192),
    ),
    _gemm("gemm_arrays", ("m", "k"), ("k", "n"), _same, _same, _gemm_measures(3001, 4096)),
    _gemm("gemm_ta", ("k", "m"), ("k", "n"), _turned, _same, _gemm_measures(3001, 4096)),
    _gemm("gemm_tb", ("m", "k"), ("n", "k"), _same, _turned, _gemm_measures(3001, 4096)),
    Program(
        "gemm_scaled", "gemm", _matrix_sizes,
        {"a": Tensor(("m", "k")), "b": Tensor(("k", "n")), "c": Tensor(("m", "n"), "inout")}, _flops, "TFLOPS",
        lambda t, v: {"c": 1.5 * (v["a"] @ v["b"]) + 0.5 * v["c"]},
        (Anchor("cublas", lambda t, v, own: lambda: t.addmm(v["c"], v["a"], v["b"], beta=0.5, alpha=1.5)),),
        _gemm_measures(4096), {"alpha": 1.5, "beta": 0.5},
    ),
    Program(
        "gemm_batched", "small", lambda n, s: {"count": 3 if n < 257 else 1, "n": n},
        {x: Tensor(("count", "n", "n"), "out" if x == "c" else "in") for x in "abc"},
        lambda v: 2e-12 * v["count"] * v["n"] ** 3, "TFLOPS", lambda t, v: {"c": v["a"] @ v["b"]},
        (Anchor("bmm", lambda t, v, own: lambda: t.bmm(v["a"], v["b"])),),
        tuple(Measure(x, {"bmm": 1.0}, {"n": x, "count": 4096}, f"4096x{x}") for x in (32, 64)),
        checks=(0, 1, 7, 32, 64, 131),
    ),
    Program(
        "gemm_columns", "small", lambda n, s: {"total": 3 if n < 257 else 1, "m": n, "n": n + 3 * s, "k": n + s},
        {
            "left": Tensor(("total", "k", "m")), "right": Tensor(("total", "n", "k")),
            "to": Tensor(("total", "n", "m"), "out"),
        },
        lambda v: 2e-12 * v["total"] * v["m"] * v["n"] * v["k"], "TFLOPS",
        lambda t, v: {"to": 0.5 * (v["right"] @ v["left"])},
        (Anchor("bmm", lambda t, v, own: lambda: t.bmm(v["right"], v["left"])),),
        (Measure(48, {"bmm": 1.0}, {"total": 4096, "m": 48, "n": 48, "k": 48}, "4096x48"),),
        checks=(0, 1, 7, 32, 64, 131),
    ),
    Program(
        "gemm_fixed", "small", lambda n, s: {"count": n},
        {x: Tensor(("count", "64", "64"), "out" if x == "c" else "in") for x in "abc"},
        lambda v: 2e-12 * v["count"] * 64**3, "TFLOPS", lambda t, v: {"c": v["a"] @ v["b"]},
        (Anchor("bmm", lambda t, v, own: lambda: t.bmm(v["a"], v["b"])),),
        (Measure(4096, {"bmm": 1.0}, {"count": 4096}, "4096x64"),), checks=(0, 1, 7, 67),
    ),
    Program(
        "conv3x3", "small", lambda n, s: _images(2, 5, 3, n, n + 3 * s),
        {
            "x": Tensor(("batch", "inputs", "H", "W")), "k": Tensor(("outputs", "inputs", "3", "3")),
            "y": Tensor(("batch", "outputs", "h", "w"), "out"),
        },
        lambda v: 18e-12 * v["batch"] * v["outputs"] * v["inputs"] * v["h"] * v["w"], "TFLOPS",
        lambda t, v: {"y": t.nn.functional.conv2d(v["x"], v["k"])} if v["h"] * v["w"] else {},
        (Anchor("cudnn", lambda t, v, own: lambda: t.nn.functional.conv2d(v["x"], v["k"])),),
        tuple(
            Measure(x, {"cudnn": 0.6}, _images(x, 64, 64, 56, 56), f"batch{x}") for x in (1, 32)
        ),
        checks=(0, 1, 7, 37, 56),
    ),
    Program(
        "axpy", "rows", _flat, {"x": Tensor(("n",)), "y": Tensor(("n",), "inout")}, _bytes(3, "n"), "GB/s",
        lambda t, v: {"y": v["y"] + 0.25 * v["x"]},
        (_copy(lambda v: v["n"] * 3 // 2), _eager(lambda t, x, y: t.add(y, x, alpha=0.25), "x", "y")),
        (Measure(1 << 26, {"copy": 0.9}), Measure((1 << 26) - 5, {"copy": 0.9}, label="odd")), {"a": 0.25},
        checks=(0, 1, 7, 255, 256, 10_007),
    ),
    Program(
        "transpose", "rows", _square, {"a": Tensor(("n", "m")), "b": Tensor(("m", "n"), "out")},
        _bytes(2, "n", "m"), "GB/s", lambda t, v: {"b": v["a"].t()},
        (_copy(lambda v: v["n"] * v["m"]), _eager(lambda t, a: a.t().contiguous(), "a")),
        (Measure(8192, {"copy": 0.85}), Measure(8191, {"copy": 0.85}, label="odd")),
    ),
    Program(
        "dot", "rows", _flat, {"x": Tensor(("n",)), "y": Tensor(("n",)), "sum": Tensor((), "sum")},
        _bytes(2, "n"), "GB/s", lambda t, v: {"sum": (v["x"] * v["y"]).sum().reshape(1)},
        (_eager(lambda t, x, y: (x * y).sum(), "x", "y"), _compiled("dot", lambda t, x, y: (x * y).sum(), "x", "y")),
        (Measure(1 << 26, {"compile": 0.9}),), checks=(0, 1, 7, 255, 256, 10_007, 200_000), tolerance=2e-4,
    ),
    _rows("row_sums", lambda t, a: a.sum(1), "sums", 1, {"compile": 0.9}),
    _rows("softmax", lambda t, x: x.softmax(1), "y", 2, {"compile": 0.9}),
    _rows("layer_norm", _layer_norm, "y", 2, {"compile": 0.9}),
    Program(
        "log_softmax", "rows", lambda n, s: {"rows": n, "cols": n + 5 * s, "ld": n + 9 * s},
        {"z": Tensor(("rows", "ld"), "inout")}, _bytes(2, "rows", "cols"), "GB/s", _log_softmax_in_place,
        (_eager(lambda t, z: z.log_softmax(1), "z"), _compiled("log_softmax", lambda t, z: z.log_softmax(1), "z")),
        (Measure(8192, {"compile": 0.9}), Measure(1024, {"compile": 0.9})), tolerance=1e-4,
    ),
    Program(
        "rms_norm", "rows", _square,
        {x: Tensor(s, r, "float64") for x, s, r in (
            ("gain", ("m",), "in"), ("in", ("n", "m"), "in"), ("out", ("n", "m"), "out"))},
        _bytes(4, "n", "m"), "GB/s", lambda t, v: {"out": _rms_norm(t, v["gain"], v["in"])},
        (_eager(_rms_norm, "gain", "in"), _compiled("rms_norm", _rms_norm, "gain", "in")),
        (Measure(4096, {"compile": 0.9}),), tolerance=1e-12,
    ),
    Program(
        "atax", "rows", lambda n, s: {"m": n, "n": n + 5 * s},
        {"a": Tensor(("m", "n")), "x": Tensor(("n",)), "y": Tensor(("n",), "out"), "tmp": Tensor(("m",), "out")},
        _bytes(2, "m", "n"), "GB/s",
        lambda t, v: {"tmp": v["a"] @ v["x"], "y": v["a"].t() @ (v["a"] @ v["x"])},
        (_eager(_atax, "a", "x"), _compiled("atax", _atax, "a", "x")),
        (Measure(8192, {"compile": 0.9}),), tolerance=2e-4,
    ),
    _FIVE, _NINE,
    Program(
        "heat3d", "stencils", lambda n, s: {"n": n},
        {"a": Tensor(("n", "n", "n")), "b": Tensor(("n", "n", "n"), "out")}, _points("n", "n", "n"), "Gpoint/s",
        _steps_of(_space_step),
        (_copy(lambda v: v["n"] ** 3), _own_step("anchor_heat3d", "n")),
        tuple(Measure(x, {"copy": 0.85}) for x in (384, 512, 768)), checks=(0, 1, 3, 7, 37, 67),
    ),
    _FIVE_STEPS, _NINE_STEPS,
    Program(
        "heat3d_steps", "time_tiles", lambda n, s: {"n": n, "steps": 1 + 3 * s if n > 4 else s},
        {"a": Tensor(("n", "n", "n"), "inout"), "b": Tensor(("n", "n", "n"), "inout")},
        _points("n", "n", "n"), "Gpoint/s", _steps_of(_space_step), (_own_step("anchor_heat3d", "n"),),
        _repeated(768, 1.3, 1.1),
        checks=(0, 1, 3, 7, 37, 67),
    ),
)  # fmt: skip
PARTS = ("gemm", "stencils", "time_tiles", "rows", "small")
"""In the order in which they are measured."""
