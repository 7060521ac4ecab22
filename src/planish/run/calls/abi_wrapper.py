"""The ABI wrapper: C text that makes a function callable and measurable from outside, even where it is static.

>>> from planish.run.calls.signature import Parameter, Signature
>>> from planish.ir.types import F32, I32
>>> text = entry_text(Signature("scale", (Parameter("n", I32, "value"), Parameter("x", F32, "array")), None))
>>> "planish_entry_scale" in text and "scale(*(__INT32_TYPE__ *)planish_a[0], planish_a[1])" in text
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planish.run.calls.signature import Passing, Signature
from planish.run.toolchains.c_type_names import c_name


def counter_of(function: str) -> str:
    """The variable of which a text sets bits as nests of a function run, and the macro that it then defines (see
    `planish.run.oracle.nest_coverage`)."""
    return f"planish_entered_{function}"


def entry_text(signature: Signature) -> str:
    """C text to append to the translation unit that defines the function; it needs no header.

    It exports two functions. `planish_a[i]` is the address of the i-th argument's value, or the array itself:

    - `planish_entry_NAME(void **planish_a, void *planish_r)` calls NAME and stores its value at `planish_r`;
    - `planish_time_NAME(planish_n, planish_call, planish_a, planish_r, planish_k, to, from, bytes, sets, first)` does
      so `planish_n` times; before each call it copies `planish_k` blocks of memory (the arrays that the function
      changes), of one of several sets in turn. With `planish_call` 0 it only copies, which measures what the copies
      cost.

    The first one also tells which of the nests ran that a text counts: the 64 bits behind the value are those of
    `counter_of`. With a passing, the first one's name is `planish_check_NAME`; where the function can also be
    called with its own parameters alone, there is a `planish_entry_NAME` for that. The text has what completes the
    library as well.
    """
    return entries_text((signature,))


def entries_text(signatures: Sequence[Signature]) -> str:
    """What `entry_text` gives, for several functions of a file."""
    head = "\n/* Calls from outside: appended for checking and measuring, no part of the kernel. */\n"
    completions = dict.fromkeys(x.completion for x in signatures)
    return "".join((head, *completions, *map(_calls, signatures)))


def _calls(signature: Signature) -> str:
    passing = signature.passing
    if passing is None:
        arguments = tuple(p.argument(i) for i, p in enumerate(signature.parameters))
        return _entries(signature, Passing("", (), arguments, ()))
    plain = ""
    if passing.plain is not None:
        alone = replace(signature, parameters=passing.plain, passing=None)
        arguments = tuple(p.argument(i) for i, p in enumerate(passing.plain))
        plain = _entry(alone, Passing("", (), arguments, ()))
    return passing.prelude + plain + _entries(signature, passing)


def _entries(signature: Signature, passing: Passing) -> str:
    return _entry(signature, passing) + _timer(signature, passing)


def _store(signature: Signature, passing: Passing) -> str:
    """What stands before a call to keep its value."""
    if passing.result == "address":
        return "*(const void **)planish_r = "
    if passing.result:
        return f"{passing.result} planish_v = "
    return f"*({c_name(signature.result)} *)planish_r = " if signature.result is not None else ""


def _entry(signature: Signature, passing: Passing) -> str:
    before, after = ("".join(f"  {x}\n" for x in lines) for lines in (passing.before, passing.after))
    call = f"{_store(signature, passing)}{signature.function}({', '.join(passing.arguments)});"
    counter = counter_of(signature.function)
    return f"""\
void {signature.entry}(void **planish_a, void *planish_r);
void {signature.entry}(void **planish_a, void *planish_r)
{{
  (void)planish_a; (void)planish_r;
{before}#ifdef {counter}
  {counter} = 0;
#endif
  {call}
#ifdef {counter}
  ((unsigned long long *)planish_r)[1] = {counter};
#endif
{after}}}
"""


def _timer(signature: Signature, passing: Passing) -> str:
    name = signature.function
    before = "".join(f"  {x}\n" for x in passing.before)
    store = _store(signature, passing)
    store = "" if "planish_v" in store else store
    # The pointer passes through an empty asm, so that the call cannot be inlined, specialised or hoisted: what is
    # timed is what a caller in another file gets.
    return f"""\
void planish_time_{name}(long planish_n, int planish_call, void **planish_a, void *planish_r, int planish_k,
                         void **planish_to, void **planish_from, unsigned long *planish_bytes, long planish_sets,
                         long planish_first);
void planish_time_{name}(long planish_n, int planish_call, void **planish_a, void *planish_r, int planish_k,
                         void **planish_to, void **planish_from, unsigned long *planish_bytes, long planish_sets,
                         long planish_first)
{{
  __typeof__(&{name}) planish_f = &{name};
  (void)planish_a; (void)planish_r;
{before}  for (long planish_i = 0; planish_i < planish_n; planish_i++) {{
    void **planish_set = planish_from + planish_first * planish_k;
    planish_first = planish_first + 1 == planish_sets ? 0 : planish_first + 1;
    for (int planish_j = 0; planish_j < planish_k; planish_j++)
      __builtin_memcpy(planish_to[planish_j], planish_set[planish_j], planish_bytes[planish_j]);
    __asm__ volatile("" : "+r"(planish_f) : : "memory");
    if (planish_call)
      {store}planish_f({', '.join(passing.arguments)});
    __asm__ volatile("" : : : "memory");
  }}
}}
"""
