"""Flags in the heads of loops end them only where nothing but their bodies sets them, to what their types then hold."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c

FOUND = "if (x[i] > 9) f = 1;"
STOPS = "if (x[i] > 9) f = 0;"


def is_searched(declared: str, head: str, body: str) -> bool:
    text = f"int g(int *f); int s(int n, const int *x) {{ int i; {declared}; {head} {{ {body} }} return i * 9 + f; }}"
    regions = read_c(Source("f.c", text)).functions[0].regions
    return any(x.exits is not None for x in regions)


@pytest.mark.parametrize(
    ("declared", "head", "body"),
    [
        ("int f = 0", "for (i = 0; i < n && !f; i++)", FOUND),
        ("int f = 1; f = 0", "for (i = 0; !f && i < n; i++)", FOUND),
        ("int f = 1; i = 0", "while (f && i < n)", "if (x[i] > 9) f = 0; else i++;"),
        ("_Bool f = 2", "for (i = 0; f == 1 && i < n; i++)", STOPS),
        ("unsigned char f = 257", "for (i = 0; f == 1 && i < n; i++)", "if (x[i] > 9) f = 256;"),
        ("int f = -1", "for (i = 0; f == -1 && i < n; i++)", STOPS),
        ("int f = 0", "for (i = 0; i < n && !f; i++)", "if (x[i] > 9) { f = 1; } else if (x[i] < -9) { f = -1; }"),
    ],
)
def test_the_body_sets_the_flag(declared: str, head: str, body: str) -> None:
    assert is_searched(declared, head, body)


@pytest.mark.parametrize(
    ("declared", "head", "body"),
    [
        # Other places set the flag, or name it.
        ("int f = 0", "for (i = 0; i < n && !f; f = i >= 7, i++)", "if (x[i] > 9) break;"),
        ("int f = 0", "for (i = 0; i < n && !f; i++, f = x[i] > 9)", FOUND),
        ("int f = 0", "for (i = 0; i < n && !f; f++, i++)", FOUND),
        ("int f = 0", "for (i = 0; i < n && !f; i++, g(&f))", FOUND),
        ("int f = 0", "for (i = 0; i < n && !f && ((f = i == 7), 1); i++)", FOUND),
        ("int f = 0; i = 0", "while (!f && i++ < n && (f = i == 7) >= 0)", FOUND),
        ("int f = 0", "for (i = 0; i < n && !f && f < 2; i++)", FOUND),
        ("int f = 0", "for (i = 0; i < n && !f; i += f ? 5 : 1)", FOUND),
        ("int f = 0, *p = &f", "for (i = 0; i < n && !f; i++)", FOUND),
        ("int f = 0", "for (i = 0; i < n && !f; i++)", f"{FOUND} f |= x[i] < 0;"),
        ("int f = 0", "for (i = 0; i < n && !f; i++)", "f = 0; if (x[i] > 9) f = 1;"),
        ("static int f = 0", "for (i = 0; i < n && !f; i++)", FOUND),
        # The loop begins otherwise.
        ("int f = 0", "for (f = 1, i = 0; i < n && !f; i++)", FOUND),
        ("int f = 0", "for (f = n == 7, i = 0; i < n && !f; i++)", FOUND),
        ("int f = 0", "for (i = (f = 1) - 1; i < n && !f; i++)", FOUND),
        ("int f = 1", "for (i = 0; i < n && !f; i++)", FOUND),
        # The numbers are others in the type of the flag, or where it is compared.
        ("unsigned char f = 256", "for (i = 0; f && i < n; i++)", STOPS),
        ("unsigned char f = -1", "for (i = 0; f != 255 && i < n; i++)", "if (x[i] > 9) f = 255;"),
        ("signed char f = 255", "for (i = 0; f != -1 && i < n; i++)", "if (x[i] > 9) f = -1;"),
        ("_Bool f = 2", "for (i = 0; f == 2 && i < n; i++)", STOPS),
        ("_Bool f = 1", "for (i = 0; f != 2 && i < n; i++)", "if (x[i] > 9) f = 2;"),
        ("unsigned char f = 1", "for (i = 0; f != 0 && i < n; i++)", "if (x[i] > 9) f = 257;"),
        ("unsigned f = -1", "for (i = 0; f != -1 && i < n; i++)", "if (x[i] > 9) f = -1;"),
        ("long f = -1u", "for (i = 0; f == -1 && i < n; i++)", STOPS),
    ],
)
def test_the_flag_stays_a_variable(declared: str, head: str, body: str) -> None:
    assert not is_searched(declared, head, body)
