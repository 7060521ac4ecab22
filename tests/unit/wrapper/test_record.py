"""Records of builds through the wrapper: what is read again, and files that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.cli.entry import main
from planish.wrapper.record import SourceRecord, append_record, read_records
from planish.wrapper.request import TranslatedFunction

WHOLE = SourceRecord(
    "a.c", "/p", ("gcc", "-c", "a.c"), "a.o", "taken", "", 0.5,
    (TranslatedFunction("f", 3, True, "gemv-rows", ("rows",), ()),), True, False, "strict",
)  # fmt: skip


def test_what_is_appended_is_read(tmp_path: Path) -> None:
    append_record(str(tmp_path / "r"), WHOLE)
    assert read_records(str(tmp_path / "r")) == (WHOLE,)


@pytest.mark.parametrize(
    "text",
    ["{", "3", "[]", '"format"', '{"format": 0}', '{"format": 1, "functions": 3}', '{"format": 1, "command": []}'],
)
def test_what_is_no_record_is_told(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r").write_text(f"{text}\n")
    assert main(["cc", "--summary", str(tmp_path / "r")]) == 1
    assert "error[E0114]" in capsys.readouterr().err
