"""Functions that are no kernels: each is refused at the right place, with a stable code and advice."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from planish.core.diagnostic import PlanishError
from planish.frontend.python.reader import read_python, read_python_source
from planish.frontend.python.signature import bind_call

FOLDER = Path(__file__).parents[2] / "errors" / "python"
FILES = sorted(FOLDER.glob("*.py.txt"))


def test_there_are_files() -> None:
    assert len(FILES) > 40


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name.split(".")[0])
def test_refused_where_the_first_line_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    expected = re.fullmatch(r"# (E\d+) (\d+):(\d+) (.+)", text.splitlines()[0])
    assert expected is not None
    code, line, column, message = expected.groups()
    with pytest.raises(PlanishError) as caught:
        read_python_source(text, path.name)
    found = caught.value.diagnostic
    assert found.span is not None
    assert (found.code, found.span.line, found.span.column) == (code, int(line), int(column)), str(caught.value)
    assert message in found.message
    assert "^" in str(caught.value)


def test_lambda_and_builtin_have_no_text() -> None:
    for function in (lambda: None, len):
        with pytest.raises(PlanishError, match="E0301"):
            read_python(function)


def test_function_without_a_file() -> None:
    scope: dict[str, object] = {}
    exec("def made():\n    pass\n", scope)
    made = scope["made"]
    assert callable(made)
    with pytest.raises(PlanishError, match="E0301.*is not to be had"):
        read_python(made)


def test_a_file_that_changed_since_it_was_imported(tmp_path: Path) -> None:
    path = tmp_path / "changing.py"
    text = 'def f(n: size, A: f32["n"]):\n    for i in range(n):\n        A[i] = 0\n'
    path.write_text("from __future__ import annotations\n" + text)
    spec = importlib.util.spec_from_file_location("changing", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text("from __future__ import annotations\n\n\n" + text)
    with pytest.raises(PlanishError, match="E0301.*has changed"):
        read_python(module.f)


def test_unknown_function_in_text_names_the_others() -> None:
    with pytest.raises(PlanishError, match="E0303") as caught:
        read_python_source("def one(): pass\ndef two(): pass\n", "x.py", "three")
    assert caught.value.diagnostic.help == "it has `one`, `two`"


def test_data_dependent_bound_of_python_data_is_no_size() -> None:
    text = 'def f(n: i32, A: f32["m"]):\n    for i in range(n):\n        A[i] = 0\n'
    with pytest.raises(PlanishError, match="E0315") as caught:
        read_python_source(text, "x.py")
    assert caught.value.diagnostic.help == "annotate it as a size: `n: size`"


SCALE = 'def scale(n: size, alpha: f32, A: f32["n", "n + 1"]):\n    for i in range(n):\n        A[i, i] *= alpha\n'


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), "E0340"),
        ((2, 1.0, np.zeros((2, 3), "float32"), 4), "E0340"),
        ((2, 1.0, [1.0]), "E0341"),
        ((2, 1.0, np.zeros((2, 3))), "E0341"),
        ((2.5, 1.0, np.zeros((2, 3), "float32")), "E0341"),
        ((2, "x", np.zeros((2, 3), "float32")), "E0341"),
        ((2, 1.0, np.zeros(3, "float32")), "E0342"),
        ((3, 1.0, np.zeros((2, 3), "float32")), "E0342"),
        ((1.0, np.zeros((2, 2), "float32")), "E0342"),
    ],
)
def test_calls_that_do_not_fit(arguments: tuple[object, ...], code: str) -> None:
    signature = read_python_source(SCALE, "x.py").signature
    with pytest.raises(PlanishError) as caught:
        bind_call(signature, arguments, {})
    assert caught.value.diagnostic.code == code


def test_sizes_are_solved_from_shapes_or_missed() -> None:
    signature = read_python_source(SCALE, "x.py").signature
    array = np.zeros((4, 5), "float32")
    assert bind_call(signature, (1.0, array), {})["n"] == 4
    assert bind_call(signature, (4, 1.0), {"A": array})["n"] == 4
    loose = 'def f(n: size, A: f32["n // 2"]):\n    for i in range(n // 2):\n        A[i] = 1\n'
    with pytest.raises(PlanishError, match="E0340"):
        bind_call(read_python_source(loose, "x.py").signature, (), {"A": np.zeros(3, "float32")})
    hidden = 'def f(A: f32["2 * n"]):\n    for i in range(2 * n):\n        A[i] = 1\n'
    assert bind_call(read_python_source(hidden, "x.py").signature, (np.zeros(6, "float32"),), {})["n"] == 3
    with pytest.raises(PlanishError, match="E0343"):
        bind_call(read_python_source(hidden, "x.py").signature, (np.zeros(7, "float32"),), {})
