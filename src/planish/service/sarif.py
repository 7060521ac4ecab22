"""What is said of files as SARIF 2.1.0, which editors and code hosts show beside the lines.

>>> problem = {"line": 3, "column": 5, "end_line": 3, "end_column": 9, "severity": "information", "code": "scop-call",
...            "message": "a call of `g`", "help": "define it in the file"}
>>> (run,) = to_sarif([("a.c", {"problems": [problem], "functions": []})])["runs"]
>>> run["results"][0]["ruleId"], run["results"][0]["level"], run["tool"]["driver"]["rules"][0]["help"]["text"]
('scop-call', 'note', 'define it in the file')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from planish.core.codes import CODES
from planish.core.reasons import meaning_of
from planish.version import VERSION

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "information": "note"}


def to_sarif(files: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """The problems of some files, by their names, as one run of the tool."""
    problems = [(name, x) for name, found in files for x in found["problems"]]
    rules: dict[str, dict[str, Any]] = {}
    for _, x in problems:
        rule = {"id": x["code"], "shortDescription": {"text": _meaning(x["code"])}}
        rules.setdefault(x["code"], {**rule, **({"help": {"text": x["help"]}} if x["help"] else {})})
    driver = {"name": "planish", "version": VERSION, "rules": list(rules.values())}
    results = [_result(name, x, list(rules).index(x["code"])) for name, x in problems]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _meaning(code: str) -> str:
    return CODES[code].meaning if code in CODES else meaning_of(code)


def _result(name: str, problem: Mapping[str, Any], rule: int) -> dict[str, Any]:
    text = f"{problem['message']}\n{problem['help']}" if problem["help"] else problem["message"]
    region = {"startLine": problem["line"], "startColumn": problem["column"], "endLine": problem["end_line"],
              "endColumn": problem["end_column"]}  # fmt: skip
    place = Path(name).as_uri() if Path(name).is_absolute() else quote(Path(name).as_posix())
    location = {"physicalLocation": {"artifactLocation": {"uri": place}, "region": region}}
    level = _LEVELS[problem["severity"]]
    return {"ruleId": problem["code"], "ruleIndex": rule, "level": level, "message": {"text": text},
            "locations": [location]}  # fmt: skip
