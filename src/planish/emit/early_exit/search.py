"""The C function that finds the first iteration that may leave a loop, in lanes, page by page.

No page is read of which an iteration that is surely run does not read: where a row enters a page, one iteration is
tested alone; if it stays in the loop, it has read that page, and all iterations whose elements would lie there are
tested in lanes, the last ones together with some that are tested already.

>>> emit_search("planish_f_1", SearchText("k", (), (), (), "", "0", 16, 1, 1, True), "").count("return")
7
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from planish.poly.early_exit.exit_test import ITERATION

UNROLLED = 4
"""So many vectors are tested before a branch."""
_FAR = 8192
"""No row goes so many iterations on to the end of its page; `n` may be the greatest number there is."""
PATIENCE = 64
"""A search whose candidates stay in the loop gives up after so many, where there is one in so many iterations."""


@dataclass(frozen=True, slots=True)
class SearchText:
    """The parts of a search in C: `test` of one iteration; parameters (`declarations`, and what they are called); the
    (place, bytes of an element, step) of `rows`; the `lines` and `result` of the test in lanes, of so many iterations
    with so many bits for each; the direction of rows; and whether the test in lanes is `exact`: else it
    finds only candidates."""

    test: str
    parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    rows: tuple[tuple[int, int, int], ...]
    lines: str
    result: str
    count: int
    bits: int
    direction: int
    exact: bool


def emit_search(name: str, text: SearchText, comment: str) -> str:
    """The function `name`: the number of the first of `planish_n` iterations, from `planish_k` on, that leaves. The one
    before has stayed in the loop."""
    k, count = ITERATION, text.count
    parameters = "".join(f", {x}" for x in text.parameters)
    both = zip(text.parameters, text.arguments, strict=True)
    asked = [(x, y) for x, y in both if re.search(rf"\b{y}\b", text.lines + text.result)]
    arguments = "".join(f", {y}" for _, y in asked)

    def lanes(at: str) -> str:
        return f"{name}_lanes({at}{arguments})"

    steps = " |\n          ".join(lanes(f"{k} + {n * count}" if n else k) for n in range(UNROLLED))
    first = f"(ptrdiff_t)__builtin_ctzll(planish_m) / {text.bits}"
    if text.direction < 0:
        first = f"{count - 1} - (63 - (ptrdiff_t)__builtin_clzll(planish_m)) / {text.bits}"

    def found(at: str, indent: str) -> str:
        lines = [f"{k} = {at} + {first};", f"return {k} < planish_n ? {k} : planish_n;"]
        if not text.exact:
            lines = [
                lines[0], f"if ({k} >= planish_n) return planish_n;", f"if ({text.test}) return {k};", f"{k}++;",
                f"if (++planish_missed >= {PATIENCE} && {k} < {PATIENCE} * planish_missed) return {k};", "continue;",
            ]  # fmt: skip
        return "".join(f"{indent}{x}\n" for x in ("if (planish_m) {", *(f"  {x}" for x in lines), "}"))

    # Of what is tested again, candidates were found not to leave.
    done = f"({k} - (planish_end - {count})) * {text.bits}"
    kept = f"~0ull << ({done})" if text.direction > 0 else f"~0ull >> (64 - {count * text.bits} + {done})"
    again = "" if text.exact else f"      planish_m &= {kept};\n"
    hidden = "".join(f'  __asm__("" : "+r"(planish_p{place}));\n' for place, _, _ in text.rows)
    missed = "" if text.exact else "  ptrdiff_t planish_missed = 0;\n"
    rooms = "".join(map(_room, text.rows))
    return f"""static inline __attribute__((always_inline, no_sanitize_address))
uint64_t {name}_lanes(
    ptrdiff_t {k}{"".join(f", {x}" for x, _ in asked)}) {{
{text.lines}  return {text.result};
}}

/* {comment} */
static __attribute__((noinline, unused, no_sanitize_address)) ptrdiff_t {name}(
    ptrdiff_t {k}, ptrdiff_t planish_n{parameters}) {{
{hidden}{missed}  while ({k} < planish_n) {{
    ptrdiff_t planish_end = planish_n - {k} < {_FAR} ? planish_n - {k} + {UNROLLED * count} : {_FAR};
{rooms}    planish_end += {k};
    if (planish_end - {k} >= {count}) {{
      const uint64_t planish_m = {lanes(k)};
{found(k, "      ")}      {k} += {count};
    }}
    while ({k} < planish_n && planish_end - {k} >= {UNROLLED * count}) {{
      if ({steps}) break;
      {k} += {UNROLLED * count};
    }}
    while ({k} < planish_n && planish_end - {k} >= {count}) {{
      const uint64_t planish_m = {lanes(k)};
{found(k, "      ")}      {k} += {count};
    }}
    if ({k} < planish_end && {k} < planish_n && planish_end >= {count}) {{
      {"const " if text.exact else ""}uint64_t planish_m = {lanes(f"planish_end - {count}")};
{again}{found(f"planish_end - {count}", "      ")}      {k} = planish_end;
    }}
    do {{
      if ({k} >= planish_n) return planish_n;
      if ({text.test}) return {k};
    }} while ({k}++ < planish_end);
  }}
  return planish_n;
}}
"""


def _room(row: tuple[int, int, int]) -> str:
    """How many iterations read nothing behind the page that the one before them has read."""
    place, size, step = row
    if step == 0:
        return ""
    # What lies between elements is read with them.
    if step > 0:
        last = f"(uintptr_t)(planish_p{place} + {step} * ({ITERATION} - 1))" if step > 1 else ""
        last = last or f"(uintptr_t)(planish_p{place} + {ITERATION} - 1)"
        room = f"(ptrdiff_t)(4095 - (({last} + {size - 1}) & 4095) + {size}) / {step * size} - 1"
    else:
        room = f"(ptrdiff_t)((uintptr_t)(planish_p{place} - {ITERATION} + 1) & 4095) / {size}"
    return (
        f"    {{ const ptrdiff_t planish_room = {room};\n"
        "      if (planish_room < planish_end) planish_end = planish_room; }\n"
    )
