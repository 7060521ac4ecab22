"""The C text that makes a function callable and measurable from outside, even where it is static.

>>> from planish.run.signature import Parameter, Signature
>>> from planish.ir.types import F32, I32
>>> text = entry_text(Signature("scale", (Parameter("n", I32, "value"), Parameter("x", F32, "array")), None))
>>> "planish_entry_scale" in text and "scale(*(__INT32_TYPE__ *)planish_a[0], planish_a[1])" in text
True
"""

from __future__ import annotations

from typing import assert_never

from planish.ir.types import Type
from planish.run.signature import Signature


def entry_text(signature: Signature) -> str:
    """C text to append to the translation unit that defines the function; it needs no header.

    It exports two functions. `planish_a[i]` is the address of the i-th argument's value, or the array itself:

    - `planish_entry_NAME(void **planish_a, void *planish_r)` calls NAME and stores its value at `planish_r`;
    - `planish_time_NAME(planish_n, planish_call, planish_a, planish_r, planish_k, to, from, bytes)` does so
      `planish_n` times; before each call it copies `planish_k` blocks of memory (the arrays that the function
      changes). With `planish_call` 0 it only copies, which measures what the copies cost.
    """
    name = signature.function
    arguments = ", ".join(
        f"planish_a[{i}]" if p.kind == "array" else f"*({c_name(p.type)} *)planish_a[{i}]"
        for i, p in enumerate(signature.parameters)
    )
    store = f"*({c_name(signature.result)} *)planish_r = " if signature.result is not None else ""
    # The pointer passes through an empty asm, so that the call cannot be inlined, specialised or hoisted: what is
    # timed is what a caller in another file gets.
    return f"""
/* Calls from outside: appended for checking and measuring, no part of the kernel. */
void planish_entry_{name}(void **planish_a, void *planish_r);
void planish_entry_{name}(void **planish_a, void *planish_r)
{{
  (void)planish_a; (void)planish_r;
  {store}{name}({arguments});
}}
void planish_time_{name}(long planish_n, int planish_call, void **planish_a, void *planish_r, int planish_k,
                         void **planish_to, void **planish_from, unsigned long *planish_bytes);
void planish_time_{name}(long planish_n, int planish_call, void **planish_a, void *planish_r, int planish_k,
                         void **planish_to, void **planish_from, unsigned long *planish_bytes)
{{
  __typeof__(&{name}) planish_f = &{name};
  (void)planish_a; (void)planish_r;
  for (long planish_i = 0; planish_i < planish_n; planish_i++) {{
    for (int planish_j = 0; planish_j < planish_k; planish_j++)
      __builtin_memcpy(planish_to[planish_j], planish_from[planish_j], planish_bytes[planish_j]);
    __asm__ volatile("" : "+r"(planish_f) : : "memory");
    if (planish_call)
      {store}planish_f({arguments});
    __asm__ volatile("" : : : "memory");
  }}
}}
"""


def c_name(type: Type) -> str:
    """The C type of these values, spelt without any header (gcc and clang predefine these names)."""
    match type.kind:
        case "bool":
            return "_Bool"
        case "int":
            return f"__INT{type.bits}_TYPE__"
        case "uint":
            return f"__UINT{type.bits}_TYPE__"
        case "float":
            return {16: "_Float16", 32: "float", 64: "double"}[type.bits]
        case "bfloat":
            return "__bf16"
        case _:
            assert_never(type.kind)
