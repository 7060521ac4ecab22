"""The explorer's server: the page, files of the folder, and requests to workers.

    serve(Path("."), listen(0), workers=2, tell=print)
"""

from __future__ import annotations

import asyncio
import difflib
import json
import secrets
import signal
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.explorer.folder import MOST_TEXT, SharedFolder
from planish.explorer.guard import RequestGuard
from planish.service.failures import describe_error
from planish.service.pool import RequestError, WorkerPool

ASSETS = Path(__file__).with_name("assets")
HOST = "127.0.0.1"
SECONDS = {"analyse": 30.0, "steps": 30.0, "session": 180.0}
"""How long each request may take, and which there are."""
WISHES = frozenset({"target", "functions", "threads", "fp", "measure", "sizes", "defines", "script"})
"""The options that a browser may give: none of them names a file or a program."""
MOST_WAITING = 200
"""Requests that wait for a worker or are done by one; more are refused."""
MOST_KEPT = 20
"""Builds whose pages are kept."""
_PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{0}'; connect-src 'self'; frame-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_REPORT_POLICY = (
    "sandbox allow-scripts allow-modals; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "frame-ancestors 'self'"
)
"""A page of a report runs its own script, without any way to the explorer."""

Handler = Callable[[Request], Awaitable[Response]]


class Explorer:
    """What is known while the server runs: the folder, the workers, the last builds."""

    def __init__(self, folder: SharedFolder, workers: int) -> None:
        self.folder, self.pool = folder, WorkerPool(workers)
        self.waiting = self.count = 0
        self.kept: OrderedDict[int, dict[str, Any]] = OrderedDict()

    async def ask(self, what: str, data: dict[str, Any]) -> dict[str, Any]:
        """The result of a request; PlanishError E0134 where too many wait."""
        if self.waiting >= MOST_WAITING:
            raise PlanishError(Diagnostic("E0134", f"{self.waiting} requests wait already"))
        self.waiting += 1
        try:
            return await self.pool.ask({**data, "do": what}, SECONDS[what])
        finally:
            self.waiting -= 1

    def keep(self, made: dict[str, Any]) -> int:
        """Keeps a build, and gives its number."""
        self.count += 1
        self.kept[self.count] = made
        while len(self.kept) > MOST_KEPT:
            self.kept.popitem(last=False)
        return self.count

    def build(self, number: str) -> dict[str, Any]:
        """A build that is kept; PlanishError E0132."""
        found = next((made for n, made in self.kept.items() if str(n) == number), None)
        if found is None:
            raise PlanishError(Diagnostic("E0132", "there is no such build any more", help="build it again"))
        return found

    async def page(self, request: Request) -> Response:
        """The explorer itself."""
        nonce = secrets.token_urlsafe(16)
        text = (ASSETS / "explorer.html").read_text("utf-8")
        for mark, name in (("/*style*/", "explorer.css"), ("/*script*/", "explorer.js")):
            text = text.replace(mark, (ASSETS / name).read_text("utf-8"))
        headers = {"content-security-policy": _PAGE_POLICY.format(nonce)}
        return HTMLResponse(text.replace("<script>", f'<script nonce="{nonce}">'), headers=headers)

    async def files(self, request: Request) -> Response:
        """The files of the folder, or the text of one."""
        name = request.query_params.get("name")
        if name is None:
            return JSONResponse({"folder": self.folder.root.name, "files": self.folder.names()})
        return JSONResponse({"name": name, "text": self.folder.read(name)})

    async def script(self, request: Request) -> Response:
        """Writes a script into the folder."""
        data = await _body(request)
        self.folder.write(str(data.get("name", "")), str(data.get("text", "")))
        return JSONResponse({"name": data.get("name")})

    async def work(self, request: Request) -> Response:
        """A request for a worker."""
        what = request.path_params["what"]
        if what not in SECONDS:
            raise PlanishError(Diagnostic("E0132", "there is no such request"))
        data = await _body(request)
        if not isinstance(data.get("text"), str):
            raise PlanishError(Diagnostic("E0128", "a request has a `name` and a `text`"))
        if len(data["text"].encode()) > MOST_TEXT:
            raise PlanishError(Diagnostic("E0133", f"a text has at most {MOST_TEXT >> 10} KiB"))
        if not isinstance(wishes := data.get("options") or {}, dict) or wishes.keys() - WISHES:
            raise PlanishError(Diagnostic("E0128", f"the options are: {', '.join(sorted(WISHES))}"))
        if str(wishes.get("target", "")).endswith(".toml"):
            raise PlanishError(Diagnostic("E0132", "a machine's description is read from no file here"))
        name = str(self.folder.path(str(data.get("name", "")), (".c",)))
        made = await self.ask(what, {**data, "name": name})
        if what != "session":
            return JSONResponse(made)
        number = self.keep(made)
        return JSONResponse({**{k: v for k, v in made.items() if k != "page"}, "number": number})

    async def report(self, request: Request) -> Response:
        """The page of a build."""
        made = self.build(request.path_params["number"])
        return HTMLResponse(made["page"], headers={"content-security-policy": _REPORT_POLICY})

    async def compare(self, request: Request) -> Response:
        """How the drop-ins of two builds differ."""
        first, second = (self.build(request.query_params.get(x, "")) for x in ("first", "second"))
        texts = [next(v for k, v in x["files"].items() if k.endswith(".c")) for x in (first, second)]
        before, after = (x.splitlines() for x in texts)
        lines = difflib.unified_diff(before, after, "first", "second", lineterm="")
        return JSONResponse({"lines": list(lines)[:5000]})


async def _body(request: Request) -> dict[str, Any]:
    """The JSON of a request; PlanishError E0128, E0133."""
    try:
        data = json.loads(await request.body())
        json.dumps(data, ensure_ascii=False).encode()  # halves of surrogate pairs can be written nowhere
    except ClientDisconnect:
        raise PlanishError(Diagnostic("E0133", "a request is too large")) from None
    except (ValueError, RecursionError) as error:
        raise PlanishError(Diagnostic("E0128", f"this is no JSON in UTF-8: {error}")) from error
    if not isinstance(data, dict):
        raise PlanishError(Diagnostic("E0128", "a request is an object of JSON"))
    return data


def _told(handler: Handler) -> Handler:
    """The handler, with what goes wrong as JSON."""
    statuses = {"E0132": 404, "E0133": 413, "E0134": 503, "E0129": 504, "E0130": 500}

    async def telling(request: Request) -> Response:
        try:
            return await handler(request)
        except RequestError as error:
            return JSONResponse({"error": error.fields}, statuses.get(error.diagnostic.code, 422))
        except PlanishError as error:
            fields = describe_error(error.diagnostic, error.source)
            return JSONResponse({"error": fields}, statuses.get(error.diagnostic.code, 422))

    return telling


def make_app(explorer: Explorer, token: str, hosts: frozenset[str]) -> ASGIApp:
    """The application; it answers those alone who have the token."""
    routes = [
        Route("/", _told(explorer.page)), Route("/api/files", _told(explorer.files)),
        Route("/api/script", _told(explorer.script), methods=["POST"]),
        Route("/api/do/{what}", _told(explorer.work), methods=["POST"]),
        Route("/api/compare", _told(explorer.compare)), Route("/report/{number}", _told(explorer.report)),
    ]  # fmt: skip
    return RequestGuard(Starlette(routes=routes), token, hosts)


class _Server(uvicorn.Server):
    """A server that ends in silence when it is asked to: uvicorn's own raises the signal once more."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """While it runs, signals ask for its end."""
        loop, asking = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM)
        for number in asking:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in asking:
                loop.remove_signal_handler(number)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ends at once: what is under way would take longer than the user waits."""
        self.should_exit = self.force_exit = True


def listen(port: int) -> socket.socket:
    """A port of this machine's own address, 0 for one that is free; OSError where it is taken."""
    return socket.create_server((HOST, port), backlog=256)


def serve(folder: Path, listening: socket.socket, workers: int, tell: Callable[[str], None]) -> None:
    """Serves a folder until it is interrupted; `tell` gets the address."""
    number, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    hosts = frozenset({f"{HOST}:{number}", f"localhost:{number}"})
    explorer = Explorer(SharedFolder(folder), workers)
    app = make_app(explorer, token, hosts)
    config = uvicorn.Config(app, log_level="error", access_log=False, server_header=False, ws="none", lifespan="off")
    tell(f"http://{HOST}:{number}/?token={token}")
    try:
        _Server(config).run(sockets=[listening])
    finally:
        explorer.pool.kill()
