"""What a step makes of a small nest, for the examples in the documentation.

>>> from planish.schedule.steps.loops import Unroll
>>> show_step("for i in 0 .. 2 { A[i] = 0.0:f32 }", Unroll("i"))
A[0] = 0.0:f32
A[1] = 0.0:f32
"""

from __future__ import annotations

from textwrap import dedent

from planish.ir.text.parser import parse_kernel
from planish.schedule.program import Program, Step

HEAD = "kernel f(n, m; A: f32[n], B: f32[n], M: f32[n, m], N: f32[m, n])"


def show_step(text: str, *steps: Step, head: str = HEAD) -> None:
    """Print the statements that steps make of some others, over sizes n and m, vectors A and B, matrices M and N."""
    shown = Program.of(parse_kernel(f"{head} {{ {text} }}")).apply(*steps).show()
    print(dedent(shown.partition("\n{\n")[2].rpartition("}")[0]).rstrip())
