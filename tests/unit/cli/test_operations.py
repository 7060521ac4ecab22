"""What `planish build --report` and `planish explain` say of statements as operations."""

from __future__ import annotations

import re
from pathlib import Path

from planish.core.span import Source
from planish.options import Options
from planish.report.account import FileAccount, FunctionAccount
from planish.report.explanation import explain_file
from planish.report.operations import report_operations

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "dsp"
GEMM = Source("gemm.c", """\
void gemm(int m, int n, int k, double C[m][n], double A[m][k], double B[n][k])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            C[i][j] = 0;
            for (int p = 0; p < k; p++)
                C[i][j] += A[i][p] * B[j][p];
        }
}
""")  # fmt: skip


def test_a_report_names_form_guards_and_choice() -> None:
    left = FunctionAccount("gemm", 1, False, (), (), "", None, None, None, "")
    account = FileAccount("gemm.c", "", "", "", "reassociate", (left,), ())
    text = report_operations(GEMM, Options(target="x86-avx512"), account)
    assert "=== gemm, line 3" in text and "done[raise]: S0, S1: `" in text
    assert "nothing has to be asked; a product of matrices (nt), for a kernel of the library" in text
    assert text.endswith("note[built]: the original stays in use; nothing was timed\n")
    strict = report_operations(GEMM, Options(target="x86-avx512", fp="strict"), account)
    assert "a product of matrices" not in strict and "(--fp)" in strict


def test_an_explanation_names_operations() -> None:
    text = explain_file(GEMM, Options(target="x86-avx512"))
    assert "a product of matrices (nt)" in text
    # What calls kernels is ranked without an estimate of cycles: none is told.
    assert re.search(r"`operations`: the cheapest by estimate, tried first$", text, re.MULTILINE)


def test_a_long_network_is_told_from_what_has_a_name() -> None:
    """Its values have a great many orders in which they could be spelt."""
    path = EXAMPLES / "median.c"
    assert "loops without a name" in explain_file(Source(str(path), path.read_text()), Options(target="x86-avx512"))
