"""Schedules by hand from Python: the nest of a function as a program, and machine code from what steps make of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import planish
from planish.schedule.steps import STEPS
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.kernels import Assume, PartialEval

MATVEC = """
void matvec(int n, const double *a, const double *x, double *y) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      y[i] += a[i * n + j] * x[j];
}
"""
TWO = MATVEC + MATVEC.replace("matvec", "other")


def test_a_scheduled_program_is_compiled(tmp_path: Path) -> None:
    program = planish.program(MATVEC).apply(Assume("n >= 4"), Reorder("i", ("j", "i")))
    run = planish.compile(MATVEC, script=program, cache=planish.Cache(tmp_path))
    assert run.report.transformed and run.report.account.version == "script"
    for n in (0, 1, 3, 4, 17):
        a, x, y = np.arange(n * n, dtype=float), np.ones(n), np.full(n, 2.0)
        run(n, a, x, y)
        assert (y == a.reshape(n, n).sum(axis=1) + 2).all()


def test_a_fixed_size_is_checked_when_it_is_called(tmp_path: Path) -> None:
    program = planish.program(MATVEC).apply(PartialEval("n", 8))
    assert program.kernel.sizes == ()
    run = planish.compile(MATVEC, script=program, cache=planish.Cache(tmp_path))
    for n in (7, 8):
        a, x, y = np.arange(n * n, dtype=float), np.ones(n), np.zeros(n)
        run(n, a, x, y)
        assert (y == a.reshape(n, n).sum(axis=1)).all()


def test_a_script_may_be_text(tmp_path: Path) -> None:
    run = planish.compile(MATVEC, script='reorder("i", ("j", "i"))', cache=planish.Cache(tmp_path))
    assert "schedule-step" not in run.source and run.report.transformed
    with pytest.raises(planish.PlanishError, match="E0621"):
        planish.compile(MATVEC, script="retile()", cache=planish.Cache(tmp_path))


@pytest.mark.parametrize(
    ("text", "function", "code"),
    [
        (TWO, None, "E0121"),
        (MATVEC.replace("y[i] +=", "y[i * (i + 1) / 2 + j] +="), None, "E0612"),
        ("void f(int n, float *a) { for (int i = 0; i < n; i++) a[i] = 0; a[0] = 1;"
         " for (int i = 0; i < n; i++) a[i] = 1; if (n) a = 0; for (int i = 0; i < n; i++) a[i] = 1; }", None, "E0623"),
    ],
)  # fmt: skip
def test_what_is_no_single_nest_is_refused(text: str, function: str | None, code: str) -> None:
    with pytest.raises(planish.PlanishError, match=code):
        planish.program(text, function)


def test_one_of_several_functions_is_chosen() -> None:
    assert planish.program(TWO, "other").kernel.name == "other"


def test_programs_show_themselves() -> None:
    assert planish.program(MATVEC)._repr_html_().startswith("<pre>kernel matvec(n; ")


def test_steps_have_names_and_examples() -> None:
    assert len(STEPS) >= 25
    for name, step in STEPS.items():
        assert step.__doc__ and name.islower()
        shown = any(x in step.__doc__ for x in (">>> show_step(", ">>> print(program.apply("))
        assert shown or name in ("rename",), f"{name} has no example"
