"""The explorer as it meets strangers and crowds: what it has to refuse, and a hundred users at once.

    with serving(Path("kernels")) as explorer: print(explorer.count_refused(), explorer.count_lost())
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

USERS = 100
LOOKS = 10
"""Of the users, each so-manieth has a text analysed; the others read a file."""
TEXT = "void zero(int n, float *x) { for (int i = 0; i < n; i++) x[i] = 0; }\n"
"""The file that is shown."""
_Request = tuple[str, str | None, dict[str, str]]
FOREIGN: tuple[_Request, ...] = (
    ("/api/files", None, {"X-Planish-Token": "guessed"}), ("/api/files", None, {"X-Planish-Token": ""}),
    ("/api/files", None, {"Origin": "https://evil.example"}), ("/api/files", None, {"Origin": "null"}),
    ("/api/files", None, {"Host": "evil.example:80"}), ("/api/files", None, {"Sec-Fetch-Site": "cross-site"}),
)  # fmt: skip
"""Requests of other pages, of other names of this machine, and without the token: paths, texts, headers."""
OUTSIDE: tuple[_Request, ...] = tuple(
    (f"/api/files?name={x}", None, {}) for x in ("../secret.c", "sub/../../secret.c", "link.c", "/etc/passwd", ".x.c")
)
"""Files that are not of the folder."""
HUGE: tuple[_Request, ...] = (
    ("/api/do/analyse", json.dumps({"name": "a.c", "text": "x" * 300_000}), {}),
    ("/api/do/analyse", json.dumps({"name": "a.c", "text": "x" * 900_000}), {}),
    ("/api/do/analyse", "[" * 100_000, {}), ("/api/files?name=large.c", None, {}),
)  # fmt: skip
"""Texts, nests of brackets and files that are too large."""


@dataclass(frozen=True, slots=True)
class ServedExplorer:
    """An explorer that runs: where it is, and what lets one in."""

    host: str
    token: str
    text: str

    def ask(self, path: str, body: str | None, headers: dict[str, str]) -> tuple[int, str]:
        """The status and the text of an answer."""
        connection = http.client.HTTPConnection(self.host, timeout=120)
        given = {"X-Planish-Token": self.token, **headers}
        connection.request("GET" if body is None else "POST", path, body, given)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def refuses(self, request: _Request) -> bool:
        """Whether a request is refused, and told why."""
        status, text = self.ask(*request)
        return 400 <= status < 500 and "error" in json.loads(text)

    def is_answered(self, user: int) -> bool:
        """Whether a user gets what he asked for, and not what another one did."""
        if user % LOOKS:
            status, text = self.ask("/api/files?name=a.c", None, {})
            return status == 200 and json.loads(text)["text"] == self.text
        own = f"void f{user}(int n, float *x) {{ for (int i = 0; i < n; i++) x[i] = {user}; }}"
        asked = json.dumps({"name": "a.c", "text": own, "options": {"measure": False}})
        status, text = self.ask("/api/do/analyse", asked, {})
        return status == 200 and [x["name"] for x in json.loads(text)["functions"]] == [f"f{user}"]

    def count_lost(self) -> int:
        """Of `USERS` who ask at once, those who have no answer, or another one's."""
        with ThreadPoolExecutor(USERS) as pool:
            return USERS - sum(pool.map(self.is_answered, range(USERS)))


def lay_out(base: Path) -> Path:
    """A folder in `base` with the files that the explorer is asked for, and beside them those that it must not show:
    all of `OUTSIDE` are there, so that each is refused for where it lies."""
    folder = base / "shown"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.c").write_text(TEXT)
    (folder / "large.c").write_text("/* */" * 100_000)
    for secret in (base / "secret.c", folder / ".x.c"):
        secret.write_text("int secret;\n")
    (folder / "link.c").symlink_to(base / "secret.c")
    return folder


@contextmanager
def serving(base: Path) -> Iterator[ServedExplorer]:
    """An explorer of a folder in `base`, with files around it that it must not show."""
    folder = lay_out(base)
    command = [sys.executable, "-m", "planish", "explore", str(folder), "--no-open", "--json"]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            address = urlsplit(json.loads(process.stdout.readline())["address"])
            yield ServedExplorer(address.netloc, parse_qs(address.query)["token"][0], TEXT)
        finally:
            process.terminate()
