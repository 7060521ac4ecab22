"""Studies of machines: the same functions on variants of one description."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from planish.build.machine_study import MachineStudy, read_axis, study
from planish.cli.machines.commands import study as run_study
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.options import Options
from planish.report.vliw_machines.study import study_figure, study_rows, study_table

TEXT = """
void product(const float a[restrict 2][2], const float b[restrict 2][16], float c[restrict 2][16])
{
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 16; j++) {
            float sum = 0;
            for (int k = 0; k < 2; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}
"""


@pytest.fixture(scope="module")
def found() -> MachineStudy:
    axes = [read_axis("constants.VPES=1,4"), read_axis("units.VMAC.count=1,2")]
    return study([Source("product.c", TEXT)], "ftmatrix", axes, Options())


def test_more_of_a_machine_does_no_worse(found: MachineStudy) -> None:
    assert found.functions == ("product",) and len(found.points) == 4
    gains = {x.values: found.mean(x) for x in found.points}
    for (lanes, units), gain in gains.items():
        assert all(gain <= y for (a, b), y in gains.items() if int(a) >= int(lanes) and int(b) >= int(units))
    assert gains["4", "2"] > 1.5


def test_the_table_the_rows_and_the_figure_have_all_machines(found: MachineStudy) -> None:
    assert study_table(found).row_count == 4
    rows = study_rows(found).splitlines()
    assert rows[0].startswith("VPES,VMAC,function,cycles") and len(rows) == 5
    figure = study_figure(found)
    assert figure.startswith("<svg") and figure.count("<circle") == 4 and ">product<" in figure


def test_wrong_axes_are_told(tmp_path: Path) -> None:
    for text in ("VMAC", "units.VMAC.count=", "a.b.c.d=1"):
        with pytest.raises(PlanishError, match="E0722"):
            read_axis(text)
    (tmp_path / "f.c").write_text(TEXT)
    with pytest.raises(typer.Exit) as error:
        run_study([str(tmp_path / "f.c")], ["units.NONE.count=2"])
    assert error.value.exit_code == 1
