"""Every remark has an id that the table of reasons knows, and every refusal, error and note says what to change."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from planish.core.codes import CODES
from planish.core.done_remarks import DONE
from planish.core.reasons import LOSSES, REASONS, help_for, meaning_of
from planish.schedule.auto.policies import POLICIES

SOURCE = Path(__file__).resolve().parents[3] / "src" / "planish"
FILES = sorted(SOURCE.rglob("*.py"))


def calls(names: set[str]) -> Iterator[tuple[Path, ast.Call, str]]:
    """The calls of functions and classes of these names, with the name."""
    called = re.compile(rf"\b({'|'.join(names)})\(")
    for path in FILES:
        text = path.read_text()
        # Most modules have no such call, and need no tree.
        for node in ast.walk(ast.parse(text)) if called.search(text) else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                yield path, node, node.func.id


@lru_cache
def constants(path: Path) -> dict[str, object]:
    """The constants of a module by their names."""
    body = ast.parse(path.read_text()).body
    found = [x for x in body if isinstance(x, ast.Assign) and isinstance(x.value, ast.Constant)]
    return {ast.unparse(x.targets[0]): ast.literal_eval(x.value) for x in found}


def text_of(argument: ast.expr, path: Path) -> object:
    """The value of an argument that is a constant, or named by one of its module; else None."""
    return argument.value if isinstance(argument, ast.Constant) else constants(path).get(ast.unparse(argument))


@lru_cache(maxsize=1)
def used() -> tuple[tuple[str, str, str], ...]:
    """Each id that stands in the code, its kind, and where."""
    return tuple(sorted(find_ids()))


def find_ids() -> Iterator[tuple[str, str, str]]:
    """Each id that stands in the code, its kind, and where."""
    for path, call, name in calls({"Remark", "Refused", "NotIndex", "refused", "done"}):
        in_python = path.is_relative_to(SOURCE / "frontend" / "python")
        where, texts = f"{path}:{call.lineno}", [text_of(x, path) for x in call.args]
        match name:
            case "Remark" if isinstance(texts[0], str):
                yield texts[0], str(texts[1]), where
            case "Remark" if ast.unparse(call.args[0]).startswith("LOSSES["):
                yield from ((x, str(texts[1]), where) for x in LOSSES.values())
            case "Refused" if not in_python and isinstance(texts[0], str):
                yield texts[0], "refused", where
            case "NotIndex" if len(texts) > 2 and isinstance(texts[2], str):
                yield texts[2], "refused", where
            case "refused" if path.is_relative_to(SOURCE / "raising" / "algebra") and isinstance(texts[0], str):
                yield texts[0], "refused", where
            case "done" if path.is_relative_to(SOURCE / "raising" / "algebra") and isinstance(texts[1], str):
                yield texts[1], "done", where


def test_there_are_many() -> None:
    assert len({id for id, _, _ in used()}) > 60


def test_every_id_is_in_the_table() -> None:
    assert [x for x in used() if not (DONE.get(x[0]) if x[1] == "done" else help_for(x[0]))] == []


def test_strategies_are_in_the_table() -> None:
    assert all(DONE[f"schedule-{x.name}"] for x in POLICIES)


def test_every_reason_has_a_meaning_and_help() -> None:
    assert len({x.id for x in REASONS}) == len(REASONS)
    for reason in REASONS:
        assert meaning_of(reason.id) and help_for(reason.id), reason


def test_no_reason_is_left_over() -> None:
    # What ended an analysis is told by the id of its cause.
    known = {*LOSSES.values(), *(id for id, kind, _ in used() if kind != "done")}
    assert [x.id for x in REASONS if x.id not in known] == []


def test_every_code_is_in_the_table() -> None:
    used = {code for path in FILES if path.name != "codes.py" for code in re.findall(r"\bE\d{4}\b", path.read_text())}
    assert used == set(CODES)
    assert all(x.meaning and x.help for x in CODES.values())
