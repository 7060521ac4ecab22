"""Values of bf16 in kernels: their bits in memory, conversions from floats and to them; for all languages of devices.

>>> print(define_bfloat("planish_bf16 *x", ""), end="")
typedef uint16_t planish_bf16;
"""

from __future__ import annotations

_TYPE = "typedef uint16_t planish_bf16;\n"
_BITS = "union planish_bits {\n  uint32_t word;\n  float value;\n};\n"
_FROM = """\
/* The value whose bf16 bits these are: the upper half of a float. */
static {qualifier}float planish_from_bf16(uint16_t bits)
{{
  union planish_bits all;
  all.word = (uint32_t)bits << 16;
  return all.value;
}}
"""
_TO = """\
/* The bits of the nearest bf16 value, ties to even. */
static {qualifier}uint16_t planish_to_bf16(float value)
{{
  union planish_bits all;
  all.value = value;
  if (value != value) {{
    return (uint16_t)(all.word >> 16 | 64); /* What is no number stays none. */
  }}
  return (uint16_t)((all.word + 0x7fff + (all.word >> 16 & 1)) >> 16);
}}
"""


def define_bfloat(text: str, qualifier: str) -> str:
    """The definitions of what a text uses of these; `qualifier` is that of a function of the device, or ""."""
    out = _TYPE if "planish_bf16" in text else ""
    functions = [x for name, x in (("planish_from_bf16", _FROM), ("planish_to_bf16", _TO)) if name in text]
    return out + (_BITS if functions else "") + "".join(x.format(qualifier=qualifier) for x in functions)
