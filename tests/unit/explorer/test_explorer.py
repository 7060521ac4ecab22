"""The explorer over loopback: what it answers, whom it refuses, many at once, and the page in a browser."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from planish.cli import main

pytest.importorskip("starlette", reason="the explorer needs starlette")
pytest.importorskip("uvicorn", reason="the explorer needs uvicorn")

TEXT = """\
void blend(int rows, int columns, float *restrict out, const float *restrict in) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            out[r * columns + c] = 0.5f * in[r * columns + c];
}
void sums(int count, double *x) {
    for (int i = 1; i < count; i++)
        x[i] += x[i - 1];
}
"""


@dataclass(frozen=True)
class Served:
    """A running explorer."""

    host: str
    token: str
    folder: Path

    def ask(
        self, path: str, body: Any = None, headers: dict[str, str] | None = None, token: str | None = None
    ) -> tuple[int, Any, dict[str, str]]:
        """The status, the JSON or text, and the headers."""
        connection = http.client.HTTPConnection(self.host, timeout=120)
        given = {"X-Planish-Token": self.token if token is None else token, **(headers or {})}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body)
        connection.request("POST" if body is not None else "GET", path, data, given)
        answer = connection.getresponse()
        text = answer.read().decode()
        told = {k.lower(): v for k, v in answer.getheaders()}
        return answer.status, json.loads(text) if "json" in told.get("content-type", "") else text, told

    def do(self, what: str, **more: Any) -> Any:
        """The answer to a request for a worker."""
        return self.ask(f"/api/do/{what}", {"name": "a.c", "text": TEXT, "options": {"measure": False}, **more})[1]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    base = tmp_path_factory.mktemp("explored")
    folder = base / "shown"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.c").write_text(TEXT)
    (folder / "sub" / "b.c").write_text(TEXT)
    (folder / "big.c").write_text("/* */" * 100_000)
    (base / "secret.c").write_text("int secret;")
    (folder / "link.c").symlink_to(base / "secret.c")
    (folder / "ring.c").symlink_to("ring.c")
    (folder / "taken.sched").mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/\xe9.c")).touch()
    command = [sys.executable, "-m", "planish", "explore", str(folder), "--no-open", "--json"]
    # What starts the tests in the background may have told them to ignore Ctrl-C.
    own = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, preexec_fn=own, **pipes) as process:
        assert process.stdout is not None
        address = urlsplit(json.loads(process.stdout.readline())["address"])
        try:
            yield Served(address.netloc, parse_qs(address.query)["token"][0], folder)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0 and process.stderr is not None and process.stderr.read() == ""
        finally:
            process.kill()


def test_only_the_page_itself_is_answered(served: Served) -> None:
    assert served.host.startswith("127.0.0.1:")
    status, page, headers = served.ask(f"/?token={served.token}", token="")
    assert status == 200 and "Planish explorer" in page
    assert "default-src 'none'" in headers["content-security-policy"] and headers["referrer-policy"] == "no-referrer"
    for given, token in (
        ({}, "wrong"), ({}, ""), ({"Host": "evil.example:80"}, None), ({"Origin": "https://evil.example"}, None),
        ({"Origin": "null"}, None), ({"Sec-Fetch-Site": "cross-site"}, None),
    ):  # fmt: skip
        status, answer, _ = served.ask("/api/files", headers=given, token=token)
        assert (status, answer["error"]["code"]) == (403, "E0132"), given
    assert served.ask("/api/files", headers={"Origin": f"http://{served.host}"})[0] == 200


def test_nothing_outside_of_the_folder_is_read_or_written(served: Served) -> None:
    assert served.ask("/api/files")[1]["files"] == ["a.c", "big.c", "sub/b.c"]
    assert served.ask("/api/files?name=sub/b.c")[1]["text"] == TEXT
    outside = "../secret.c", "sub/../../secret.c", "link.c", "/etc/passwd", "%2e%2e/secret.c", "a.txt", ".x.c", "a%00.c"
    outside += ("ring.c", "ring.c/x.c", "a" * 300 + ".c")
    for name in outside:
        status, answer, _ = served.ask(f"/api/files?name={name}")
        assert (status, answer["error"]["code"]) == (404, "E0132"), name
        assert served.ask("/api/do/analyse", {"name": unquote(name), "text": TEXT})[0] == 404, name
    unwritable = "../x.sched", "a.c", "/tmp/x.sched", "none/x.sched", "taken.sched", "a.c/x.sched", "a" * 252 + ".sched"
    for name in unwritable:
        assert served.ask("/api/script", {"name": name, "text": "x"})[0] == 404, name
    assert (served.folder / "a.c").read_text() == TEXT
    assert not list(served.folder.glob(".planish-*"))
    for options in ({"compiler": "/bin/sh"}, {"include_dirs": ["/"]}, {"target": "/etc/x.toml"}):
        assert served.ask("/api/do/analyse", {"name": "a.c", "text": TEXT, "options": options})[0] in (404, 422)


def test_a_port_is_taken_before_a_browser_is_opened_which_is_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["explore", str(tmp_path), "--port", str(taken.getsockname()[1])]) == 1
    assert "error[E0132]: port" in capsys.readouterr().err
    ended, opened = threading.Event(), threading.Event()

    def browse(address: str) -> None:
        opened.set()
        assert ended.wait(60)

    def serve(folder: Path, listening: socket.socket, workers: int, tell: Any) -> None:
        listening.close()
        tell("http://127.0.0.1:1/")
        assert opened.wait(60)
        ended.set()
        raise OSError("of the server while it runs")

    monkeypatch.setattr("webbrowser.open", browse)
    monkeypatch.setattr("planish.explorer.server.serve", serve)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    main(["explore", str(tmp_path)])
    told = capsys.readouterr().err
    assert "E0132" not in told and "of the server while it runs" in told


def test_what_is_too_large_or_no_request_is_refused(served: Served) -> None:
    assert served.ask("/api/files?name=big.c")[1]["error"]["code"] == "E0133"
    assert served.ask("/api/do/analyse", {"name": "a.c", "text": "x" * 300_000})[1]["error"]["code"] == "E0133"
    assert served.ask("/api/do/analyse", {"name": "a.c", "text": "x" * 900_000})[0] == 413
    for body in (b"{", b"[]", b"[" * 100_000, b'{"name": 3, "text": 4}', rb'{"name": "a.c", "text": "\ud800"}'):
        status, answer, _ = served.ask("/api/do/analyse", body)
        assert status in (404, 413, 422) and "error" in answer
    assert served.ask("/report/" + "9" * 5000)[0] == 404
    assert served.do("analyse", options={"sizes": {"n": 10**40}})["error"]["code"] == "E0128"
    assert served.ask("/api/do/delete", {"name": "a.c", "text": TEXT})[0] == 404


def test_many_ask_at_once_and_each_has_its_own_answer(served: Served) -> None:
    def ask(number: int) -> tuple[int, Any]:
        if number % 10:
            return number, served.ask("/api/files?name=a.c")[1]["text"] == TEXT
        text = f"void f{number}(int n, float *x) {{ for (int i = 0; i < n; i++) x[i] = {number}; }}"
        return number, [x["name"] for x in served.do("analyse", text=text)["functions"]]

    with ThreadPoolExecutor(100) as pool:
        answers = dict(pool.map(ask, range(100)))
    assert len(answers) == 100
    assert all(answers[k] == ([f"f{k}"] if k % 10 == 0 else True) for k in range(100))


def test_steps_are_legal_or_say_why(served: Served) -> None:
    script = 'reorder("r", ("c", "r"))\nvectorise("r")\n'
    found = served.do("steps", script=script, function="blend", loop="c")
    assert [x["legal"] for x in found["steps"]] == [True, True]
    assert found["tree"][0]["pattern"] == "c" and found["tree"][0]["inner"][0]["marks"] == ["lanes"]
    assert any(x["legal"] for x in found["next"])
    refused = served.do("steps", script='reverse("i")\n', function="sums", loop="i")
    assert not refused["steps"][0]["legal"] and "would no longer run before" in refused["steps"][0]["why"]
    assert {x["step"]: x["legal"] for x in refused["next"]}['vectorise("i")'] is False
    assert served.ask("/api/script", {"name": "a.sched", "text": script})[0] == 200
    assert (served.folder / "a.sched").read_text() == script
    assert (served.folder / "a.sched").stat().st_mode == (served.folder / "a.c").stat().st_mode, "as others' files"


def test_builds_are_compared(served: Served) -> None:
    first = served.do("session", options={"measure": False, "functions": ["blend"]})
    second = served.do("session", options={"measure": False, "functions": ["blend"], "fp": "strict"})
    assert first["functions"][0]["state"] == "replaced" and "page" not in first
    lines = served.ask(f"/api/compare?first={first['number']}&second={second['number']}")[1]["lines"]
    assert any("--fp strict" in x for x in lines if x.startswith("+"))
    status, page, headers = served.ask(f"/report/{first['number']}?token={served.token}", token="")
    assert status == 200 and "Planish report" in page
    assert headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert served.ask("/report/99")[0] == 404


def test_a_browser_takes_steps_and_builds(served: Served) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    program = next((x for x in map(shutil.which, ("chromium", "google-chrome", "chromium-browser")) if x), None)
    if program is None:
        pytest.skip("there is no Chromium here")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda x: errors.append(str(x)))
        page.on("console", lambda x: errors.append(x.text) if x.type == "error" else None)
        page.goto(f"http://{served.host}/?token={served.token}")
        page.wait_for_selector("#problems .verdict")
        page.uncheck("#measure")
        page.locator("#schedule summary").click()
        page.locator("#tree button", has_text="for c in").click()
        page.locator("#legal button").first.click()
        page.wait_for_selector("#taken .legal")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#runs.some", timeout=120_000)
        assert "blend: replaced" in page.locator("#runs").inner_text()
        page.frame_locator("#page").locator("h1").wait_for()
        page.click("#save")
        page.wait_for_url("**script=a.sched")
        assert errors == []
        browser.close()
    assert 'split("c"' in (served.folder / "a.sched").read_text()
