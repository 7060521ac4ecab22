"""A kernel that is typed at Python's own prompt works, or the message says what to do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from planish.frontend.python.prompt import find_block

KERNEL = """@planish.kernel
def scale(n: planish.size, a: planish.f64, x: planish.f64["n"]):
    for i in range(n):
        x[i] = a * x[i]

"""
SESSION = f"""import numpy as np, planish
{KERNEL}scale.source.count("scale(") > 0
x = np.ones(4); scale(3.0, x); print("sum", x.sum())
exit()
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(x for x in sys.path if x), "TERM": "dumb", "PYTHON_COLORS": "0"}


def test_at_the_prompt_of_a_terminal(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    pytest.importorskip("readline")
    master, slave = pty.openpty()
    command = [sys.executable, "-i", "-q"]
    cache = os.environ.get("XDG_CACHE_HOME", str(tmp_path))
    settings = {**environment(), "HOME": str(tmp_path), "XDG_CACHE_HOME": cache}
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=settings, cwd=tmp_path)
    os.close(slave)
    os.write(master, SESSION.encode())
    out = b""
    try:
        while chunk := os.read(master, 4096):
            out += chunk
    except OSError:
        pass  # The other end is closed: the session has ended.
    finally:
        process.wait(60)
        os.close(master)
    assert "sum 12.0" in out.decode(), out.decode()


def test_without_a_terminal_the_message_says_what_to_do(tmp_path: Path) -> None:
    if sys.version_info >= (3, 13):
        pytest.skip("this Python keeps the text of what is typed")
    text = f"import planish\n{KERNEL}"
    done = subprocess.run(
        [sys.executable, "-i", "-q"], input=text, env=environment(), cwd=tmp_path, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert "error[E0301]: the text of `scale` is not to be had" in done.stderr
    assert re.search(r"= help: put the function in a file, type it in IPython, or pass the text", done.stderr)


def made(text: str) -> object:
    names: dict[str, object] = {}
    exec(text, names)
    return names["f"].__code__  # type: ignore[attr-defined]


FIRST, SECOND = "def f(x):\n    y = x + 1\n    return y\n", "def f(x):\n    y = x + 2\n    return y\n"


def test_the_right_one_of_two_definitions_is_found() -> None:
    lines = (FIRST + SECOND + "g = f(2)\n").splitlines()
    assert find_block(lines, made(FIRST)) == FIRST  # type: ignore[arg-type]
    assert find_block(lines, made(SECOND)) == SECOND  # type: ignore[arg-type]


def test_what_lost_a_line_is_not_taken() -> None:
    whole = "def f(x):\n    x += 1\n    x += 1\n    return x\n"
    lines = list(dict.fromkeys(whole.splitlines()))
    assert find_block(lines, made(whole)) is None  # type: ignore[arg-type]


def test_a_head_of_several_lines() -> None:
    text = "def f(\n    x,\n):\n    return x\n"
    assert find_block([*text.splitlines(), "f(1)"], made(text)) == text  # type: ignore[arg-type]
