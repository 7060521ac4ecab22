"""`planish select` shows instructions for files and expressions, and says what is wrong with others."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.cli.entry import main

HISTORY = """#include <stdint.h>
void blend(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int both = a[i] + b[i];
        out[i] = both > 255 ? 255 : both;
    }
}
void sum(int n, const float *a, float *out) { for (int i = 0; i < n; i++) out[i] = a[i] + 1; }
"""


@pytest.mark.parametrize(
    ("target", "wanted"),
    [("x86-avx2", "_mm256_adds_epu8"), ("x86-avx512", "_mm512_adds_epu8"), ("aarch64-neon", "vqaddq_u8")],
)
def test_a_file_is_shown_with_its_instructions(
    target: str, wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.c").write_text(HISTORY)
    assert main(["select", str(tmp_path / "f.c"), "--target", target]) == 0
    shown = capsys.readouterr().out
    assert "blend, line 4: strips of" in shown and "proven" in shown and wanted in shown
    assert "sum, line 9: no loop of integers that strips are made of" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "there is nothing to select for"),
        (["--expr", "1 + 2"], "the expression has no names"),
        (["--expr", "a + b", "--type", "f32"], "`f32` is no type of elements"),
        (["--expr", "a + n"], "`n` is a name of the loop around"),
        (["--expr", "a + b", "--target", "generic"], "no vector instructions are known for `generic`"),
        (["--expr", "a +"], "error"),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["select", *arguments]) == 1
    assert said in capsys.readouterr().err


def test_an_expression_of_words_is_narrowed(capsys: pytest.CaptureFixture[str]) -> None:
    text = "(a > 255 ? 255 : a < 0 ? 0 : a)"
    assert main(["select", "--expr", text, "--type", "i16", "--result", "u8", "--target", "x86-avx2"]) == 0
    assert "_mm256_packus_epi16" in capsys.readouterr().out


def test_names_and_types_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    text = "(uint8_t)((int)point + mint)"
    assert main(["select", "--expr", text, "--target", "x86-avx2"]) == 0
    assert "_mm256_add_epi8" in capsys.readouterr().out
