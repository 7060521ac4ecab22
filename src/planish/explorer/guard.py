"""Who may ask the explorer: a page that it served itself, with its token; nobody else, whatever a browser sends.

    RequestGuard(app, token, frozenset({"127.0.0.1:8000"}))
"""

from __future__ import annotations

from secrets import compare_digest
from urllib.parse import parse_qs

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from planish.core.diagnostic import Diagnostic
from planish.service.failures import describe_error

MOST_BODY = 600 << 10
"""Bytes of a request."""
HEADERS = (
    (b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"), (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"), (b"cross-origin-resource-policy", b"same-origin"),
)  # fmt: skip


class RequestGuard:
    """Lets requests through that name a known host, come from the page itself, have the token, and are small.

    A foreign page in the same browser has another Origin, a name that was made to point here (DNS rebinding) another
    Host, and neither knows the token."""

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str]) -> None:
        self.app, self.token, self.hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the server's begin and end."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # nothing else is served
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        wrong = self._why_not(scope, headers)
        size = headers.get("content-length", "0")
        if wrong:
            await _refuse("E0132", wrong, 403)(scope, receive, send)
        elif not size.isdigit() or int(size) > MOST_BODY:
            await _refuse("E0133", f"a request has at most {MOST_BODY >> 10} KiB", 413)(scope, receive, send)
        else:
            await self.app(scope, _bounded(receive), _with_headers(send))

    def _why_not(self, scope: Scope, headers: dict[str, str]) -> str:
        """Why a request is refused; "" where it is not."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self.hosts:
            return "the host is another one"
        if origin is not None and origin not in {f"http://{x}" for x in self.hosts}:
            return "the request comes from another page"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return "the request comes from another page"
        query = parse_qs(scope["query_string"].decode("latin-1"))
        given = headers.get("x-planish-token") or query.get("token", [""])[0]
        return "" if compare_digest(given.encode(), self.token.encode()) else "the token is missing or wrong"


def _refuse(code: str, message: str, status: int) -> JSONResponse:
    return JSONResponse({"error": describe_error(Diagnostic(code, message))}, status)


def _bounded(receive: Receive) -> Receive:
    """The body, which may have no length in its head, up to the bound."""
    seen = 0

    async def bounded() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return message if seen <= MOST_BODY else {"type": "http.disconnect"}

    return bounded


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(x for x in HEADERS if x[0] not in names)]
        await send(message)

    return sending
