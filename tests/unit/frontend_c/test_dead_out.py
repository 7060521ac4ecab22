"""Arrays of a function's own whose contents nobody reads behind a kernel are known, and only those."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c

HEAD = "#include <stdlib.h>\n#include <string.h>\nvoid g(float *x);\n"
FILL = "for (int i = 0; i < 90; i++) { t[i] = a[i]; a[i] += t[i]; }"
READ = "for (int i = 0; i < 90; i++) a[i] += t[89 - i];"


def scratch(body: str) -> list[tuple[str, ...]]:
    """The arrays of each kernel of a function."""
    text = HEAD + "float f(int n, float *a) { " + body + " }"
    return [x.scratch for x in read_c(Source("f.c", text)).functions[-1].regions]


@pytest.mark.parametrize(
    "body",
    [
        "float t[90]; " + FILL + " return a[0];",
        "float t[n]; " + FILL + " return 0;",
        "float t[90]; memset(t, 0, sizeof(float) * 90); " + FILL + READ + " return 0;",
        "float *t = malloc(90 * sizeof(float)); " + FILL + " free(t); return 0;",
        "float *t; t = (float *)malloc(90 * sizeof *t); if (!t) return 1; " + FILL + " free(t); return 0;",
        "for (int r = 0; r < 3; r++) { float t[90]; g(a); " + FILL + " } return 0;",
    ],
)
def test_what_is_not_read_again(body: str) -> None:
    assert scratch(body) == [("t",)]


@pytest.mark.parametrize(
    "body",
    [
        "float t[90]; " + FILL + " return t[3];",
        "float t[90]; " + FILL + " g(a); g(t); return 0;",
        "float t[90], *p = t; " + FILL + " return p[3];",
        "float t[90], *p = &t[4]; g(p); " + FILL + " g(a); return 0;",
        "static float t[90]; " + FILL + " return 0;",
        "float *t = a; " + FILL + " return 0;",
        "float *t = malloc(360); " + FILL + " g(a); a[0] = t[4]; free(t); return 0;",
        "float *t = malloc(360), *s = t; " + FILL + " free(s); return 0;",
        "float *t = malloc(360); for (int r = 0; r < 3; r++) { g(a); " + FILL + " } free(t); return 0;",
        "float t[90]; for (int r = 0; r < 3; r++) { g(a); " + FILL + " } return 0;",
        "float t[90]; again: " + FILL + " g(a); if (a[0] > 2) goto again; return 0;",
        "struct s { float *p; } x; float t[90]; x.p = t; " + FILL + " return x.p[2];",
    ],
)
def test_what_may_be_read_again(body: str) -> None:
    found = scratch(body)
    assert found and all("t" not in x for x in found)
