"""Local arrays of which all values are used where they are made become names; others stay, and results are the same."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.checker import check_kernel
from planish.ir.nest import Alloc
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.schedule.auto.rewrites.store_forwarding import pass_values

HEAD = "kernel k(n; x: f64[n], y: f64[n]) { alloc l: f64[n] "
BRANCHES = HEAD + """
  for i in 0 .. n { if i > 0 { l[i] = x[i - 1] y[i] = l[i] } else { l[i] = 0.0 y[i] = l[i] } }
}"""
OUTSIDE = HEAD + """
  if n > 0 {
    l[0] = 2.0
    if n > 1 { y[0] = l[0] for i in 1 .. n { l[i] = x[i] y[i] = l[i] } } else { y[0] = l[0] + 1.0 }
  }
}"""
LATER = HEAD + "for i in 0 .. n { l[i] = x[i] } for i in 0 .. n { y[i] = l[i] } }"
EARLIER = HEAD + "for i in 0 .. n { l[i] = x[i] if i > 0 { y[i] = l[i - 1] } } }"
JOINED = HEAD + "for i in 0 .. n { if i > 0 { l[i] = x[i - 1] } else { l[i] = 0.0 } y[i] = l[i] } }"
OVERWRITTEN = HEAD + "for i in 0 .. n { l[i] = x[i] for j in 0 .. i { l[j] = 1.0 } y[i] = l[i] } }"
UPDATED = HEAD + """
  for i in 0 .. n { l[i] = x[i] l[i] *= l[i] + 2.0 if n > 2 { l[i] += x[i] y[i] = l[i] } else { y[i] = l[i] } }
}"""
UPDATED_BY_CHANCE = HEAD + "for i in 0 .. n { l[i] = x[i] if i > 2 { l[i] += x[i] } y[i] = l[i] } }"
UPDATED_LATER = HEAD + "for i in 0 .. n { l[i] = x[i] } for i in 0 .. n { l[i] += 1.0 y[i] = l[i] } }"


@pytest.mark.parametrize(
    ("text", "left"),
    [(BRANCHES, 0), (OUTSIDE, 0), (LATER, 1), (EARLIER, 1), (JOINED, 1), (OVERWRITTEN, 1), (UPDATED, 0),
     (UPDATED_BY_CHANCE, 1), (UPDATED_LATER, 1)],
)
def test_values_are_passed_on_within_an_iteration(text: str, left: int) -> None:
    kernel = parse_kernel(text)
    made = pass_values(kernel)
    check_kernel(made, "passing")
    assert sum(isinstance(x, Alloc) for x in walk(made.body)) == left
    assert pass_values(kernel, {"l"}) is kernel
    for n in (0, 1, 2, 7):
        x = np.arange(n) + 0.5
        found = []
        for each in (kernel, made):
            values = {"n": n, "x": x.copy(), "y": np.zeros(n)}
            run_kernel(each, values)
            found.append(values["y"])
        np.testing.assert_array_equal(*found)
