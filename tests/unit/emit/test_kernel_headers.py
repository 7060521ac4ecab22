"""Kernels that drop-ins call have headers of their own, whatever stands in front of them."""

from __future__ import annotations

from planish.emit.dropin.kernel_headers import part_kernels

KERNEL = "static void tile(float *c)\n{\n" + "  c[0] += 1;\n" * 14 + "}\n"
OWN = "/* lines 1 to 2: raised */\nstatic void planish_f_1(float *c)\n{\n  tile(c);\n}\n"
MACRO = "/* Why. */\n#if defined(__clang__)\n#if 1\n#define two(x) x\n#endif\n#else\n#define two(x) 2 * (x)\n#endif\n"


def test_macros_stay_in_front() -> None:
    alone, headers = part_kernels(f"{KERNEL}\n{OWN}")
    text, same = part_kernels(f"{MACRO}\n{KERNEL}\n{OWN}")
    assert len(headers) == 1 and headers == same
    assert text == f"{MACRO}\n{alone}"


def test_what_is_no_function_keeps_all_together() -> None:
    text = f"static int counted;\n{KERNEL}\n{OWN}"
    assert part_kernels(text) == (text, {})
