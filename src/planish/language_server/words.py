"""What was found in a file in the words of the Language Server Protocol.

>>> nest = {"line": 2, "end_line": 4, "version": "maxfuse", "does": ["lanes along loop 1"], "why": []}
>>> whole = {"name": "f", "line": 1, "verdict": "f (a.c:1): to be replaced", "outcome": "", "nests": [nest]}
>>> print(hover_text({"functions": [whole], "problems": []}, 3))
**`f`**, lines 2 to 4: to be replaced by `maxfuse`
<BLANKLINE>
- lanes along loop 1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lsprotocol import types as lsp
from pygls.workspace import PositionCodec

SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "information": lsp.DiagnosticSeverity.Information,
}


def diagnostics_of(found: Mapping[str, Any], text: str, codec: PositionCodec) -> list[lsp.Diagnostic]:
    """Errors as such, and what is refused as information: the code is right as it stands. Columns of the `text` are
    told in the units that the editor counts in."""
    out, lines = [], text.split("\n")
    for x in found["problems"]:
        said = f"{x['message']}\nhelp: {x['help']}" if x["help"] else x["message"]
        begin, end = lsp.Position(x["line"] - 1, x["column"] - 1), lsp.Position(x["end_line"] - 1, x["end_column"] - 1)
        place, severity = codec.range_to_client_units(lines, lsp.Range(begin, end)), SEVERITIES[x["severity"]]
        out.append(lsp.Diagnostic(place, said, severity, x["code"], source="planish"))
    return out


def hover_text(found: Mapping[str, Any], line: int) -> str:
    """What is said of the nest on a line, or of the function that begins there; "" for nothing."""
    for function in found["functions"]:
        for nest in function["nests"]:
            if nest["line"] <= line <= nest["end_line"]:
                return _nest(function, nest)
        if function["line"] == line:
            built = f"\n\n{function['outcome']}" if function["outcome"] else ""
            return f"```text\n{function['verdict']}\n```{built}"
    return ""


def _nest(function: Mapping[str, Any], nest: Mapping[str, Any]) -> str:
    become = f"to be replaced by `{nest['version']}`" if nest["version"] else "stays as written"
    head = f"**`{function['name']}`**, lines {nest['line']} to {nest['end_line']}: {become}"
    lines = [f"- {x}" for x in (*nest["does"], *nest["why"])]
    built = [f"Last build: {function['outcome']}"] if function["outcome"] else []
    return "\n\n".join([head, *(["\n".join(lines)] if lines else []), *built])


def code_lenses(found: Mapping[str, Any] | None, uri: str, build: str, report: str) -> list[lsp.CodeLens]:
    """Over each function with loops: build it, with what the last build came to; and the page on it."""
    out = []
    for x in found["functions"] if found is not None else ():
        place = lsp.Range(lsp.Position(x["line"] - 1, 0), lsp.Position(x["line"] - 1, 0))
        title = f"Build ({x['outcome']})" if x["outcome"] else "Build"
        out.append(lsp.CodeLens(place, lsp.Command(title, build, arguments=[uri, x["name"]])))
        out.append(lsp.CodeLens(place, lsp.Command("Report", report, arguments=[uri, x["name"]])))
    return out
