"""The server for editors: diagnostics from remarks, hovers with the verdict on a nest, code lenses that build.

    make_server().start_io()
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from planish.build.project import MADE_BY, OUTPUT
from planish.core.diagnostic import PlanishError
from planish.core.files import check_ours, write_whole
from planish.language_server.words import SEVERITIES, code_lenses, diagnostics_of, hover_text
from planish.report.page.rendering import GENERATOR, HEAD
from planish.service.pool import RequestError, WorkerPool
from planish.version import VERSION

PAUSE = 0.5
"""Seconds without a change before a text is looked at."""
PATIENCE, BUILD_PATIENCE = 60.0, 600.0
"""Seconds for a look at a file, and for a build."""
BUILD, REPORT = "planish.build", "planish.report"


class PlanishServer(LanguageServer):
    """What is known of the files that are open; `wishes` are the options of all requests."""

    def __init__(self) -> None:
        super().__init__("planish", VERSION, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
        self.pool = WorkerPool(2)
        self.wishes: dict[str, Any] = {}
        self.known: dict[str, dict[str, Any]] = {}
        self.waiting: dict[str, asyncio.Task[None]] = {}

    def request(self, uri: str, what: str) -> dict[str, Any]:
        """A request on the text of a file as it stands in the editor."""
        path = to_fs_path(uri) or uri
        text = self.workspace.get_text_document(uri).source.encode("utf-8", "replace").decode()  # no half pairs
        return {"do": what, "name": path, "text": text, "options": self.wishes}

    def look_soon(self, uri: str, pause: float = PAUSE) -> None:
        """Looks at a file when nothing has changed for a while."""
        if (task := self.waiting.pop(uri, None)) is not None:
            task.cancel()
        self.waiting[uri] = asyncio.get_running_loop().create_task(self.look(uri, pause))

    async def look(self, uri: str, pause: float = 0.0) -> None:
        """Looks at a file, and tells the editor what it found."""
        await asyncio.sleep(pause)
        document, request = self.workspace.get_text_document(uri), self.request(uri, "analyse")
        version = document.version
        try:
            found = await self.pool.ask(request, PATIENCE)
        except RequestError as error:
            problem = {"line": 1, "column": 1, "end_line": 1, "end_column": 2, "severity": "warning", **error.fields}
            found = {"problems": [{**problem, "line": problem["line"] or 1}], "functions": []}
        self.known[uri] = found
        diagnostics = diagnostics_of(found, request["text"], document.position_codec)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics, version))
        workspace = self.client_capabilities.workspace
        if workspace and workspace.code_lens and workspace.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)  # not awaited: a change would cancel it, and its answer find nobody

    def say(self, text: str, severity: str = "information") -> None:
        """Tells the user something."""
        kinds = {"error": lsp.MessageType.Error, "warning": lsp.MessageType.Warning}
        kind = kinds.get(severity, lsp.MessageType.Info)
        self.window_show_message(lsp.ShowMessageParams(kind, text))


def make_server() -> PlanishServer:
    """A server that has not been started."""
    server = PlanishServer()

    @server.feature(lsp.INITIALIZED)
    def initialized(params: lsp.InitializedParams) -> None:
        pass

    @server.feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        given = params.initialization_options
        server.wishes = _as_mapping(given)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configured(params: lsp.DidChangeConfigurationParams) -> None:
        server.wishes = _as_mapping(_as_mapping(params.settings).get("planish"))
        for uri in list(server.known):
            server.look_soon(uri, 0.0)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.look_soon(params.text_document.uri, 0.0)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.look_soon(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.known.pop(uri, None)
        if (task := server.waiting.pop(uri, None)) is not None:
            task.cancel()
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        found = server.known.get(params.text_document.uri)
        text = hover_text(found, params.position.line + 1) if found is not None else ""
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text)) if text else None

    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS)
    def lenses(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        uri = params.text_document.uri
        return code_lenses(server.known.get(uri), uri, BUILD, REPORT)

    @server.command(BUILD)
    async def build(uri: str, *function: str) -> list[str]:
        return await _build(server, uri)

    @server.command(REPORT)
    async def report(uri: str, *function: str) -> str:
        return await _report(server, uri)

    @server.feature(lsp.SHUTDOWN)
    async def shutdown(params: None) -> None:
        await server.pool.close()

    return server


async def _build(server: PlanishServer, uri: str) -> list[str]:
    """Builds a file, writes its drop-in, and says what became of each function; the files that were written."""
    try:
        folder = _folder_of(uri)
        made = await server.pool.ask(server.request(uri, "build"), BUILD_PATIENCE)
        for name in made["files"]:
            check_ours(folder / name, MADE_BY)
        written = _write(folder, made["files"])
    except PlanishError as error:
        server.say(_text_of(error), "error")
        return []
    except OSError as error:
        server.say(f"the drop-in cannot be written: {error.strerror or error}", "error")
        return []
    told = "; ".join(f"{x['function']}: {x['outcome']}" for x in made["functions"]) or "there is no loop"
    server.say(f"{told}. Wrote {', '.join(written) or 'nothing'}")
    if uri in server.workspace.text_documents:
        server.look_soon(uri, 0.0)
    return written


async def _report(server: PlanishServer, uri: str) -> str:
    """Writes the page of a file, and asks the editor to open it; its path."""
    try:
        place = _folder_of(uri) / f"{Path(to_fs_path(uri) or uri).stem}.html"
        made = await server.pool.ask(server.request(uri, "report"), BUILD_PATIENCE)
        check_ours(place, GENERATOR, HEAD)
        (path,) = _write(place.parent, {place.name: made["page"]})
    except PlanishError as error:
        server.say(_text_of(error), "error")
        return ""
    except OSError as error:
        server.say(f"the page cannot be written: {error.strerror or error}", "error")
        return ""
    window = server.client_capabilities.window
    if window and window.show_document and window.show_document.support:
        server.window_show_document(lsp.ShowDocumentParams(Path(path).as_uri(), external=True))
    else:
        server.say(f"Wrote {path}")
    return path


def _folder_of(uri: str) -> Path:
    """Where the drop-in and the page of a file go; OSError for a text that is in no file."""
    path = to_fs_path(uri)
    if not path:
        raise OSError("the text is in no file yet; save it first")
    return Path(path).resolve().parent / OUTPUT


def _write(folder: Path, texts: Mapping[str, str]) -> list[str]:
    """Writes files into a folder, which is made where it is missing; their paths. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = {name: text.encode("utf-8", "surrogateescape") for name, text in texts.items()}
    return [str(x) for x in write_whole(folder, contents)]


def _text_of(error: PlanishError) -> str:
    """What is told of an error: what a worker told of its own, else its message, since its advice names options."""
    return str(error.fields["text"]) if isinstance(error, RequestError) else error.diagnostic.message


def _as_mapping(given: Any) -> dict[str, Any]:
    """Settings as a dictionary, without those that are not set."""
    return {k: v for k, v in given.items() if v not in (None, "", [], {})} if isinstance(given, Mapping) else {}


__all__ = ["BUILD", "REPORT", "SEVERITIES", "PlanishServer", "make_server"]
