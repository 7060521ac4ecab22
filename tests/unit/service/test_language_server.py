"""The language server through its protocol: diagnostics, hovers, lenses, a build, and an orderly end."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock, patch

import pytest

from planish.core.diagnostic import PlanishError
from planish.report.store import build_cached
from planish.service.pool import RequestError, WorkerPool
from planish.service.requests import answer
from planish.service.wishes import read_wishes

pygls = pytest.importorskip("pygls.workspace", reason="the language server needs pygls")
language_server = pytest.importorskip("planish.language_server.server")
words = pytest.importorskip("planish.language_server.words")

TEXT = """\
void scale(int n, float *restrict y, const float *restrict x) {
    for (int i = 0; i < n; i++)
        y[i] = 2.0f * x[i];
}
void chase(int n, int *next) {
    for (int i = 0; i < n; i++)
        next[next[i]] = i;
}
"""


class Editor:
    """An editor that speaks the protocol by hand."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "planish", "lsp"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.count = 0
        self.heard: list[dict[str, Any]] = []

    def send(self, method: str, params: Any, wants: bool = True) -> Any:
        """The result of a request; None of a notification."""
        self.count += wants
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": self.count} if wants else {})
        self._write(message)
        if wants:
            return self._until(lambda x: x.get("id") == self.count and "method" not in x)["result"]
        return None

    def hear(self, method: str) -> Any:
        """The parameters of the next message of a kind."""
        return self._until(lambda x: x.get("method") == method)["params"]

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        data = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def _until(self, wanted: Any) -> dict[str, Any]:
        while True:
            for place, message in enumerate(self.heard):
                if wanted(message):
                    return self.heard.pop(place)
            message = self._read()
            if "id" in message and "method" in message:
                self._write({"jsonrpc": "2.0", "id": message["id"], "result": None})
            self.heard.append(message)

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        size = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b": ")
            size = int(value) if name == b"Content-Length" else size
        assert size, "the server ended"
        message: dict[str, Any] = json.loads(self.process.stdout.read(size))
        return message


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    found = Editor()
    found.send("initialize", {
        "processId": os.getpid(), "rootUri": None,
        "capabilities": {"workspace": {"codeLens": {"refreshSupport": True}}},
        "initializationOptions": {"measure": False, "target": "native", "sizes": {}},
    })  # fmt: skip
    found.send("initialized", {}, wants=False)
    yield found
    found.send("shutdown", None)
    found.send("exit", None, wants=False)
    assert found.process.wait(20) == 0


def test_an_editor_is_served(editor: Editor, tmp_path: Path) -> None:
    path = tmp_path / "two.c"
    path.write_text(TEXT)
    uri = path.as_uri()
    document = {"uri": uri}
    opened = {**document, "languageId": "c", "version": 1, "text": TEXT}
    editor.send("textDocument/didOpen", {"textDocument": opened}, wants=False)
    (problem,) = editor.hear("textDocument/publishDiagnostics")["diagnostics"]
    assert (problem["code"], problem["severity"], problem["range"]["start"]["line"]) == ("scop-data", 3, 6)
    assert "help: " in problem["message"] and problem["source"] == "planish"

    at = {"textDocument": document, "position": {"line": 2, "character": 10}}
    assert "to be replaced by `maxfuse`" in editor.send("textDocument/hover", at)["contents"]["value"]
    assert editor.send("textDocument/hover", {**at, "position": {"line": 3, "character": 0}}) is None
    lenses = editor.send("textDocument/codeLens", {"textDocument": document})
    assert [x["command"]["title"] for x in lenses] == ["Build", "Report"] * 2

    command = lenses[0]["command"]
    run = {"command": command["command"], "arguments": command["arguments"]}
    written = editor.send("workspace/executeCommand", run)
    assert [Path(x).name for x in written] == ["two.c", "two.h"] and Path(written[0]).parent.name == "planish-out"
    assert "scale: replaced" in editor.hear("window/showMessage")["message"]
    assert "planish_scale_1" in Path(written[0]).read_text()

    change = {"textDocument": {**document, "version": 2}, "contentChanges": [{"text": "void f( {\n"}]}
    editor.send("textDocument/didChange", change, wants=False)
    while not (told := editor.hear("textDocument/publishDiagnostics"))["diagnostics"] or told.get("version") != 2:
        pass
    assert told["diagnostics"][0]["severity"] == 1 and told["diagnostics"][0]["code"].startswith("E02")
    editor.send("textDocument/didClose", {"textDocument": document}, wants=False)
    assert editor.hear("textDocument/publishDiagnostics")["diagnostics"] == []


def test_a_text_in_no_file_is_looked_at_and_not_built(editor: Editor) -> None:
    uri = "untitled:Untitled-1"
    opened = {"uri": uri, "languageId": "c", "version": 1, "text": "/* \ud800 */" + TEXT}
    editor.send("textDocument/didOpen", {"textDocument": opened}, wants=False)
    (problem,) = editor.hear("textDocument/publishDiagnostics")["diagnostics"]
    assert problem["code"] == "scop-data"
    for command, empty in (("planish.build", []), ("planish.report", "")):
        assert editor.send("workspace/executeCommand", {"command": command, "arguments": [uri, ""]}) == empty
        assert "save it first" in editor.hear("window/showMessage")["message"]


def test_what_something_else_wrote_is_not_replaced(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "planish-out").mkdir()
    (tmp_path / "one.c").write_text(TEXT)
    uri = (tmp_path / "one.c").as_uri()
    foreign = {"one.html": "<!doctype html>\n<p>mine", "one.c": "int x; /* Generated by Planish? no */"}
    for name, text in foreign.items():
        (tmp_path / "planish-out" / name).write_text(text)
    for command, name, empty in (("planish.report", "one.html", ""), ("planish.build", "one.c", [])):
        assert editor.send("workspace/executeCommand", {"command": command, "arguments": [uri]}) == empty
        assert f"{name} is in the way" in editor.hear("window/showMessage")["message"]
    assert {x.name: x.read_text() for x in (tmp_path / "planish-out").iterdir()} == foreign
    (tmp_path / "planish-out" / "one.html").unlink()
    page = editor.send("workspace/executeCommand", {"command": "planish.report", "arguments": [uri, "scale"]})
    assert editor.send("workspace/executeCommand", {"command": "planish.report", "arguments": [uri]}) == page
    assert Path(page).stat().st_mode == (tmp_path / "one.c").stat().st_mode


def test_columns_are_counted_as_the_editor_counts() -> None:
    text = 'int f; char *s = "\U0001f600\U0001f600", x'
    problem = {"line": 1, "column": 24, "end_line": 1, "end_column": 25, "severity": "error", "code": "E0201",
               "message": "wrong", "help": ""}  # fmt: skip
    for encoding, begin in (("utf-16", 25), ("utf-32", 23), ("utf-8", 29)):
        (told,) = words.diagnostics_of({"problems": [problem]}, text, pygls.PositionCodec(encoding))
        assert (told.range.start.character, told.range.end.character) == (begin, begin + 1)


def test_a_file_that_was_closed_while_it_was_built_is_not_looked_at(tmp_path: Path) -> None:
    uri = (tmp_path / "a.c").as_uri()
    server = language_server.make_server()
    made = {"files": {"a.c": "/* Generated by Planish */"}, "functions": []}
    with (
        patch.object(server, "request"), patch.object(server, "say"), patch.object(server, "look_soon") as look,
        patch.object(server.pool, "ask", AsyncMock(return_value=made)),
        patch.object(type(server), "workspace", Mock(text_documents={})),
    ):  # fmt: skip
        built = server.protocol.fm.commands["planish.build"]
        assert asyncio.run(built(uri)) == [str(tmp_path.resolve() / "planish-out" / "a.c")]
        look.assert_not_called()
        server.workspace.text_documents[uri] = None
        asyncio.run(built(uri))
        look.assert_called_once_with(uri, 0.0)


def test_a_worker_that_is_killed_while_it_answers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import sys; sys.stdin.readline(); print('{\"result\": {\"fun', end='')"
    monkeypatch.setattr("planish.service.pool._COMMAND", (sys.executable, "-c", text))

    async def ask() -> None:
        await WorkerPool(1).ask({"do": "analyse"}, 60.0)

    with pytest.raises(RequestError) as found:
        asyncio.run(ask())
    assert found.value.fields["code"] == "E0130" and "the process that did it ended" in found.value.fields["text"]


def test_a_session_builds_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    builds = []

    def build(*given: Any, **more: Any) -> Any:
        builds.append(given)
        return build_cached(*given, **more)

    monkeypatch.setattr("planish.service.requests.build_cached", build)
    request = {"do": "session", "name": "two.c", "text": TEXT, "options": {"measure": False}}
    result = answer(request)["result"]
    assert len(builds) == 1 and "Planish report" in result["page"] and set(result["files"]) == {"two.c", "two.h"}
    assert [(x["function"], x["state"]) for x in result["functions"]] == [("scale", "replaced"), ("chase", "kept")]
    assert result["functions"][0]["outcome"] == "replaced; nothing was timed"


def test_the_extension_has_the_options_of_the_server() -> None:
    folder = Path(__file__).parents[3] / "editors" / "vscode"
    properties = json.loads((folder / "package.json").read_text())["contributes"]["configuration"]["properties"]
    given = {name.removeprefix("planish."): x["default"] for name, x in properties.items()}
    assert given.pop("command") == ["planish", "lsp"]
    assert read_wishes(given) == read_wishes({})
    listed = (folder / "extension.js").read_text().partition("NAMES = ")[2].partition(";")[0]
    assert sorted(json.loads(listed)) == sorted(given)


def test_a_wrong_option_is_told_by_name() -> None:
    for given in ({"sizes": {"n": -1}}, {"fp": "fast"}, {"threads": 0}, {"speed": 3}, {"functions": [1]}):
        with pytest.raises(PlanishError, match="E0128"):
            read_wishes(given)


@pytest.mark.parametrize("include", ['#include "two.h"', '  # include "./two.h"'])
def test_a_header_of_the_users_is_no_file_of_a_drop_in(include: str, tmp_path: Path) -> None:
    (tmp_path / "two.h").write_text("#define FACTOR 3\n")
    request = {"do": "build", "name": str(tmp_path / "two.c"), "text": f"{include}\n{TEXT}",
               "options": {"measure": False, "functions": ["chase"]}}  # fmt: skip
    assert set(answer(request)["result"]["files"]) == {"two.c"}
