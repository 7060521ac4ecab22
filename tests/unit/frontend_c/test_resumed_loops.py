"""A loop goes on behind iterations that are skipped only where its beginning sets nothing that these are passed."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c

PACK = "{ last = x[i]; if (last > 0) out[k++] = last; } return k + last;"
FIND = "if (x[i] > n) return i; return k + last;"


def is_resumed(head: str, rest: str) -> bool:
    text = f"int f(int n, const int *x, int *out) {{ int i, k = 0, last = 7; {head} {rest} }}"
    regions = read_c(Source("f.c", text)).functions[0].regions
    return any(x.exits is not None or x.packing is not None for x in regions)


@pytest.mark.parametrize("rest", [PACK, FIND])
def test_the_beginning_counts(rest: str) -> None:
    assert is_resumed("for (i = 0; i < n; i++)", rest)


@pytest.mark.parametrize(
    ("head", "rest"), [("for (i = 0, last = 0; i < n; i++)", PACK), ("for (i = 0, n--; i < n; i++)", FIND)]
)
def test_the_beginning_sets_what_is_passed(head: str, rest: str) -> None:
    assert not is_resumed(head, rest)
